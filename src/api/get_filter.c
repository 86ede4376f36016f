/*
 * get_filter.c - posix_trace_get_filter(), _set_filter()
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "control/lifecycle.h"

int posix_trace_get_filter(trace_id_t trid, trace_event_set_t *set)
{
	if (!set)
		return EINVAL;
	return HANDLE_CALL(trid, lifecycle_get_filter(h, set));
}

int posix_trace_set_filter(trace_id_t trid, const trace_event_set_t *set, int how)
{
	return HANDLE_CALL(trid, lifecycle_set_filter(h, set, how, __builtin_return_address(0)));
}
