/*
 * lifecycle.h - a stream's life: create, start, stop, clear, shut down
 *
 * docs/recording.md draws the states. Those that get a handle are called
 * with that locked. address is that of the application's call.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_LIFECYCLE_H
#define CONTROL_LIFECYCLE_H

#include <trace.h>

#include "control/handle.h"

/* attr null: all defaults. log: a descriptor; null for a stream without one. */
int lifecycle_create(pid_t pid, const trace_attr_t *attr, const int *log, trace_id_t *trid);
int lifecycle_start(struct handle *h, const void *address);
int lifecycle_stop(struct handle *h, const void *address);
int lifecycle_clear(trace_id_t trid, const void *address);
int lifecycle_flush(trace_id_t trid, const void *address);
int lifecycle_shutdown(trace_id_t trid, const void *address);
int lifecycle_status(struct handle *h, struct posix_trace_status_info *status);

/*
 * The reader has found nothing left in a stream that has stopped by itself:
 * queues its STOP, and restarts it if it is to be. Nothing if there is
 * something left after all.
 */
void lifecycle_drained(struct handle *h);
/* The reader has taken an event: is there space again? */
void lifecycle_read(struct handle *h);

#endif
