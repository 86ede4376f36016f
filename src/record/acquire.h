/*
 * acquire.h - the next chunk for a writer: empty, with room left, or the oldest
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_ACQUIRE_H
#define RECORD_ACQUIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/record.h"
#include "shm/stream.h"

/*
 * Returns a chunk that no thread holds, with room for an owner record and the largest event, locked with ref
 * (host/thread_ref.h). The caller writes and calls chunk_unlock(). Chunks are chosen in this order:
 *
 *   1. one that is empty or read to its end
 *   2. one that has room and that no thread holds
 *   3. one that has room or is read to its end, taken from the thread that has been idle for longest. Where LOOP has
 *      overwritten already, busy threads would go on taking from each other. So there it is taken only from a thread
 *      that has ended, or from the caller before it executed its file, and only if this is the writer's first chunk
 *      (first), because the kernel has to be asked. This limits the number of such chunks to the number of writers
 *   4. under LOOP, the one whose newest record is oldest
 *
 * Returns null if there is none: the stream is full. *progress is the chunk's progress, which leaves that room. The
 * caller goes on from this copy, because a hostile process may change the chunk's own word (H18).
 */
struct chunk *acquire_chunk(struct stream *s, uint32_t ref, bool first, uint64_t *progress);

/*
 * The chunk that acquire_chunk() would most likely return, if it only has to be locked and emptied: no thread holds it,
 * and either all of its records have been read or none. With it comes everything that has to be written then, computed
 * in advance. The words have numbers because assembler writes them, which takes few operands.
 */
struct candidate {
	struct chunk *chunk;
	uint64_t word[11];
	struct record_owner owner_id;
};

#define CANDIDATE_OWNER    0  /* the chunk's owner word: nobody's; must be unchanged */
#define CANDIDATE_PROGRESS 1  /* the chunk's progress word; must be unchanged */
#define CANDIDATE_RECORDS  2  /* its records; `first` and `read` of the emptied chunk */
#define CANDIDATE_OLDEST   3  /* ticks of its first event */
#define CANDIDATE_EMPTIED  4  /* progress of the emptied chunk */
#define CANDIDATE_BEGUN    5  /* progress with the owner record */
#define CANDIDATE_MEMORY   6
#define CANDIDATE_NUMBER   7  /* of the chunk, + 1 */
#define CANDIDATE_REF      8  /* the acquirer's, host/thread_ref.h */
#define CANDIDATE_HELD     9  /* the owner word of the new holder; set by the caller, as is owner_id */
#define CANDIDATE_ROOM_END 10 /* see writer_fits(); set by the caller */

/* Finds a candidate. Returns false if there is none. Writes nothing to the stream. */
bool acquire_candidate(struct stream *s, uint32_t ref, struct candidate *candidate);
/* Wakes the flusher if it is waiting for writers. Called by whoever acquires a chunk. */
void acquire_notify(struct stream_header *h);

#endif
