/*
 * acquire.c - the next chunk for a writer
 *
 * Safe in signal handlers: nothing here waits for a lock, and a chunk that an interrupted acquirer of the same thread
 * has locked is skipped, as by all other threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/acquire.h"

#include "base/sys.h"
#include "base/ticks.h"
#include "base/testpoint.h"
#include "model/record.h"
#include "shm/chunk.h"

/*
 * How often to look again while a suitable chunk is locked or busy for a moment: before another chunk is overwritten
 * instead, and before the stream counts as full.
 */
#define TRIES_OVERWRITE 64
#define TRIES           4000
#define TRIES_PER_YIELD 8
#define TRIES_PER_LOOK  32 /* at the clock, and whether the lock's process is a zombie */
#define PATIENCE_NS     (NS_PER_S / 10)

/*
 * After a wait that failed, so many acquisitions from this stream do not wait: twice as many after each failure, up to
 * a maximum. So a process that never releases its locks (H18) costs a writer one wait, and then less and less, instead
 * of one for each event.
 */
#define TRIES_AT_ONCE  4
#define WITHOUT_FIRST  512u
#define WITHOUT_MAX    (1u << 20)

/* How many chunks to remember whose owners stay in the middle of a record, to avoid revoking them again. */
#define STUCK 8

/* For how many chunks to ask whether their thread's process is a zombie. */
#define ZOMBIE_LOOKS 16

enum rank { RANK_EMPTY, RANK_ROOM, RANK_IDLE, RANK_OLDEST, RANK_NONE };

struct choice {
	struct chunk *chunk;
	enum rank rank;
	uint64_t ticks;
	enum rank contended; /* the best rank of the chunks that are locked or busy for a moment */
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

static bool own_record(const struct stream *s, const struct chunk *c, uint32_t ref)
{
	uint32_t seat = (uint32_t)load_relaxed(&c->owner) - 1;

	return seat < s->seat_count && load_relaxed(&s->seats[seat].ref) == ref &&
	       load_relaxed(&s->seats[seat].busy) == (uint32_t)(c - s->chunks) + 1;
}

/*
 * Returns true if the thread that holds the chunk has ended without leaving it, as with _exit() and by a signal, or if
 * the caller held it before it executed its file. Asking whether a process is a zombie takes longer and is done for
 * some chunks only; the next writer asks about others.
 */
static bool abandoned(const struct stream *s, const struct chunk *c, uint32_t ref)
{
	uint64_t owner = load_relaxed(&c->owner);
	uint32_t seat = (uint32_t)owner - 1, number = (uint32_t)(c - s->chunks), holder;

	if (!owner_is(owner) || seat >= s->seat_count)
		return false;
	holder = load_relaxed(&s->seats[seat].ref);
	if (holder == ref && !(ref & THREAD_REF_OUTSIDER))
		return true;
	return (number + ref) % s->chunk_count < ZOMBIE_LOOKS
	       ? !thread_ref_lives(holder, s->outsider)
	       : !thread_ref_alive(holder, s->outsider);
}

static struct choice choose(struct stream *s, const struct stuck *stuck, uint32_t ref, bool first, bool loop, bool sure)
{
	struct choice best = { NULL, RANK_NONE, 0, RANK_NONE };
	bool wrapped = loop && (load_relaxed(&s->header->state) & STATE_FULL);

	for (uint32_t i = 0; i < s->chunk_count; i++) {
		struct chunk *c = &s->chunks[i];
		uint32_t lock = load_relaxed(&c->lock);
		enum rank rank = rank_of(s, c, loop, wrapped);
		uint64_t ticks = load_relaxed(&c->last_ticks);

		/* Otherwise each child that writes one event and ends would overwrite a full chunk. */
		if (first && best.rank > RANK_IDLE && rank == RANK_OLDEST && rank_of(s, c, loop, false) == RANK_IDLE &&
		    abandoned(s, c, ref))
			rank = RANK_IDLE;
		if (rank > best.rank || (rank == best.rank && (rank == RANK_NONE || ticks >= best.ticks)))
			continue;
		/* Do not wait for an interrupted trace point of this thread: it cannot go on before we return. */
		if (lock == ref || own_record(s, c, ref))
			continue;
		/* The chunk is locked by an acquirer, or its acquirer was killed: the kernel knows. */
		if ((lock && (sure ? thread_ref_lives(lock, ref) : thread_ref_alive(lock, ref))) ||
		    is_stuck(stuck, c)) {
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

/*
 * Returns whether the caller has waited for too long. Counting tries is not enough: a yield takes long on a busy
 * machine.
 */
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

/* Experience with waiting, by a hash of the mapping's address. Two streams that share an entry only wait less. */
static struct patience {
	uint32_t without; /* how many acquisitions do not wait */
	uint32_t last;    /* the last value that `without` was set to; 0: the last wait succeeded */
} patience[64];

static struct patience *patience_of(const struct stream *s)
{
	return &patience[((uintptr_t)s->header >> 12) % 64];
}

static int tries_allowed(struct patience *p)
{
	uint32_t without = load_relaxed(&p->without);

	if (!without)
		return TRIES;
	store_relaxed(&p->without, without - 1); /* a race with other threads that count does no harm */
	return TRIES_AT_ONCE;
}

static struct chunk *waited_in_vain(struct patience *p, int tries)
{
	uint32_t last = load_relaxed(&p->last), next = last ? 2 * last : WITHOUT_FIRST;

	if (tries == TRIES) {
		store_relaxed(&p->last, next < WITHOUT_MAX ? next : WITHOUT_MAX);
		store_relaxed(&p->without, next < WITHOUT_MAX ? next : WITHOUT_MAX);
	}
	return NULL;
}

void acquire_notify(struct stream_header *h)
{
	if (load_relaxed(&h->flush_waiting) && exchange(&h->flush_waiting, 0)) {
		fetch_add(&h->wakeups, 1);
		sys_futex_wake(&h->wakeups);
		TEST_POINT("acquire_woken");
	}
}

/*
 * Returns the chunk and its progress, after noting that waiting helped. The writer's former chunk is full now: tells
 * the flusher. Returns null, with the chunk unlocked, if a hostile process has filled the chunk since it was chosen
 * (H18).
 */
static struct chunk *taken(const struct stream *s, struct chunk *c, struct patience *p, int tries, uint64_t *progress)
{
	if (tries == TRIES && load_relaxed(&p->last))
		store_relaxed(&p->last, 0);
	acquire_notify(s->header);
	*progress = load_relaxed(&c->progress);
	if (chunk_has_room(s, *progress))
		return c;
	chunk_unlock(c);
	return NULL;
}

struct chunk *acquire_chunk(struct stream *s, uint32_t ref, bool first, uint64_t *progress)
{
	bool loop = s->stream_policy == POSIX_TRACE_LOOP;

	struct stuck stuck = { { NULL }, 0 };
	struct patience *p = patience_of(s);
	int tries = tries_allowed(p);
	bool contended = false;
	int64_t until = 0;

	for (int try = 0; try < tries; try++) {
		bool sure = try % TRIES_PER_LOOK == TRIES_PER_LOOK - 1;
		struct choice best = choose(s, &stuck, ref, first, loop, sure);
		struct chunk *c = best.chunk;
		enum rank rank;

		/* A chunk that is only busy for a moment must not cause an overwrite or a full stream. */
		contended = best.contended < best.rank;
		if (contended && (!c || try < TRIES_OVERWRITE) && !late(try, &until)) {
			if (try % TRIES_PER_YIELD == TRIES_PER_YIELD - 1) {
				sys_yield(); /* the chunk's thread may be waiting for this processor */
				stuck.count = 0;
			} else {
				spin_pause();
			}
			continue;
		}
		if (!c)
			return contended ? waited_in_vain(p, tries) : NULL;
		if (!chunk_trylock(s, c, ref, sure))
			continue;
		TEST_POINT("acquire_locked");
		/* The choice was made before the lock: another thread may have had the chunk meanwhile. */
		rank = rank_of(s, c, loop, false);
		if (rank > best.rank || !chunk_revoke(s, c)) {
			if (rank <= best.rank)
				stuck.chunk[stuck.count++ % STUCK] = c;
			chunk_unlock(c);
			continue;
		}
		TEST_POINT("acquire_revoked");
		rank = rank_of(s, c, loop, false);
		if (rank == RANK_ROOM)
			return taken(s, c, p, tries, progress);
		if (rank > best.rank) {
			chunk_unlock(c);
			continue;
		}
		if (chunk_recycle(s, c) > 0 &&
		    (~load_relaxed(&s->header->state) & (STATE_FULL | STATE_OVERRUN)))
			fetch_or(&s->header->state, STATE_FULL | STATE_OVERRUN);
		return taken(s, c, p, tries, progress);
	}
	return waited_in_vain(p, tries);
}

bool acquire_candidate(struct stream *s, uint32_t ref, struct candidate *candidate)
{
	struct stuck stuck = { { NULL }, 0 };
	struct choice best = choose(s, &stuck, ref, false, s->stream_policy == POSIX_TRACE_LOOP, false);
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
	candidate->chunk = c;
	candidate->word[CANDIDATE_OWNER] = owner;
	candidate->word[CANDIDATE_PROGRESS] = progress;
	candidate->word[CANDIDATE_RECORDS] = records;
	candidate->word[CANDIDATE_EMPTIED] = progress_make(records, 0);
	candidate->word[CANDIDATE_BEGUN] = progress_make(records, sizeof(struct record_owner));
	candidate->word[CANDIDATE_MEMORY] = (uintptr_t)stream_chunk_memory(s, c);
	candidate->word[CANDIDATE_NUMBER] = (uint32_t)(c - s->chunks) + 1;
	candidate->word[CANDIDATE_REF] = ref;
	candidate->word[CANDIDATE_OLDEST] = 0;
	/*
	 * The choice was made before these loads: another thread, or a handler of this one, may have had the chunk
	 * meanwhile.
	 */
	if (best.rank == RANK_EMPTY)
		return load_relaxed(&c->read) == records;
	if (load_relaxed(&c->last_ticks) != best.ticks)
		return false;
	/*
	 * The first event comes after the owner record. It stays there as long as the chunk's progress does not change.
	 */
	first = (const struct record *)(stream_chunk_memory(s, c) + sizeof(struct record_owner));
	candidate->word[CANDIDATE_OLDEST] = load_relaxed(&first->ticks);
	return !(load_relaxed(&first->type) & RECORD_OWNER);
}
