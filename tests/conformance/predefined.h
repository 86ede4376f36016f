/*
 * predefined.h - the event types that there always are, and their names (SYS-1)
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONFORMANCE_PREDEFINED_H
#define CONFORMANCE_PREDEFINED_H

#include <trace.h>

static const struct {
	trace_event_id_t id;
	const char *name;
} predefined[] = {
	{ POSIX_TRACE_START,             "posix_trace_start" },
	{ POSIX_TRACE_STOP,              "posix_trace_stop" },
	{ POSIX_TRACE_FILTER,            "posix_trace_filter" },
	{ POSIX_TRACE_OVERFLOW,          "posix_trace_overflow" },
	{ POSIX_TRACE_RESUME,            "posix_trace_resume" },
	{ POSIX_TRACE_FLUSH_START,       "posix_trace_flush_start" },
	{ POSIX_TRACE_FLUSH_STOP,        "posix_trace_flush_stop" },
	{ POSIX_TRACE_ERROR,             "posix_trace_error" },
	{ POSIX_TRACE_UNNAMED_USEREVENT, "posix_trace_unnamed_userevent" },
};
enum { PREDEFINED = sizeof predefined / sizeof *predefined };

#endif
