/*
 * origin.h - who has recorded a log, and what the clocks of the machine said
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOGS_ORIGIN_H
#define LOGS_ORIGIN_H

#include "log/labels.h"
#include "logs/logfile.h"

struct origin {
	struct labels labels;
	/* Of the frames CLOCK: */
	uint64_t clocks;
	uint64_t steps;     /* how often CLOCK_REALTIME was set */
	int64_t moved;      /* how far it has moved against CLOCK_MONOTONIC since the beginning, ns */
	int64_t difference; /* CLOCK_REALTIME - CLOCK_MONOTONIC at the first one */
	bool known;         /* the kernel was asked whether the clock is synchronized */
	bool unsynchronized; /* it was not, at least once */
	uint64_t max_error; /* the largest, ns */
};

/* Reads the frames LABELS and CLOCK. */
void origin_read(struct origin *o, struct logfile *f);
/* Prints the lines of stat; nothing about a log without such frames. */
void origin_print(const struct origin *o);
/* Adds the members "labels" and "clock" to the current object. */
void origin_json(const struct origin *o);

#endif
