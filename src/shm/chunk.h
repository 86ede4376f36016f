/*
 * chunk.h - a piece of a stream's memory, written by one thread at a time
 *
 * Two words decide. owner says which seat has the chunk; only acquirers change it, and the owner when it leaves.
 * progress says what has been committed; only the owner changes it:
 *
 *     63         32 31          0         63         32 31          0
 *    +-------------+-------------+       +-------------+-------------+
 *    | generation  |  seat + 1   |       |   records   |  position   |
 *    +-------------+-------------+       +-------------+-------------+
 *               owner                              progress
 *
 * generation  changes with each change of hands, so no value of the word comes twice
 * seat + 1    the owner's seat; 0: the chunk is nobody's
 * records     all records ever committed here, modulo 2^32: it goes on when the chunk is used again, so a reader can
 *             tell how many it has missed
 * position    where the next record goes; everything before it is committed
 *
 *                    acquire (any thread, with the lock)
 *      NOBODY'S ------------------------------------------> OWNED by a seat -+
 *         ^  ^                                                |  |  ^        | record
 *         |  |       leave (the owner, no room)               |  |  +--------+ (the owner)
 *         |  +------------------------------------------------+  |
 *         |          revoke (any thread, with the lock)          |
 *         +------------------------------------------------------+
 *
 * A record, by the owner, without a locked instruction:
 *
 *     seat.busy = chunk;  is owner still mine?  write;  progress = next;  seat.busy = 0
 *
 * Revoking, by any thread that wants the chunk:
 *
 *     owner = nobody's;  barrier everywhere;  is the old owner's seat.busy this chunk?
 *
 * The barrier guarantees that one of the two sees the other. Either the owner finds that it has lost the chunk, and
 * has written nothing; or the acquirer finds the owner busy and waits for the end of that one record. If the wait
 * takes too long, the acquirer gives the chunk back. What the owner writes late goes to its own seat and disturbs no
 * other thread.
 *
 * (A compare-and-swap without the lock prefix on one common word would save a word, and was tried. But a failing
 * compare-and-swap writes back the value it has read, and so can undo a store of the new owner on another processor.)
 *
 * Acquirers exclude each other by lock, the acquirer's thread id (host/thread_ref.h). The lock is held for a
 * microsecond, and the lock of a dead thread is taken over. A handler that traces inside a trace point writes its one
 * record under the lock and leaves the chunk without an owner.
 *
 * A thread can be killed between any two instructions. Committed records stay; at most the one record being written
 * is lost, and no record follows it. A dead thread's busy is ignored once the kernel has confirmed the death.
 *
 * Readers take no lock. They copy records between read and position, and consume each by moving read. An acquirer
 * moves read too before the chunk is written from its start again, so one of the two fails.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_CHUNK_H
#define SHM_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "host/thread_ref.h"
#include "model/record.h"
#include "shm/stream.h"

static inline uint32_t progress_records(uint64_t p)
{
	return (uint32_t)(p >> 32);
}

static inline uint32_t progress_position(uint64_t p)
{
	return (uint32_t)p;
}

static inline uint64_t progress_make(uint32_t records, uint32_t position)
{
	return (uint64_t)records << 32 | position;
}

static inline bool owner_is(uint64_t owner)
{
	return (uint32_t)owner != 0;
}

/* Returns the owner word of the next generation, for this seat + 1, or 0 for no owner. */
static inline uint64_t owner_next(uint64_t owner, uint32_t seat1)
{
	return ((owner >> 32) + 1) << 32 | seat1;
}

/* Returns the number of records that the reader has not consumed. */
static inline uint32_t chunk_unread(const struct chunk *c, uint64_t progress)
{
	return progress_records(progress) - load_relaxed(&c->read);
}

/* Returns whether the largest event fits. False for an impossible position as well. */
static inline bool chunk_has_room(const struct stream *s, uint64_t progress)
{
	uint32_t position = progress_position(progress);

	return position <= s->chunk_size && s->chunk_size - position >= s->event_size_max &&
	       position % RECORD_ALIGN == 0;
}

/*
 * Checks what holds of a chunk that the caller has locked, in tests (base/invariant.h), whoever may have died in it or
 * be writing to it.
 */
#ifdef POSIXTRACE_CHECKS
void chunk_check(const struct stream *s, struct chunk *c);
#else
# define chunk_check(s, c) ((void)0)
#endif

/*
 * Locks a chunk against other acquirers. Returns false if the lock is held. ref: the calling thread
 * (host/thread_ref.h). sure: also recognize zombies as dead; for use after some waiting.
 */
bool chunk_trylock(const struct stream *s, struct chunk *c, uint32_t ref, bool sure);
void chunk_unlock(struct chunk *c);

/*
 * Takes a locked chunk away from its owner. Returns true if the chunk is nobody's now, false if the owner is in the
 * middle of a record and does not finish it.
 */
bool chunk_revoke(const struct stream *s, struct chunk *c);
/*
 * Does chunk_revoke() in two halves, with one barrier for many chunks between them. chunk_withdraw() stores the owner
 * in *was for the second half, and returns false if the owner changes all the time. If no barrier is possible, undo
 * it with chunk_give_back().
 */
bool chunk_withdraw(struct chunk *c, uint64_t *was);
bool chunk_withdrawn(const struct stream *s, struct chunk *c, uint64_t was);
void chunk_give_back(struct chunk *c, uint64_t was);

/*
 * Empties a locked chunk that has no owner. Unread records are lost, and the gap they leave is noted. Returns the
 * number of lost records.
 */
uint32_t chunk_recycle(const struct stream *s, struct chunk *c);

/* Leaves the chunk. Does nothing if the caller no longer owns it. */
void chunk_leave(struct chunk *c, uint64_t owner);

/* Takes a seat for the thread, which has none in this stream. Returns null if all are taken. Safe in handlers. */
struct seat *seat_acquire(const struct stream *s, uint32_t ref);

/*
 * Takes a further seat for the thread, other than these. Unlike seat_acquire(), leaves alone a seat that has the
 * thread's id and is busy: an interrupted trace point of the thread may be in the middle of a record there.
 */
struct seat *seat_acquire_further(const struct stream *s, uint32_t ref, struct seat *const *others, unsigned count);

#endif
