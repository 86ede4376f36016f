/*
 * eventid_equal.c - posix_trace_trid_eventid_open(), _eventid_equal(), _eventid_get_name()
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>

#include "control/handle.h"
#include "control/recorded.h"

/* Returns the id that the traced process gets for this name. */
static int open_name(struct handle *h, const char *event_name, trace_event_id_t *event_id)
{
	if (!event_name || !event_id)
		return EINVAL;
	if (h->target.self)
		return posix_trace_eventid_open(event_name, event_id);
	if (strnlen(event_name, TRACE_EVENT_NAME_MAX + 1) > TRACE_EVENT_NAME_MAX)
		return ENAMETOOLONG;
	*event_id = eventtype_predefined_id(event_name);
	if (!*event_id)
		*event_id = target_event_id(&h->target, event_name);
	return 0;
}

int posix_trace_trid_eventid_open(trace_id_t trid, const char *restrict event_name, trace_event_id_t *restrict event_id)
{
	return HANDLE_CALL(trid, HANDLE_ACTIVE, open_name(h, event_name, event_id));
}

int posix_trace_eventid_equal(trace_id_t trid, trace_event_id_t event1, trace_event_id_t event2)
{
	(void)trid;
	return event1 == event2;
}

static int get_name(struct handle *h, trace_event_id_t id, char *event_name)
{
	const char *name = eventtype_predefined_name(id);
	char defined[REGISTRY_NAME_BYTES];

	if (h->input)
		name = recorded_name(h, id);
	else if (!name && target_name(&h->target, id, defined))
		name = defined;
	if (!name || !event_name)
		return EINVAL;
	strcpy(event_name, name);
	return 0;
}

int posix_trace_eventid_get_name(trace_id_t trid, trace_event_id_t event_id, char *event_name)
{
	return HANDLE_CALL(trid, HANDLE_ANY, get_name(h, event_id, event_name));
}
