/*
 * eventtype.h - ids and names of trace event types
 *
 *     0          none
 *     1..62      system events; 1..8 are the standard's, the rest is kept for Linux's own
 *     63         the unnamed user event
 *     64..8127   user events, in the order in which their names were opened
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_EVENTTYPE_H
#define MODEL_EVENTTYPE_H

#include <stdbool.h>
#include <stdint.h>
#include <trace.h>

#define EVENT_ID_USER  64u   /* the first user event with a name */
#define EVENT_ID_END   8128u /* one past the last possible id */
#define EVENT_USER_MAX (EVENT_ID_END - EVENT_ID_USER)

static inline bool eventtype_possible(trace_event_id_t id)
{
	return id - 1 < EVENT_ID_END - 1;
}

static inline bool eventtype_system(trace_event_id_t id)
{
	return id >= 1 && id < POSIX_TRACE_UNNAMED_USEREVENT;
}

/* The predefined event types, in the order in which a type list gives them. */
#define EVENTTYPE_PREDEFINED 9
trace_event_id_t eventtype_predefined(unsigned index);
/* Name of a predefined event type, or null. */
const char *eventtype_predefined_name(trace_event_id_t id);
/* Id of a predefined event type by its name, or 0. */
trace_event_id_t eventtype_predefined_id(const char *name);

#endif
