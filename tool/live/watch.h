/*
 * watch.h - reads and counts the events of a running program
 *
 * The stream keeps the newest events. A program that is faster than its reader is not slowed down; the view reports the
 * events that it has missed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WATCH_H
#define WATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/ticks.h"
#include "live/latest.h"
#include "live/rates.h"
#include "logs/match.h"
#include "process/streams.h"
#include "process/typenames.h"

struct watch {
	pid_t pid;
	char command[COMMAND_SIZE]; /* the name in /proc, which changes with exec */
	trace_id_t trid;
	struct typenames *types;
	struct rates *rates;
	struct latest latest;
	struct match *only; /* from the command line */
	uint64_t began;     /* CLOCK_REALTIME, the origin of times in --where */
	uint64_t stream_size;
	/* As of the last watch_look(): */
	uint64_t lost;
	double lost_per_s;
	bool ended;   /* the process has ended */
	bool silent;  /* no event has come, and the process does not use the library */
	bool broken;  /* the stream cannot be read any more */
	/* why no event type matches the command line, in words; null: some type does, or there are no types */
	char *missing;
	/* Private: */
	const struct match *shown;
	bool unwanted[EVENT_ID_END]; /* excluded from the latest events by `shown` */
	bool frozen, end_seen;
	uint64_t lost_at_reset, lost_before, lost_reported, looked;
};

/* Returns the time, CLOCK_MONOTONIC in ns, which is used in all of live. */
static inline uint64_t watch_now(void)
{
	return (uint64_t)clock_ns(CLOCK_MONOTONIC);
}

/* Creates and starts the stream, for the types that `only` selects. Returns 0 or an error number. */
int watch_begin(struct watch *w, pid_t pid, bool children, struct match *only);
/* Ends the program with a message about the error of watch_begin(). */
void watch_explain(pid_t pid, int error) __attribute__((noreturn));
/*
 * Reads available events, for at most this many ns. Returns whether there may be more. An event takes 60 ns, of which
 * 50 are the library's.
 */
bool watch_read(struct watch *w, uint64_t patience);
/* Updates the names of event types, the losses, and the members "as of the last watch_look()". */
void watch_look(struct watch *w, uint64_t time);
/* Selects the types that are kept as latest events; null: all. All events are counted. */
void watch_keep(struct watch *w, const struct match *shown);
/* Stops keeping latest events; counting goes on. */
void watch_freeze(struct watch *w, bool frozen);
/* Counts from 0 again. */
void watch_reset(struct watch *w, uint64_t time);
void watch_end(struct watch *w);

#endif
