/*
 * writer.c - a writer's next chunk, and recording where writer_record() could not
 *
 * A writer gets its next chunk in a restartable sequence where possible: writer_change(). Otherwise it gets the chunk
 * with signals blocked: writer_acquire(). This file also repairs a writer whose restartable sequence was aborted.
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/writer.h"

#include "base/atomic.h"
#include "base/invariant.h"
#include "base/sys.h"
#include "record/attach.h"
#include "record/emit.h"
#include "record/acquire.h"
#include "shm/chunk.h"

#define NAME_USES 64

/* How many chunks to acquire for one event: each may be revoked before the event is written. */
#define WRITER_TRIES 16

#ifdef POSIXTRACE_CHECKS
void writer_check(const struct writer *writer)
{
	const struct attached *attached = load_relaxed(&writer->attached);
	const struct chunk *c = writer->chunk;
	const struct stream *s = &attached->stream;

	if (!attached || load_relaxed(&writer->header) != s->header)
		return; /* not in use, or in a forked child */
	INVARIANT(!writer->taking);
	INVARIANT(!writer->seat || !load_relaxed(&writer->seat->busy));
	INVARIANT(!c == !writer->at && !c == !writer->room_end);
	if (!c)
		return;
	INVARIANT(writer->seat && writer->seat == &s->seats[(uint32_t)writer->owner - 1]);
	INVARIANT(c == &s->chunks[writer->chunk_number - 1]);
	INVARIANT(writer->at == stream_chunk_memory(s, c) + progress_position(writer->progress));
	INVARIANT(progress_position(writer->progress) <= s->chunk_size);
	/* What the writer knows of the chunk is right as long as it owns the chunk. */
	INVARIANT(load_relaxed(&c->progress) == writer->progress || load_relaxed(&c->owner) != writer->owner);
}
#endif

/* Reuses the name, because it seldom changes and asking for it takes a tenth of the time of a chunk change. */
struct owner_id writer_owner_id(struct thread *t)
{
	struct owner_id w = { .pid = t->pid, .tid = load_relaxed(&t->tid), .pthread = t->pthread,
	                      .acts_for = t->acts_for };

	if (!t->acts_for && t->name_age++ % NAME_USES == 0)
		sys_thread_name(t->name);
	memcpy(w.name, t->name, sizeof w.name);
	return w;
}

/*
 * Acquires a seat for a writer. The seats of the thread's other blocks (thread.deeper) have the same id and are none of
 * this writer. Only their addresses are compared: what a block was last used for may be unmapped by now.
 */
static struct seat *acquire_seat(const struct thread *t, const struct writer *writer, const struct stream *s)
{
	uint32_t ref = load_relaxed(&t->tid) | s->outsider;
	struct seat *others[THREAD_LEVELS];
	unsigned count = 0;

	for (const struct thread *level = thread_self; level && count < THREAD_LEVELS; level = level->deeper)
		for (uint32_t i = 0; level != t && i < load_relaxed(&level->count); i++) {
			const struct writer *other = load_relaxed(&level->order[i]);

			if (other && other->attached == writer->attached && other->seat) {
				others[count++] = other->seat;
				break;
			}
		}
	return t == thread_self && count == 0 ? seat_acquire(s, ref) : seat_acquire_further(s, ref, others, count);
}

/*
 * Returns the writer's seat, acquiring it if necessary. Returns null if all seats are taken, and then does not ask
 * again for a while, because asking is slow.
 */
static struct seat *writer_seat(struct thread *t, struct writer *writer, const struct stream *s)
{
	if (writer->seat)
		return writer->seat;
	if (writer->no_seat) {
		writer->no_seat--;
		return NULL;
	}
	writer->seat = acquire_seat(t, writer, s);
	TEST_POINT("writer_seat");
	if (!writer->seat)
		writer->no_seat = 1000;
	return writer->seat;
}

/*
 * Returns the room_end for writer_fits(). Records and chunks end at multiples of eight, so a record whose unrounded
 * size fits also fits rounded up.
 */
static uintptr_t writer_room_end(const struct stream *s, const unsigned char *memory)
{
	return (uintptr_t)(memory + s->chunk_size - sizeof(struct record)) + 1;
}

/* Leaves the writer without a chunk. */
static void writer_forget(struct writer *writer)
{
	writer->chunk = NULL;
	writer->at = NULL;
	writer->room_end = 0;
}

/* Acquires the next chunk for a writer that has a seat. Returns false if the stream is full. */
static bool writer_acquire(struct thread *t, struct writer *writer, struct stream *s)
{
	struct owner_id w = writer_owner_id(t);
	struct seat *seat = writer->seat;
	bool first = !writer->chunk;
	uint32_t position;
	struct chunk *c;
	uint64_t p;

	if (!first) {
		chunk_leave(writer->chunk, writer->owner);
		writer_forget(writer);
		TEST_POINT("writer_left");
	}
	c = acquire_chunk(s, load_relaxed(&t->tid) | s->outsider, first, &p);
	if (!c)
		return false;
	position = progress_position(p);
	TEST_POINT("writer_locked");
	writer->at = stream_chunk_memory(s, c) + position;
	writer->room_end = writer_room_end(s, stream_chunk_memory(s, c));
	writer->at += put_owner(writer->at, &w);
	TEST_POINT("writer_owner");
	position += (uint32_t)sizeof(struct record_owner);
	writer->progress = progress_make(progress_records(p), position);
	writer->owner = owner_next(load_relaxed(&c->owner), (uint32_t)(seat - s->seats) + 1);
	writer->chunk_number = (uint32_t)(c - s->chunks) + 1;
	writer->chunk = c;
	/*
	 * Otherwise the chunk would count as the oldest. In order: the first record is not before the former owner's
	 * last.
	 */
	store_relaxed(&c->last_ticks, ticks_read_in_order(writer->clock_kind));
	TEST_POINT("writer_ticks");
	store_release(&c->progress, writer->progress); /* PAIR(commit) */
	TEST_POINT("writer_begun");
	store_relaxed(&c->owner, writer->owner);
	TEST_POINT("writer_held");
	chunk_unlock(c);
	writer_check(writer);
	return true;
}

/* Records an event in a newly acquired chunk, with signals blocked. Returns what writer_finish() returns. */
static bool writer_record_slow(struct thread *t, struct writer *writer, const struct call *call)
{
	const struct attached *attached = load_relaxed(&writer->attached);
	struct stream stream;

	if (!attached)
		return true; /* forked meanwhile, see writer_record() */
	stream = attached->stream;
	if (!writer_seat(t, writer, &stream)) {
		struct owner_id w = writer_owner_id(t);
		enum emit_outcome outcome = emit_alone(&stream, &w, false, call);

		return outcome == EMIT_NO_ROOM ? emit_full(&stream) : outcome == EMIT_DONE;
	}
	/* A new chunk may be revoked before its first record. The number of attempts is limited. */
	for (int try = 0; try < WRITER_TRIES; try++) {
		if (!writer_acquire(t, writer, &stream))
			return emit_full(&stream);
		switch (writer_record(writer, writer->clock_kind, PATH_SLOW, *call)) {
		case WRITER_DONE:
			return true;
		case WRITER_MISSED:
		case WRITER_ENDED:
			return false;
		case WRITER_WAKE:
			emit_wake(stream.header);
			return true;
		case WRITER_LOST:
			emit_lost(&stream);
			return true;
		default:
			break;
		}
	}
	emit_lost(&stream);
	return true;
}

/*
 * Returns whether a record was committed although its restartable sequence was aborted while the seat was busy. The
 * writer owned the chunk then, and the chunk has not been revoked since. The chunk's progress is only compared with the
 * expected value, otherwise not trusted.
 */
static bool writer_committed(const struct writer *writer, const struct stream *s)
{
	const struct chunk *c = writer->chunk;

	return stream_chunk_memory(s, c) + progress_position(writer->progress) != writer->at &&
	       load_relaxed(&c->progress) == writer->progress;
}

/*
 * Repairs a writer and its seat after its restartable sequence was aborted. Returns true if the record had been
 * committed: the caller is certain of it, or the writer's fields show it. Called with signals blocked, and not in a
 * child.
 */
static bool writer_mend(struct writer *writer, const struct stream *s, bool certain)
{
	unsigned char *memory = stream_chunk_memory(s, writer->chunk);
	bool committed = certain || writer_committed(writer, s);

	if (committed)
		writer->at = memory + progress_position(writer->progress);
	else if (memory + progress_position(writer->progress) != writer->at)
		writer->progress = progress_make(progress_records(writer->progress) - 1,
		                                 (uint32_t)(writer->at - memory));
	store_release(&writer->seat->busy, 0); /* PAIR(busy) */
	return committed;
}

/*
 * Gets a writer's next chunk like writer_acquire(), but without blocking signals, which takes twice as long as
 * everything else. Before the restartable sequence it writes to the stream only in chunk_leave(), which changes the
 * owner word of a chunk that this thread holds. A forked child that resumes here (H1, H2) has only read so far, or
 * finds its writer wiped. Returns false if the caller must take the slow path, which begins with writer_give_back().
 *
 * Now and then it takes the slow path on purpose, which asks for the thread's name and whether the stream's creator
 * lives.
 */
static bool writer_change(struct thread *t, struct writer *writer)
{
	const struct attached *attached = load_relaxed(&writer->attached);
	struct chunk *chunk = load_relaxed(&writer->chunk);
	struct seat *seat = load_relaxed(&writer->seat);
	uint64_t owner = load_relaxed(&writer->owner);
	struct stream_header *h;
	struct candidate candidate;
	struct stream stream;
	struct owner_id w;

	if (!attached || !chunk || !seat || !load_relaxed(&writer->rseq_end) || t->name_age % NAME_USES == 0)
		return false;
	stream = attached->stream;
	fence_signal();
	if (load_relaxed(&writer->attached) != attached || stream.outsider)
		return false;
	chunk_leave(chunk, owner);
	w = writer_owner_id(t);
	if (!acquire_candidate(&stream, w.tid, &candidate))
		return false;
	candidate.word[CANDIDATE_HELD] = owner_next(candidate.word[CANDIDATE_OWNER],
	                                            (uint32_t)(seat - stream.seats) + 1);
	candidate.word[CANDIDATE_ROOM_END] =
		writer_room_end(&stream, (const unsigned char *)(uintptr_t)candidate.word[CANDIDATE_MEMORY]);
	put_owner((unsigned char *)&candidate.owner_id, &w);
	if (!writer_hold(writer, attached, &candidate, ticks_read(CLOCK_KIND_COUNTER)))
		return false;
	h = load_relaxed(&writer->header);
	if (h && load_relaxed(&h->flush_waiting)) {
		uint64_t signals = sys_signals_block();

		if (load_relaxed(&writer->attached))
			acquire_notify(h);
		sys_signals_restore(signals);
	}
	return true;
}

/*
 * Repairs what an aborted writer_change() had begun, if anything. If the writer still has a chunk locked, it unlocks it
 * unchanged: the next acquirer finds what it would find had this thread died. Called with signals blocked.
 */
static void writer_give_back(struct writer *writer, const struct stream *s, uint32_t ref)
{
	uint32_t number = writer->taking & ~WRITER_LOSES;
	struct chunk *c = &s->chunks[number - 1];

	if (!number)
		return;
	if (load_relaxed(&c->lock) == ref) {
		/* `read` is past the records that the next acquirer overwrites, if no reader moves it back before. */
		if (writer->taking & WRITER_LOSES && chunk_unread(c, load_relaxed(&c->progress)) == 0)
			fetch_or(&s->header->state, STATE_FULL | STATE_OVERRUN);
		chunk_leave(c, writer->owner);
		chunk_unlock(c);
		writer_forget(writer);
	}
	writer->taking = 0;
}

/*
 * Counts an event that meets a full stream, as all events do until the stream has been read: emit_lost() without
 * blocking signals, which takes twenty times as long. Under LOOP no stream loses events in this way. Returns false if
 * the event was not counted: the caller takes the slow path, which now and then also checks whether the stream's
 * creator lives.
 */
static bool writer_lose(struct writer *writer)
{
	const struct attached *attached = load_relaxed(&writer->attached);
	const struct stream_header *h;

	if (!attached || !load_relaxed(&writer->rseq_end) || attach_check_due(attached) || !writer_count_lost(writer))
		return false;
	h = load_relaxed(&writer->header);
	if (h && unlikely(!(load_relaxed(&h->state) & STATE_OVERRUN))) {
		uint64_t signals = sys_signals_block();

		attached = load_relaxed(&writer->attached);
		if (attached)
			emit_overrun(&attached->stream);
		sys_signals_restore(signals);
	}
	return true;
}

bool writer_finish(enum writer_outcome outcome, struct thread *t, struct writer *writer, const struct call *call)
{
	struct attached *attached;
	uint64_t signals;
	bool taken = true;

	if (HAVE_RSEQ && outcome == WRITER_NO_ROOM && writer_change(t, writer)) {
		outcome = writer_record(writer, writer->clock_kind, PATH_FAST, *call);
		if (outcome == WRITER_DONE || outcome == WRITER_MISSED)
			return outcome == WRITER_DONE;
	}
	if (HAVE_RSEQ && outcome == WRITER_LOST && writer_lose(writer))
		return true;
	signals = sys_signals_block();
	attached = load_relaxed(&writer->attached);
	if (!attached) {
		/* Forked meanwhile, see writer_record(). */
		sys_signals_restore(signals);
		return true;
	}
	writer_give_back(writer, &attached->stream, load_relaxed(&t->tid));
	if ((outcome == WRITER_NO_ROOM || outcome == WRITER_LOST) && self_peek())
		attach_check(self_peek(), attached);
	if (outcome == WRITER_ENDED && self_peek())
		attach_ended(self_peek(), attached, (int)writer->slot);
	if (HAVE_RSEQ && (outcome == WRITER_ABORTED || outcome == WRITER_ABORTED_BEHIND)) {
		if (!writer->at)
			outcome = WRITER_DONE; /* considered abandoned by a handler's trace point (H17) */
		else if (writer_mend(writer, &attached->stream, outcome == WRITER_ABORTED_BEHIND))
			outcome = load_relaxed(&writer->header->waiting) ? WRITER_WAKE : WRITER_DONE;
		else
			outcome = writer_record(writer, writer->clock_kind, PATH_SLOW, *call);
	}
	if (outcome == WRITER_WAKE)
		emit_wake(attached->stream.header);
	else if (outcome == WRITER_LOST)
		emit_lost(&attached->stream);
	else if (outcome == WRITER_NO_ROOM)
		taken = writer_record_slow(t, writer, call);
	else if (outcome == WRITER_MISSED || outcome == WRITER_ENDED)
		taken = false;
	writer_check(writer);
	sys_signals_restore(signals);
	return taken;
}

void writer_abandon(struct thread *t, struct writer *writer)
{
	if (writer->seat && load_relaxed(&writer->seat->busy)) {
		bool committed = writer_committed(writer, &writer->attached->stream);

		store_release(&writer->seat->busy, 0); /* PAIR(busy) */
		if (!committed)
			emit_lost(&writer->attached->stream);
	}
	writer_give_back(writer, &writer->attached->stream, load_relaxed(&t->tid));
	/* The writer's position may be out of date, so it writes no more into this chunk. */
	if (writer->chunk)
		chunk_leave(writer->chunk, writer->owner);
	writer_forget(writer);
	writer_check(writer);
}
