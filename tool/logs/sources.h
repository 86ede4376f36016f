/*
 * sources.h - reads several logs together, ordered by time
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCES_H
#define SOURCES_H

#include "event/layouts.h"
#include "logs/logfile.h"
#include "logs/match.h"
#include "logs/symbols.h"

/* A log, and its next event. */
struct source {
	unsigned index; /* among the sources */
	const char *path;
	struct logfile *file;
	struct layouts *layouts;
	struct match *match;
	struct symbols *symbols; /* null: not asked for */
	void *own; /* for the subcommand */
	void *kernel; /* names of the kernel's functions: analysis/samples.c */
	const struct log_event *event; /* null: at the end */
	const unsigned char *data;
};

struct sources {
	struct source *source;
	unsigned count;
	uint64_t begin; /* creation time of the first log, the origin of relative times */
};

/* A period of which events were lost. */
struct loss {
	uint64_t from, until; /* until 0: unknown */
	bool wanted;
	bool resumed; /* only the end is known, in from */
	uint64_t unwritten; /* number of events after the last one that could not be written; else 0 */
};

/*
 * Opens the logs of the command line, or LOGFILE_DEFAULT if there are none. m: the selected events. Ends the program if
 * a file is not a log.
 */
void sources_open(struct sources *all, const struct match *m, bool symbols, int count, char **paths);
/* Prints errors in the layouts of the logs' event types, and who can complete a log that was not closed. */
void sources_declared(const struct sources *all);
void sources_close(struct sources *all);
/* Moves each source to its first event. */
void sources_rewind(struct sources *all);
/* Returns the source with the oldest next event, the first of several; null at the end of all sources. */
struct source *sources_oldest(const struct sources *all);

/* Moves the source to its next event. */
void source_advance(struct source *s);
/* Returns whether the next event is an OVERFLOW or a RESUME. */
bool source_tells_of_loss(const struct source *s);
/*
 * Returns whether the next event is selected. Losses belong to no process and no event type, so only their time counts.
 */
bool source_wanted(const struct source *s);
/*
 * Returns the loss that the next event reports, and moves beyond it; after an OVERFLOW also beyond the RESUME that
 * follows at once.
 */
struct loss source_take_loss(struct source *s);

#endif
