/*
 * cursor.h - the next record of one chunk
 *
 * Nothing is parsed in place (H18): what is copied is checked against the copy's own
 * bounds. A record counts as read when the cursor has moved chunk.read past
 * it by compare-and-swap; a writer that recycles the chunk moves it too, before
 * it writes there, so a record that was claimed was whole when it was copied.
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
	uint32_t first; /* chunk.first, as this cursor knows it */
	uint32_t next;  /* number of the next record */
	uint32_t at;    /* where it begins */
	bool have;      /* head is that record's */
	bool unsaid;    /* the chunk has been used again, and the takers have not been told that this is known: cursor_said() */
	bool moving;    /* a taker is about to overwrite the chunk: head's record is lost, as will be told soon */
	struct record head;
	struct record_owner owner; /* of it */
	/* Ticks of the first and the last event overwritten since the caller has looked here; gap_from 0: none. */
	uint64_t gap_from, gap_until;
	uint64_t lost; /* events overwritten, all so far */
	/*
	 * Records before this number were given up, and that is told: cursor_give_up(). They are lost from then on, whether
	 * they are overwritten in the end or not.
	 */
	uint32_t given_up;
	uint64_t given_up_until; /* chunk.gap_until at that time; 0: none were */
};

/* Looks for the chunk's next record; notes what was overwritten. True if there is one. */
bool cursor_look(struct cursor *cur, const struct stream *s, struct chunk *c);
/*
 * The takers may forget the gap before the chunk's first record. Not before it is known where it outlives this reader, if
 * another one is to go on: that would find nothing of it here any more.
 */
void cursor_said(struct cursor *cur, struct chunk *c);
/*
 * What a taker is about to overwrite (moving) it will not be waited for any longer: the gap is that of the chunk, as if it had
 * been overwritten. False: it is, by now; look again.
 */
bool cursor_give_up(struct cursor *cur, const struct chunk *c);
/* Records that were given up, and that neither were overwritten since nor have been gone past. */
static inline uint32_t cursor_given_up(const struct cursor *cur)
{
	int32_t n = (int32_t)(cur->given_up - cur->next);

	return cur->given_up_until && n > 0 ? (uint32_t)n : 0;
}
/* Begins behind what was read, where another reader has left off; notes what was overwritten since then. */
void cursor_resume(struct cursor *cur, const struct stream *s, struct chunk *c);
/*
 * For who takes many records at once: goes on to the next one without claiming
 * any; true if there is one. Then all from where it began are claimed.
 */
bool cursor_step(struct cursor *cur, const struct stream *s, struct chunk *c);
/* False: overwritten; the cursor is where it was before, and looks again. */
bool cursor_claim(struct cursor *cur, struct chunk *c, const struct cursor *before);
/* Copies up to size bytes of the record's data, for a look: they count when it has been taken. */
void cursor_copy(const struct cursor *cur, const struct stream *s, struct chunk *c, void *data, size_t size);
/*
 * Copies up to size bytes of the record's data and claims it. False if it was
 * overwritten meanwhile: look again.
 */
bool cursor_take(struct cursor *cur, const struct stream *s, struct chunk *c, void *data, size_t size);

#endif
