/*
 * copied.h - whether all events of a log are in the copy that a killed recorder has made of it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef COPIED_H
#define COPIED_H

#include <stdbool.h>

/*
 * Returns whether both logs are of the same stream and have the same events of programs. No
 * process may write to either. *more: whether the log reports more lost events than the copy, because they were counted
 * after the copy was made.
 */
bool copied(int log, int copy, bool *more);

#endif
