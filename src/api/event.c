/*
 * event.c - posix_trace_eventid_open(); posix_trace_event() itself is record/tracepoint.c
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>

#include "record/attach.h"
#include "record/self.h"

int posix_trace_eventid_open(const char *restrict event_name, trace_event_id_t *restrict event_id)
{
	trace_event_id_t id;

	if (!event_name || !event_id)
		return EINVAL;
	if (strnlen(event_name, TRACE_EVENT_NAME_MAX + 1) > TRACE_EVENT_NAME_MAX) {
		self_refuse_name(event_name);
		return ENAMETOOLONG;
	}
	/* A system event has the same id whichever function opens its name (CH-74). */
	id = eventtype_predefined_id(event_name);
	*event_id = id ? id : self_event_id(event_name);
	attach_ahead();
	return 0;
}
