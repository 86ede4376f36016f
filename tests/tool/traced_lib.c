/*
 * traced_lib.c - a trace point in a shared library, for the tests of the command
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

void traced_lib(trace_event_id_t id);

void traced_lib(trace_event_id_t id)
{
	int i = 3;

	posix_trace_event(id, &i, sizeof i); /* traced_lib */
}
