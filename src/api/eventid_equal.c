/*
 * eventid_equal.c - posix_trace_trid_eventid_open(), _eventid_equal(), _eventid_get_name()
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>

#include "control/handle.h"

int posix_trace_trid_eventid_open(trace_id_t trid, const char *restrict event_name, trace_event_id_t *restrict event_id)
{
	struct handle *h = handle_get(trid);

	if (!h)
		return EINVAL;
	handle_put(h);
	/* The only process that can be traced yet is this one: its names are the stream's. */
	return posix_trace_eventid_open(event_name, event_id);
}

int posix_trace_eventid_equal(trace_id_t trid, trace_event_id_t event1, trace_event_id_t event2)
{
	(void)trid;
	return event1 == event2;
}

static int get_name(trace_event_id_t id, char *event_name)
{
	const char *name = eventtype_predefined_name(id);

	if (!name && id >= EVENT_ID_USER) {
		struct registry *r = self_registry();

		name = r ? registry_name(r, id) : NULL;
	}
	if (!name || !event_name)
		return EINVAL;
	strcpy(event_name, name);
	return 0;
}

int posix_trace_eventid_get_name(trace_id_t trid, trace_event_id_t event_id, char *event_name)
{
	return HANDLE_CALL(trid, get_name(event_id, event_name));
}
