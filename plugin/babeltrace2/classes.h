/*
 * classes.h - what kinds of events a log has, in the words of babeltrace2
 *
 * A stream class for each log, because a number of an event type means something in its log only; and in it an
 * event class for each event type and form of its data (src/model/data_layout.h), made when the first such event comes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CLASSES_H
#define CLASSES_H

#include <babeltrace2/babeltrace.h>
#include <stdbool.h>

#include "event/layouts.h"

/* The members of an event's common context, named as in LTTng. */
enum common {
	COMMON_VPID, /* in the pid namespace of the traced process */
	COMMON_VTID,
	COMMON_IP, /* address of the trace point */
	COMMON_TRUNCATED, /* 1: the data was cut when it was recorded */
	COMMON_PROCNAME,  /* name of the thread */
};

struct classes {
	struct layouts *layouts;
	bt_trace_class *trace_class;
	bt_stream_class *stream_class;
	/*
	 * An event that is older than the one before it in the log gets the time of that one, because time does not go
	 * back in babeltrace2. So its class has a specific context, with how many ns it is older.
	 */
	bt_event_class *event[EVENT_ID_END][FORMS][2];
};

/*
 * Makes the classes of a log that was just opened. Returns null if there is no memory. The trace class must live as
 * long as the result.
 */
struct classes *classes_new(bt_trace_class *trace_class, bt_clock_class *clock_class, struct input *in);
void classes_free(struct classes *c);
/* Returns the event class, or null if there is no memory. */
bt_event_class *classes_event(struct classes *c, uint32_t id, enum layout_form form, bool late);

#endif
