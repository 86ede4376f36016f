/*
 * clear.c - posix_trace_clear()
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "control/lifecycle.h"

int posix_trace_clear(trace_id_t trid)
{
	return lifecycle_clear(trid, __builtin_return_address(0), NULL);
}
