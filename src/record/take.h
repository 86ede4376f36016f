/*
 * take.h - the next chunk for a writer: empty, with room left, or the oldest
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_TAKE_H
#define RECORD_TAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/record.h"
#include "shm/stream.h"

/*
 * A chunk that nobody holds, with room for an owner record and the largest
 * event, claimed by who (shm/who.h): the caller writes and calls chunk_unclaim(). In this order:
 *
 *   1. one that is empty or read to its end
 *   2. one that has room and nobody holds
 *   3. one that has room or is read to its end, taken from the thread that has
 *      been idle for longest; not where LOOP has overwritten already, because
 *      there busy threads would go on taking from each other
 *   4. under LOOP, the one whose newest record is oldest
 *
 * Null if there is none: the stream is full.
 */
struct chunk *take_chunk(struct stream *s, uint32_t who);

/*
 * What take_chunk() would most likely return, if that needs nothing but to be claimed and made empty: nobody holds it, all of
 * it has been read or nothing. And all that is to be written then, worked out before: it is written by assembler, which takes
 * few operands, so the words have numbers.
 */
struct offer {
	struct chunk *chunk;
	uint64_t word[11];
	struct record_owner writer;
};

#define OFFER_OWNER    0  /* of the chunk: nobody, still */
#define OFFER_PROGRESS 1  /* likewise */
#define OFFER_RECORDS  2  /* in it; its first and read when it is empty */
#define OFFER_OLDEST   3  /* ticks of the first one */
#define OFFER_EMPTIED  4  /* its progress when it is empty */
#define OFFER_BEGUN    5  /* and with the record of its owner */
#define OFFER_MEMORY   6
#define OFFER_NUMBER   7  /* of the chunk, + 1 */
#define OFFER_WHO      8  /* shm/who.h */
#define OFFER_HELD     9  /* its owner, then: for the caller to set, as is writer */
#define OFFER_ROOM_END 10 /* likewise, see lane_fits() */

/* False: there is none like that. Nothing is written. */
bool take_offer(struct stream *s, uint32_t who, struct offer *offer);
/* To be called for whom such a chunk was taken: who writes the log may want to know. */
void take_told(struct stream_header *h);

#endif
