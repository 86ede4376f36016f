/*
 * tracepoint.c - the trace point
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
#include <trace.h>

#include "base/atomic.h"
#include "base/likely.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "record/attach.h"
#include "record/emit.h"
#include "record/lane.h"
#include "record/self.h"
#include "record/stretch.h"

/* Step 9. */
static inline __attribute__((always_inline)) void leave(struct thread *t)
{
	fence_signal();
	store_release(&t->ready, (uintptr_t)THREAD_READY); /* PAIR(inside) */
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
	for (uint32_t i = 0; i < t->count; i++)
		lane_abandon(t, load_relaxed(&t->order[i]));
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
		stretch_prepare();
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
			enum lane_outcome outcome = lane_record(lane, lane->clock_kind, WAY_BLOCKED, id, data, length, address);

			if (outcome != LANE_DONE)
				lane_finish(outcome, t, lane, id, data, length, address);
		}
		leave(t);
	} else {
		/* Inside another trace point of this thread (H4), or without membarrier(): through no lane. */
		struct writer w = lane_writer(t);

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
		enum lane_outcome outcome = LANE_DONE;

		if (!h)
			continue; /* forked meanwhile, see lane_record() */
		if (together_outcome == TOGETHER_BROKEN)
			outcome = l < written ? LANE_BEHIND : LANE_BROKEN;
		else if (load_relaxed(&h->waiting))
			outcome = LANE_WAKE;
		if (outcome != LANE_DONE)
			lane_finish(outcome, t, lane, id, data, length, address);
	}
}

static inline __attribute__((always_inline)) void record_together(struct lane *const *lanes, uint32_t n, trace_event_id_t id,
                                                                  const void *data, size_t length, const void *address,
                                                                  struct thread *t)
{
	struct lane *const *volatile written = lanes;
	enum together_outcome outcome = lanes_write(lanes, lanes + n, &written, id, data, length, address);

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
		if (lane) {
			enum lane_outcome outcome = lane_record(lane, lane->clock_kind, WAY_OPEN, id, data, length, address);

			if (unlikely(outcome != LANE_DONE))
				lane_finish(outcome, t, lane, id, data, length, address);
		}
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
                                                        const void *address, struct thread *t, enum lane_outcome outcome)
{
	struct lane *lane = load_relaxed(&t->only);

	if (outcome == LANE_LONG) {
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
	enum lane_outcome outcome;

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
	outcome = lane_record(lane, CLOCK_KIND_COUNTER, WAY_SHORTEST, id, data, length, address);
	if (unlikely(outcome != LANE_DONE)) {
		finish_lane(id, data, length, address, t, outcome);
		return;
	}
	leave(t);
}
