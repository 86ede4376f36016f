/*
 * cursor.h - the next record of one chunk
 *
 * No record is parsed in place (H18): records are copied, and checked against the bounds of the copy. A record is
 * consumed when the cursor has moved chunk.read past it by compare-and-swap. A writer that recycles the chunk also
 * moves chunk.read before writing there, so a consumed record was whole when it was copied.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READ_CURSOR_H
#define READ_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/record.h"
#include "shm/stream.h"

struct cursor {
	uint32_t first;      /* chunk.first when last seen */
	uint32_t next;       /* number of the next record */
	uint32_t at;         /* offset of the next record */
	bool have;           /* head is the next record's */
	bool unacknowledged; /* the chunk was recycled; cursor_acknowledge() is still to be called */
	bool moving;         /* an acquirer is about to overwrite the chunk: head's record is lost */
	struct record head;
	struct record_owner owner; /* of head */
	/* Ticks of the first and the last event overwritten since the caller last looked; gap_from 0: none. */
	uint64_t gap_from, gap_until;
	uint64_t lost; /* number of events overwritten so far */
	/*
	 * Records before this number were given up and reported as lost: cursor_give_up(). They count as lost from
	 * then on, whether an acquirer overwrites them in the end or not.
	 */
	uint32_t given_up;
	uint64_t given_up_until; /* chunk.gap_until at that time; 0: no record was given up */
};

/* Looks for the chunk's next record, and notes what was overwritten. Returns true if there is a record. */
bool cursor_look(struct cursor *cur, const struct stream *s, struct chunk *c);
/*
 * Allows acquirers to forget the gap before the chunk's first record. If another reader may go on after this one, the
 * gap must have been saved elsewhere before, because the next reader cannot find it here any more.
 */
void cursor_acknowledge(struct cursor *cur, struct chunk *c);
/*
 * Stops waiting for an acquirer that is about to overwrite records (moving): takes over the chunk's gap as if the
 * records had been overwritten. Returns false if the chunk has been recycled by now; look again.
 */
bool cursor_give_up(struct cursor *cur, const struct chunk *c);
/* Returns the number of given-up records that were neither overwritten nor passed since. */
static inline uint32_t cursor_given_up(const struct cursor *cur)
{
	int32_t n = (int32_t)(cur->given_up - cur->next);

	return cur->given_up_until && n > 0 ? (uint32_t)n : 0;
}
/* Returns the number of events overwritten or given up so far, including those that the cursor has not noticed yet. */
uint64_t cursor_lost(const struct cursor *cur, const struct chunk *c);
/* Begins after the last record consumed by another reader, and notes later overwrites. */
void cursor_resume(struct cursor *cur, const struct stream *s, struct chunk *c);
/*
 * For consuming many records at once: goes on to the next record without consuming any. Returns true if there is a
 * next record. cursor_consume() then consumes all records up to here.
 */
bool cursor_step(struct cursor *cur, const struct stream *s, struct chunk *c);
/* Does cursor_step() past this many records, of this many bytes together, whose owner is the same. */
bool cursor_pass(struct cursor *cur, const struct stream *s, struct chunk *c, uint32_t count, uint32_t bytes);
/*
 * Sets *from to *to to the committed bytes from the cursor's record on. Returns how many records they are said to be.
 */
uint32_t cursor_rest(const struct cursor *cur, const struct stream *s, struct chunk *c, const unsigned char **from,
                     const unsigned char **to);
/*
 * Consumes the records since `before`. Returns false if they were overwritten: the cursor is back at `before`, look
 * again.
 */
bool cursor_consume(struct cursor *cur, struct chunk *c, const struct cursor *before);
/* Copies up to size bytes of the record's data. The copy is valid only if the record is consumed afterwards. */
void cursor_copy(const struct cursor *cur, const struct stream *s, struct chunk *c, void *data, size_t size);
/*
 * Copies up to size bytes of the record's data and consumes the record. Returns false if it was overwritten
 * meanwhile: look again.
 */
bool cursor_read(struct cursor *cur, const struct stream *s, struct chunk *c, void *data, size_t size);

#endif
