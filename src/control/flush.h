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
#include "log/clocks.h"
#include "log/draft.h"
#include "log/labels.h"
#include "log/output.h"

#define FLUSH_MARKERS 4

struct flush;

/*
 * Decides which events of programs go into the log. The others are consumed and counted. The functions are called by
 * the thread that flushes. A process that finishes the log after the creator's death has no filter: it writes all
 * events.
 */
struct flush_filter {
	/* Looks for new event types and processes, before events are taken. The handle is not locked. */
	void (*look)(struct flush_filter *filter, struct flush *f);
	/* Returns whether the event goes into the log. The handle is locked, so it must not wait. */
	bool (*selects)(struct flush_filter *filter, const struct log_event *e, const unsigned char *data);
	/* Takes the body of a frame PROCESS that is about to be written. filter: the struct flush_filter. */
	void (*process)(void *filter, const unsigned char *body, size_t size);
};

struct flush {
	struct handle *handle;           /* null: the stream's creator has died */
	struct log_header *header; /* null: the stream's creator has died */
	const struct labels *labels; /* null: none */
	struct clocks clocks;
	clocks_ask ask_clock; /* null: adjtimex() must not be called */
	struct stream *stream;
	struct live *live;
	int64_t real_time; /* CLOCK_REALTIME - CLOCK_MONOTONIC at creation, ns */
	struct log_state *state;
	struct draft draft;
	struct output output;
	struct describe describe;
	struct flush_filter *filter; /* null: all events go into the log */
	uint64_t lost;        /* events lost by the stream, at the last count */
	uint64_t lost_before; /* events overwritten before the creator's death */
	uint64_t newest;      /* ticks of the newest event added to the draft */
	uint32_t longest;     /* longest data of an event, bytes */
	uint32_t unmarked;    /* records consumed without being added, not counted in the draft's mark yet */
	uint64_t discarded;   /* events discarded because the log is full, not counted in the draft's mark yet */
	uint64_t unwritten;   /* user events given up, not counted in the draft's mark yet */
	uint64_t left_out;    /* user events that the filter did not select, not counted in the draft's mark yet */
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
/* Writes the labels, if there are any. */
int flush_labels(struct flush *f);
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
