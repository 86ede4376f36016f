/*
 * flush.h - what a stream has recorded goes into its log
 *
 * In two steps that come by turns, because the second may take long: events are taken out of the stream
 * into the draft of a segment, with the handle locked; and the segment is written,
 * without. All of it by one thread at a time: the flusher of the stream's
 * creator (flusher.h), or when that has died whoever finishes the log (save.h).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_FLUSH_H
#define CONTROL_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "control/handle.h"
#include "log/draft.h"
#include "log/images.h"
#include "log/output.h"

#define FLUSH_MARKERS 4

struct flush {
	struct handle *handle; /* null: its creator has died */
	struct stream *stream;
	struct live *live;
	struct registry *names; /* null: not to be had */
	int64_t real_time; /* CLOCK_REALTIME - CLOCK_MONOTONIC at creation, ns */
	struct log_state *state;
	struct draft draft;
	struct output output;
	uint64_t lost;      /* by the stream, as of the last look */
	uint64_t lost_before; /* that, when its creator had died */
	uint32_t longest;   /* data of an event */
	uint32_t unmarked;  /* records that were taken and discarded */
	uint64_t discarded; /* events that came when the log was full already, and are not counted in the draft's mark yet */
	bool full;          /* the log, with UNTIL_FULL: what comes is discarded */
	uint32_t room;      /* of the segment in the draft */
	unsigned char *data; /* of one event */

	/* FLUSH_START and FLUSH_STOP that wait for their place in the row. */
	struct event marker[FLUSH_MARKERS];
	unsigned markers;

	/* Whose mappings have been written. */
	struct images *images;
	uint32_t images_next;
	uint32_t target; /* the traced process, as in events and as /proc calls it */
	uint32_t target_number;
	uint32_t look_pid; /* one whose mappings are to be looked at before the next segment */
};

enum flush_step {
	FLUSH_DONE,    /* nothing is left that is older than asked for */
	FLUSH_WRITE,   /* the segment is to be written before more can be taken */
	FLUSH_AGAIN,   /* there is more */
	FLUSH_HELD_UP, /* a thread is in the middle of a trace point: in a moment */
};

/* 0 or a negative error number. state: where segments are put together. */
int flush_init(struct flush *f, struct stream *s, struct live *live, struct log_state *state, int fd, bool seeks);
void flush_free(struct flush *f);
/* A START or STOP of a flush: goes behind the events that are older. */
void flush_marker(struct flush *f, const struct event *event);
/* With the handle locked: takes events up to this time into the draft. */
enum flush_step flush_take(struct flush *f, uint64_t until);
/* Writes what is in the draft, and before it what is needed to understand it. 0 or a negative error number. */
int flush_write(struct flush *f);
/* Types and mappings that are known already, for a new log. */
int flush_describe(struct flush *f);
/* All of what is to be taken and written is: completes the log. */
int flush_end(struct flush *f);

#endif
