/*
 * eventset_add.c - sets of event types
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "model/eventset.h"
#include "model/eventtype.h"

int posix_trace_eventset_add(trace_event_id_t event_id, trace_event_set_t *set)
{
	if (!eventset_valid(set) || !eventtype_possible(event_id))
		return EINVAL;
	eventset_add(set, event_id);
	return 0;
}

int posix_trace_eventset_del(trace_event_id_t event_id, trace_event_set_t *set)
{
	if (!eventset_valid(set) || !eventtype_possible(event_id))
		return EINVAL;
	eventset_del(set, event_id);
	return 0;
}

int posix_trace_eventset_empty(trace_event_set_t *set)
{
	if (!set)
		return EINVAL;
	eventset_empty(set);
	return 0;
}

int posix_trace_eventset_fill(trace_event_set_t *set, int what)
{
	return set && eventset_fill(set, what) ? 0 : EINVAL;
}

int posix_trace_eventset_ismember(trace_event_id_t event_id, const trace_event_set_t *restrict set,
                                  int *restrict ismember)
{
	if (!eventset_valid(set) || !eventtype_possible(event_id) || !ismember)
		return EINVAL;
	*ismember = eventset_has(set, event_id);
	return 0;
}
