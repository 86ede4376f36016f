/*
 * merge.h - the records of all chunks, in the order of their times
 *
 * A reader may report a record of time t when no writer can add an older one any more. The reader notes the time T,
 * passes a barrier everywhere, and looks at all chunks. Every record older than T is then visible, except those of
 * writers in the middle of a record. The reader waits for these, up to a limit (HELD_UP_PATIENCE_NS).
 *
 * When LOOP has overwritten a chunk, older records may be left in others, for example of a thread that seldom traces.
 * They are dropped, and counted as lost like the rest, so that the reported events are always the newest, without a
 * hole.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READ_MERGE_H
#define READ_MERGE_H

#include "read/cursor.h"
#include "read/gaps.h"
#include "read/heap.h"
#include "read/held_up.h"
#include "read/times.h"

/* Time limit of one call, however much is written meanwhile (H18). */
#define MERGE_CALL_NS 10000000

struct merge {
	struct stream *stream;
	struct cursor *cursor; /* by chunk */
	struct heap heap;
	struct held_up held_up;
	struct gaps gaps;
	struct times times;
	uint64_t watermark; /* records before this may be reported */
	uint64_t taken;     /* ticks of the newest event taken */
	bool waiting;       /* for a thread in the middle of a record */
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
 * In a stream with a log, tells the acquirers that gaps.from and gaps.until have been saved where they outlive this
 * reader. Without a log acquirers are told at once.
 */
void merge_acknowledge(struct merge *m);
/* Begins where another reader has left off, with what it knew of lost events. */
void merge_resume(struct merge *m, const struct gaps *known);
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
/* Returns the number of events overwritten or dropped so far, including those no reader has noticed yet. */
uint64_t merge_lost(const struct merge *m);

#endif
