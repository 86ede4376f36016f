/*
 * sources.h - logs that are read together, in the order of their times
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SOURCES_H
#define SOURCES_H

#include "layouts.h"
#include "logfile.h"
#include "match.h"
#include "symbols.h"

/* A log, and its next event. */
struct source {
	unsigned index; /* among the others */
	const char *path;
	struct logfile *file;
	struct layouts *layouts;
	struct match *match;
	struct symbols *symbols; /* null: not asked for */
	void *own; /* of whoever reads them */
	const struct log_event *event; /* null: there is no more */
	const unsigned char *data;
};

struct sources {
	struct source *source;
	unsigned count;
	uint64_t begin; /* creation of the first one: what relative times count from */
};

/* Where events are missing, or at least were lost. */
struct loss {
	uint64_t from, until; /* until 0: it is not known */
	bool wanted;
	bool resumed; /* it is only known where it ended: that is from */
};

/* The logs of a command line; LOGFILE_DEFAULT, if there are none. m: what was asked for of them. Ends the program if one is none. */
void sources_open(struct sources *all, const struct match *m, bool symbols, int count, char **paths);
void sources_close(struct sources *all);
/* The next event is the first one, of each. */
void sources_rewind(struct sources *all);
/* The one whose next event is the oldest; of several, the first. Null: there is no event any more. */
struct source *sources_oldest(const struct sources *all);

/* To its next event. */
void source_advance(struct source *s);
/* Its event: OVERFLOW or RESUME? */
bool source_tells_of_loss(const struct source *s);
/* Losses belong to no process, and have no name that anybody asks for: only their time counts. */
bool source_wanted(const struct source *s);
/* At one that tells of a loss: takes it, and the RESUME that follows an OVERFLOW at once. */
struct loss source_take_loss(struct source *s);

#endif
