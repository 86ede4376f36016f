/*
 * recorded.h - pre-recorded streams: logs that have been opened
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_RECORDED_H
#define CONTROL_RECORDED_H

#include <trace.h>

#include "base/copy.h"
#include "control/handle.h"
#include "log/input.h"

/* Opens a log. Returns 0 or an error number. fd remains the application's. */
int recorded_open(int fd, trace_id_t *trid);
int recorded_close(trace_id_t trid);

/* The functions below are called with the handle locked. */

int recorded_rewind(struct handle *h);
int recorded_status(const struct handle *h, struct posix_trace_status_info *status);
/* Returns the name of an event type, or null if the log has no such type. */
const char *recorded_name(const struct handle *h, trace_event_id_t id);
int recorded_type(struct handle *h, trace_event_id_t *id, int *unavailable);
/*
 * Copies the event type sets in the data of START and FILTER, in their present size; logs of other versions have
 * shorter sets. Returns their length.
 */
uint32_t recorded_sets(const struct log_event *e, const unsigned char *from, void *to, size_t size);
static inline void recorded_next(struct handle *h, struct posix_trace_event_info *event, void *data, size_t size,
                                 size_t *length, int *unavailable)
{
	const unsigned char *from;
	const struct log_event *e = input_next(h->input, &from);
	uint32_t all;

	*unavailable = !e;
	if (!e)
		return;
	all = e->length;
	if (e->id == POSIX_TRACE_START || e->id == POSIX_TRACE_FILTER)
		all = recorded_sets(e, from, data, size);
	else
		copy(data, from, size < all ? size : all);
	*length = size < all ? size : all;
	*event = (struct posix_trace_event_info){
		.posix_event_id = e->id,
		.posix_pid = (pid_t)e->pid,
		.posix_prog_address = (void *)(uintptr_t)e->address,
		.posix_thread_id = (pthread_t)(uintptr_t)e->pthread,
		.posix_timestamp = { (time_t)(e->time / NS_PER_S), (long)(e->time % NS_PER_S) },
		.posix_truncation_status = size < all   ? POSIX_TRACE_TRUNCATED_READ
		                         : e->truncated ? POSIX_TRACE_TRUNCATED_RECORD
		                                        : POSIX_TRACE_NOT_TRUNCATED,
		.__posix_kernel_tid = (pid_t)e->tid,
	};
}

#endif
