/*
 * lane.c - a lane's next chunk, and what a record needs that lane_record() could not write
 *
 * The next chunk is got in a stretch, where nothing is in the way: lane_change();
 * otherwise with signals blocked: lane_take(). A stretch that was broken off is
 * put in order here.
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/lane.h"

#include "base/atomic.h"
#include "base/sys.h"
#include "record/attach.h"
#include "record/emit.h"
#include "record/take.h"
#include "shm/chunk.h"

#define NAME_USES 64

/* The name seldom changes, and the question costs a tenth of all this. */
struct writer lane_writer(struct thread *t)
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
	struct writer w = lane_writer(t);
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
		struct writer w = lane_writer(t);

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
		switch (lane_record(lane, lane->clock_kind, WAY_BLOCKED, id, data, length, address)) {
		case LANE_DONE:
			return;
		case LANE_WAKE:
			emit_wake(stream.header);
			return;
		case LANE_LOST:
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
	w = lane_writer(t);
	if (!take_offer(&stream, w.tid, &offer))
		return false;
	offer.word[OFFER_HELD] = owner_next(offer.word[OFFER_OWNER], (uint32_t)(seat - stream.seats) + 1);
	offer.word[OFFER_ROOM_END] = lane_room_end(&stream, (const unsigned char *)(uintptr_t)offer.word[OFFER_MEMORY]);
	put_owner((unsigned char *)&offer.writer, &w);
	if (!lane_hold(lane, attached, &offer, ticks_read(CLOCK_KIND_COUNTER)))
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

void lane_finish(enum lane_outcome outcome, struct thread *t, struct lane *lane, trace_event_id_t id,
                 const void *data, size_t length, const void *address)
{
	struct attached *attached;
	uint64_t signals;

#if RESTART
	if (outcome == LANE_NO_ROOM && lane_change(t, lane)) {
		outcome = lane_record(lane, lane->clock_kind, WAY_OPEN, id, data, length, address);
		if (outcome == LANE_DONE)
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
	if ((outcome == LANE_NO_ROOM || outcome == LANE_LOST) && self_peek())
		attach_check(self_peek(), attached);
	if (outcome == LANE_ENDED && self_peek())
		attach_ended(self_peek(), attached, (int)(lane - t->lane));
#if RESTART
	if (outcome == LANE_BROKEN || outcome == LANE_BEHIND) {
		if (!lane->at)
			outcome = LANE_DONE; /* taken for abandoned, by a handler's trace point (H17) */
		else if (lane_mend(lane, &attached->stream, outcome == LANE_BEHIND))
			outcome = load_relaxed(&lane->header->waiting) ? LANE_WAKE : LANE_DONE;
		else
			outcome = lane_record(lane, lane->clock_kind, WAY_BLOCKED, id, data, length, address);
	}
#endif
	if (outcome == LANE_WAKE)
		emit_wake(attached->stream.header);
	else if (outcome == LANE_LOST)
		emit_lost(&attached->stream);
	else if (outcome == LANE_NO_ROOM)
		lane_record_slow(t, lane, id, data, length, address);
	sys_signals_restore(signals);
}

void lane_abandon(struct thread *t, struct lane *lane)
{
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
