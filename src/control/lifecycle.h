/*
 * lifecycle.h - a stream's life: create, start, stop, clear, shut down
 *
 * docs/recording.md draws the states. Functions with a handle parameter are
 * called with the handle locked. address: where the application called. Each
 * function returns 0 or an error number.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_LIFECYCLE_H
#define CONTROL_LIFECYCLE_H

#include <trace.h>

#include "control/handle.h"

/*
 * Creates a stream. attr: null for all defaults. log: the log's descriptor; null for a stream without a log.
 * turns: as in the stream's header.
 */
int lifecycle_create(pid_t pid, const trace_attr_t *attr, const int *log, uint32_t turns, trace_id_t *trid);
/*
 * Creates a stream with a log, not for the process, but for the descendants that become this user: target_open_for().
 */
int lifecycle_create_for(pid_t pid, const struct target_user *user, const trace_attr_t *attr, int log,
                         trace_id_t *trid);
int lifecycle_start(struct handle *h, const void *address);
int lifecycle_stop(struct handle *h, const void *address);
/*
 * Clears the stream. reported: null for posix_trace_clear(). Else the stream has a log, and *reported is the number of
 * lost events that the caller has reported elsewhere: the log begins anew with those that were counted later. If the
 * process is killed meanwhile, each lost event is either in the old contents of the log or in the new.
 */
int lifecycle_clear(trace_id_t trid, const void *address, const uint64_t *reported);
int lifecycle_flush(trace_id_t trid, const void *address);
struct output_end;
/* Shuts the stream down. sum, if not null and if the stream has a log, receives the counts of its missing events. */
int lifecycle_shutdown(trace_id_t trid, const void *address, struct output_end *sum);
int lifecycle_status(struct handle *h, struct posix_trace_status_info *status);

#endif
