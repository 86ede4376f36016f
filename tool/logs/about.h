/*
 * about.h - describes a log, and what is missing from it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ABOUT_H
#define ABOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "logs/logfile.h"
#include "logs/missing.h"
#include "logs/origin.h"
#include "model/eventtype.h"

enum hole_reason {
	HOLE_LOST,    /* the stream lost events */
	HOLE_FULL,    /* the stream or the log was full, so recording stopped by itself */
	HOLE_DAMAGED, /* the log is damaged */
	HOLE_UNWRITTEN, /* events after the last one of the log could not be written */
	HOLE_REASONS,
};

/* A period of which events are missing. */
struct hole {
	uint64_t from, until; /* until 0: unknown */
	enum hole_reason reason;
};

/* Limit of stored holes. Further holes are only counted. */
#define HOLES_MAX 65536

struct about {
	const char *path;
	uint32_t machine; /* equal for logs of the same machine and boot */
	struct log_header header;
	struct origin origin;
	bool ended;    /* the log was closed by its creator, so the number of missing events is exact */
	bool complete; /* ended, and all events could be written */
	uint64_t size, skipped;
	uint64_t lost, discarded, unwritten, left_out; /* as in struct input */
	uint32_t status, flush_error;
	/* Found by reading the log: */
	struct missing missing;
	uint64_t read; /* number of events */
	uint64_t hidden; /* how many of them are events of the recording itself, which are not counted */
	uint64_t first, last;
	uint64_t truncated; /* events whose data was cut when they were recorded */
	uint64_t unnamed; /* events whose types have no names */
	uint64_t holes_of[HOLE_REASONS];
	struct hole *hole;
	size_t holes, room;
	size_t open[HOLE_REASONS]; /* index + 1 of the hole of each reason that has no end yet; 0: none */
};

/* Describes a log that was just opened. */
void about_begin(struct about *a, struct logfile *f);
/* Takes what is missing, after the log was read. May read it again. */
void about_end(struct about *a, struct logfile *f);
void about_free(struct about *a);

/* about_hole() begins a hole, about_resume() ends it. */
void about_hole(struct about *a, uint64_t from, enum hole_reason reason);
void about_resume(struct about *a, uint64_t until, enum hole_reason reason);

/*
 * Notes a system event that may report missing events. made: the reader made the event, the log does not contain it.
 * Returns true if no span goes on beyond the event.
 */
bool about_system_event(struct about *a, const struct log_event *e, const unsigned char *data, bool made);
/* Does the same for an event of any type. Inline, because nearly all events are the program's. */
static inline bool about_event(struct about *a, const struct log_event *e, const unsigned char *data, bool made)
{
	return eventtype_system(e->id) && about_system_event(a, e, data, made);
}

void about_print(const struct about *a);
/*
 * Prints a table of the holes, at most `lines` of them (0: all), with times relative to begin. Prints nothing if there
 * are no holes.
 */
void about_print_holes(const struct about *a, uint64_t begin, size_t lines);
/* Prints a JSON object. */
void about_json(const struct about *a);

#endif
