/*
 * system_text.h - what the system's own events say, in words
 *
 *     posix_trace_start    without request, line
 *     posix_trace_filter   without sql.row; again with line
 *     posix_trace_stop     by itself: it is full
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SYSTEM_TEXT_H
#define SYSTEM_TEXT_H

#include "layouts.h"

#define SYSTEM_TEXT 4096 /* enough for some hundred names; what has no room is left out, and "..." stands for it */

/* Names in it are as they are. False: it is none of those events, or nothing that is understood; text is empty then. */
bool system_text(char text[SYSTEM_TEXT], const struct layouts *l, const struct log_event *e, const unsigned char *data);

#endif
