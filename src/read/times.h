/*
 * times.h - ticks of records to ns of CLOCK_MONOTONIC
 *
 * Each look of the reader adds an anchor (base/ticks.h); the latest ones are in a ring. Ticks between two anchors are
 * on the line between them, later ones on the last line. Earlier ones are on the line from the stream's creation to
 * the ring's first anchor.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READ_TIMES_H
#define READ_TIMES_H

#include <stdbool.h>

#include "base/ticks.h"

#define TIMES_ANCHORS 64

struct times {
	struct ticks_line line; /* of the last converted ticks */
	/* The newest time reported. The lines change, but later ticks never get an earlier time. */
	struct anchor reported;
	struct anchor creation;
	uint32_t anchors; /* so far; the newest is anchor[(anchors - 1) % TIMES_ANCHORS] */
	struct anchor anchor[TIMES_ANCHORS];
	double slope[TIMES_ANCHORS]; /* from anchor i to the next */
};

/* Begins with the anchor of the stream's creation. */
void times_start(struct times *t, struct anchor creation);
void times_add(struct times *t, struct anchor now);
/* Returns ns of CLOCK_MONOTONIC, for a report. Rising ticks give times that do not fall. */
int64_t times_convert(struct times *t, uint64_t ticks);
/* Notes times that the caller has converted by line, not falling and not before reported: the last one. */
static inline void times_converted(struct times *t, uint64_t ticks, int64_t ns)
{
	t->reported = (struct anchor){ ticks, ns };
}
/* Returns whether the ticks are more than ns after the newest anchor. */
bool times_after(const struct times *t, uint64_t ticks, int64_t ns);

#endif
