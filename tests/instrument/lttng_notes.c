/*
 * lttng_notes.c - the part of lttng_program.c with tracef and tracelog, whose headers cannot be beside its own
 *
 * SPDX-License-Identifier: MIT
 */
#include "lttng_notes.h"

#include <lttng/tracef.h>
#include <lttng/tracelog.h>

void notes(const char *text)
{
	lttng_ust_tracef("%d of %s", 3, "tea");
	lttng_ust_tracef("%s", text);
	lttng_ust_tracelog(LTTNG_UST_TRACEPOINT_LOGLEVEL_WARNING, "low: %d", 5);
}
