/*
 * draft.h - the segment in the making, in memory that outlives its writer
 *
 * A record must not be lost between its chunk and the log, wherever this process is killed (H25). So a record is
 * first written here, then marked, then consumed from the chunk. The mark names the record, so the process that
 * recovers the draft after a death can see from the chunk whether the record was consumed:
 *
 *     add           bytes after the last mark: ignored by recovery
 *     prepare       the other mark covers the bytes, and names their records
 *     (the reader)  chunk.read moves past the record
 *     commit        the other mark becomes the valid one
 *
 *     killed before the read: the old mark is valid, the record is in the chunk
 *     killed after it: chunk.read shows it, and draft_recover() makes the new mark valid
 *
 * The marks lie in shm/layout.h's log_state.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOG_DRAFT_H
#define LOG_DRAFT_H

#include <stdbool.h>
#include <stdint.h>

#include "log/pack.h"
#include "shm/stream.h"

struct draft {
	struct log_state *state;
	unsigned char *body; /* preceded by FRAME_BYTES bytes for the frame header */
	struct pack *pack;
	struct log_mark next; /* written by draft_prepare() */
	struct pack_point point; /* of the valid mark */
	bool ended; /* the segment is full */
};

/* Checks what holds of a draft between two calls, in tests (base/invariant.h). */
#ifdef POSIXTRACE_CHECKS
void draft_check(const struct draft *d);
#else
# define draft_check(d) ((void)0)
#endif

/* Uses memory for the state and the body after it. Returns 0 or -ENOMEM. */
int draft_init(struct draft *d, struct log_state *state);
void draft_free(struct draft *d);
/* Begins a segment with this number, of up to room bytes. */
void draft_begin(struct draft *d, uint64_t sequence, uint32_t room);
/* Raises the limit of the body. */
void draft_extend(struct draft *d, uint64_t room);
/* Returns the valid mark. */
const struct log_mark *draft_mark(const struct draft *d);
bool draft_empty(const struct draft *d);
/* Adds an event. Returns false if there is no room: write the segment, and begin another. */
bool draft_add(struct draft *d, const struct log_event *event, const void *data, uint64_t ticks);
/* Adds records while pack_records() does. Returns how many were added; the first one of a segment never is. */
uint32_t draft_add_records(struct draft *d, struct pack_run *run);
/*
 * Announces that the events added since the last mark are about to be consumed: count records, up to the given one.
 * Records among them that the log leaves out were added to draft.next.left_out. With LOG_NO_CHUNK commits at once.
 */
void draft_prepare(struct draft *d, uint32_t chunk, uint32_t number, uint32_t count);
void draft_commit(struct draft *d);
/*
 * Forgets the events added since the last mark, before draft_prepare(). They must have no data. The segment goes on,
 * unless an event did not fit.
 */
void draft_rollback(struct draft *d);
/* Forgets the events added since the last mark, because they could not be consumed. The segment ends. */
void draft_abort(struct draft *d);
/* Forgets all records so far, for posix_trace_clear(). */
void draft_clear(struct draft *d, const struct stream *s);
/*
 * Counts records that were consumed and are in no segment. discarded: events among them that came when the log was
 * full. unwritten: user events that could not be written. draft.next.left_out may have been raised before.
 */
void draft_skip(struct draft *d, uint32_t records, uint64_t discarded, uint64_t unwritten);
/* Ends the log, which is full, with the events added since the last mark. */
void draft_last(struct draft *d);
/* Finds the valid mark after a death. */
void draft_recover(struct draft *d, const struct stream *s);

#endif
