/*
 * watch.h - the events of a running program, read and counted
 *
 * A stream that keeps the newest events; so a program that is faster than its reader goes on
 * undisturbed, and the view, which has lost some, says so.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WATCH_H
#define WATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/ticks.h"
#include "latest.h"
#include "match.h"
#include "rates.h"
#include "streams.h"
#include "typenames.h"

struct watch {
	pid_t pid;
	char command[COMMAND_SIZE]; /* as the kernel calls it; what it executes may change */
	trace_id_t trid;
	struct typenames *types;
	struct rates *rates;
	struct latest latest;
	struct match *only; /* of the command line; null: all */
	uint64_t stream_size;
	/* As of the last look: */
	uint64_t lost;
	double lost_per_s;
	bool ended;   /* the process has */
	bool silent;  /* nothing has come from it, and it has nothing of the library either */
	bool broken;  /* the stream cannot be read any more */
	/* Inner: */
	const struct match *shown;
	bool unwanted[EVENT_ID_END]; /* not among the latest events, by shown */
	bool frozen, end_seen;
	uint64_t lost_at_reset, lost_before, lost_told, looked;
};

/* The clock of all times here: CLOCK_MONOTONIC, ns. */
static inline uint64_t watch_now(void)
{
	return (uint64_t)clock_ns(CLOCK_MONOTONIC);
}

/* Creates and starts the stream. 0 or an error number. */
int watch_begin(struct watch *w, pid_t pid, bool children, struct match *only);
/* Ends the program with a message that says why it could not begin. */
void watch_explain(pid_t pid, int error) __attribute__((noreturn));
/*
 * Reads what there is, for so many ns at the most. True: there may be more.
 * It takes 60 ns for an event, of which 50 are the library's.
 */
bool watch_read(struct watch *w, uint64_t patience);
/* Names, losses, and what is above "as of the last look". */
void watch_look(struct watch *w, uint64_t time);
/* Which events are kept as the latest ones; all are counted. null: all. */
void watch_keep(struct watch *w, const struct match *shown);
/* Not kept any more, only counted. */
void watch_freeze(struct watch *w, bool frozen);
/* Counts from 0 on. */
void watch_reset(struct watch *w, uint64_t time);
void watch_end(struct watch *w);

#endif
