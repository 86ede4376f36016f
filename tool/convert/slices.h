/*
 * slices.h - what begins and ends something, on tracks
 *
 * Each span of span.h has a track for each thread, process, or for all, of each log: there slices follow each other, or lie
 * in each other if they may be nested, and those that are complete are the spans that posixtrace stat counts. Spans whose
 * slices always nest (nesting.h) have their slices in the row of their thread, as calls of functions have.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SLICES_H
#define SLICES_H

#include "convert/export.h"
#include "logs/tasks.h"

struct slice_track;

/* A slice in the row of a thread that has not ended. */
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
	struct task *scope;       /* null: all */
	struct slice_row *row;    /* null: the track is a row of its own */
	/*
	 * Events of several threads may be late, so a slice may begin before the one before it has ended. It does so in
	 * another writer, where nothing is that is later.
	 */
	uint32_t writer;
	bool told; /* of this writer; of whoever tells of it */
	uint64_t last; /* time of whatever was last there; nothing in the writer is earlier */
	/* Slices that are open, and those below them that will have no end. */
	uint64_t depth, reaped;
	struct slice_track *next, **link; /* of the open ones of a log */
};

/* How a slice ends. */
enum slice_end {
	SLICE_COMPLETE,
	SLICE_REPLACED, /* it has begun once more */
	SLICE_LOST,     /* events were lost: nobody knows */
	SLICE_STARTED,  /* recording has been stopped meanwhile */
	SLICE_LOG_ENDS,
};

/* What a slice says of its end. Null: it is complete. */
extern const char *const slice_ends[];

struct slices {
	const struct spans *spans;
	struct tasks *tasks;
	uint32_t nested; /* a bit for each span whose slices lie in the rows of their threads */
	/* The next event of the source begins a slice there. */
	void (*begin)(struct slice_track *t, struct source *s, uint64_t time);
	/* The innermost slice there ends; s null: not by an event. */
	void (*end)(struct slice_track *t, struct source *s, uint64_t time, enum slice_end how);
	struct lookup tracks, rows;
	struct slice_track **open; /* of each source */
	uint64_t *latest;          /* time of its last event */
};

/* All above tracks is set. */
void slices_begin(struct slices *all, const struct sources *logs);
/*
 * The next event of the source, which has this role; one that has none, and is no START, may be left out. False: it is in no
 * slice, it is a mark.
 */
bool slices_event(struct slices *all, struct source *s, struct task *thread, struct span_role role);
/* For each event. */
static inline void slices_time(struct slices *all, const struct source *s)
{
	if (s->event->time > all->latest[s->index])
		all->latest[s->index] = s->event->time;
}

/* Nothing that is open in this log goes on beyond it. */
void slices_cut(struct slices *all, const struct source *s, uint64_t time, enum slice_end how);
/* It is the end of all logs. */
void slices_finish(struct slices *all, const struct sources *logs);
/* What all slices of a span are called together. Ends with a null; returns the length. */
size_t slices_title(const struct spans *spans, unsigned span, char *text, size_t size);

#endif
