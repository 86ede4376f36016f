/*
 * why.h - report --why: how the time of spans divides into running, waiting and calls, and over threads
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WHY_H
#define WHY_H

#include <stdbool.h>

#include "logs/sources.h"

/*
 * Prints why the spans took so long. text: a name of a span, or BEGIN,END, and perhaps @TIME. full: all steps. Returns
 * false if there is no such span, after it has printed a message.
 */
bool why_print(struct sources *logs, const char *text, bool json, bool full);

#endif
