/*
 * classes.h - what kinds of events a log has, in the words of babeltrace2
 *
 * A stream class for each log, because an event type means something in its log only; and in it an event class for each
 * event type and form of its data (posixtrace_log_get_form()), made when the first such event comes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CLASSES_H
#define CLASSES_H

#include <babeltrace2/babeltrace.h>
#include <posixtrace/log.h>
#include <stdbool.h>

/* The members of an event's common context, named as in LTTng. */
enum common {
	COMMON_VPID, /* in the pid namespace of the traced process */
	COMMON_VTID,
	COMMON_IP, /* address of the trace point */
	COMMON_TRUNCATED, /* 1: the data was cut when it was recorded */
	COMMON_PROCNAME,  /* name of the thread */
};

#define FORMS (POSIXTRACE_LOG_FORM_BYTES + 1)

/* The event classes for the types of one reader. */
struct classes {
	bt_stream_class *stream_class;
	size_t types;
	/*
	 * An event that is older than the one before it in the log gets the time of that one, because time does not go
	 * back in babeltrace2. So its class has a specific context, with how many ns it is older.
	 */
	struct class_forms {
		bt_event_class *event[FORMS][2];
	} *type; /* by the index of the event type */
};

/* Returns the class of a log's stream, or null if there is no memory. */
bt_stream_class *classes_stream(bt_trace_class *tc, bt_clock_class *clock_class);
/* Returns the event class, or null if there is no memory. */
bt_event_class *classes_event(struct classes *c, const struct posixtrace_log_type *t, uint32_t form, bool late);

#endif
