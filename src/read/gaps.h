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
	uint64_t unsure_until; /* up to here single events were lost at unknown places; 0: none */
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
		gaps_add(g, exchange(&header->lost_ticks, 0), 0);
		TEST_POINT("read_lost");
		g->unsure_until = load_relaxed(&header->lost_last);
	}
}

/*
 * Returns the ticks of the first loss that was not reported, 0 if none, and marks it as reported. gaps_add() takes
 * that back.
 */
static inline uint64_t gaps_report(struct gaps *g)
{
	uint64_t from = g->from;

	g->from = 0;
	return from;
}

#endif
