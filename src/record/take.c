/*
 * take.c - the next chunk for a writer
 *
 * Safe in signal handlers: no locks, and a chunk that an interrupted taker of
 * the same thread has claimed is one that others skip too.
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/take.h"

#include "base/sys.h"
#include "base/ticks.h"
#include "base/testpoint.h"
#include "model/record.h"
#include "shm/chunk.h"

/*
 * How often to look again while a chunk that would do is in somebody's hands
 * for a moment: before overwriting one instead, and before the stream is full.
 */
#define TRIES_OVERWRITE 64
#define TRIES           4000
#define TRIES_PER_YIELD 8
#define TRIES_PER_LOOK  32 /* at the clock, and whether its process is a zombie */
#define PATIENCE_NS     (NS_PER_S / 10)

/* How many owners that do not come out of a record to remember, so as not to ask them again. */
#define STUCK 8

enum rank { RANK_EMPTY, RANK_ROOM, RANK_IDLE, RANK_OLDEST, RANK_NONE };

struct choice {
	struct chunk *chunk;
	enum rank rank;
	uint64_t ticks;
	enum rank contended; /* the best that is in somebody's hands for a moment */
};

static enum rank rank_of(const struct stream *s, const struct chunk *c, bool loop, bool wrapped)
{
	bool held = owner_is(load_relaxed(&c->owner));
	uint64_t p = load_acquire(&c->progress); /* PAIR(commit) */
	bool read = chunk_unread(c, p) == 0;
	bool room = chunk_has_room(s, p);

	if (!held && read)
		return RANK_EMPTY;
	if (!held && room)
		return RANK_ROOM;
	if (held && !wrapped && (read || room))
		return RANK_IDLE;
	return loop ? RANK_OLDEST : RANK_NONE;
}

struct stuck {
	const struct chunk *chunk[STUCK];
	unsigned count;
};

static bool is_stuck(const struct stuck *stuck, const struct chunk *c)
{
	for (unsigned i = 0; i < STUCK && i < stuck->count; i++)
		if (stuck->chunk[i] == c)
			return true;
	return false;
}

static bool own_record(const struct stream *s, const struct chunk *c, uint32_t who)
{
	uint32_t seat = (uint32_t)load_relaxed(&c->owner) - 1;

	return seat < s->seat_count && load_relaxed(&s->seats[seat].who) == who &&
	       load_relaxed(&s->seats[seat].busy) == (uint32_t)(c - s->chunks) + 1;
}

static struct choice choose(struct stream *s, const struct stuck *stuck, uint32_t who, bool loop, bool sure)
{
	struct choice best = { NULL, RANK_NONE, 0, RANK_NONE };
	bool wrapped = loop && (load_relaxed(&s->header->state) & STATE_FULL);

	for (uint32_t i = 0; i < s->chunk_count; i++) {
		struct chunk *c = &s->chunks[i];
		uint32_t claim = load_relaxed(&c->claim);
		enum rank rank = rank_of(s, c, loop, wrapped);
		uint64_t ticks = load_relaxed(&c->last_ticks);

		if (rank > best.rank || (rank == best.rank && (rank == RANK_NONE || ticks >= best.ticks)))
			continue;
		/* What an interrupted trace point of this thread is at is not worth waiting for: it waits for us. */
		if (claim == who || own_record(s, c, who))
			continue;
		/* Somebody is at it, or was killed at it: the kernel knows. */
		if ((claim && (sure ? who_lives(claim, who) : who_alive(claim, who))) || is_stuck(stuck, c)) {
			if (rank < best.contended)
				best.contended = rank;
			continue;
		}
		best.chunk = c;
		best.rank = rank;
		best.ticks = ticks;
		if (rank == RANK_EMPTY)
			break;
	}
	return best;
}

/* To yield may take long where many want to run. */
static bool late(int try, int64_t *until)
{
	int64_t now;

	if (try % TRIES_PER_LOOK != TRIES_PER_LOOK - 1)
		return false;
	now = clock_ns(CLOCK_MONOTONIC);
	if (!*until)
		*until = now + PATIENCE_NS;
	return now > *until;
}

void take_told(struct stream_header *h)
{
	if (load_relaxed(&h->flush_waiting) && exchange(&h->flush_waiting, 0)) {
		fetch_add(&h->wakeups, 1);
		sys_futex_wake(&h->wakeups);
		TEST_POINT("take_woken");
	}
}

/* Another is full, then. */
static struct chunk *taken(const struct stream *s, struct chunk *c)
{
	take_told(s->header);
	return c;
}

struct chunk *take_chunk(struct stream *s, uint32_t who)
{
	bool loop = s->stream_policy == POSIX_TRACE_LOOP;

	struct stuck stuck = { { NULL }, 0 };
	int64_t until = 0;

	for (int try = 0; try < TRIES; try++) {
		bool sure = try % TRIES_PER_LOOK == TRIES_PER_LOOK - 1;
		struct choice best = choose(s, &stuck, who, loop, sure);
		struct chunk *c = best.chunk;
		enum rank rank;

		/* Nothing is overwritten, and no stream is full, because of a chunk that is busy just now. */
		if (best.contended < best.rank && (!c || try < TRIES_OVERWRITE) && !late(try, &until)) {
			if (try % TRIES_PER_YIELD == TRIES_PER_YIELD - 1) {
				sys_yield(); /* whoever has it may be waiting for this processor */
				stuck.count = 0;
			} else {
				spin_pause();
			}
			continue;
		}
		if (!c)
			return NULL;
		if (!chunk_claim(s, c, who, sure))
			continue;
		TEST_POINT("take_claimed");
		/* The choice was made before the claim: another may have had the chunk meanwhile. */
		rank = rank_of(s, c, loop, false);
		if (rank > best.rank || !chunk_revoke(s, c)) {
			if (rank <= best.rank)
				stuck.chunk[stuck.count++ % STUCK] = c;
			chunk_unclaim(c);
			continue;
		}
		TEST_POINT("take_revoked");
		rank = rank_of(s, c, loop, false);
		if (rank == RANK_ROOM)
			return taken(s, c);
		if (rank > best.rank) {
			chunk_unclaim(c);
			continue;
		}
		if (chunk_recycle(s, c) > 0 &&
		    (~load_relaxed(&s->header->state) & (STATE_FULL | STATE_OVERRUN)))
			fetch_or(&s->header->state, STATE_FULL | STATE_OVERRUN);
		return taken(s, c);
	}
	return NULL;
}

bool take_offer(struct stream *s, uint32_t who, struct offer *offer)
{
	struct stuck stuck = { { NULL }, 0 };
	struct choice best = choose(s, &stuck, who, s->stream_policy == POSIX_TRACE_LOOP, false);
	const struct record *first;
	struct chunk *c = best.chunk;
	uint64_t owner, progress;
	uint32_t records;

	if (!c || best.contended < best.rank || (best.rank != RANK_EMPTY && best.rank != RANK_OLDEST))
		return false;
	owner = load_relaxed(&c->owner);
	progress = load_acquire(&c->progress); /* PAIR(commit) */
	records = progress_records(progress);
	if (owner_is(owner))
		return false;
	offer->chunk = c;
	offer->word[OFFER_OWNER] = owner;
	offer->word[OFFER_PROGRESS] = progress;
	offer->word[OFFER_RECORDS] = records;
	offer->word[OFFER_EMPTIED] = progress_make(records, 0);
	offer->word[OFFER_BEGUN] = progress_make(records, sizeof(struct record_owner));
	offer->word[OFFER_MEMORY] = (uintptr_t)stream_chunk_memory(s, c);
	offer->word[OFFER_NUMBER] = (uint32_t)(c - s->chunks) + 1;
	offer->word[OFFER_WHO] = who;
	offer->word[OFFER_OLDEST] = 0;
	/* The choice was made before: another may have had the chunk meanwhile, a handler of this thread's too. */
	if (best.rank == RANK_EMPTY)
		return load_relaxed(&c->read) == records;
	if (load_relaxed(&c->last_ticks) != best.ticks)
		return false;
	/* The first event stands behind the record of its owner. It stays there while the chunk's progress does not change. */
	first = (const struct record *)(stream_chunk_memory(s, c) + sizeof(struct record_owner));
	offer->word[OFFER_OLDEST] = load_relaxed(&first->ticks);
	return !(load_relaxed(&first->type) & RECORD_OWNER);
}
