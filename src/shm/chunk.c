/*
 * chunk.c - the transitions of a chunk off the hot path
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/chunk.h"

#include "base/invariant.h"
#include "base/testpoint.h"
#include "base/wait.h"
#include "host/ident.h"
#include "model/record.h"

/* A record takes some 20 ns: a thread that stays busy for longer than this number of looks was interrupted. */
#define BUSY_LOOKS 500

#define WITHDRAW_TRIES 10
#define USED_TRIES     2000 /* more than there are seats: seats_used only rises */

/*
 * How many threads that seem to be busy with the chunk of a dead acquirer to look at closely. At most one really is,
 * unless a process lies (H18).
 */
#define SETTLE_LOOKS 8

#ifdef POSIXTRACE_CHECKS
void chunk_check(const struct stream *s, struct chunk *c)
{
	const unsigned char *memory = stream_chunk_memory(s, c);
	/* In this order: the reader and the owner may go on meanwhile. Committed bytes stay while the lock is held. */
	uint32_t first = load_relaxed(&c->first), read = load_acquire(&c->read); /* PAIR(read) */
	uint32_t at = 0, events = 0;
	uint64_t progress = load_acquire(&c->progress), ticks = 0; /* PAIR(commit) */
	uint32_t records = progress_records(progress), position = progress_position(progress);

	INVARIANT(load_relaxed(&c->lock) != 0);
	INVARIANT((uint32_t)load_relaxed(&c->owner) <= s->seat_count);
	INVARIANT(read - first <= records - first);
	if (!INVARIANT(position <= s->chunk_size && position % RECORD_ALIGN == 0))
		return;
	while (at < position) {
		const struct record *r = (const struct record *)(memory + at);
		bool owner = r->type & RECORD_OWNER;
		uint32_t size = owner ? (uint32_t)sizeof(struct record_owner) : record_size(r->length);

		if (!INVARIANT(size <= position - at))
			return;
		if (!owner) {
			INVARIANT(r->ticks >= ticks);
			ticks = r->ticks;
			events++;
		}
		at += size;
	}
	INVARIANT(ticks <= load_relaxed(&c->last_ticks));
	/* An acquirer killed in chunk_recycle() leaves bytes of records that count no more. */
	INVARIANT(records - first == events || records == first);
}
#endif

void chunk_unlock(struct chunk *c)
{
	/* PAIR(lock): other side in chunk_trylock(). */
	store_release(&c->lock, 0);
	TEST_POINT("chunk_unlocked");
}

bool chunk_withdraw(struct chunk *c, uint64_t *was)
{
	*was = load_relaxed(&c->owner);
	/* An owner that leaves makes the chunk nobody's too. Any further change is made on purpose (H18). */
	for (int try = 0; try < WITHDRAW_TRIES; try++)
		if (!owner_is(*was) || cas(&c->owner, was, owner_next(*was, 0)))
			return true;
	return false;
}

bool chunk_withdrawn(const struct stream *s, struct chunk *c, uint64_t was)
{
	uint32_t seat = (uint32_t)was - 1, number = (uint32_t)(c - s->chunks) + 1;

	if (!owner_is(was) || seat >= s->seat_count)
		return true;
	for (int i = 0; i < BUSY_LOOKS; i++) {
		/* PAIR(busy): the owner is out of the record, so the commit is visible. */
		if (load_acquire(&s->seats[seat].busy) != number)
			return true;
		spin_pause();
	}
	return !thread_ref_lives(load_relaxed(&s->seats[seat].ref), s->outsider);
}

void chunk_give_back(struct chunk *c, uint64_t was)
{
	if (owner_is(was))
		store_relaxed(&c->owner, was); /* the release of the lock follows */
}

/*
 * Repairs a chunk whose lock was taken over from a dead thread. That thread may have cleared the owner and died
 * before it checked whether the owner was in the middle of a record, or before it gave the chunk back. A thread in
 * the middle of a record gets the chunk, under a new owner word: it will leave the chunk after this record, and
 * acquirers check its seat again. Returns false if no barrier is possible and a seat may be in use.
 */
static bool settle(const struct stream *s, struct chunk *c)
{
	uint32_t number = (uint32_t)(c - s->chunks) + 1, used = load_relaxed(&s->header->seats_used);
	uint64_t owner = load_relaxed(&c->owner);
	int looks = 0;

	if (owner_is(owner))
		return true;
	if (!barrier_everywhere())
		return used == 0;
	for (uint32_t i = 0; i < s->seat_count && i < used; i++) {
		/* PAIR(busy): by the barrier: a thread that is not busy by now will find that it has lost the chunk. */
		if (load_acquire(&s->seats[i].busy) != number ||
		    !thread_ref_alive(load_relaxed(&s->seats[i].ref), s->outsider))
			continue;
		if (looks++ < SETTLE_LOOKS && chunk_withdrawn(s, c, owner_next(owner, i + 1)))
			continue;
		store_relaxed(&c->owner, owner_next(owner, i + 1));
		break;
	}
	return true;
}

bool chunk_trylock(const struct stream *s, struct chunk *c, uint32_t ref, bool sure)
{
	uint32_t lock = load_relaxed(&c->lock);

	/*
	 * The lock of a dead thread may be taken over (H6), unless its id was given out again (H16). If the lock has
	 * our own id, either this thread was interrupted here by the handler that is calling, or a dead thread had
	 * the same id. Leave the lock alone.
	 */
	if (lock && (lock == ref || (sure ? thread_ref_lives(lock, ref) : thread_ref_alive(lock, ref))))
		return false;
	/* PAIR(lock): the new holder sees all that the last acquirer has written. */
	if (!cas(&c->lock, &lock, ref))
		return false;
	if (!lock || settle(s, c)) {
		chunk_check(s, c);
		return true;
	}
	chunk_unlock(c);
	return false;
}

bool chunk_revoke(const struct stream *s, struct chunk *c)
{
	uint64_t was;

	if (!chunk_withdraw(c, &was))
		return false;
	TEST_POINT("revoke_withdrawn");
	if (!owner_is(was))
		return true;
	if (barrier_everywhere() && chunk_withdrawn(s, c, was))
		return true;
	chunk_give_back(c, was);
	TEST_POINT("revoke_back");
	return false;
}

/* Returns the ticks of record number n of a chunk, counted from 0; 0 if there are fewer records. */
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
	 * PAIR(seen): the reader has counted the last gap, so the gap may be cleared. Keep it if it covers the
	 * records that are here now: an acquirer noted it, moved read, and died before it changed first.
	 */
	if (load_acquire(&c->seen) == first && load_relaxed(&c->gap_until) != last)
		store_relaxed(&c->gap_from, 0);
	/*
	 * Note the gap before moving read: if this thread died in between, the next acquirer could not tell which
	 * records were unread. A gap without lost records does no harm, because readers ignore it.
	 */
	if (read != records) {
		if (!load_relaxed(&c->gap_from))
			store_relaxed(&c->gap_from, ticks_of(stream_chunk_memory(s, c), s->chunk_size, read - first));
		store_relaxed(&c->gap_until, last);
		TEST_POINT("recycle_gap");
	}
	/*
	 * PAIR(read): from here on the reader's cas on this word fails, so each record has either been read or is
	 * counted as lost, never both.
	 * PAIR(reset): a reader that sees this value sees no older progress than the one loaded above.
	 */
	read = exchange(&c->read, records);
	TEST_POINT("recycle_read");
	lost = records - read;
	/*
	 * PAIR(recycle): a reader that copies bytes written after this also sees a different first. The full barrier
	 * keeps the new bytes after the store.
	 */
	store_release(&c->first, records);
	TEST_POINT("recycle_first");
	fence_full();
	store_release(&c->progress, progress_make(records, 0)); /* PAIR(commit) */
	TEST_POINT("recycle_done");
	chunk_check(s, c);
	return lost;
}

void chunk_leave(struct chunk *c, uint64_t owner)
{
	cas(&c->owner, &owner, owner_next(owner, 0));
	TEST_POINT("chunk_left");
}

static bool is_one_of(const struct seat *seat, struct seat *const *others, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (others[i] == seat)
			return true;
	return false;
}

static struct seat *acquire(const struct stream *s, uint32_t ref, struct seat *const *others, unsigned count,
                            bool inside)
{
	/* Try the free seats first, then the seats of dead threads. */
	for (int probe = 0; probe < 2; probe++) {
		for (uint32_t i = 0; i < s->seat_count; i++) {
			struct seat *seat = &s->seats[i];
			uint32_t owner = load_relaxed(&seat->ref), used = load_relaxed(&s->header->seats_used);

			/* Threads of different pid namespaces can have the same id. */
			if (owner && (owner != ref || s->outsider) && (!probe || thread_ref_alive(owner, ref)))
				continue;
			if (is_one_of(seat, others, count) || (inside && owner == ref && load_relaxed(&seat->busy)))
				continue;
			/*
			 * Our own id: left by a dead thread, or stored a moment ago, before the calling handler
			 * interrupted.
			 */
			if (owner != ref && !cas(&seat->ref, &owner, ref))
				continue;
			store_relaxed(&seat->busy, 0);
			TEST_POINT("seat_acquired");
			for (int try = 0;
			     used <= i && try < USED_TRIES && !cas(&s->header->seats_used, &used, i + 1); try++)
				;
			TEST_POINT("seat_used");
			return seat;
		}
	}
	return NULL;
}

struct seat *seat_acquire(const struct stream *s, uint32_t ref)
{
	return acquire(s, ref, NULL, 0, false);
}

struct seat *seat_acquire_further(const struct stream *s, uint32_t ref, struct seat *const *others, unsigned count)
{
	return acquire(s, ref, others, count, true);
}
