/*
 * describe.h - a trace as babeltrace2 knows it: its clock, and where it comes from
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DESCRIBE_H
#define DESCRIBE_H

#include <babeltrace2/babeltrace.h>
#include <posixtrace/log.h>

/* All of these functions return null if there is no memory. */

/* Returns the clock of a log's events: ns since the Unix epoch, so that traces of all kinds merge. */
bt_clock_class *describe_clock(bt_self_component *self, const struct posixtrace_log_about *a);
/* Returns a trace named after the program, with an environment whose entries are named as in other formats. */
bt_trace *describe_trace(bt_trace_class *trace_class, const struct posixtrace_log_about *a);
/* Returns a stream named after the file. */
bt_stream *describe_stream(bt_stream_class *stream_class, bt_trace *trace, const char *path);

#endif
