/*
 * gaps.h - what a reader knows of lost events, and has not reported yet
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READ_GAPS_H
#define READ_GAPS_H

#include "base/atomic.h"
#include "base/testpoint.h"
#include "read/cursor.h"

struct gaps {
	uint64_t from;         /* ticks of the first lost event since the last report; 0: none */
	uint64_t until;        /* of the newest event that was ever overwritten: older ones are dropped */
	/*
	 * Single events were lost at unknown places between these two; 0: none. Each event that was recorded meanwhile
	 * is reported to follow a gap, and so is the next one.
	 */
	uint64_t unsure_from, unsure_until;
	uint64_t dropped;      /* number of dropped events */
	bool unacknowledged;   /* from includes a gap that acquirers must keep until merge_acknowledge() */
};

/* Adds a gap. until is 0 if no event was overwritten. */
static inline void gaps_add(struct gaps *g, uint64_t from, uint64_t until)
{
	if (!g->from || from < g->from)
		g->from = from;
	if (until > g->until)
		g->until = until;
}

/* Moves here the gap that the cursor has found, if any. */
static inline void gaps_take(struct gaps *g, struct cursor *cur)
{
	if (cur->gap_from) {
		gaps_add(g, cur->gap_from, cur->gap_until);
		cur->gap_from = 0;
	}
}

/* Adds the events that found no room, if any. */
static inline void gaps_take_lost(struct gaps *g, struct stream_header *header)
{
	if (load_relaxed(&header->lost_ticks)) {
		/* In this order: see emit_lost(). */
		uint64_t first = exchange(&header->lost_ticks, 0);

		gaps_add(g, first, 0);
		TEST_POINT("read_lost");
		/* The reader may not have got to the end of earlier losses yet. */
		if (!g->unsure_until || first < g->unsure_from)
			g->unsure_from = first;
		g->unsure_until = load_relaxed(&header->lost_last);
	}
}

/* Returns whether an event with these ticks, the next one, has to be reported to follow a gap. */
static inline bool gaps_before(const struct gaps *g, uint64_t ticks)
{
	return (g->from && g->from <= ticks) || (g->unsure_until && g->unsure_from <= ticks);
}

/*
 * Returns the ticks of the first loss before `ticks` that was not reported, 0 if none, and marks it as reported.
 * gaps_add() takes that back.
 */
static inline uint64_t gaps_report(struct gaps *g, uint64_t ticks)
{
	uint64_t from = g->from;

	if (from > ticks)
		return 0;
	g->from = 0;
	return from;
}

#endif
