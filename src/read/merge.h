/*
 * merge.h - the records of all chunks, in the order of their times
 *
 * A reader may report a record of time t when no writer can still come with an
 * older one. It notes the time T, passes a barrier everywhere, and looks at all
 * chunks: every record older than T is then visible, but for those of writers
 * that are in the middle, which it waits for, not for ever (MERGE_PATIENCE_NS).
 *
 * Where LOOP has overwritten a chunk, older records may be left in others: of
 * a thread that seldom traces, say. They are dropped, and counted as lost like
 * the rest, so that what is reported is always the newest without a hole.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READ_MERGE_H
#define READ_MERGE_H

#include "base/ticks.h"
#include "read/cursor.h"

/*
 * A thread held up for longer than this inside a trace point may have its
 * event reported after younger ones: the resolution of READ-21.
 */
#define MERGE_PATIENCE_NS 100000000

/* One call lasts no longer, whatever others write meanwhile (H18). */
#define MERGE_CALL_NS 10000000

#define MERGE_ANCHORS 64

/* Somebody in the middle of a record, since when. */
struct held_up {
	uint32_t who;      /* chunk that a seat is busy with, or thread that claims a chunk; 0: nobody */
	uint64_t progress; /* of that chunk; a change means another record */
	int64_t since;     /* ns */
	bool waiting;      /* we wait for it */
};

/* Ticks from begin to before end are converted like this. */
struct merge_line {
	uint64_t begin, end;
	struct anchor anchor;
	double slope;
};

struct merge {
	struct stream *stream;
	struct held_up *held_up; /* one for each seat, then one for each chunk */
	struct cursor *cursor; /* one for each chunk */
	uint32_t *heap;        /* chunks with a record at hand, oldest on top */
	uint32_t heap_count;
	uint64_t horizon;      /* records before this may be reported */
	uint64_t gap_from;     /* ticks of the first event lost since that was reported; 0: none was */
	uint64_t gap_until;    /* of the newest event that was ever overwritten: older ones are dropped */
	uint64_t dropped;      /* how many */
	uint64_t taken;        /* ticks of the newest that was */
	bool unsaid;           /* some cursor's gap is in gap_from, and the takers have not been told: merge_said() */
	uint64_t unsure_until; /* up to here single events were lost, nobody knows between which; 0: not so */
	bool waiting;          /* for somebody in the middle of a record */

	/*
	 * For the conversion of ticks: one anchor for each look, the last ones
	 * in a ring; slope[i] leads from anchor i to the next. Times before
	 * the ring are on the line from the stream's creation to its first.
	 */
	struct anchor creation;
	struct anchor anchor[MERGE_ANCHORS];
	double slope[MERGE_ANCHORS];
	uint32_t anchors; /* so far; the newest is anchor[(anchors - 1) % MERGE_ANCHORS] */
	struct merge_line line; /* of the last times that were told */
	/* The newest time that was told. These lines move: what comes behind it is not told to be earlier. */
	struct anchor told;
};

enum merge_result {
	MERGE_RECORD,
	MERGE_NONE,
	MERGE_HELD_UP, /* there may be one; a thread is in the middle of a trace point */
	MERGE_AGAIN,   /* there may be one; what has been overwritten takes long to go past */
};

/* Has a call lasted for too long? *until is 0 at its beginning. */
bool merge_late(int64_t *until);
/* 0 or ENOMEM. anchor: of the stream's creation. */
int merge_init(struct merge *m, struct stream *s, struct anchor anchor);
void merge_free(struct merge *m);
/* Forgets everything: the stream was cleared. */
void merge_reset(struct merge *m, struct anchor anchor);

/* The oldest record that may be reported; its chunk in *chunk. */
enum merge_result merge_next(struct merge *m, uint32_t *chunk);
/*
 * With a log: gap_from and gap_until are where they outlive this reader, so the takers need not keep them.
 * Without, they are told at once.
 */
void merge_said(struct merge *m);
/* Begins where another reader has left off: what it knew of events that were overwritten. */
void merge_resume(struct merge *m, uint64_t gap_from, uint64_t gap_until, uint64_t unsure_until);
/*
 * Events of the same chunk up to these ticks come next, one after the other; 0: nothing can
 * be told. With cursor_step() one goes there, and takes all of them at once.
 */
uint64_t merge_limit(const struct merge *m);
bool merge_claim(struct merge *m, uint32_t chunk, const struct cursor *before, uint64_t last);
/* Takes it. False: overwritten, ask again. */
bool merge_take(struct merge *m, uint32_t chunk, void *data, size_t size);
/* True if nothing is left in any chunk, to be asked when nobody writes. */
bool merge_empty(const struct merge *m);
/* How many are, those that are about to be gone past included. */
uint64_t merge_unread(const struct merge *m);
/*
 * Have events been lost that nobody was told of (merge.gap_from)? The ticks of
 * the first; from now on somebody is. And if that came to nothing, again.
 */
uint64_t merge_gap(struct merge *m);
void merge_gap_again(struct merge *m, uint64_t from);
/* Events overwritten or dropped so far, those included that no reader has come across yet. */
uint64_t merge_lost(struct merge *m);
/* ns of CLOCK_MONOTONIC, to be told. Rising ticks give times that do not fall. */
int64_t merge_time(struct merge *m, uint64_t ticks);

#endif
