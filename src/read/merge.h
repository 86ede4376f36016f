/*
 * merge.h - the records of all chunks, in the order of their times
 *
 * A reader may report a record of time t when no writer can add an older one any more. The reader notes the time T,
 * passes a barrier everywhere, and looks at all chunks. Every record older than T is then visible, except those of
 * writers in the middle of a record. The reader waits for these, up to a limit (MERGE_PATIENCE_NS).
 *
 * When LOOP has overwritten a chunk, older records may be left in others, for example of a thread that seldom traces.
 * They are dropped, and counted as lost like the rest, so that the reported events are always the newest, without a
 * hole.
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

/* The limit if the caller does not wait and the kernel reports the thread as stopped, by a signal or a debugger. */
#define MERGE_STOPPED_NS 10000000

/*
 * The time between two looks counts as at most this much. When the whole machine stands still, or the reader gets no
 * processor, the writers have not had that time either.
 */
#define MERGE_LOOK_NS 10000000

/* Time limit of one call, however much is written meanwhile (H18). */
#define MERGE_CALL_NS 10000000

#define MERGE_ANCHORS 64

/* A writer in the middle of a record. */
struct held_up {
	uint32_t ref;      /* chunk that a seat is busy with, or thread that locks a chunk; 0: none */
	uint64_t progress; /* of the chunk; a change means another record */
	uint64_t from;     /* ticks of the last look before the writer was first seen: its record is not older */
	int64_t looked;    /* ns of CLOCK_MONOTONIC, at the last look */
	int64_t waited;    /* ns so far, see MERGE_LOOK_NS */
	bool waiting;      /* the reader waits for the writer */
};

/* The conversion of ticks from begin to before end. */
struct merge_line {
	uint64_t begin, end;
	struct anchor anchor;
	double slope;
};

struct merge {
	struct stream *stream;
	struct held_up *held_up; /* by seat, then by chunk */
	struct cursor *cursor; /* by chunk */
	uint32_t *heap;        /* chunks with a record at hand, oldest on top */
	uint32_t heap_count;
	uint64_t watermark;      /* records before this may be reported */
	uint64_t gap_from;     /* ticks of the first lost event since the last report; 0: none */
	uint64_t gap_until;    /* of the newest event that was ever overwritten: older ones are dropped */
	uint64_t dropped;      /* number of dropped events */
	uint64_t taken;        /* ticks of the newest event taken */
	bool unacknowledged;   /* gap_from includes a gap that acquirers must keep until merge_acknowledge() */
	uint64_t unsure_until; /* up to here single events were lost at unknown places; 0: none */
	bool waiting;          /* for a thread in the middle of a record */
	bool hurry;            /* the caller of merge_next() does not wait, or has no time left (MERGE_STOPPED_NS) */
	uint64_t looked;       /* ticks of the last look at all writers, plus 1: records begun later are not older */

	/*
	 * For the conversion of ticks: an anchor from each look, the latest ones in a ring. slope[i] leads from
	 * anchor i to the next. Times before the ring are on the line from the stream's creation to the ring's first
	 * anchor.
	 */
	struct anchor creation;
	struct anchor anchor[MERGE_ANCHORS];
	double slope[MERGE_ANCHORS];
	uint32_t anchors; /* so far; the newest is anchor[(anchors - 1) % MERGE_ANCHORS] */
	struct merge_line line; /* of the last converted times */
	/* The newest time reported. The lines change, but later ticks never get an earlier time. */
	struct anchor reported;
};

enum merge_result {
	MERGE_RECORD,
	MERGE_NONE,
	MERGE_HELD_UP, /* perhaps a record: a thread is in the middle of a trace point */
	MERGE_AGAIN,   /* perhaps a record: it takes long to pass what has been overwritten */
};

/* Returns whether a call has lasted too long. *until is 0 at the call's beginning. */
bool merge_late(int64_t *until);
/* Returns 0 or ENOMEM. anchor: of the stream's creation. */
int merge_init(struct merge *m, struct stream *s, struct anchor anchor);
void merge_free(struct merge *m);
/* Forgets everything, because the stream was cleared. */
void merge_reset(struct merge *m, struct anchor anchor);

/* Finds the oldest record that may be reported, and sets *chunk to its chunk. */
enum merge_result merge_next(struct merge *m, uint32_t *chunk);
/*
 * In a stream with a log, tells the acquirers that gap_from and gap_until have been saved where they outlive this
 * reader. Without a log acquirers are told at once.
 */
void merge_acknowledge(struct merge *m);
/* Begins where another reader has left off, with its knowledge of overwritten events. */
void merge_resume(struct merge *m, uint64_t gap_from, uint64_t gap_until, uint64_t unsure_until);
/*
 * Returns up to which ticks the next events are all in the same chunk; 0 if unknown. Go there with cursor_step(),
 * then take all of them at once with merge_consume().
 */
uint64_t merge_limit(const struct merge *m);
bool merge_consume(struct merge *m, uint32_t chunk, const struct cursor *before, uint64_t last);
/* Returns whether a record is at hand that MERGE_HELD_UP keeps back. */
bool merge_keeps_back(const struct merge *m);
/* Takes the record. Returns false if it was overwritten: call merge_next() again. */
bool merge_read(struct merge *m, uint32_t chunk, void *data, size_t size);
/* Returns whether no chunk has unread records. Only valid while no thread writes. */
bool merge_empty(const struct merge *m);
/* Returns the number of unread records, including those that are about to be dropped. */
uint64_t merge_unread(const struct merge *m);
/*
 * Returns the ticks of the first loss that was not reported (merge.gap_from), 0 if none, and marks it as reported.
 * merge_gap_again() takes that back.
 */
uint64_t merge_gap(struct merge *m);
void merge_gap_again(struct merge *m, uint64_t from);
/* Returns the number of events overwritten or dropped so far, including those no reader has noticed yet. */
uint64_t merge_lost(struct merge *m);
/* Returns ns of CLOCK_MONOTONIC, for a report. Rising ticks give times that do not fall. */
int64_t merge_time(struct merge *m, uint64_t ticks);

#endif
