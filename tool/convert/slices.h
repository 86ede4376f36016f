/*
 * slices.h - slices: spans between a begin and an end, on tracks
 *
 * Each span (analysis/span.h) of each log has a track for each thread, for each process, or for all. Slices on a track
 * follow each other, or nest if --nested is given. Spans with an id, and events that are whole spans, may overlap: each
 * open slice has a lane of its own, and the number of lanes is that of the slices that are open together. Complete
 * slices are the spans that posixtrace stat counts. Slices of spans that always nest (nesting.h) are in the row of
 * their thread, like function calls.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICES_H
#define SLICES_H

#include "analysis/keyed.h"
#include "convert/export.h"
#include "event/meaning.h"
#include "logs/tasks.h"

struct slice_track;
struct slice_seats;

/* An open slice in the row of a thread. */
struct slice_open {
	struct slice_track *track;
	uint64_t time;
	void *own; /* of the exporter */
};

/* The open slices of a thread, the innermost last. */
struct slice_row {
	struct lookup_key key;
	struct slice_open *open;
	size_t count, room;
	size_t written; /* of the exporter */
};

struct slice_track {
	struct lookup_key key;
	const struct source *source;
	unsigned span;            /* its number */
	const char *name;         /* of the exporter */
	struct task *scope;       /* null: all */
	struct slice_row *row;    /* null: the track has a row of its own */
	/*
	 * A late event of another thread may begin a slice before the previous slice has ended. The track then
	 * continues in another lane, which has no later slices.
	 */
	uint32_t lane;
	bool written; /* for the exporter: the lane was written to the output */
	/* For spans with an id, and events that are whole spans: */
	struct slice_seats *seats; /* null: another span */
	uint32_t seat;             /* 1 + the number of the lane among these */
	struct meaning_id id;      /* of the open slice */
	uint64_t last; /* time of the last begin or end in the lane; no time in the lane decreases */
	/* Number of open slices, and of older slices beyond DEPTH_MAX, which no event can end any more. */
	uint64_t depth, abandoned;
	struct slice_track *next, **link; /* list of the tracks of a log with open slices */
};

/* How a slice ends. */
enum slice_end {
	SLICE_COMPLETE,
	SLICE_REPLACED, /* the span began again */
	SLICE_LOST,     /* events were lost, the end perhaps among them */
	SLICE_STARTED,  /* the recording was stopped and started again */
	SLICE_LOG_ENDS,
};

/* What an event is to a flow. A flow that goes on may begin there. */
enum slice_flow { FLOW_BEGINS, FLOW_GOES_ON, FLOW_ENDS };

/* The texts for slices that are not complete; null for SLICE_COMPLETE. */
extern const char *const slice_ends[];

struct slices {
	const struct spans *spans;
	struct tasks *tasks;
	uint64_t nested; /* spans whose slices are in the rows of their threads, a bit for each */
	/* Begins a slice by the next event of the source. */
	void (*begin)(struct slice_track *t, struct source *s, uint64_t time);
	/*
	 * Ends the innermost slice of the track. s null: without an event, or the event that began the slice is the
	 * whole of it, and how is SLICE_COMPLETE.
	 */
	void (*end)(struct slice_track *t, struct source *s, uint64_t time, enum slice_end how);
	struct lookup tracks, rows, seats;
	struct keyed flows;        /* the numbers of flows that were not received yet, by their ids */
	uint64_t flow_count;
	struct slice_track **open; /* for each source */
	uint64_t *latest;          /* time of the last event of each source */
};

/* Prepares the tracks. The members before tracks must be set. */
void slices_begin(struct slices *all, const struct sources *logs);
/*
 * Handles the next event of the source. The call is optional for an event without a role that is no START. Returns
 * false if the event belongs to no slice.
 */
bool slices_event(struct slices *all, struct source *s, struct task *thread, const struct span_role *role);
/* Records the time of an event. Call it for each event. */
static inline void slices_time(struct slices *all, const struct source *s)
{
	if (s->event->time > all->latest[s->index])
		all->latest[s->index] = s->event->time;
}

/* Ends all open slices of a log. */
void slices_cut(struct slices *all, const struct source *s, uint64_t time, enum slice_end how);
/* Ends all open slices of all logs, at the end. */
void slices_finish(struct slices *all, const struct sources *logs);
/*
 * Returns a number for the flow of this field and value at the next event; field: 1 + its index. An id that is sent
 * again is another flow: viewers would connect the receiver with an earlier event that sent the id to nobody.
 */
uint64_t slices_flow(struct slices *all, const struct layout *l, unsigned field, struct meaning_id value,
                     enum slice_flow how);
/* Returns a number for a track that has no row, which is the same in all conversions. log: a number for the log. */
uint64_t slices_uuid(const struct slice_track *t, uint64_t log);

#endif
