/*
 * eventtypelist_getnext_id.c - the list of event types
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "control/handle.h"
#include "control/recorded.h"

static int getnext(struct handle *h, trace_event_id_t *event_id, int *unavailable)
{
	if (h->input)
		return recorded_type(h, event_id, unavailable);
	*unavailable = 0;
	if (h->type_next < EVENTTYPE_PREDEFINED) {
		*event_id = eventtype_predefined(h->type_next++);
		return 0;
	}
	if (h->type_next - EVENTTYPE_PREDEFINED < target_names(&h->target))
		*event_id = EVENT_ID_USER + h->type_next++ - EVENTTYPE_PREDEFINED;
	else
		*unavailable = 1;
	return 0;
}

int posix_trace_eventtypelist_getnext_id(trace_id_t trid, trace_event_id_t *restrict event_id,
                                         int *restrict unavailable)
{
	if (!event_id || !unavailable)
		return EINVAL;
	return HANDLE_CALL(trid, HANDLE_ANY, getnext(h, event_id, unavailable));
}

int posix_trace_eventtypelist_rewind(trace_id_t trid)
{
	return HANDLE_CALL(trid, HANDLE_ANY, (h->type_next = 0, 0));
}
