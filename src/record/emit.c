/*
 * emit.c - the trace point
 *
 * The short way, for a thread that is in no other trace point, in a stream
 * where it holds a chunk with room: no locked instruction, no system call, no
 * lock. Its steps, and what they are ordered against:
 *
 *   1. ready = frame    from now on this thread is inside; a handler's trace
 *                       point goes the long way. Against attach_detach().
 *   2. page->sum.change     unchanged: the lanes are right
 *   3. running? filtered out?
 *   4. busy = chunk     in this thread's seat; then: is the chunk still ours?
 *                       Against chunk_revoke(), which changes the owner, passes
 *                       a barrier everywhere and looks at busy.
 *   5. ticks            read while busy: a reader that has passed its barrier
 *                       at time T and finds nobody busy sees all events before T
 *   6. the record       before 5 or after it
 *   7. commit           one store of the chunk's progress; then busy = 0
 *   8. waiting?         a reader that sleeps is woken. Against its barrier.
 *   9. ready again
 *
 * Everything else is the long way: the first event in a stream, a change of
 * the page, a forked child, a trace point inside a trace point, now and then a
 * full chunk. It blocks signals, uses locked instructions and at times the
 * system, and takes about a microsecond.
 *
 * Steps 4 to 7 are one stretch that no signal handler returns into, nor its
 * child (base/restart.h), where the machine has that; stretch.h. With several
 * streams they are one stretch for all, with one look at the clock. Most times
 * a full chunk is followed by another in such a stretch, too: lane_change().
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/emit.h"

#include <pthread.h>
#include <string.h>

#include "base/atomic.h"
#include "base/copy.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/ticks.h"
#include "model/record.h"
#include "record/attach.h"
#include "record/self.h"
#include "record/stretch.h"
#include "record/take.h"
#include "shm/chunk.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Step 9. */
static inline __attribute__((always_inline)) void leave(struct thread *t)
{
	fence_signal();
	store_release(&t->ready, (uintptr_t)THREAD_READY); /* PAIR(inside) */
}

static inline __attribute__((always_inline)) void put(unsigned char *at, unsigned type, uint32_t length, uint64_t ticks,
                                                      const void *address, const void *data)
{
	struct record *r = (struct record *)at;

	r->length = (uint16_t)length;
	r->type = (uint16_t)type;
	r->reserved = 0;
	r->ticks = ticks;
	r->address = (uint64_t)(uintptr_t)address;
	copy(at + sizeof *r, data, length);
}

static uint32_t put_owner(unsigned char *at, const struct writer *w)
{
	struct record_owner *o = (struct record_owner *)at;

	memset(o, 0, sizeof *o);
	o->type = RECORD_OWNER;
	o->pid = w->pid;
	o->tid = w->tid;
	o->thread = w->pthread;
	memcpy(o->name, w->name, sizeof o->name);
	return sizeof *o;
}

void emit_wake(struct stream_header *h)
{
	uint32_t waiting = load_relaxed(&h->waiting);

	/*
	 * Woken first, forgotten then: if this thread is killed in between, the
	 * next event wakes. Not forgotten is who has begun to wait meanwhile: with
	 * another number.
	 */
	TEST_POINT("wake_seen");
	fetch_add(&h->wakeups, 1);
	TEST_POINT("wake_risen");
	sys_futex_wake(&h->wakeups);
	TEST_POINT("wake_woken");
	cas(&h->waiting, &waiting, 0);
}

void emit_lost(const struct stream *s)
{
	struct stream_header *h = s->header;

	/*
	 * Under LOOP readers are told where; otherwise the stream has stopped,
	 * which tells as much. The last before the first, and both locked: who
	 * takes the first away, and then looks at the last, misses none.
	 */
	if (s->stream_policy == POSIX_TRACE_LOOP) {
		uint64_t ticks = ticks_read(s->clock_kind), none = 0, last = load_relaxed(&h->lost_last);

		while (last < ticks && !cas(&h->lost_last, &last, ticks))
			;
		TEST_POINT("lost_last");
		cas(&h->lost_ticks, &none, ticks);
	}
	fetch_add(&h->lost, 1);
	TEST_POINT("lost_counted");
	if (!(load_relaxed(&h->state) & STATE_OVERRUN))
		fetch_or(&h->state, STATE_OVERRUN);
}

void emit_full(const struct stream *s)
{
	struct stream_header *h = s->header;
	uint32_t state = load_relaxed(&h->state);
	uint64_t none = 0;

	if (!(state & (STATE_RUNNING | STATE_ARMED)))
		return; /* stopped by a call meanwhile */
	emit_lost(s);
	if (s->stream_policy == POSIX_TRACE_LOOP)
		return; /* nobody could be overwritten just now; the next one tries again */

	/* The time before the state: who sees the stream stopped knows when. */
	cas(&h->stopped_ticks, &none, ticks_read(s->clock_kind));
	TEST_POINT("full_ticks");
	while (state & STATE_RUNNING) {
		if (cas(&h->state, &state, (state & ~STATE_RUNNING) | STATE_FULL | STATE_ARMED)) {
			TEST_POINT("full_stopped");
			emit_wake(h); /* the STOP can be read */
			return;
		}
	}
}

bool emit_alone(struct stream *s, const struct writer *w, bool always, trace_event_id_t id,
                const void *data, size_t length, const void *address)
{
	struct stream_header *h = s->header;
	struct chunk *c = take_chunk(s, w->tid | s->outsider);
	unsigned char *memory;
	uint64_t p, ticks;
	uint32_t position, type = id, state;

	if (!c)
		return false;
	/* Looked at again: between two looks a hostile process may have changed it (H18). */
	p = load_relaxed(&c->progress);
	if (!chunk_has_room(s, p)) {
		chunk_unclaim(c);
		return false;
	}
	position = progress_position(p);
	TEST_POINT("alone_claimed");
	memory = stream_chunk_memory(s, c);
	/*
	 * The claim before the look at the state, and before the ticks: who
	 * stops the stream changes the state and then waits for the claim, and
	 * a reader waits for it as it does for busy.
	 */
	fence_full();
	state = load_relaxed(&h->state);
	if (!always && stream_filters(h, id)) { /* since the caller looked; who changes it waits for the claim, too */
		chunk_unclaim(c);
		return true;
	}
	if (!always && !(state & STATE_RUNNING)) {
		chunk_unclaim(c);
		if (state & STATE_ARMED)
			emit_lost(s);
		return true;
	}
	ticks = ticks_read(s->clock_kind);
	TEST_POINT("alone_ticks");
	position += put_owner(memory + position, w);
	if (!data)
		length = 0;
	if (!eventtype_system(id) && length > s->data_size) {
		length = s->data_size;
		type |= RECORD_TRUNCATED;
	}
	put(memory + position, type, (uint32_t)length, ticks, address, data);
	TEST_POINT("alone_written");
	position += record_size((uint32_t)length);

	store_relaxed(&c->last_ticks, ticks);
	store_release(&c->progress, progress_make(progress_records(p) + 1, position)); /* PAIR(commit) */
	TEST_POINT("alone_committed");
	chunk_unclaim(c);
	fence_full();
	TEST_POINT("alone_unclaimed");
	if (load_relaxed(&h->waiting))
		emit_wake(h);
	return true;
}

#define NAME_USES 64

/* The name is asked for now and then only: it seldom changes, and the question costs a tenth of all this. */
static struct writer writer(struct thread *t)
{
	struct writer w = { .pid = t->pid, .tid = load_relaxed(&t->tid), .pthread = t->pthread };

	if (t->name_age++ % NAME_USES == 0)
		sys_thread_name(t->name);
	memcpy(w.name, t->name, sizeof w.name);
	return w;
}

/* The seat of a lane, got now if need be. Null: all are taken; not asked again for a while, because asking is slow. */
static struct seat *lane_seat(struct thread *t, struct lane *lane, const struct stream *s)
{
	if (lane->seat)
		return lane->seat;
	if (lane->no_seat) {
		lane->no_seat--;
		return NULL;
	}
	lane->seat = seat_take(s, load_relaxed(&t->tid) | s->outsider);
	TEST_POINT("lane_seat");
	if (!lane->seat)
		lane->no_seat = 1000;
	return lane->seat;
}

/* Records and chunks end at multiples of eight: what fits without being rounded up fits. See lane_fits(). */
static uintptr_t lane_room_end(const struct stream *s, const unsigned char *memory)
{
	return (uintptr_t)(memory + s->chunk_size - sizeof(struct record)) + 1;
}

/* The lane has no chunk. */
static void lane_forget(struct lane *lane)
{
	lane->chunk = NULL;
	lane->at = NULL;
	lane->room_end = 0;
}

/* The next chunk for a lane that has a seat. False if the stream is full. */
static bool lane_take(struct thread *t, struct lane *lane, struct stream *s)
{
	struct writer w = writer(t);
	struct seat *seat = lane->seat;
	uint32_t position;
	struct chunk *c;
	uint64_t p;

	if (lane->chunk) {
		chunk_leave(lane->chunk, lane->owner);
		lane_forget(lane);
		TEST_POINT("lane_left");
	}
	c = take_chunk(s, load_relaxed(&t->tid) | s->outsider);
	if (!c)
		return false;
	p = load_relaxed(&c->progress);
	if (!chunk_has_room(s, p)) {
		chunk_unclaim(c);
		return false;
	}
	position = progress_position(p);
	TEST_POINT("lane_claimed");
	lane->at = stream_chunk_memory(s, c) + position;
	lane->room_end = lane_room_end(s, stream_chunk_memory(s, c));
	lane->at += put_owner(lane->at, &w);
	TEST_POINT("lane_owner");
	position += (uint32_t)sizeof(struct record_owner);
	lane->progress = progress_make(progress_records(p), position);
	lane->owner = owner_next(load_relaxed(&c->owner), (uint32_t)(seat - s->seats) + 1);
	lane->chunk_number = (uint32_t)(c - s->chunks) + 1;
	lane->chunk = c;
	store_relaxed(&c->last_ticks, ticks_read(lane->clock_kind)); /* or it would pass for the oldest */
	TEST_POINT("lane_ticks");
	store_release(&c->progress, lane->progress); /* PAIR(commit) */
	TEST_POINT("lane_begun");
	store_relaxed(&c->owner, lane->owner);
	TEST_POINT("lane_held");
	chunk_unclaim(c);
	return true;
}

enum outcome {
	DONE,    /* recorded, or not to be */
	WAKE,    /* recorded, and a reader sleeps */
	LOST,    /* the stream has stopped for want of room */
	ENDED,   /* the stream has ended, and is in the page still */
	NO_ROOM, /* not recorded, because the lane has no chunk with room */
	BROKEN,  /* its stretch was broken off: recorded or not */
	BEHIND,  /* its stretch was broken off behind the record: the lane may not know of it yet */
	LONG,    /* not to be written the shortest way */
};

static inline __attribute__((always_inline)) bool lane_fits(const struct lane *lane, size_t length)
{
	return (uintptr_t)load_relaxed(&lane->at) + length < load_relaxed(&lane->room_end);
}

/* How a record is written. What is known when the function is compiled is not in the way. */
enum way {
	BLOCKED,  /* with signals blocked: nobody comes in between */
	OPEN,     /* in a stretch, if there are any */
	SHORTEST, /* in a stretch, if the program has such code: thread.only says that they work */
};

#if RESTART
/* Where each thread's word of base/restart.h is. Not in memory that is wiped: a child may be about to use it. */
static ptrdiff_t restart_offset;
bool stretch_wide;
#endif

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
static inline __attribute__((always_inline)) enum outcome lane_record(struct lane *lane, uint32_t clock_kind,
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
		return DONE;
	state = load_relaxed(&h->state);
	if (unlikely(!(state & STATE_RUNNING))) {
		if (unlikely(state & STATE_ENDED))
			return ENDED;
		return (state & STATE_ARMED) && !stream_filters(h, id) ? LOST : DONE;
	}
	if (stream_filters(h, id))
		return DONE;
	if (way == SHORTEST && unlikely(length > load_relaxed(&lane->short_size) || (!data && length)))
		return LONG;
	/* So that nothing is left in it that would be called. */
	if (way == SHORTEST && length > COPY_INLINE)
		__builtin_unreachable();
	if (way != SHORTEST && unlikely(length > lane->data_size)) {
		length = lane->data_size;
		id |= RECORD_TRUNCATED;
	}
#if RESTART
	if (way == SHORTEST || (way == OPEN && load_relaxed(&lane->stretch_end))) {
		if (unlikely(!lane_fits(lane, length)))
			return NO_ROOM;
		if (!lane_write(lane, &restart_offset, id, data, length, address))
			return BROKEN;
		h = load_relaxed(&lane->header);
		return likely(h) && unlikely(load_relaxed(&h->waiting)) ? WAKE : DONE;
	}
#endif
	seat = load_relaxed(&lane->seat);
	c = load_relaxed(&lane->chunk);
	/* Without a chunk there is no room. */
	if (unlikely(!lane_fits(lane, length)))
		return NO_ROOM;
	store_relaxed(&seat->busy, lane->chunk_number);
	TEST_POINT("record_busy");
	fence_signal();
	if (unlikely(load_relaxed(&c->owner) != lane->owner)) {
		store_relaxed(&seat->busy, 0);
		return NO_ROOM;
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
		return DONE;
	put(at, id, (uint32_t)length, ticks, address, data);
	TEST_POINT("record_written");
	fence_signal();
	if (unlikely(load_relaxed(&lane->at) != at))
		return DONE;
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
	return unlikely(load_relaxed(&h->waiting)) ? WAKE : DONE;
}

/* Into a chunk got now, with signals blocked. */
static void lane_record_slow(struct thread *t, struct lane *lane, trace_event_id_t id, const void *data, size_t length,
                             const void *address)
{
	const struct attached *attached = load_relaxed(&lane->attached);
	struct stream stream;

	if (!attached)
		return; /* forked meanwhile, see lane_record() */
	stream = attached->stream;
	if (!lane_seat(t, lane, &stream)) {
		struct writer w = writer(t);

		if (!emit_alone(&stream, &w, false, id, data, length, address))
			emit_full(&stream);
		return;
	}
	/* A chunk just taken may be taken away again before its first record; not for ever. */
	for (int try = 0; try < 100; try++) {
		if (!lane_take(t, lane, &stream)) {
			emit_full(&stream);
			return;
		}
		switch (lane_record(lane, lane->clock_kind, BLOCKED, id, data, length, address)) {
		case DONE:
			return;
		case WAKE:
			emit_wake(stream.header);
			return;
		case LOST:
			emit_lost(&stream);
			return;
		default:
			break;
		}
	}
	emit_lost(&stream);
}

/*
 * Of a lane whose record was broken off while its seat was busy: had it been
 * committed? The chunk was its own then, and has not been taken away since.
 * Nothing is believed of the chunk's word but that it is what was to be written.
 */
static bool lane_committed(const struct lane *lane, const struct stream *s)
{
	const struct chunk *c = lane->chunk;

	return stream_chunk_memory(s, c) + progress_position(lane->progress) != lane->at &&
	       load_relaxed(&c->progress) == lane->progress;
}

#if RESTART
/*
 * Puts a lane in order, and its seat, after its stretch was broken off. True:
 * the record had been committed, for certain or because the lane says so. With signals blocked, and not in a child.
 */
static bool lane_mend(struct lane *lane, const struct stream *s, bool certain)
{
	unsigned char *memory = stream_chunk_memory(s, lane->chunk);
	bool committed = certain || lane_committed(lane, s);

	if (committed)
		lane->at = memory + progress_position(lane->progress);
	else if (memory + progress_position(lane->progress) != lane->at)
		lane->progress = progress_make(progress_records(lane->progress) - 1, (uint32_t)(lane->at - memory));
	store_release(&lane->seat->busy, 0); /* PAIR(busy) */
	return committed;
}
#endif

#if RESTART
/*
 * The next chunk for a lane as in lane_take(), but without blocking signals, which takes twice as long as everything else. So
 * up to the stretch nothing is written but one word that none but this thread changes: chunk_leave(). Who comes back here in
 * a child (H1, H2) has read what he wanted, or finds that the lane is not this stream's any more. False: the long way, which
 * begins with lane_give_back().
 *
 * Now and then the long way anyhow: it asks for the thread's name, and whether the stream's creator lives.
 */
static bool lane_change(struct thread *t, struct lane *lane)
{
	const struct attached *attached = load_relaxed(&lane->attached);
	struct chunk *chunk = load_relaxed(&lane->chunk);
	struct seat *seat = load_relaxed(&lane->seat);
	uint64_t owner = load_relaxed(&lane->owner);
	struct stream_header *h;
	struct offer offer;
	struct stream stream;
	struct writer w;

	if (!attached || !chunk || !seat || !load_relaxed(&lane->stretch_end) || t->name_age % NAME_USES == 0)
		return false;
	stream = attached->stream;
	fence_signal();
	if (load_relaxed(&lane->attached) != attached || stream.outsider)
		return false;
	chunk_leave(chunk, owner);
	w = writer(t);
	if (!take_offer(&stream, w.tid, &offer))
		return false;
	offer.word[OFFER_HELD] = owner_next(offer.word[OFFER_OWNER], (uint32_t)(seat - stream.seats) + 1);
	offer.word[OFFER_ROOM_END] = lane_room_end(&stream, (const unsigned char *)(uintptr_t)offer.word[OFFER_MEMORY]);
	put_owner((unsigned char *)&offer.writer, &w);
	if (!lane_hold(lane, attached, &offer, ticks_read(CLOCK_KIND_COUNTER), &restart_offset))
		return false;
	h = load_relaxed(&lane->header);
	if (h && load_relaxed(&h->flush_waiting)) {
		uint64_t signals = sys_signals_block();

		if (load_relaxed(&lane->attached))
			take_told(h);
		sys_signals_restore(signals);
	}
	return true;
}

/*
 * Puts in order what lane_change() had begun when it was broken off, if there is anything. What the lane had claimed it has
 * still: then it gives that back as it is, which is no other than if this thread had died there. With signals blocked.
 */
static void lane_give_back(struct lane *lane, const struct stream *s, uint32_t who)
{
	uint32_t number = lane->taking & ~LANE_LOSES;
	struct chunk *c = &s->chunks[number - 1];

	if (!number)
		return;
	if (load_relaxed(&c->claim) == who) {
		/* Read has been moved past what the next taker overwrites, if no reader moves it back before that. */
		if (lane->taking & LANE_LOSES && chunk_unread(c, load_relaxed(&c->progress)) == 0)
			fetch_or(&s->header->state, STATE_FULL | STATE_OVERRUN);
		chunk_leave(c, lane->owner);
		chunk_unclaim(c);
		lane_forget(lane);
	}
	lane->taking = 0;
}
#endif

/* What an outcome asks for. The thread stays inside: until then nobody unmaps the stream. */
static void lane_finish(enum outcome outcome, struct thread *t, struct lane *lane, trace_event_id_t id,
                        const void *data, size_t length, const void *address)
{
	struct attached *attached;
	uint64_t signals;

	if (outcome == DONE)
		return;
#if RESTART
	if (outcome == NO_ROOM && lane_change(t, lane)) {
		outcome = lane_record(lane, lane->clock_kind, OPEN, id, data, length, address);
		if (outcome == DONE)
			return;
	}
#endif
	signals = sys_signals_block();
	attached = load_relaxed(&lane->attached);
	if (!attached) {
		/* Forked meanwhile, see lane_record(). */
		sys_signals_restore(signals);
		return;
	}
#if RESTART
	lane_give_back(lane, &attached->stream, load_relaxed(&t->tid));
#endif
	if ((outcome == NO_ROOM || outcome == LOST) && self_peek())
		attach_check(self_peek(), attached);
	if (outcome == ENDED && self_peek())
		attach_ended(self_peek(), attached, (int)(lane - t->lane));
#if RESTART
	if (outcome == BROKEN || outcome == BEHIND) {
		if (!lane->at)
			outcome = DONE; /* taken for abandoned, by a handler's trace point (H17) */
		else if (lane_mend(lane, &attached->stream, outcome == BEHIND))
			outcome = load_relaxed(&lane->header->waiting) ? WAKE : DONE;
		else
			outcome = lane_record(lane, lane->clock_kind, BLOCKED, id, data, length, address);
	}
#endif
	if (outcome == WAKE)
		emit_wake(attached->stream.header);
	else if (outcome == LOST)
		emit_lost(&attached->stream);
	else if (outcome == NO_ROOM)
		lane_record_slow(t, lane, id, data, length, address);
	sys_signals_restore(signals);
}

/*
 * A trace point was left by longjmp() out of a handler, or is still going on
 * below us on the stack? The stack grows downwards, and a handler runs deeper
 * than what it has interrupted, or on its own stack, where nothing can be told (H17).
 */
static bool abandoned(const struct thread *t, uintptr_t frame)
{
	return frame >= load_relaxed(&t->ready) && !sys_on_signal_stack();
}

static void recover_abandoned(struct thread *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct lane *lane = load_relaxed(&t->order[i]);

		/* The record that was begun is given up, and counted, or it is there. */
		if (lane->seat && load_relaxed(&lane->seat->busy)) {
			bool committed = lane_committed(lane, &lane->attached->stream);

			store_release(&lane->seat->busy, 0); /* PAIR(busy) */
			if (!committed)
				emit_lost(&lane->attached->stream);
		}
#if RESTART
		lane_give_back(lane, &lane->attached->stream, load_relaxed(&t->tid));
#endif
		/* The lane may not know how far it has come: no more into this chunk. */
		if (lane->chunk)
			chunk_leave(lane->chunk, lane->owner);
		lane_forget(lane);
	}
	store_relaxed(&t->depth, 0);
	store_relaxed(&t->ready, (uintptr_t)THREAD_READY);
}

/* The long way through a trace point, with signals blocked. */
static __attribute__((noinline)) void record_slow(trace_event_id_t id, const void *data, size_t length,
                                                  const void *address, uintptr_t frame)
{
	int error;
	struct self *self = self_get(false, &error);
	struct thread *t = thread_self;
	const struct process *process = self ? self_process(self) : NULL;
	struct procpage *page = process ? process->page : NULL;
	uint32_t depth;
	bool ready;

	if (!page)
		return;
	if (!t || !t->page_change) {
		/* New, or in a forked child, where the block was wiped. */
		if (load_relaxed(&page->sum.vacant) == ~UINT32_C(0))
			return;
#if RESTART
		stretch_wide = __builtin_cpu_supports("avx");
		store_relaxed(&restart_offset, restart_find());
#endif
		t = self_thread(self);
		if (!t)
			return;
	}
	if (load_relaxed(&t->ready) > THREAD_READY && abandoned(t, frame))
		recover_abandoned(t);

	ready = load_relaxed(&t->ready) == THREAD_READY;
	depth = t->depth;
	store_relaxed(&t->depth, depth + 1);
	/* Inside, before the look at the page. Against attach_detach(). */
	fence_full();
	if (ready) {
		/* Level 0: make the lanes right and use them. Handlers keep away from them. */
		store_relaxed(&t->ready, frame);
		fence_signal();
		TEST_POINT("slow_inside");
		if (t->wait && load_relaxed(&page->sum.change) == t->change + 1)
			t->wait--;
		else if (load_relaxed(&page->sum.change) != t->change)
			attach_update(self, page, t);
		for (uint32_t i = 0; i < t->count; i++) {
			struct lane *lane = load_relaxed(&t->order[i]);

			lane_finish(lane_record(lane, lane->clock_kind, BLOCKED, id, data, length, address), t, lane, id, data,
			            length, address);
		}
		leave(t);
	} else {
		/* Inside another trace point of this thread (H4), or without membarrier(): through no lane. */
		struct writer w = writer(t);

		/* Not inside another one: then it is a thread that never has lanes. */
		if (depth == 0 && process->locked)
			attach_renew(self, page, t);
		TEST_POINT("slow_nested");
		for (int i = 0; i < PAGE_SLOTS; i++) {
			bool taken = procpage_taken(load_acquire(&page->word[i / 64]), i); /* PAIR(slot) */
			struct attached *a = taken ? attach_slot(self, page, i) : NULL;
			struct stream_header *h = a ? a->stream.header : NULL;
			uint32_t state = h ? load_relaxed(&h->state) : 0;

			if (a && depth == 0 && process->locked)
				attach_check(self, a);
			if (a && depth == 0 && (state & STATE_ENDED))
				attach_ended(self, a, i);
			if (!(state & (STATE_RUNNING | STATE_ARMED)) || stream_filters(h, id))
				continue;
			if (state & STATE_ARMED)
				emit_lost(&a->stream);
			else if (!emit_alone(&a->stream, &w, false, id, data, length, address))
				emit_full(&a->stream);
		}
	}
	store_release(&t->depth, depth); /* PAIR(inside) */
	TEST_POINT("slow_outside");
}

static __attribute__((noinline, cold)) void record_blocked(trace_event_id_t id, const void *data, size_t length,
                                                     const void *address, uintptr_t frame)
{
	uint64_t signals;

	if (self_waits())
		return;
	if (!data)
		length = 0;
	signals = sys_signals_block();
	record_slow(id, data, length, address, frame);
	sys_signals_restore(signals);
}

#if RESTART

/* What a lane has to do with an event that may be written in one stretch with others. */
enum part {
	PART_NONE, /* it is not in use, or does not run, or filters it */
	PART_TOGETHER,
	PART_ALONE, /* to be found out */
};

static inline __attribute__((always_inline)) enum part lane_part(const struct lane *lane, trace_event_id_t id, size_t length)
{
	const struct stream_header *h = lane ? load_relaxed(&lane->header) : NULL;
	uint32_t state = h ? load_relaxed(&h->state) : 0;

	if (unlikely(!(state & STATE_RUNNING)))
		return state & (STATE_ARMED | STATE_ENDED) ? PART_ALONE : PART_NONE;
	if (stream_filters(h, id))
		return PART_NONE;
	return likely(lane_fits(lane, length)) ? PART_TOGETHER : PART_ALONE;
}

/* If all lanes are to be written together: how many they are. Else 0. */
static inline __attribute__((always_inline)) uint32_t all_together(const struct thread *t, trace_event_id_t id, size_t length)
{
	uint32_t count = load_relaxed(&t->count);

	if (unlikely(length >= load_relaxed(&t->together_end) || count > TOGETHER_MAX))
		return 0;
	for (uint32_t i = 0; i < count; i++)
		if (unlikely(lane_part(load_relaxed(&t->order[i]), id, length) != PART_TOGETHER))
			return 0;
	return count;
}

/* Those that are, from number `from` on, up to the first that is alone: its number, and how many they are. */
static uint32_t collect_together(const struct thread *t, uint32_t from, trace_event_id_t id, size_t length,
                                 struct lane *lanes[TOGETHER_MAX], uint32_t *n)
{
	uint32_t i = from;

	*n = 0;
	if (length >= load_relaxed(&t->together_end))
		return i;
	for (; i < load_relaxed(&t->count) && *n < TOGETHER_MAX; i++) {
		struct lane *lane = load_relaxed(&t->order[i]);
		enum part part = lane_part(lane, id, length);

		if (part == PART_ALONE)
			break;
		if (part == PART_TOGETHER)
			lanes[(*n)++] = lane;
	}
	return i;
}

/* The rest of a trace point for lanes that were written together: whom to wake, or what has become of each. */
static __attribute__((noinline, cold)) void finish_together(enum together_outcome together_outcome, struct lane *const *first,
                                                            struct lane *const *end, struct lane *const *written, struct thread *t,
                                                            trace_event_id_t id, const void *data, size_t length,
                                                            const void *address)
{
	for (struct lane *const *l = first; l < end; l++) {
		struct lane *lane = load_relaxed(l);
		struct stream_header *h = lane ? load_relaxed(&lane->header) : NULL;
		enum outcome outcome = DONE;

		if (!h)
			continue; /* forked meanwhile, see lane_record() */
		if (together_outcome == TOGETHER_BROKEN)
			outcome = l < written ? BEHIND : BROKEN;
		else if (load_relaxed(&h->waiting))
			outcome = WAKE;
		lane_finish(outcome, t, lane, id, data, length, address);
	}
}

static inline __attribute__((always_inline)) void record_together(struct lane *const *lanes, uint32_t n, trace_event_id_t id,
                                                                  const void *data, size_t length, const void *address,
                                                                  struct thread *t)
{
	struct lane *const *volatile written = lanes;
	enum together_outcome outcome = lanes_write(lanes, lanes + n, &written, &restart_offset, id, data, length, address);

	if (unlikely(outcome != TOGETHER_WRITTEN))
		finish_together(outcome, lanes, lanes + n, written, t, id, data, length, address);
}

#endif

/* With ready set: all lanes, in their order. Who reads one of them may then look into those before it, as for what has led to an event. */
static __attribute__((noinline)) void record_each(trace_event_id_t id, const void *data, size_t length, const void *address,
                                                  struct thread *t)
{
	for (uint32_t i = 0; i < t->count;) {
		struct lane *lane;
#if RESTART
		struct lane *lanes[TOGETHER_MAX];
		uint32_t n;

		i = collect_together(t, i, id, length, lanes, &n);
		if (n) {
			record_together(lanes, n, id, data, length, address, t);
			continue;
		}
		if (i >= t->count)
			break;
#endif
		lane = load_relaxed(&t->order[i++]);
		if (lane)
			lane_finish(lane_record(lane, lane->clock_kind, OPEN, id, data, length, address), t, lane, id, data,
			            length, address);
	}
}

/* The same, shorter where all go together, and then the thread is outside. */
static __attribute__((noinline)) void record_lanes(trace_event_id_t id, const void *data, size_t length,
                                                   const void *address, struct thread *t)
{
#if RESTART
	uint32_t n = all_together(t, id, length);

	if (likely(n))
		record_together(t->order, n, id, data, length, address, t);
	else
#endif
		record_each(id, data, length, address, t);
	leave(t);
}

/* The rest of a trace point with one lane. */
static __attribute__((noinline, cold)) void finish_lane(trace_event_id_t id, const void *data, size_t length,
                                                  const void *address, struct thread *t, enum outcome outcome)
{
	struct lane *lane = load_relaxed(&t->only);

	if (outcome == LONG) {
		record_lanes(id, data, data ? length : 0, address, t);
		return;
	}
	if (lane)
		lane_finish(outcome, t, lane, id, data, length, address);
	leave(t);
}

/* Where this function's caller stands on the stack, without a frame pointer. */
static inline __attribute__((always_inline)) uintptr_t stack_address(void)
{
#if defined __x86_64__
	uintptr_t sp;

	__asm__ __volatile__("movq %%rsp, %0" : "=r"(sp));
	return sp;
#else
	return (uintptr_t)__builtin_frame_address(0);
#endif
}

/*
 * Do all streams that there are filter it out? Not inside, so that no stream is looked at: it is the thread's copy. A handler may
 * change that meanwhile, and a fork wipe it: then page_change is null, or no bit is set, or the change is another.
 */
static inline __attribute__((always_inline)) bool nobody_wants(const struct thread *t, trace_event_id_t id)
{
	const uint32_t *change = load_relaxed(&t->page_change);

	return change && load_relaxed(change) == load_relaxed(&t->change) && load_relaxed(&t->filter[id / 32]) >> id % 32 & 1;
}

/*
 * The short way has no call that it comes back from, so that it needs no
 * stack: everything else is left to functions that end the trace point.
 */
void(posix_trace_event)(trace_event_id_t id, const void *restrict data, size_t length)
{
	const void *address = __builtin_return_address(0);
	uintptr_t frame = stack_address();
	struct thread *t = thread_self;
	const uint32_t *change;
	struct lane *lane;
	enum outcome outcome;

	/* Ids that no function has given, and those of system events, have no effect. */
	if (unlikely(id - POSIX_TRACE_UNNAMED_USEREVENT > load_relaxed(&self_names)))
		return;
	if (unlikely(!t)) {
		record_blocked(id, data, length, address, frame);
		return;
	}
	if (unlikely(t->filters) && nobody_wants(t, id))
		return;
	if (unlikely(load_relaxed(&t->ready) != THREAD_READY)) {
		record_blocked(id, data, length, address, frame);
		return;
	}
	store_relaxed(&t->ready, frame);
	TEST_POINT("event_inside");
	fence_signal();
	change = load_relaxed(&t->page_change);
	if (unlikely(!change || load_relaxed(change) != t->change)) {
		store_relaxed(&t->ready, (uintptr_t)THREAD_READY);
		record_blocked(id, data, length, address, frame);
		return;
	}
	lane = load_relaxed(&t->only);
	if (unlikely(!lane)) {
		record_lanes(id, data, data ? length : 0, address, t);
		return;
	}
	outcome = lane_record(lane, CLOCK_KIND_COUNTER, SHORTEST, id, data, length, address);
	if (unlikely(outcome != DONE)) {
		finish_lane(id, data, length, address, t, outcome);
		return;
	}
	leave(t);
}
