/*
 * emit.h - one event into one stream
 *
 * Records without a writer (writer.h): for handlers that interrupt a trace point, for threads without a seat, and for
 * the events of posix_trace_start() and related calls.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_EMIT_H
#define RECORD_EMIT_H

#include <stdbool.h>

#include "record/put.h"
#include "shm/stream.h"

enum emit_outcome {
	EMIT_NO_ROOM,
	EMIT_DONE,   /* recorded, or counted as lost */
	EMIT_MISSED, /* the stream does not run, or filters the event out */
};

/*
 * Records an event in a chunk that no other thread has meanwhile. Records nothing if the stream is not running, unless
 * always is set. Safe in handlers.
 */
enum emit_outcome emit_alone(struct stream *s, const struct owner_id *w, bool always, const struct call *call);

/*
 * Handles an event that finds no room: does what the stream's policy requires, and counts the event as lost. Returns
 * false if the event is not counted, because a call has stopped the stream meanwhile.
 */
bool emit_full(const struct stream *s);
/* Counts an event as lost that meets a stream which has stopped because it is full. */
void emit_lost(const struct stream *s);
/* Sets the status bit that says that events were lost. */
void emit_overrun(const struct stream *s);
/* Wakes the readers that sleep. */
void emit_wake(struct stream_header *h);

#endif
