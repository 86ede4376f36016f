/*
 * several.c - a trace point in a thread that has several writers
 *
 * Writers with room are written together, in one restartable sequence that reads the counter once; each of the others
 * is written by itself.
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/several.h"

#include "base/atomic.h"
#include "base/likely.h"
#include "base/testpoint.h"
#include "record/record_rseq.h"
#include "record/seam.h"
#include "record/writer.h"

/*
 * The address of a copy of a call, for functions that are seldom called. The call itself then stays in registers on the
 * other paths.
 */
#define CALL_IN_MEMORY(c) (&(const struct call){ (c).id, (c).data, (c).length, (c).address })

/* How a writer gets an event that may be written to several writers in one restartable sequence. */
enum part {
	PART_NONE, /* not at all: the stream is not in use, does not run, or filters it out */
	PART_TOGETHER,
	PART_ALONE, /* by itself: what to do remains to be found out */
};

static inline __attribute__((always_inline)) enum part writer_part(const struct writer *writer, struct call call)
{
	const struct stream_header *h = writer ? load_relaxed(&writer->header) : NULL;
	uint32_t state = h ? load_relaxed(&h->state) : 0;

	if (unlikely(!(state & STATE_RUNNING)))
		return state & (STATE_LOSING | STATE_ENDED) ? PART_ALONE : PART_NONE;
	if (stream_filters(h, call.id))
		return PART_NONE;
	return likely(writer_fits(writer, call.length)) ? PART_TOGETHER : PART_ALONE;
}

/*
 * Returns true if all writers can be written together. *first is how many of them can, counting from the first up to
 * one that cannot.
 */
static inline __attribute__((always_inline)) bool all_together(const struct thread *t, struct call call,
                                                               uint32_t *first)
{
	uint32_t count = load_relaxed(&t->count), n = 0;

	*first = 0;
	if (!HAVE_RSEQ || unlikely(call.length >= load_relaxed(&t->all_together_end)))
		return false;
	do {
		/* Null in a block that was wiped meanwhile, whatever the count was. */
		if (unlikely(writer_part(load_relaxed(&t->order[n]), call) != PART_TOGETHER)) {
			*first = n;
			return false;
		}
	} while (++n < count);
	*first = n;
	return true;
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
static uint32_t collect_together(const struct passage *passage, uint32_t from, uint64_t among, uint64_t took,
                                 struct together *together)
{
	const struct thread *t = passage->t;
	struct call call = *passage->call;
	uint32_t i = from, most = load_relaxed(&t->together_most);

	together->n = 0;
	together->set = 0;
	together->missed = 0;
	if (!HAVE_RSEQ || call.length >= load_relaxed(&t->together_end))
		return i;
	for (; i < load_relaxed(&t->count) && together->n < most; i++) {
		struct writer *writer = load_relaxed(&t->order[i]);
		enum part part;

		if (!seam_has(among, i) || seam_taken(passage, seam_of_writer, took, i))
			continue;
		part = writer_part(writer, call);
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
                                                                const struct call *call)
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
		if (outcome != WRITER_DONE && !writer_finish(outcome, t, writer, call))
			missed |= UINT32_C(1) << (l - first);
	}
	return missed;
}

/* Records through several writers in one restartable sequence. Returns what finish_together() returns. */
static inline __attribute__((always_inline)) uint32_t record_together(struct writer *const *writers, uint32_t n,
                                                                      struct call call, struct thread *t)
{
	struct writer *const *volatile written = writers;
	enum together_outcome outcome = writers_write(writers, writers + n, &written, call);

	if (likely(outcome == TOGETHER_WRITTEN))
		return 0;
	return finish_together(outcome, writers, writers + n, written, t, CALL_IN_MEMORY(call));
}

/*
 * Records through the writers in `among`, with ready set. Returns the streams to look at again. The order is that of
 * thread.order: a reader of one stream (a trigger) can rely on the event being in the streams before it already.
 */
static __attribute__((noinline)) uint64_t look_at_each(const struct passage *passage, uint64_t among)
{
	struct thread *t = passage->t;
	uint64_t missed = 0, took = 0;

	for (uint32_t i = 0; i < t->count;) {
		enum writer_outcome outcome;
		struct together together;
		struct writer *writer;

		i = collect_together(passage, i, among, took, &together);
		missed |= together.missed;
		if (together.n) {
			uint32_t missing = record_together(together.writers, together.n, *passage->call, t);

			took |= together.set;
			for (; unlikely(missing); missing >>= 1, together.set &= together.set - 1)
				missed |= missing & 1 ? together.set & -together.set : 0;
			took &= ~missed;
			continue;
		}
		if (i >= t->count)
			break;
		writer = seam_has(among, i) && !seam_taken(passage, seam_of_writer, took, i)
		         ? load_relaxed(&t->order[i])
		         : NULL;
		i++;
		if (!writer)
			continue;
		outcome = writer_record(writer, writer->clock_kind, PATH_FAST, *passage->call);
		if (unlikely(outcome != WRITER_DONE) && !writer_finish(outcome, t, writer, passage->call))
			missed |= seam_bit(i - 1);
		else
			took |= seam_bit(i - 1);
		TEST_POINT("record_alone");
	}
	return seam_missed(passage, seam_of_writer, took, missed);
}

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

/* Records through all writers, one after the other. Returns the streams to look at again. */
static uint64_t record_all(const struct call *call, struct thread *t)
{
	const struct passage passage = { .call = call, .t = t };

	return look_at_each(&passage, SEAM_ALL);
}

/*
 * Does what record_all() does, but faster if each writer can be written together with the others or does not want the
 * event. The first n writers are known to be such that they can be written together.
 */
static inline __attribute__((always_inline)) uint64_t record_first(struct call call, struct thread *t, uint32_t n)
{
	struct writer *writers[TOGETHER_MAX];
	uint32_t count = load_relaxed(&t->count), bits;
	uint64_t missed = 0;

	if (!HAVE_RSEQ || unlikely(call.length >= load_relaxed(&t->together_end) || count > TOGETHER_MAX))
		return record_all(CALL_IN_MEMORY(call), t);
	for (uint32_t i = 0; i < n; i++)
		writers[i] = load_relaxed(&t->order[i]);
	for (uint32_t i = n; i < count; i++) {
		struct writer *writer = load_relaxed(&t->order[i]);
		enum part part = writer_part(writer, call);

		if (part == PART_NONE)
			missed |= seam_bit(i);
		else if (likely(part == PART_TOGETHER))
			writers[n++] = writer;
		else
			return record_all(CALL_IN_MEMORY(call), t);
	}
	if (!n)
		return missed;
	if (unlikely(n > load_relaxed(&t->together_most)))
		return record_all(CALL_IN_MEMORY(call), t);
	bits = record_together(writers, n, call, t);
	return unlikely(bits) ? missed_of(missed, bits) : missed;
}

/* Looks again at the streams, because some were stopped since the thread last counted their stops. */
static __attribute__((noinline, cold)) void record_again(trace_event_id_t id, const void *data, size_t length,
                                                         const void *address, struct thread *t, uint64_t missed)
{
	const struct call call = { id, data, length, address };
	const struct passage passage = { .call = &call, .t = t };
	uint64_t all = seam_bit(load_relaxed(&t->count)) - 1;

	store_relaxed(&t->stops, thread_stops(t));
	/* All writers were looked at, so a writer that has not missed the event took it. */
	missed = seam_missed(&passage, seam_of_writer, all & ~missed, missed);
	seam_again(&passage, look_at_each, seam_of_writer, missed);
}

/*
 * Records where not all writers can be written together, though perhaps the first n. The stops were counted before this
 * look at the streams: by an earlier event, or when the writers were made. So one look is enough if no stream was
 * stopped since, which is the normal case. If no stream runs, nothing else has to be done.
 */
static __attribute__((noinline)) void record_some(trace_event_id_t id, const void *data, size_t length,
                                                  const void *address, struct thread *t, uint32_t n)
{
	const struct call call = { id, data, length, address };
	uint64_t missed = record_first(call, t, n);

	if (seam_several(missed)) {
		fence_acquire(); /* PAIR(seam): a stream that was seen stopped is seen with its new count */
		if (unlikely(thread_stops(t) != load_relaxed(&t->stops)))
			record_again(id, data, call.length, address, t, missed);
	}
	thread_leave(t);
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

void record_several(trace_event_id_t id, const void *data, size_t length, const void *address, struct thread *t)
{
	const struct call call = { id, data, length, address };
	uint32_t n, missed;

	if (likely(all_together(t, call, &n))) {
		missed = record_together(t->order, n, call, t);
		if (unlikely(seam_several(missed)))
			record_again(id, data, call.length, address, t, missed);
		thread_leave(t);
		return;
	}
	if (n == 0 && nobody_runs(t))
		thread_leave(t);
	else
		record_some(id, data, call.length, address, t, n);
}
