/*
 * get_filter.c - posix_trace_get_filter(), _set_filter()
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "control/filter.h"

int posix_trace_get_filter(trace_id_t trid, trace_event_set_t *set)
{
	if (!set)
		return EINVAL;
	return HANDLE_CALL(trid, HANDLE_ACTIVE, (filter_load(h, set), 0));
}

int posix_trace_set_filter(trace_id_t trid, const trace_event_set_t *set, int how)
{
	return HANDLE_CALL(trid, HANDLE_ACTIVE, filter_change(h, set, how, __builtin_return_address(0)));
}
