/*
 * declared.h - reports wrong layouts in the names of event types
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DECLARED_H
#define DECLARED_H

#include <stdint.h>

#include "event/layouts.h"

/* Prints the errors in the declared layouts, for the first few event types. where: a file, or a program. */
void declared_say(const struct layouts *l, const char *where);
/* Does the same for the event types of a log. */
void declared_say_log(struct input *in, const char *where);
/* Prints how many names were too long for an event type, and the first of them. Prints nothing if count is 0. */
void declared_say_refused(const char *what, uint64_t count, const char *first);
/* Prints how often there was no room for a name, if ever. */
void declared_say_full(const char *what, uint64_t count);

#endif
