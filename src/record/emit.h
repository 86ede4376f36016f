/*
 * emit.h - one event into one stream
 *
 * Without a lane (lane.h): for handlers that interrupt a trace point, for threads
 * without a seat, and for the events that posix_trace_start() and its kin record.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_EMIT_H
#define RECORD_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/put.h"
#include "shm/stream.h"

/*
 * Records an event in a chunk that nobody else has meanwhile. Not if the
 * stream is not running, unless always. True if it was recorded, or was not
 * to be; false if there was no room. Safe in handlers.
 */
bool emit_alone(struct stream *s, const struct writer *w, bool always, trace_event_id_t id,
                const void *data, size_t length, const void *address);

/* The stream has no room: what its policy says, and the event is counted as lost. */
void emit_full(const struct stream *s);
/* An event that meets a stream which has stopped by itself is lost. */
void emit_lost(const struct stream *s);
/* Wakes readers that sleep. */
void emit_wake(struct stream_header *h);

#endif
