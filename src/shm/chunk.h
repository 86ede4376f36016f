/*
 * chunk.h - a piece of a stream's memory, written by one thread at a time
 *
 * Two words decide. owner says whose it is; only takers change it, and the
 * owner when it leaves. progress says what is there; only the owner changes it:
 *
 *     63         32 31          0         63         32 31          0
 *    +-------------+-------------+       +-------------+-------------+
 *    |   tenure    |  seat + 1   |       |   records   |  position   |
 *    +-------------+-------------+       +-------------+-------------+
 *               owner                              progress
 *
 * tenure    changes with each change of hands, so no word comes twice
 * seat + 1  the owner's seat; 0: nobody's
 * records   all records ever committed here, modulo 2^32: it goes on when the
 *           chunk is used again, so a reader can tell how many it has missed
 * position  where the next record goes; everything before it is committed
 *
 *                    take (any thread, with the claim)
 *      NOBODY'S ------------------------------------------> HELD by a seat --+
 *         ^  ^                                                |  |  ^        | record
 *         |  |       leave (the owner, no room)               |  |  +--------+ (the owner)
 *         |  +------------------------------------------------+  |
 *         |          revoke (any thread, with the claim)         |
 *         +------------------------------------------------------+
 *
 * A record, by the owner, without a locked instruction:
 *
 *     seat.busy = chunk;  is owner still mine?  write;  progress = next;  seat.busy = 0
 *
 * Revoking, by whoever wants the chunk:
 *
 *     owner = nobody's;  barrier everywhere;  is the old owner's seat.busy this chunk?
 *
 * By the barrier one of the two sees the other: either the owner finds that
 * the chunk is not its own, and has written nothing; or the taker finds it
 * busy, waits for the end of that one record, and if that takes too long gives
 * the chunk back. The owner's late words go to its own seat and hurt nobody.
 *
 * (A compare-and-swap without the lock prefix on one common word would do with
 * one word less, and was tried. But where it fails it writes back what it has
 * read, and so can undo a store of the new owner on another processor.)
 *
 * Takers keep each other out by claim, the taker's thread id (shm/who.h). It is held for a
 * microsecond, and that of a dead thread is taken over. A handler that traces
 * inside a trace point writes its one record under the claim and leaves the
 * chunk to nobody.
 *
 * A thread can be killed between any two instructions. Committed records stay;
 * at most the one record being written is lost, and nothing is behind it.
 * busy of a dead thread is ignored by whoever has asked the kernel.
 *
 * Readers take nothing. They copy records between read and position, and
 * claim each by moving read, which a taker moves too before the chunk is
 * written from its start again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_CHUNK_H
#define SHM_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "model/record.h"
#include "shm/stream.h"
#include "shm/who.h"

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

/* The next tenure, of this seat + 1, or 0 for nobody. */
static inline uint64_t owner_next(uint64_t owner, uint32_t seat1)
{
	return ((owner >> 32) + 1) << 32 | seat1;
}

/* Records that the reader has not had. */
static inline uint32_t chunk_unread(const struct chunk *c, uint64_t progress)
{
	return progress_records(progress) - load_relaxed(&c->read);
}

/* Is there room for a largest event? False for a position that cannot be. */
static inline bool chunk_has_room(const struct stream *s, uint64_t progress)
{
	uint32_t position = progress_position(progress);

	return position <= s->chunk_size && s->chunk_size - position >= s->event_size_max && position % RECORD_ALIGN == 0;
}

/* Excludes other takers. False: one is at it. who: shm/who.h. sure: after some waiting, also for zombies. */
bool chunk_claim(const struct stream *s, struct chunk *c, uint32_t who, bool sure);
void chunk_unclaim(struct chunk *c);

/*
 * Takes a claimed chunk away from its owner: true, and it is nobody's. False:
 * the owner is in the middle of a record and does not come out.
 */
bool chunk_revoke(const struct stream *s, struct chunk *c);
/*
 * The same in two halves, with one barrier for many chunks between them.
 * *was is the owner for the second half. Without a barrier: chunk_give_back().
 */
void chunk_withdraw(struct chunk *c, uint64_t *was);
bool chunk_withdrawn(const struct stream *s, struct chunk *c, uint64_t was);
void chunk_give_back(struct chunk *c, uint64_t was);

/*
 * Makes a claimed chunk that nobody holds empty: records that have not been
 * read are lost, and the gap they leave is noted. Returns how many were lost.
 */
uint32_t chunk_recycle(const struct stream *s, struct chunk *c);

/* The owner lets go. Nothing happens if it is not the owner any more. */
void chunk_leave(struct chunk *c, uint64_t owner);

/*
 * A seat for the thread, which has none in this stream. Null: all are taken.
 * Safe in handlers.
 */
struct seat *seat_take(const struct stream *s, uint32_t who);

#endif
