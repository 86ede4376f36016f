/*
 * tracepoint.c - the trace point
 *
 * The fast path is for a thread that is in no other trace point, in a stream where it holds a chunk with room. It uses
 * no locked instruction, no system call and no lock. Its steps, and what they are ordered against:
 *
 *   1. ready = frame         from now on this thread is inside; a handler's trace point takes the slow path. Against
 *                            attach_detach().
 *   2. page->sum.generation  is unchanged: the writers are up to date
 *   3. running? filtered out?
 *   4. busy = chunk          in this thread's seat; then: is the chunk still ours? Against chunk_revoke(), which
 *                            changes the owner, passes a barrier on all processors and looks at busy.
 *   5. ticks                 read while busy: a reader that has passed its barrier at time T and finds no thread busy
 *                            sees all events before T
 *   6. the record            before 5 or after it
 *   7. commit                one store of the chunk's progress; then busy = 0
 *   8. waiting?              wakes a reader that sleeps. Against the reader's barrier.
 *   9. ready again
 *
 * Everything else is the slow path: the first event in a stream, a change of the page, a forked child, a trace point
 * inside a trace point, now and then a full chunk. It blocks signals, uses locked instructions and sometimes system
 * calls, and takes about a microsecond.
 *
 * Where the machine has restartable sequences, steps 4 to 7 are one (record_rseq.h): no signal handler returns into it,
 * and no child of a handler (base/rseq.h). With several streams it is one sequence for all of them, which reads the
 * counter once. Most of the time a full chunk is replaced in a restartable sequence, too: writer_change().
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
#include "record/writer.h"
#include "record/self.h"
#include "record/record_rseq.h"

/* Step 9. */
static inline __attribute__((always_inline)) void leave(struct thread *t)
{
	fence_signal();
	store_release(&t->ready, (uintptr_t)THREAD_READY); /* PAIR(inside) */
}

/*
 * Returns whether a trace point was left by longjmp() out of a handler, as opposed to still going on below us on the
 * stack. The stack grows downwards, and a handler runs deeper than what it has interrupted. On a signal stack of its
 * own the two cases cannot be told apart (H17).
 */
static bool abandoned(const struct thread *t, uintptr_t frame)
{
	return frame >= load_relaxed(&t->ready) && !sys_on_signal_stack();
}

static void recover_abandoned(struct thread *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		writer_abandon(t, load_relaxed(&t->order[i]));
	store_relaxed(&t->depth, 0);
	store_relaxed(&t->ready, (uintptr_t)THREAD_READY);
}

/*
 * Several streams may take turns: the next one is started before the current one is stopped (posixtrace record
 * --rotate). A thread that looks at the next one before the start and at the current one after the stop finds neither
 * running. So if two or more streams have not taken an event, because they do not run or filter it out, the trace point
 * looks at them again, until none of them has been stopped meanwhile: then there was a moment when none of them wanted
 * the event. A single stream is not looked at again.
 *
 * A set of streams is a word: bit n stands for number n of thread.order, or for slot n of the page. Streams from
 * SEAM_END on are in no set.
 */
#define SEAM_END 63
#define SEAM_ALL UINT64_MAX

/* Each further look is caused by a further stop. A hostile controller could go on without end (H18). */
#define SEAM_LOOKS 1000

static inline uint64_t seam_bit(uint32_t n)
{
	return n < SEAM_END ? UINT64_C(1) << n : 0;
}

/* Returns whether stream n is to be looked at. The first time, all are. */
static inline bool seam_has(uint64_t among, uint32_t n)
{
	return among == SEAM_ALL || (seam_bit(n) & among);
}

static inline bool seam_several(uint64_t missed)
{
	return missed & (missed - 1);
}

/* What a trace point records, and in which thread and process. */
struct call {
	trace_event_id_t id;
	const void *data;
	size_t length;
	const void *address;
	struct thread *t;
	struct self *self;
	const struct process *process;
	uint32_t depth;
};

/* Looks once at the streams of a set: records the event, and returns the streams that do not have it. */
typedef uint64_t seam_look(const struct call *call, uint64_t among);
typedef const struct stream_header *seam_stream(const struct call *call, uint32_t n);

static uint32_t seam_stops(const struct call *call, seam_stream *stream, uint64_t set)
{
	uint32_t stops = 0;

	for (; set; set &= set - 1) {
		const struct stream_header *h = stream(call, (uint32_t)__builtin_ctzll(set));

		stops += h ? load_relaxed(&h->stops) : 0;
	}
	return stops;
}

static __attribute__((noinline)) void seam_again(const struct call *call, seam_look *look, seam_stream *stream,
                                                 uint64_t missed)
{
	for (int i = 0; i < SEAM_LOOKS && seam_several(missed); i++) {
		uint64_t set = missed;
		uint32_t stops;

		/*
		 * PAIR(seam): if a stream was seen stopped, the one that was started before the stop is seen running.
		 */
		fence_acquire();
		stops = seam_stops(call, stream, set);
		fence_acquire();
		TEST_POINT("seam_again");
		missed = look(call, set);
		fence_acquire(); /* PAIR(seam): a stream that was seen stopped is seen with its new count */
		if (seam_stops(call, stream, set) == stops)
			return;
	}
}

/*
 * Returns the number in the stream's header: streams that take turns have the same number, all others have 0. Among
 * streams that take turns, each event is recorded or counted as lost only once, although two of them run for a moment.
 * A thread that has recorded the event in one of these streams leaves out the others, also a stream that has only just
 * started.
 */
static uint32_t turns_number(const struct call *call, seam_stream *stream, uint32_t n)
{
	const struct stream_header *h = stream(call, n);

	return h ? load_relaxed(&h->turns) : 0;
}

/* Returns whether one of the streams in `took` has the same number as stream n. */
static bool turns_taken(const struct call *call, seam_stream *stream, uint64_t took, uint32_t n)
{
	uint32_t turns = took ? turns_number(call, stream, n) : 0;

	for (; turns && took; took &= took - 1)
		if (turns_number(call, stream, (uint32_t)__builtin_ctzll(took)) == turns)
			return true;
	return false;
}

/*
 * Returns the streams in `missed` that are to be looked at again: all but those that take turns with a stream that took
 * the event.
 */
static uint64_t turns_missed(const struct call *call, seam_stream *stream, uint64_t took, uint64_t missed)
{
	uint64_t again = missed;

	for (uint64_t set = missed; took && set; set &= set - 1)
		if (turns_taken(call, stream, took, (uint32_t)__builtin_ctzll(set)))
			again &= ~(set & -set);
	return again;
}

static const struct stream_header *writer_stream(const struct call *call, uint32_t n)
{
	const struct writer *writer = n < load_relaxed(&call->t->count) ? load_relaxed(&call->t->order[n]) : NULL;

	return writer ? load_relaxed(&writer->header) : NULL;
}

static const struct stream_header *slot_stream(const struct call *call, uint32_t n)
{
	const struct attached *a = n < PAGE_SLOTS ? load_acquire(&call->self->attached[n]) : NULL; /* PAIR(attached) */

	return a ? a->stream.header : NULL;
}

/* Records through the writers in `among`, with ready set and signals blocked. Returns the streams to look at again. */
static uint64_t record_writers_blocked(const struct call *call, uint64_t among)
{
	struct thread *t = call->t;
	uint64_t missed = 0, took = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		struct writer *writer = load_relaxed(&t->order[i]);
		enum writer_outcome outcome;

		if (!seam_has(among, i) || turns_taken(call, writer_stream, took, i))
			continue;
		outcome = writer_record(writer, writer->clock_kind, PATH_SLOW, call->id, call->data, call->length,
		                        call->address);
		if (outcome != WRITER_DONE &&
		    !writer_finish(outcome, t, writer, call->id, call->data, call->length, call->address))
			missed |= seam_bit(i);
		else
			took |= seam_bit(i);
		TEST_POINT("slow_looked");
	}
	return turns_missed(call, writer_stream, took, missed);
}

/* Records without writers, in the slots in `among`. Returns the streams to look at again. */
static uint64_t record_slots(const struct call *call, uint64_t among)
{
	struct self *self = call->self;
	struct procpage *page = call->process->page;
	struct owner_id w = writer_owner_id(call->t);
	uint64_t missed = 0, took = 0;
	int unmapped = 0;

	for (int i = 0; i < PAGE_SLOTS; i++) {
		bool taken = procpage_taken(load_acquire(&page->word[i / 64]), i); /* PAIR(slot) */
		bool look = taken && seam_has(among, (uint32_t)i) &&
		            (unmapped < ATTACH_MISSES || load_relaxed(&self->attached[i]));
		struct attached *a = look ? attach_slot(self, page, i) : NULL;
		struct stream_header *h = a ? a->stream.header : NULL;
		uint32_t state = h ? load_relaxed(&h->state) : 0;
		enum emit_outcome outcome;

		unmapped += look && !a;
		if (!a)
			continue;
		if (call->depth == 0 && call->process->locked)
			attach_check(self, a);
		if (call->depth == 0 && (state & STATE_ENDED))
			attach_ended(self, a, i);
		if (turns_taken(call, slot_stream, took, (uint32_t)i))
			continue;
		outcome = EMIT_DONE;
		if (!(state & (STATE_RUNNING | STATE_LOSING)) || stream_filters(h, call->id))
			outcome = EMIT_MISSED;
		else if (state & STATE_LOSING)
			emit_lost(&a->stream);
		else
			outcome = emit_alone(&a->stream, &w, false, call->id, call->data, call->length, call->address);
		if (outcome == EMIT_MISSED || (outcome == EMIT_NO_ROOM && !emit_full(&a->stream)))
			missed |= seam_bit((uint32_t)i);
		else
			took |= seam_bit((uint32_t)i);
		TEST_POINT("slow_slot");
	}
	return turns_missed(call, slot_stream, took, missed);
}

/* Takes the slow path through a trace point, with signals blocked. */
static __attribute__((noinline)) void record_slow(trace_event_id_t id, const void *data, size_t length,
                                                  const void *address, uintptr_t frame)
{
	int error;
	struct self *self = self_get(false, &error);
	struct thread *t = thread_self;
	const struct process *process = self ? self_process(self) : NULL;
	struct procpage *page = process ? process->page : NULL;
	struct call call = { id, data, length, address, t, self, process, 0 };
	bool ready;

	if (!page)
		return;
	if (!t || !t->page_generation) {
		/* The thread is new, or in a forked child, where the block was wiped. */
		if (load_relaxed(&page->sum.vacant) == ~UINT32_C(0))
			return;
		rseq_prepare();
		t = self_thread(self);
		if (!t)
			return;
		call.t = t;
	}
	if (load_relaxed(&t->ready) > THREAD_READY && abandoned(t, frame))
		recover_abandoned(t);

	ready = load_relaxed(&t->ready) == THREAD_READY;
	call.depth = t->depth;
	store_relaxed(&t->depth, call.depth + 1);
	/* The thread is inside before it looks at the page. Against attach_detach(). */
	fence_full();
	if (ready) {
		/* Level 0: update the writers and use them. Handlers do not touch them. */
		store_relaxed(&t->ready, frame);
		fence_signal();
		TEST_POINT("slow_inside");
		if (t->wait && load_relaxed(&page->sum.generation) == t->generation + 1)
			t->wait--;
		else if (load_relaxed(&page->sum.generation) != t->generation)
			attach_update(self, page, t);
		seam_again(&call, record_writers_blocked, writer_stream, record_writers_blocked(&call, SEAM_ALL));
		leave(t);
	} else {
		/* Inside another trace point of this thread (H4), or without membarrier(): through no writer. */
		/* At depth 0 only without membarrier(): such a thread never has writers. */
		if (call.depth == 0 && process->locked)
			attach_renew(self, page, t);
		TEST_POINT("slow_nested");
		seam_again(&call, record_slots, slot_stream, record_slots(&call, SEAM_ALL));
	}
	store_release(&t->depth, call.depth); /* PAIR(inside) */
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

#if HAVE_RSEQ

/* How a writer gets an event that may be written to several writers in one restartable sequence. */
enum part {
	PART_NONE, /* not at all: the stream is not in use, does not run, or filters it out */
	PART_TOGETHER,
	PART_ALONE, /* by itself: what to do remains to be found out */
};

static inline __attribute__((always_inline)) enum part writer_part(const struct writer *writer, trace_event_id_t id,
                                                                   size_t length)
{
	const struct stream_header *h = writer ? load_relaxed(&writer->header) : NULL;
	uint32_t state = h ? load_relaxed(&h->state) : 0;

	if (unlikely(!(state & STATE_RUNNING)))
		return state & (STATE_LOSING | STATE_ENDED) ? PART_ALONE : PART_NONE;
	if (stream_filters(h, id))
		return PART_NONE;
	return likely(writer_fits(writer, length)) ? PART_TOGETHER : PART_ALONE;
}

/* Returns how many writers can be written together, counting from the first up to one that cannot. */
static inline __attribute__((always_inline)) uint32_t first_together(const struct thread *t, trace_event_id_t id,
                                                                     size_t length)
{
	uint32_t count = load_relaxed(&t->count), n = 0;

	if (unlikely(length >= load_relaxed(&t->together_end) || count > load_relaxed(&t->together_most)))
		return 0;
	while (n < count && likely(writer_part(load_relaxed(&t->order[n]), id, length) == PART_TOGETHER))
		n++;
	return n;
}

/* Writers to be written together, and the set of their numbers. */
struct together {
	struct writer *writers[TOGETHER_MAX];
	uint64_t set; /* in the same order */
	uint32_t n;
	uint64_t missed; /* writers that were looked at and do not take the event */
};

/*
 * Collects writers that can be written together, from number `from` on, up to the first that must be written by itself.
 * Returns the number of the first writer that was not looked at.
 */
static uint32_t collect_together(const struct call *call, uint32_t from, uint64_t among, uint64_t took,
                                 struct together *together)
{
	const struct thread *t = call->t;
	trace_event_id_t id = call->id;
	size_t length = call->length;
	uint32_t i = from, most = load_relaxed(&t->together_most);

	together->n = 0;
	together->set = 0;
	together->missed = 0;
	if (length >= load_relaxed(&t->together_end))
		return i;
	for (; i < load_relaxed(&t->count) && together->n < most; i++) {
		struct writer *writer = load_relaxed(&t->order[i]);
		enum part part;

		if (!seam_has(among, i) || turns_taken(call, writer_stream, took, i))
			continue;
		part = writer_part(writer, id, length);
		if (part == PART_ALONE)
			break;
		if (part == PART_NONE) {
			together->missed |= seam_bit(i);
			continue;
		}
		together->writers[together->n++] = writer;
		together->set |= seam_bit(i);
	}
	return i;
}

/*
 * Finishes a trace point for writers that were written together: wakes readers, or finishes each writer by itself if
 * the sequence was aborted. Returns a set: bit n means that the n-th writer has missed the event.
 */
static __attribute__((noinline, cold)) uint32_t finish_together(enum together_outcome together_outcome,
                                                                struct writer *const *first, struct writer *const *end,
                                                                struct writer *const *written, struct thread *t,
                                                                trace_event_id_t id, const void *data, size_t length,
                                                                const void *address)
{
	uint32_t missed = 0;

	for (struct writer *const *l = first; l < end; l++) {
		struct writer *writer = load_relaxed(l);
		struct stream_header *h = writer ? load_relaxed(&writer->header) : NULL;
		enum writer_outcome outcome = WRITER_DONE;

		if (!h)
			continue; /* forked meanwhile, see writer_record() */
		if (together_outcome == TOGETHER_BROKEN)
			outcome = l < written ? WRITER_ABORTED_BEHIND : WRITER_ABORTED;
		else if (load_relaxed(&h->waiting))
			outcome = WRITER_WAKE;
		if (outcome != WRITER_DONE && !writer_finish(outcome, t, writer, id, data, length, address))
			missed |= UINT32_C(1) << (l - first);
	}
	return missed;
}

/* Records through several writers in one restartable sequence. Returns what finish_together() returns. */
static inline __attribute__((always_inline)) uint32_t record_together(struct writer *const *writers, uint32_t n,
                                                                      trace_event_id_t id, const void *data,
                                                                      size_t length, const void *address,
                                                                      struct thread *t)
{
	struct writer *const *volatile written = writers;
	enum together_outcome outcome = writers_write(writers, writers + n, &written, id, data, length, address);

	if (likely(outcome == TOGETHER_WRITTEN))
		return 0;
	return finish_together(outcome, writers, writers + n, written, t, id, data, length, address);
}

#endif

/*
 * Records through the writers in `among`, with ready set. Returns the streams to look at again. The order is that of
 * thread.order: a reader of one stream (a trigger) can rely on the event being in the streams before it already.
 */
static __attribute__((noinline)) uint64_t record_each(const struct call *call, uint64_t among)
{
	struct thread *t = call->t;
	uint64_t missed = 0, took = 0;

	for (uint32_t i = 0; i < t->count;) {
		enum writer_outcome outcome;
		struct writer *writer;
#if HAVE_RSEQ
		struct together together;
		uint32_t missing;

		i = collect_together(call, i, among, took, &together);
		missed |= together.missed;
		if (together.n) {
			missing = record_together(together.writers, together.n, call->id, call->data, call->length,
			                          call->address, t);
			took |= together.set;
			for (; unlikely(missing); missing >>= 1, together.set &= together.set - 1)
				missed |= missing & 1 ? together.set & -together.set : 0;
			took &= ~missed;
			continue;
		}
		if (i >= t->count)
			break;
#endif
		writer = seam_has(among, i) && !turns_taken(call, writer_stream, took, i)
		         ? load_relaxed(&t->order[i])
		         : NULL;
		i++;
		if (!writer)
			continue;
		outcome = writer_record(writer, writer->clock_kind, PATH_FAST, call->id, call->data, call->length,
		                        call->address);
		if (unlikely(outcome != WRITER_DONE) &&
		    !writer_finish(outcome, t, writer, call->id, call->data, call->length, call->address))
			missed |= seam_bit(i - 1);
		else
			took |= seam_bit(i - 1);
		TEST_POINT("record_alone");
	}
	return turns_missed(call, writer_stream, took, missed);
}

#if HAVE_RSEQ

/*
 * Returns the set of writers that have missed the event: `before`, plus the writers that `bits` names. Bit n of `bits`
 * is the n-th writer that is not in `before`.
 */
static __attribute__((noinline, cold)) uint64_t missed_of(uint64_t before, uint32_t bits)
{
	uint64_t missed = before;

	for (uint64_t others = ~before; bits; bits >>= 1, others &= others - 1)
		missed |= bits & 1 ? others & -others : 0;
	return missed;
}

#endif

/* Records through all writers, one after the other. Returns the streams to look at again. */
static __attribute__((noinline)) uint64_t record_all(trace_event_id_t id, const void *data, size_t length,
                                                     const void *address, struct thread *t)
{
	const struct call call = { id, data, length, address, t, NULL, NULL, 0 };

	return record_each(&call, SEAM_ALL);
}

/*
 * Does what record_all() does, but faster if each writer can be written together with the others or does not want the
 * event. The first n writers are known to be such that they can be written together.
 */
static inline __attribute__((always_inline)) uint64_t record_first(trace_event_id_t id, const void *data, size_t length,
                                                                   const void *address, struct thread *t, uint32_t n)
{
#if HAVE_RSEQ
	struct writer *writers[TOGETHER_MAX];
	uint32_t count = load_relaxed(&t->count), bits;
	uint64_t missed = 0;

	if (unlikely(length >= load_relaxed(&t->together_end) || count > TOGETHER_MAX))
		return record_all(id, data, length, address, t);
	for (uint32_t i = 0; i < n; i++)
		writers[i] = load_relaxed(&t->order[i]);
	for (uint32_t i = n; i < count; i++) {
		struct writer *writer = load_relaxed(&t->order[i]);
		enum part part = writer_part(writer, id, length);

		if (part == PART_NONE)
			missed |= seam_bit(i);
		else if (likely(part == PART_TOGETHER))
			writers[n++] = writer;
		else
			return record_all(id, data, length, address, t);
	}
	if (!n)
		return missed;
	if (unlikely(n > load_relaxed(&t->together_most)))
		return record_all(id, data, length, address, t);
	bits = record_together(writers, n, id, data, length, address, t);
	return unlikely(bits) ? missed_of(missed, bits) : missed;
#else
	(void)n;
	return record_all(id, data, length, address, t);
#endif
}

/* Looks again at the streams, because some were stopped since the thread last counted their stops. */
static __attribute__((noinline, cold)) void record_again(trace_event_id_t id, const void *data, size_t length,
                                                         const void *address, struct thread *t, uint64_t missed)
{
	const struct call call = { id, data, length, address, t, NULL, NULL, 0 };

	store_relaxed(&t->stops, thread_stops(t));
	/* All writers were looked at, so a writer that has not missed the event took it. */
	missed = turns_missed(&call, writer_stream, (seam_bit(load_relaxed(&t->count)) - 1) & ~missed, missed);
	seam_again(&call, record_each, writer_stream, missed);
}

/*
 * Records where not all writers can be written together, though perhaps the first n. The stops were counted before this
 * look at the streams: by an earlier event, or when the writers were made. So one look is enough if no stream was
 * stopped since, which is the normal case. If no stream runs, nothing else has to be done.
 */
static __attribute__((noinline)) void record_some(trace_event_id_t id, const void *data, size_t length,
                                                  const void *address, struct thread *t, uint32_t n)
{
	uint64_t missed = record_first(id, data, length, address, t, n);

	if (seam_several(missed)) {
		fence_acquire(); /* PAIR(seam): a stream that was seen stopped is seen with its new count */
		if (unlikely(thread_stops(t) != load_relaxed(&t->stops)))
			record_again(id, data, length, address, t, missed);
	}
	leave(t);
}

/*
 * Returns whether no writer's stream runs or loses events. The look at each state is followed by one at the stream's
 * stops. One stream was started before the last stop that the thread has counted: either it still runs, or its stops
 * have changed.
 */
static inline __attribute__((always_inline)) bool nobody_runs(const struct thread *t)
{
	uint32_t stops = 0, count = load_relaxed(&t->count);

	for (uint32_t i = 0; i < count; i++) {
		const struct writer *writer = load_relaxed(&t->order[i]);
		const struct stream_header *h = writer ? load_relaxed(&writer->header) : NULL;

		if (!h || (load_relaxed(&h->state) & (STATE_RUNNING | STATE_LOSING | STATE_ENDED)))
			return false;
		TEST_POINT("record_looked");
		fence_acquire(); /* PAIR(seam): as in record_some() */
		stops += load_relaxed(&h->stops);
	}
	return stops == load_relaxed(&t->stops);
}

/*
 * Records through the writers and leaves the trace point. Faster if all can be written together or none takes events.
 */
static __attribute__((noinline)) void record_writers(trace_event_id_t id, const void *data, size_t length,
                                                   const void *address, struct thread *t)
{
	uint32_t n = 0;
#if HAVE_RSEQ
	uint32_t missed;

	n = first_together(t, id, length);
	if (likely(n && n == load_relaxed(&t->count))) {
		missed = record_together(t->order, n, id, data, length, address, t);
		if (unlikely(seam_several(missed)))
			record_again(id, data, length, address, t, missed);
		leave(t);
		return;
	}
#endif
	if (n == 0 && nobody_runs(t))
		leave(t);
	else
		record_some(id, data, length, address, t, n);
}

/* Finishes a trace point with one writer. */
static __attribute__((noinline, cold)) void finish_writer(trace_event_id_t id, const void *data, size_t length,
                                                          const void *address, struct thread *t,
                                                          enum writer_outcome outcome)
{
	struct writer *writer = load_relaxed(&t->only);

	if (outcome == WRITER_SLOW) {
		record_writers(id, data, data ? length : 0, address, t);
		return;
	}
	if (writer)
		writer_finish(outcome, t, writer, id, data, length, address);
	leave(t);
}

/* Returns the stack address of the calling function, without a frame pointer. */
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
 * Returns whether all streams filter the event out, by the thread's own copy. The thread need not be inside, because no
 * stream is looked at. A handler may change the copy meanwhile, and a fork may wipe it: then page_generation is null,
 * or no bit is set, or the generations differ.
 */
static inline __attribute__((always_inline)) bool nobody_wants(const struct thread *t, trace_event_id_t id)
{
	const uint32_t *change = load_relaxed(&t->page_generation);

	return change && load_relaxed(change) == load_relaxed(&t->generation) &&
	       load_relaxed(&t->filter[id / 32]) >> id % 32 & 1;
}

/* Returns whether the id was given out by a function. Other ids, and those of system events, have no effect. */
static inline __attribute__((always_inline)) bool is_user_event(trace_event_id_t id)
{
	return id - POSIX_TRACE_UNNAMED_USEREVENT <= load_relaxed(&self_names);
}

/*
 * The fast path makes no call that returns to it, so it needs no stack. Everything else is left to functions that end
 * the trace point.
 */
void(posix_trace_event)(trace_event_id_t id, const void *restrict data, size_t length)
{
	const void *address = __builtin_return_address(0);
	uintptr_t frame = stack_address();
	struct thread *t = thread_self;
	const uint32_t *change;
	struct writer *writer;
	enum writer_outcome outcome;

	if (unlikely(!t))
		goto not_ready;
	if (unlikely(!is_user_event(id)))
		return;
	if (unlikely(t->filters) && nobody_wants(t, id))
		return;
	if (unlikely(load_relaxed(&t->ready) != THREAD_READY))
		goto not_ready;
	store_relaxed(&t->ready, frame);
	TEST_POINT("event_inside");
	fence_signal();
	change = load_relaxed(&t->page_generation);
	if (unlikely(!change || load_relaxed(change) != t->generation)) {
		store_relaxed(&t->ready, (uintptr_t)THREAD_READY);
		goto not_ready;
	}
	writer = load_relaxed(&t->only);
	if (unlikely(!writer)) {
		record_writers(id, data, data ? length : 0, address, t);
		return;
	}
	outcome = writer_record(writer, CLOCK_KIND_COUNTER, PATH_INLINE, id, data, length, address);
	if (unlikely(outcome != WRITER_DONE)) {
		finish_writer(id, data, length, address, t, outcome);
		return;
	}
	leave(t);
	return;

not_ready:
	/*
	 * The trace point of <trace.h> has checked the gate already. A call of the function, through a pointer or from
	 * another language, has not: it must not take the slow path each time when nobody traces.
	 */
	if (!self_untraced() && is_user_event(id))
		record_blocked(id, data, length, address, frame);
}
