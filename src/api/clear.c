/*
 * clear.c - posix_trace_clear()
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "control/lifecycle.h"

int posix_trace_clear(trace_id_t trid)
{
	return HANDLE_CALL(trid, lifecycle_clear(h, __builtin_return_address(0)));
}
