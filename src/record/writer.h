/*
 * writer.h - one thread's events in one stream
 *
 * A writer has a seat in its stream and, most of the time, a chunk with room. writer_record() writes a record there; it
 * is compiled into the trace point (tracepoint.c). Everything else is in writer.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_WRITER_H
#define RECORD_WRITER_H

#include <trace.h>

#include "base/likely.h"
#include "base/testpoint.h"
#include "base/ticks.h"
#include "record/put.h"
#include "record/self.h"
#include "record/record_rseq.h"
#include "shm/stream.h"

/* What happened to an event. */
enum writer_outcome {
	WRITER_DONE,    /* recorded; on the inline path also: the stream does not want it */
	WRITER_MISSED,  /* the stream does not run, or filters the event out */
	WRITER_WAKE,    /* recorded, and a reader sleeps */
	WRITER_LOST,    /* the stream has stopped because it is full */
	WRITER_ENDED,   /* the stream has ended, but is still in the page */
	WRITER_NO_ROOM, /* not recorded, because the writer has no chunk with room */
	WRITER_ABORTED, /* the restartable sequence was aborted; the event may be recorded or not */
	/*
	 * The restartable sequence was aborted after the record was committed; the writer's own fields may lag behind.
	 */
	WRITER_ABORTED_BEHIND,
	WRITER_SLOW, /* cannot be recorded on the inline path */
};

/* Checks what holds of a writer outside of a record, in tests (base/invariant.h). Signals are blocked. */
#ifdef POSIXTRACE_CHECKS
void writer_check(const struct writer *writer);
#else
# define writer_check(writer) ((void)0)
#endif

static inline __attribute__((always_inline)) bool writer_fits(const struct writer *writer, size_t length)
{
	return (uintptr_t)load_relaxed(&writer->at) + length < load_relaxed(&writer->room_end);
}

/* How a record is written. Always a compile-time constant, so that testing it costs nothing. */
enum path {
	PATH_SLOW, /* with signals blocked, so no handler interrupts */
	PATH_FAST, /* in a restartable sequence, where the machine has them */
	/* in a restartable sequence, where the program is compiled with them; thread.only says that they work */
	PATH_INLINE,
};

/*
 * Does steps 4 to 7 of a trace point without a restartable sequence. Returns WRITER_DONE or WRITER_NO_ROOM. In a child
 * that was forked meanwhile it writes nothing that anybody sees, and returns WRITER_DONE.
 */
static inline __attribute__((always_inline)) enum writer_outcome writer_write_plain(struct writer *writer,
                                                                                    uint32_t clock_kind,
                                                                                    struct call call)
{
	struct seat *seat = load_relaxed(&writer->seat);
	struct chunk *c = load_relaxed(&writer->chunk);
	unsigned char *at;
	uint64_t progress, ticks;
	uint32_t size;

	/* A writer without a chunk has no room. */
	if (unlikely(!writer_fits(writer, call.length)))
		return WRITER_NO_ROOM;
	store_relaxed(&seat->busy, writer->chunk_number);
	TEST_POINT("record_busy");
	fence_signal();
	if (unlikely(load_relaxed(&c->owner) != writer->owner)) {
		store_relaxed(&seat->busy, 0);
		return WRITER_NO_ROOM;
	}
	TEST_POINT("record_owned");
	ticks = ticks_read(clock_kind);
	/*
	 * `at` is loaded last: if it is set, nothing loaded before it had been wiped. It is compared again before the
	 * commit, for a child that runs no fork handlers: _Fork(), clone() (H2).
	 */
	progress = load_relaxed(&writer->progress);
	fence_signal();
	at = load_relaxed(&writer->at);
	if (unlikely(!at))
		return WRITER_DONE;
	put(at, call, ticks);
	TEST_POINT("record_written");
	fence_signal();
	if (unlikely(load_relaxed(&writer->at) != at))
		return WRITER_DONE;
	size = record_size((uint32_t)call.length);
	progress += ((uint64_t)1 << 32) + size;
	store_relaxed(&c->last_ticks, ticks);
	writer->progress = progress;
	TEST_POINT("record_noted");
	/*
	 * PAIR(commit): the whole record is visible before the position that includes it. Other side: read/cursor.c,
	 * record/acquire.c.
	 */
	store_release(&c->progress, progress);
	TEST_POINT("record_committed");
	store_release(&seat->busy, 0); /* PAIR(busy) */
	TEST_POINT("record_idle");
	fence_signal();
	writer->at = at + size;
	return WRITER_DONE;
}

/*
 * Does steps 3 to 8 of a trace point, except what the outcome leaves to writer_finish(). clock_kind is the writer's.
 *
 * A handler that interrupts this function may fork, and the child may return into the middle of it (H1). By then the
 * writer is zeroed and the stream's memory is replaced (record/self.c). So everything is loaded once, before the first
 * store, and whatever the child still writes has no effect. After a _Fork() nothing is replaced (H2). So whatever
 * writes to the stream is a restartable sequence, where the machine has them, or runs with signals blocked.
 */
static inline __attribute__((always_inline)) enum writer_outcome writer_record(struct writer *writer,
                                                                               uint32_t clock_kind, enum path path,
                                                                               struct call call)
{
	struct stream_header *h = load_relaxed(&writer->header);
	/* With a single writer, no other stream has to be looked at again. */
	enum writer_outcome missed = path == PATH_INLINE ? WRITER_DONE : WRITER_MISSED, outcome = WRITER_DONE;
	uint32_t state;

	if (unlikely(!h))
		return WRITER_DONE;
	state = load_relaxed(&h->state);
	if (unlikely(!(state & STATE_RUNNING))) {
		if (unlikely(state & STATE_ENDED))
			return WRITER_ENDED;
		return (state & STATE_LOSING) && !stream_filters(h, call.id) ? WRITER_LOST : missed;
	}
	if (stream_filters(h, call.id))
		return missed;
	if (path == PATH_INLINE && unlikely(call.length > load_relaxed(&writer->short_size) ||
	                                    (!call.data && call.length)))
		return WRITER_SLOW;
	/* Tells the compiler that the data is short, so that no call is left in the copy. */
	if (path == PATH_INLINE && call.length > COPY_INLINE)
		__builtin_unreachable();
	if (path != PATH_INLINE && unlikely(call.length > writer->data_size)) {
		call.length = writer->data_size;
		call.id |= RECORD_TRUNCATED;
	}
	if (HAVE_RSEQ && (path == PATH_INLINE || (path == PATH_FAST && load_relaxed(&writer->rseq_end)))) {
		if (unlikely(!writer_fits(writer, call.length)))
			return WRITER_NO_ROOM;
		if (!writer_write(writer, call))
			return WRITER_ABORTED;
		h = load_relaxed(&writer->header);
		return likely(h) && unlikely(load_relaxed(&h->waiting)) ? WRITER_WAKE : WRITER_DONE;
	}
	outcome = writer_write_plain(writer, clock_kind, call);
	return outcome == WRITER_DONE && unlikely(load_relaxed(&h->waiting)) ? WRITER_WAKE : outcome;
}

/*
 * Does what any outcome but WRITER_DONE requires, which may be to record the event again. The thread stays inside, so
 * that no other thread unmaps the stream. Returns false if the event is neither recorded nor counted as lost, because
 * the stream does not run or filters it out.
 */
bool writer_finish(enum writer_outcome outcome, struct thread *t, struct writer *writer, const struct call *call);

/*
 * Cleans up after a trace point that was left by longjmp() (H17): a record that was begun is committed or counted as
 * lost. Signals are blocked.
 */
void writer_abandon(struct thread *t, struct writer *writer);

/*
 * Returns the identity of this thread for the owner record in front of its events. Asks the kernel for the thread's
 * name only now and then.
 */
struct owner_id writer_owner_id(struct thread *t);

#endif
