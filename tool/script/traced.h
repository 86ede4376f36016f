/*
 * traced.h - whether streams trace this process
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SCRIPT_TRACED_H
#define SCRIPT_TRACED_H

#include <stdbool.h>

/* Returns whether a stream traces this process. The streams that it inherits from its ancestors count. */
bool script_traced(void);

#endif
