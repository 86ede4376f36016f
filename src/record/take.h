/*
 * take.h - the next chunk for a writer: empty, with room left, or the oldest
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_TAKE_H
#define RECORD_TAKE_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
