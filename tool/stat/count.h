/*
 * count.h - goes once through logs, and counts
 *
 * The tallies of an event are looked up once for each shape in each segment, not for each event, so counting is faster
 * than reading.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef COUNT_H
#define COUNT_H

#include "analysis/span.h"
#include "event/layouts.h"
#include "logs/about.h"
#include "logs/match.h"
#include "stat/group.h"
#include "stat/linux.h"
#include "stat/overtime.h"
#include "stat/tally.h"

/* The tallies of the events of one shape, and counts that are not in the tallies yet. */
struct count_cell {
	uint64_t segment; /* the segment that the cell is filled for */
	uint64_t events;  /* of the segment, not in the tallies yet */
	struct tally *type, *process, *thread;
	struct span_role role;
	enum linux_kind linux_kind;
	uint32_t length;
	bool truncated;
};

struct count {
	struct match *match;
	struct spans spans;
	struct groups groups;
	struct overtime over_time;
	struct tally_set types, processes, threads;
	struct linux_stat linux_events;
	/* The current file: */
	struct layouts *layouts;
	uint64_t segment;
	struct count_cell cell[SHAPES_MAX];
	uint16_t used[SHAPES_MAX];
	unsigned used_count;
};

/* Counts the events of a log. about: after about_begin(). begin: the origin of times. */
void count_file(struct count *c, struct logfile *f, struct about *about, uint64_t begin);

#endif
