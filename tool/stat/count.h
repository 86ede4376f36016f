/*
 * count.h - goes once through logs, and counts
 *
 * What an event has to be added to is found once for each shape in each segment, not for each
 * event: so counting takes less time than reading.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef COUNT_H
#define COUNT_H

#include "analysis/span.h"
#include "logs/about.h"
#include "logs/match.h"
#include "stat/tally.h"

/* What events of one shape are added to. */
struct count_cell {
	uint64_t segment; /* for which all this is true */
	uint64_t events;  /* of that segment, not yet added */
	struct tally *type, *process, *thread;
	struct span_role role;
	unsigned scope;
	uint32_t length;
	bool truncated;
};

struct count {
	struct match *match;
	struct spans spans;
	struct tally_set types, processes, threads;
	/* Of the file that is read. */
	uint64_t segment;
	struct count_cell cell[SHAPES_MAX];
	uint16_t used[SHAPES_MAX];
	unsigned used_count;
};

/* All of a log. about: as about_begin() has left it. */
void count_file(struct count *c, struct logfile *f, struct about *about);

#endif
