/*
 * flush.h - what a stream has recorded goes into its log
 *
 * In two steps that come by turns, because the second may take long: events are taken out of the stream
 * into the draft of a segment, with the handle locked; and the segment is written,
 * without, and before it what is needed to understand it (describe.h). All of it by one thread at a time: the flusher of the stream's
 * creator (flusher.h), or when that has died whoever finishes the log (save.h).
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
	struct handle *handle;           /* null: its creator has died */
	const struct log_header *header; /* likewise */
	struct stream *stream;
	struct live *live;
	int64_t real_time; /* CLOCK_REALTIME - CLOCK_MONOTONIC at creation, ns */
	struct log_state *state;
	struct draft draft;
	struct output output;
	struct describe describe;
	uint64_t lost;      /* by the stream, as of the last look */
	uint64_t lost_before; /* that, when its creator had died */
	uint64_t newest;    /* ticks of the newest event that came */
	uint32_t longest;   /* data of an event */
	uint32_t unmarked;  /* records that were taken and discarded */
	uint64_t discarded; /* events that came when the log was full already, and are not counted in the draft's mark yet */
	bool full;          /* the log, with UNTIL_FULL: what comes is discarded */
	uint32_t room;      /* of the segment in the draft */
	unsigned char *data; /* of one event */

	/* FLUSH_START and FLUSH_STOP that wait for their place in the row. */
	struct event marker[FLUSH_MARKERS];
	unsigned markers;
};

/* 0 or a negative error number. state: where segments are put together. */
int flush_init(struct flush *f, struct stream *s, struct live *live, struct log_state *state, int fd, bool seeks);
void flush_free(struct flush *f);
/* The log's beginning, with all that is known about its events; again after posix_trace_clear(). */
int flush_begin(struct flush *f);
/* A START or STOP of a flush: goes behind the events that are older. */
void flush_marker(struct flush *f, const struct event *event);
/* Takes events up to this time, in ticks, and writes them. 0 or a negative error number; then what was taken waits in the draft. */
int flush_until(struct flush *f, uint64_t until);
/* All of what is to be taken and written is: completes the log. */
int flush_end(struct flush *f);

#endif
