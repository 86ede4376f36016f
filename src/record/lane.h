/*
 * lane.h - one thread's events in one stream
 *
 * A lane has a seat in its stream and, most times, a chunk of it with room. A
 * record into that is lane_record(), compiled into the trace point
 * (tracepoint.c); what else there may be to do is in lane.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_LANE_H
#define RECORD_LANE_H

#include <trace.h>

#include "base/likely.h"
#include "base/testpoint.h"
#include "base/ticks.h"
#include "record/put.h"
#include "record/self.h"
#include "record/stretch.h"
#include "shm/stream.h"

/* What has become of an event. */
enum lane_outcome {
	LANE_DONE,    /* recorded, or not to be */
	LANE_WAKE,    /* recorded, and a reader sleeps */
	LANE_LOST,    /* the stream has stopped for want of room */
	LANE_ENDED,   /* the stream has ended, and is in the page still */
	LANE_NO_ROOM, /* not recorded, because the lane has no chunk with room */
	LANE_BROKEN,  /* its stretch was broken off: recorded or not */
	LANE_BEHIND,  /* its stretch was broken off behind the record: the lane may not know of it yet */
	LANE_LONG,    /* not to be written the shortest way */
};

static inline __attribute__((always_inline)) bool lane_fits(const struct lane *lane, size_t length)
{
	return (uintptr_t)load_relaxed(&lane->at) + length < load_relaxed(&lane->room_end);
}

/* How a record is written. What is known when the function is compiled is not in the way. */
enum way {
	WAY_BLOCKED,  /* with signals blocked: nobody comes in between */
	WAY_OPEN,     /* in a stretch, if there are any */
	WAY_SHORTEST, /* in a stretch, if the program has such code: thread.only says that they work */
};

/*
 * Steps 3 to 8, but for what the outcome asks for. clock_kind is the lane's.
 *
 * A handler that interrupts here may fork, and the child return into the
 * middle of this (H1). The lane is zeroed then, and the stream's memory has
 * been replaced (record/self.c). So everything is loaded once and before the
 * first store; what the child still does goes nowhere. After a _Fork() nothing
 * has been replaced (H2): what writes to the stream is a stretch, where the
 * machine has that, or has signals blocked.
 */
static inline __attribute__((always_inline)) enum lane_outcome lane_record(struct lane *lane, uint32_t clock_kind,
                                                                      enum way way, trace_event_id_t id,
                                                                      const void *data, size_t length,
                                                                      const void *address)
{
	struct stream_header *h = load_relaxed(&lane->header);
	struct seat *seat;
	struct chunk *c;
	unsigned char *at;
	uint64_t progress, ticks;
	uint32_t state, size;

	if (unlikely(!h))
		return LANE_DONE;
	state = load_relaxed(&h->state);
	if (unlikely(!(state & STATE_RUNNING))) {
		if (unlikely(state & STATE_ENDED))
			return LANE_ENDED;
		return (state & STATE_ARMED) && !stream_filters(h, id) ? LANE_LOST : LANE_DONE;
	}
	if (stream_filters(h, id))
		return LANE_DONE;
	if (way == WAY_SHORTEST && unlikely(length > load_relaxed(&lane->short_size) || (!data && length)))
		return LANE_LONG;
	/* So that nothing is left in it that would be called. */
	if (way == WAY_SHORTEST && length > COPY_INLINE)
		__builtin_unreachable();
	if (way != WAY_SHORTEST && unlikely(length > lane->data_size)) {
		length = lane->data_size;
		id |= RECORD_TRUNCATED;
	}
#if RESTART
	if (way == WAY_SHORTEST || (way == WAY_OPEN && load_relaxed(&lane->stretch_end))) {
		if (unlikely(!lane_fits(lane, length)))
			return LANE_NO_ROOM;
		if (!lane_write(lane, id, data, length, address))
			return LANE_BROKEN;
		h = load_relaxed(&lane->header);
		return likely(h) && unlikely(load_relaxed(&h->waiting)) ? LANE_WAKE : LANE_DONE;
	}
#endif
	seat = load_relaxed(&lane->seat);
	c = load_relaxed(&lane->chunk);
	/* Without a chunk there is no room. */
	if (unlikely(!lane_fits(lane, length)))
		return LANE_NO_ROOM;
	store_relaxed(&seat->busy, lane->chunk_number);
	TEST_POINT("record_busy");
	fence_signal();
	if (unlikely(load_relaxed(&c->owner) != lane->owner)) {
		store_relaxed(&seat->busy, 0);
		return LANE_NO_ROOM;
	}
	TEST_POINT("record_owned");
	ticks = ticks_read(clock_kind);
	/*
	 * The place last: if it is there, nothing before it was wiped. And
	 * again before the commit, for a child that knows no fork handlers:
	 * _Fork(), clone() (H2).
	 */
	progress = load_relaxed(&lane->progress);
	fence_signal();
	at = load_relaxed(&lane->at);
	if (unlikely(!at))
		return LANE_DONE;
	put(at, id, (uint32_t)length, ticks, address, data);
	TEST_POINT("record_written");
	fence_signal();
	if (unlikely(load_relaxed(&lane->at) != at))
		return LANE_DONE;
	size = record_size((uint32_t)length);
	progress += ((uint64_t)1 << 32) + size;
	store_relaxed(&c->last_ticks, ticks);
	lane->progress = progress;
	TEST_POINT("record_noted");
	/*
	 * PAIR(commit): the record, whole, is visible before the position that
	 * includes it. Other side: read/cursor.c, record/take.c.
	 */
	store_release(&c->progress, progress);
	TEST_POINT("record_committed");
	store_release(&seat->busy, 0); /* PAIR(busy) */
	TEST_POINT("record_idle");
	fence_signal();
	lane->at = at + size;
	return unlikely(load_relaxed(&h->waiting)) ? LANE_WAKE : LANE_DONE;
}

/*
 * What an outcome other than LANE_DONE asks for, another try among it. The
 * thread stays inside: until then nobody unmaps the stream.
 */
void lane_finish(enum lane_outcome outcome, struct thread *t, struct lane *lane, trace_event_id_t id,
                 const void *data, size_t length, const void *address);

/* Of a trace point that nobody comes back to (H17): the record that was begun is there, or given up and counted. Signals are blocked. */
void lane_abandon(struct thread *t, struct lane *lane);

/* Who this thread is, as it says in front of its records. The name is asked for now and then only. */
struct writer lane_writer(struct thread *t);

#endif
