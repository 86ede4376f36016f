/*
 * start.c - posix_trace_start(), _stop()
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "control/lifecycle.h"

int posix_trace_start(trace_id_t trid)
{
	return HANDLE_CALL(trid, HANDLE_ACTIVE, lifecycle_start(h, __builtin_return_address(0)));
}

int posix_trace_stop(trace_id_t trid)
{
	return HANDLE_CALL(trid, HANDLE_ACTIVE, lifecycle_stop(h, __builtin_return_address(0)));
}
