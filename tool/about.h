/*
 * about.h - what a log says of itself, and what it lacks
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ABOUT_H
#define ABOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "logfile.h"

enum hole_reason {
	HOLE_LOST,    /* by the stream */
	HOLE_FULL,    /* the stream or the log was, and recording stopped by itself */
	HOLE_DAMAGED, /* the log is */
	HOLE_REASONS,
};

/* A time from which events are missing. */
struct hole {
	uint64_t from, until; /* until 0: nothing tells */
	enum hole_reason reason;
};

/* More are only counted. */
#define HOLES_MAX 65536

struct about {
	const char *path;
	uint32_t machine; /* the same for the same machine, in the same boot */
	struct log_header header;
	bool complete;
	uint64_t size, skipped;
	uint64_t events, lost, discarded; /* as struct input says */
	uint32_t status, flush_error;
	/* Found by reading. */
	uint64_t read; /* events */
	uint64_t first, last;
	uint64_t truncated; /* events whose data was when they were recorded */
	uint64_t holes_of[HOLE_REASONS];
	struct hole *hole;
	size_t holes, room;
	size_t open[HOLE_REASONS]; /* of each reason the one that has no end yet, from 1 on; 0: none */
};

/* Of one that was just opened. */
void about_begin(struct about *a, const struct logfile *f);
void about_free(struct about *a);

/* Events are missing from here on; until there. */
void about_hole(struct about *a, uint64_t from, enum hole_reason reason);
void about_resume(struct about *a, uint64_t until, enum hole_reason reason);

/* An event that tells of something missing, or may be: of a damaged part, or recorded. True: no span goes on beyond it. */
bool about_event(struct about *a, const struct log_event *e, const unsigned char *data, bool damaged);

/* Events that ought to be there and are not, because of damage. */
uint64_t about_missing(const struct about *a);

void about_print(const struct about *a);
/* Where events are missing, so many at the most (0: all); times from begin on. Nothing if none are. */
void about_print_holes(const struct about *a, uint64_t begin, size_t lines);
/* An object. */
void about_json(const struct about *a);

#endif
