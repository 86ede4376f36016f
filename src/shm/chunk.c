/*
 * chunk.c - the transitions of a chunk off the hot path
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/chunk.h"

#include "base/ident.h"
#include "base/testpoint.h"
#include "base/wait.h"
#include "model/record.h"

/* A record takes some 20 ns: who is busy for longer than these looks was interrupted. */
#define BUSY_LOOKS 500

void chunk_unclaim(struct chunk *c)
{
	/* PAIR(claim): other side in chunk_claim(). */
	store_release(&c->claim, 0);
	TEST_POINT("chunk_unclaimed");
}

void chunk_withdraw(struct chunk *c, uint64_t *was)
{
	*was = load_relaxed(&c->owner);
	/* It can only change by its owner's leaving, and then it is nobody's too. */
	while (owner_is(*was) && !cas(&c->owner, was, owner_next(*was, 0)))
		;
}

bool chunk_withdrawn(const struct stream *s, struct chunk *c, uint64_t was)
{
	uint32_t seat = (uint32_t)was - 1, number = (uint32_t)(c - s->chunks) + 1;

	if (!owner_is(was) || seat >= s->seat_count)
		return true;
	for (int i = 0; i < BUSY_LOOKS; i++) {
		/* PAIR(busy): out of the record, so its commit is visible. */
		if (load_acquire(&s->seats[seat].busy) != number)
			return true;
		spin_pause();
	}
	return !who_lives(load_relaxed(&s->seats[seat].who), s->outsider);
}

void chunk_give_back(struct chunk *c, uint64_t was)
{
	if (owner_is(was))
		store_relaxed(&c->owner, was); /* the release of the claim follows */
}

/*
 * The claim was that of a thread which has died. It may have made the chunk
 * nobody's and not have come to looking whether its owner was in the middle of a
 * record, or to giving it back. Who is in the middle gets it: not by the word that
 * it had, so it will leave after this record; but takers look at its seat again.
 */
static bool settle(const struct stream *s, struct chunk *c)
{
	uint32_t number = (uint32_t)(c - s->chunks) + 1, used = load_relaxed(&s->header->seats_used);
	uint64_t owner = load_relaxed(&c->owner);

	if (owner_is(owner))
		return true;
	if (!barrier_everywhere())
		return used == 0;
	for (uint32_t i = 0; i < s->seat_count && i < used; i++) {
		/* PAIR(busy): by the barrier: who has not said so by now finds that the chunk is not his. */
		if (load_acquire(&s->seats[i].busy) != number || chunk_withdrawn(s, c, owner_next(owner, i + 1)))
			continue;
		store_relaxed(&c->owner, owner_next(owner, i + 1));
		break;
	}
	return true;
}

bool chunk_claim(const struct stream *s, struct chunk *c, uint32_t who, bool sure)
{
	uint32_t claim = load_relaxed(&c->claim);

	/*
	 * The claim of a dead thread is nobody's (H6), if its id was not given
	 * out again (H16). Our own id: a thread that was interrupted here by the handler that
	 * asks, or one that is dead and had the same id. Leave it alone.
	 */
	if (claim && (claim == who || (sure ? who_lives(claim, who) : who_alive(claim, who))))
		return false;
	/* PAIR(claim): what the last taker has written is seen by the next. */
	if (!cas(&c->claim, &claim, who))
		return false;
	if (!claim || settle(s, c))
		return true;
	chunk_unclaim(c);
	return false;
}

bool chunk_revoke(const struct stream *s, struct chunk *c)
{
	uint64_t was;

	chunk_withdraw(c, &was);
	TEST_POINT("revoke_withdrawn");
	if (!owner_is(was))
		return true;
	if (barrier_everywhere() && chunk_withdrawn(s, c, was))
		return true;
	chunk_give_back(c, was);
	TEST_POINT("revoke_back");
	return false;
}

/* Ticks of record number n, where the first is number 0. */
static uint64_t ticks_of(const unsigned char *memory, uint32_t size, uint32_t n)
{
	uint32_t at = 0;

	while (at + sizeof(struct record) <= size) {
		const struct record *r = (const struct record *)(memory + at);

		if (r->type & RECORD_OWNER) {
			at += (uint32_t)sizeof(struct record_owner);
			continue;
		}
		if (n-- == 0)
			return r->ticks;
		at += record_size(r->length);
	}
	return 0;
}

uint32_t chunk_recycle(const struct stream *s, struct chunk *c)
{
	uint32_t records = progress_records(load_acquire(&c->progress)); /* PAIR(commit) */
	uint32_t first = load_relaxed(&c->first);
	uint64_t last = load_relaxed(&c->last_ticks);
	uint32_t read = load_relaxed(&c->read), lost;

	/*
	 * PAIR(seen): the reader is done with the last gap before it is written over. Not if it is
	 * about these very records: who noted it has moved read, and died before it came to first.
	 */
	if (load_acquire(&c->seen) == first && load_relaxed(&c->gap_until) != last)
		store_relaxed(&c->gap_from, 0);
	/*
	 * The gap before read: the next taker cannot tell any more what had not been read, should this
	 * one die in between. Nobody looks at a gap where nothing was lost, so it may come to nothing.
	 */
	if (read != records) {
		if (!load_relaxed(&c->gap_from))
			store_relaxed(&c->gap_from, ticks_of(stream_chunk_memory(s, c), s->chunk_size, read - first));
		store_relaxed(&c->gap_until, last);
		TEST_POINT("recycle_gap");
	}
	/*
	 * PAIR(read): from here on the reader's cas on this word fails, so each
	 * record has either been read or is counted as lost, never both.
	 * PAIR(reset): who sees this sees no older progress than ours.
	 */
	read = exchange(&c->read, records);
	TEST_POINT("recycle_read");
	lost = records - read;
	/*
	 * PAIR(recycle): a reader that copies bytes written after this also
	 * sees another first. The full barrier keeps those bytes behind it.
	 */
	store_release(&c->first, records);
	TEST_POINT("recycle_first");
	fence_full();
	store_release(&c->progress, progress_make(records, 0)); /* PAIR(commit) */
	TEST_POINT("recycle_done");
	return lost;
}

void chunk_leave(struct chunk *c, uint64_t owner)
{
	cas(&c->owner, &owner, owner_next(owner, 0));
	TEST_POINT("chunk_left");
}

struct seat *seat_take(const struct stream *s, uint32_t who)
{
	/* First the free ones, then those of the dead. */
	for (int probe = 0; probe < 2; probe++) {
		for (uint32_t i = 0; i < s->seat_count; i++) {
			struct seat *seat = &s->seats[i];
			uint32_t owner = load_relaxed(&seat->who), used = load_relaxed(&s->header->seats_used);

			/* In other namespaces more than one thread may have our id. */
			if (owner && (owner != who || s->outsider) && (!probe || who_alive(owner, who)))
				continue;
			/* Our own id: of a dead thread, or taken just now, interrupted by the handler that asks. */
			if (owner != who && !cas(&seat->who, &owner, who))
				continue;
			store_relaxed(&seat->busy, 0);
			TEST_POINT("seat_taken");
			while (used <= i && !cas(&s->header->seats_used, &used, i + 1))
				;
			TEST_POINT("seat_used");
			return seat;
		}
	}
	return NULL;
}
