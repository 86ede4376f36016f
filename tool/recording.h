/*
 * recording.h - the recording of one process: its log, what is kept of it, and what is said about it
 *
 * Without rotation one stream with its log, FILE. With it, two, which take turns: both are there before the first
 * event, so that all descendants have them, and only one runs. To end a part the other one is started before this one is stopped,
 * so nothing is missed and what is recorded in between is in both; what this one has goes into FILE.N, and it is
 * emptied for its next turn. A flight recorder is the same with streams that keep the newest events in memory until
 * then.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORDING_H
#define RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "explain.h"
#include "part.h"

/* What was asked for. */
struct plan {
	const char *output;
	trace_attr_t attr;
	size_t stream_size;
	bool children;
	struct match *match;   /* which event types */
	bool loop;             /* a flight recorder */
	uint64_t rotate;       /* bytes; 0: no rotation */
	unsigned keep;         /* files; 0: all */
	struct match *trigger; /* null: none */
	int64_t before, after; /* ns; -1: not given */
	int64_t duration;      /* ns; 0: until the end */
	bool quiet;
};

struct totals {
	uint64_t events, bytes, lost;
};

/* Which times of a snapshot are wanted, around what. */
struct snapshot {
	uint64_t begin, end; /* 0, UINT64_MAX: all */
	uint64_t at;         /* the trigger; 0: none */
	char why[TRACE_EVENT_NAME_MAX + 1]; /* its name */
};

struct recording {
	const struct plan *plan;
	pid_t pid;
	char what[32]; /* "process 12", or the command's name */
	struct part part[2];
	unsigned parts, now;
	bool waits; /* what the other part has could not be kept yet */
	struct snapshot waiting; /* which of it is wanted */
	bool owed; /* another one was asked for meanwhile: */
	struct snapshot owes;
	int64_t retry;
	unsigned number; /* of the last FILE.N */
	unsigned kept;   /* by this recording */
	struct totals past; /* of parts that are over */
	int told; /* the error of writing that was said last */
	bool full_told;
	bool ended, failed;
	struct evidence evidence;
};

#define SNAPSHOT_ALL (&(const struct snapshot){ .end = UINT64_MAX })

/* Of this process into that file; path becomes its own. False: it has been said why not, and there is nothing. */
bool recording_start(struct recording *r, const struct plan *plan, pid_t pid, const char *what, char *path);
/* Event types that are not wanted are filtered out as their names get known. */
void recording_follow(struct recording *r);
/* The process may have executed another file, or loaded libraries. */
void recording_describe(struct recording *r);
/* Now and then: rotates, and says what has gone wrong. */
void recording_look(struct recording *r);
/* What was recorded up to now goes into FILE.N. */
void recording_keep(struct recording *r, const struct snapshot *s);
struct totals recording_totals(const struct recording *r);
/* The log is complete. drop: nobody wants what FILE has. */
void recording_end(struct recording *r, bool drop);
/* It has not come to anything: no file remains. */
void recording_cancel(struct recording *r);

#endif
