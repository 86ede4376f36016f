/*
 * describe.c - a trace as babeltrace2 knows it: its clock, and where it comes from
 *
 * SPDX-License-Identifier: MIT
 */
#include "describe.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Enough for the longest text, the name of a file, with all characters shown as four. */
#define SHOWN 1024

bt_clock_class *describe_clock(bt_self_component *self, const struct posixtrace_log_about *a)
{
	bt_clock_class *c = bt_clock_class_create(self);

	if (!c)
		return NULL;
	bt_clock_class_set_frequency(c, UINT64_C(1000000000));
	bt_clock_class_set_origin_is_unix_epoch(c, BT_TRUE);
	if (a->resolution)
		bt_clock_class_set_precision(c, a->resolution);
	if (bt_clock_class_set_name(c, "realtime") == BT_CLOCK_CLASS_SET_NAME_STATUS_OK &&
	    bt_clock_class_set_description(c, "CLOCK_REALTIME, as it was set when the log was created") ==
	            BT_CLOCK_CLASS_SET_DESCRIPTION_STATUS_OK)
		return c;
	bt_clock_class_put_ref(c);
	return NULL;
}

/* -- The environment ----------------------------------------------------------------------------------- */

static bool set_text(bt_trace *trace, const char *name, const char *value)
{
	char shown[SHOWN];

	posixtrace_log_show(value, SIZE_MAX, shown, sizeof shown);
	return bt_trace_set_environment_entry_string(trace, name, shown) == BT_TRACE_SET_ENVIRONMENT_ENTRY_STATUS_OK;
}

static bool set_number(bt_trace *trace, const char *name, uint64_t value)
{
	return bt_trace_set_environment_entry_integer(trace, name,
	                                              (int64_t)value) == BT_TRACE_SET_ENVIRONMENT_ENTRY_STATUS_OK;
}

static bool set_version(bt_trace *trace, const char *version)
{
	unsigned major = 0, minor = 0;

	version += strcspn(version, "0123456789");
	sscanf(version, "%9u.%9u", &major, &minor);
	return set_number(trace, "tracer_major", major) && set_number(trace, "tracer_minor", minor);
}

static bool set_boot(bt_trace *trace, const unsigned char *boot)
{
	char text[40], *at = text;

	for (unsigned i = 0; i < 16; i++)
		at += sprintf(at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", boot[i]);
	return set_text(trace, "boot_id", text);
}

static bool set_creation(bt_trace *trace, const struct posixtrace_log_about *a)
{
	time_t seconds = (time_t)(a->created / UINT64_C(1000000000));
	char text[40] = "";
	struct tm tm;

	/* In LTTng's format. */
	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof text, "%Y%m%dT%H%M%S+0000", &tm);
	return set_text(trace, "trace_creation_datetime", text) &&
	       set_number(trace, "trace_creation_ns", a->created);
}

static bool set_environment(bt_trace *trace, const struct posixtrace_log_about *a)
{
	return set_text(trace, "hostname", a->host) && set_text(trace, "domain", "posixtrace") &&
	       set_text(trace, "tracer_name", "posixtrace") && set_version(trace, a->generator) &&
	       set_text(trace, "tracer_version", a->generator) && set_text(trace, "trace_name", a->name) &&
	       set_creation(trace, a) && set_text(trace, "sysname", "Linux") &&
	       set_text(trace, "kernel_release", a->kernel) &&
	       set_text(trace, "machine", a->machine) && set_boot(trace, a->boot) &&
	       set_number(trace, "architecture_bit_width", 8u * a->word) &&
	       set_number(trace, "target_pid", a->target) && set_number(trace, "creator_pid", a->creator);
}

/* -- Names ------------------------------------------------------------------------------------------------- */

/* Returns the last part of a path. Names with slashes would become directories where a trace is written. */
static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

bt_trace *describe_trace(bt_trace_class *trace_class, const struct posixtrace_log_about *a)
{
	bt_trace *trace = bt_trace_create(trace_class);
	char shown[SHOWN];

	posixtrace_log_show(a->name[0] ? last_part(a->name) : "posixtrace", SIZE_MAX, shown, sizeof shown);
	if (trace && bt_trace_set_name(trace, shown) == BT_TRACE_SET_NAME_STATUS_OK && set_environment(trace, a))
		return trace;
	bt_trace_put_ref(trace);
	return NULL;
}

bt_stream *describe_stream(bt_stream_class *stream_class, bt_trace *trace, const char *path)
{
	bt_stream *stream = bt_stream_create(stream_class, trace);
	char shown[SHOWN];

	posixtrace_log_show(last_part(path), SIZE_MAX, shown, sizeof shown);
	if (stream && bt_stream_set_name(stream, shown) == BT_STREAM_SET_NAME_STATUS_OK)
		return stream;
	bt_stream_put_ref(stream);
	return NULL;
}
