/*
 * recording.h - the recording of one process: its log, the parts that are kept, and the messages about them
 *
 * Without rotation a recording is one stream with its log, FILE. With rotation it has two streams that take turns. Both
 * exist before the first event, so all descendants inherit both, but only one runs. To end a part, the other stream is
 * started before the current one is stopped, so no event is missed, and events recorded in between are in both. The
 * part that ended is written to FILE.N, and its stream is cleared for its next turn. A flight recorder works the same
 * way, with streams that keep the newest events in memory until a part ends.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORDING_H
#define RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/explain.h"
#include "record/beside.h"
#include "record/changes.h"
#include "record/kernel.h"
#include "record/kin.h"
#include "record/part.h"
#include "record/probes.h"
#include "record/selection.h"
#include "record/workers.h"

/* The options of the command line. */
struct plan {
	const char *output;
	trace_attr_t attr;
	size_t stream_size;
	bool children;
	bool family;           /* record until the last descendant ends */
	struct worker_user *user; /* users that descendants will become */
	unsigned users;
	const char **label;    /* "version=1.2" */
	size_t labels;
	struct match *match;   /* event types to record */
	const char *where;     /* a correct expression; null: none */
	bool loop;             /* flight recorder */
	uint64_t rotate;       /* bytes; 0: no rotation */
	unsigned keep;         /* files; 0: all */
	struct match *trigger; /* null: none */
	int64_t before, after; /* ns; -1: not given */
	int64_t duration;      /* ns; 0: until the process ends */
	struct kernel_options kernel;
	bool quiet;
	struct probes_wanted usdt;
	const char *functions; /* the patterns of functions, with their options; null: none */
};

struct totals {
	uint64_t events, bytes, lost, unwritten, left_out;
};

/* The period of a snapshot, and its trigger. */
struct snapshot {
	uint64_t begin, end; /* 0, UINT64_MAX: everything */
	uint64_t at;         /* time of the trigger; 0: none */
	char why[TRACE_EVENT_NAME_MAX + 1]; /* name of the trigger */
};

struct recording {
	const struct plan *plan;
	pid_t pid;
	char what[256]; /* "process 12", or the name of the command */
	struct part part[2];
	struct selection *selection[2]; /* of each part; null: without --where */
	unsigned parts, now;
	bool waits; /* the suspended part could not be written yet */
	struct snapshot waiting; /* the period to write */
	bool owed; /* another snapshot was asked for meanwhile: */
	struct snapshot owes;
	int64_t retry;
	unsigned number; /* N of the last FILE.N */
	unsigned retired; /* N of the FILE.N that was FILE before this recording; 0: none */
	unsigned kept;   /* number of files written by this recording */
	uint64_t unwanted; /* events in the log that -e does not select */
	bool functions; /* the log tells that functions would have been recorded */
	bool unwanted_more; /* only the beginning of the log was searched for them */
	struct totals past; /* totals of the parts that have ended */
	int reported; /* the last write error that was reported */
	bool full_reported;
	bool ended;
	bool trouble; /* writing failed; perhaps only for a while, and no event was lost */
	bool failed;  /* some events are missing, or in another file than they should be */
	struct evidence evidence;
	struct kin kin;
	struct kernel *kernel; /* null: no --kernel */
	uint64_t kernel_lost;  /* of the lost events, those of the kernel */
	struct workers *workers; /* null: none are looked for */
	struct probes *probes; /* null: no --usdt */
};

#define SNAPSHOT_ALL (&(const struct snapshot){ .end = UINT64_MAX })

/*
 * Begins to record the process into the file. The recording takes over the path. Returns false after it has printed the
 * reason; then nothing is left. starts: the process will execute a program.
 */
bool recording_start(struct recording *r, const struct plan *plan, pid_t pid, const char *what, char *path,
                     bool starts);
/*
 * Begins to record the probes of --usdt, if it was given. program: the path of what the process is about to execute;
 * null: it is running. Returns false after it has printed the reason; the recording is to be cancelled then.
 */
bool recording_probe(struct recording *r, const char *program);
/* Filters out event types that are not wanted, as their names become known. */
void recording_follow(struct recording *r);
/* Adds to the log the file that the process executes now and its libraries. Called from time to time. */
void recording_describe(struct recording *r);
/* Looks for processes that have become other users, if it is time to. Returns when to call this again. */
int64_t recording_look_for_workers(struct recording *r, int64_t now);
/* Looks for them among processes that have changed. */
void recording_changes(struct recording *r, const struct changes *c);
/* Rotates, and reports problems. Called from time to time. */
void recording_look(struct recording *r);
/* Writes the events recorded so far to FILE.N. */
void recording_keep(struct recording *r, const struct snapshot *s);
struct totals recording_totals(const struct recording *r);
/* Completes the log. drop: the events in FILE are not wanted. */
void recording_end(struct recording *r, bool drop);
/* Undoes recording_start(): no file remains. */
void recording_cancel(struct recording *r);

#endif
