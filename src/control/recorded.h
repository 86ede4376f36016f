/*
 * recorded.h - pre-recorded streams: logs that have been opened
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_RECORDED_H
#define CONTROL_RECORDED_H

#include <trace.h>

#include "control/handle.h"

/* Opens a log. Returns 0 or an error number. fd remains the application's. */
int recorded_open(int fd, trace_id_t *trid);
int recorded_close(trace_id_t trid);

/* The functions below are called with the handle locked. */

int recorded_rewind(struct handle *h);
int recorded_status(const struct handle *h, struct posix_trace_status_info *status);
/* Returns the name of an event type, or null if the log has no such type. */
const char *recorded_name(const struct handle *h, trace_event_id_t id);
int recorded_type(struct handle *h, trace_event_id_t *id, int *unavailable);
void recorded_next(struct handle *h, struct posix_trace_event_info *event, void *data, size_t size, size_t *length,
                   int *unavailable);

#endif
