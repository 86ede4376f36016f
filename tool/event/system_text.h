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

#include <stdint.h>

#include "event/layouts.h"

/* The data of an OVERFLOW after the last event, which the command makes for the end of a log. */
struct system_gap {
	uint64_t events;   /* number of events that could not be written */
	uint64_t at_least; /* 1: there may be more */
};

#define SYSTEM_TEXT 4096 /* enough for some hundred names; "..." stands for the others */

/*
 * Describes a system event; names are not escaped. Returns false, with an empty text, if the event is of another type
 * or has unknown data.
 */
bool system_text(char text[SYSTEM_TEXT], const struct layouts *l, const struct log_event *e, const unsigned char *data);

#endif
