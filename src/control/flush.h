/*
 * flush.h - moves recorded events from a stream to its log
 *
 * Two steps alternate, because the second may block. First, with the handle locked, events move from the stream to the
 * draft of a segment. Then, with the handle unlocked, the segment is written, after the descriptions that its events
 * need (describe.h). Only one thread at a time flushes: the flusher of the stream's creator (flusher.h), or after the
 * creator's death the process that finishes the log (save.h).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_FLUSH_H
#define CONTROL_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "control/describe.h"
#include "control/handle.h"
#include "log/draft.h"
#include "log/output.h"

#define FLUSH_MARKERS 4

struct flush {
	struct handle *handle;           /* null: the stream's creator has died */
	const struct log_header *header; /* null: the stream's creator has died */
	struct stream *stream;
	struct live *live;
	int64_t real_time; /* CLOCK_REALTIME - CLOCK_MONOTONIC at creation, ns */
	struct log_state *state;
	struct draft draft;
	struct output output;
	struct describe describe;
	uint64_t lost;        /* events lost by the stream, at the last count */
	uint64_t lost_before; /* events overwritten before the creator's death */
	uint64_t newest;      /* ticks of the newest event added to the draft */
	uint32_t longest;     /* longest data of an event, bytes */
	uint32_t unmarked;    /* records consumed without being added, not counted in the draft's mark yet */
	uint64_t discarded;   /* events discarded because the log is full, not counted in the draft's mark yet */
	uint64_t unwritten;   /* user events given up, not counted in the draft's mark yet */
	bool given_up;        /* nothing more can be written: new events are only counted */
	bool full;            /* the log is full under UNTIL_FULL: new events are discarded */
	uint32_t room;        /* largest body of the draft's segment, bytes */
	unsigned char *data;  /* buffer for one event's data */

	/* FLUSH_START and FLUSH_STOP events that wait until all older events are in the draft. */
	struct event marker[FLUSH_MARKERS];
	unsigned markers;
};

/* Returns 0 or a negative error number. state: memory in which segments are put together. */
int flush_init(struct flush *f, struct stream *s, struct live *live, struct log_state *state, int fd, bool seeks);
void flush_free(struct flush *f);
/* Writes the beginning of the log and its first descriptions; called again after posix_trace_clear(). */
int flush_begin(struct flush *f);
/* Adds the FLUSH_START or FLUSH_STOP after the older events. */
void flush_marker(struct flush *f, const struct event *event);
/*
 * Consumes events up to this time, in ticks, and writes them. Returns 0 or a negative error number; after an error,
 * consumed events wait in the draft.
 */
int flush_until(struct flush *f, uint64_t until);
/*
 * Consumes and counts all remaining events after the last flush_until() has failed, so that the log and its creator can
 * report how many events are missing. The draft stays and counts as missing; the process that finishes the log after
 * the creator's death may find space for it.
 */
void flush_give_up(struct flush *f);
/* Writes into the log how many events are missing so far, including events that wait to be written. */
int flush_tell(struct flush *f, int error);
/* Returns the counts for the log's end, whether or not it can be written. Counts events left unread in a pipe. */
struct output_end flush_sum(struct flush *f);
/* Completes the log after the last event is written. Returns 0 or a negative error number. */
int flush_end(struct flush *f);

#endif
