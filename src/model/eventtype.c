/*
 * eventtype.c - the predefined trace event types
 *
 * SPDX-License-Identifier: MIT
 */
#include "model/eventtype.h"

#include <stddef.h>
#include <string.h>

static const struct {
	trace_event_id_t id;
	const char *name;
} predefined[EVENTTYPE_PREDEFINED] = {
	{ POSIX_TRACE_ERROR, "posix_trace_error" },
	{ POSIX_TRACE_START, "posix_trace_start" },
	{ POSIX_TRACE_STOP, "posix_trace_stop" },
	{ POSIX_TRACE_FILTER, "posix_trace_filter" },
	{ POSIX_TRACE_OVERFLOW, "posix_trace_overflow" },
	{ POSIX_TRACE_RESUME, "posix_trace_resume" },
	{ POSIX_TRACE_FLUSH_START, "posix_trace_flush_start" },
	{ POSIX_TRACE_FLUSH_STOP, "posix_trace_flush_stop" },
	{ POSIX_TRACE_UNNAMED_USEREVENT, "posix_trace_unnamed_userevent" },
};

trace_event_id_t eventtype_predefined(unsigned index)
{
	return predefined[index].id;
}

const char *eventtype_predefined_name(trace_event_id_t id)
{
	for (unsigned i = 0; i < EVENTTYPE_PREDEFINED; i++)
		if (predefined[i].id == id)
			return predefined[i].name;
	return NULL;
}

trace_event_id_t eventtype_predefined_id(const char *name)
{
	for (unsigned i = 0; i < EVENTTYPE_PREDEFINED; i++)
		if (strcmp(predefined[i].name, name) == 0)
			return predefined[i].id;
	return 0;
}
