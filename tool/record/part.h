/*
 * part.h - a stream with its log; a recording has one or two
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PART_H
#define PART_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <trace.h>

#include "control/flush.h"
#include "host/file.h"
#include "log/output.h"
#include "logs/match.h"

struct part {
	char *path;
	int fd;
	bool seeks; /* a regular file */
	bool kept;  /* the file was a log with events before, which is FILE.old now */
	trace_id_t trid;
	bool there;
	bool log_full; /* was seen full */
	int error;     /* the last write error that was seen; 0: none */
	uint64_t lost; /* lost events, as of part_look() */
	struct output_end sum; /* after part_end(): exact numbers of events in the log and of missing events */
};

/* Totals since the part was created or last cleared. */
struct part_numbers {
	uint64_t events; /* including system events */
	uint64_t users;  /* events of programs only */
	uint64_t bytes;  /* size of the log */
	uint64_t left_out; /* events that --where did not select */
};

/*
 * Creates the stream, suspended, and its log. turns: 0, or the same number for all parts that take turns. The part
 * takes over the path. Returns 0, an error number, or -1 after it has printed the reason.
 */
int part_create(struct part *p, pid_t pid, const trace_attr_t *attr, uint32_t turns, char *path);
/*
 * Creates the stream, suspended, of the processes that become a user: those that descend from a process, and are
 * forked from now on. of: a stream of that process. fd: an empty file. The part takes over the path and fd. Returns 0
 * or an error number.
 */
struct part_user {
	pid_t pid;
	uint32_t uid, gid;
	const struct part *of;
};
int part_create_for(struct part *p, const struct part_user *user, const trace_attr_t *attr, char *path, int fd);
/* Creates the stream, suspended, of a process, with the log in an empty file. Takes over as part_create_for(). */
int part_create_in(struct part *p, pid_t pid, const trace_attr_t *attr, char *path, int fd);
/* Returns the file name of the stream in shared memory. */
void part_stream(const struct part *p, char name[FILE_NAME_SIZE]);
/* Returns the first start time of processes that inherit the stream, in clock ticks. */
uint64_t part_inherited_from(const struct part *p);
/*
 * Looks into the page that a process has in the directory of this stream's user. Returns 1 if streams of this recorder
 * trace the process, other than those in `but`, 0 if none does, -1 if it has no page.
 */
int part_traces(const struct part *p, struct ident ident, const struct part *but, unsigned count);
/* Returns false if the traced process has taken the stream's memory away. */
bool part_works(const struct part *p);
/*
 * Adds labels, "version=1.2", to the log, and has it tell from now on how right the clock is. Returns 0 or an error
 * number, EINVAL if a label is wrong.
 */
int part_labels(const struct part *p, const char *const *label, size_t count);
/* Lets the filter decide which events go into the log. Called before the stream is started. */
void part_filter(const struct part *p, struct flush_filter *filter);
/* Filters out event types that have got a name since the last call and are not wanted. */
void part_follow(struct part *p, const struct match *m);
struct part_numbers part_numbers(const struct part *p);
/* Adds the file that the process executes now to the log, if it has changed. */
void part_describe(const struct part *p);
/* Updates error, log_full and lost. */
void part_look(struct part *p);
/* Writes all recorded events to the file. Returns 0 or an error number. */
int part_flush(struct part *p);
/* Suspends the stream. The other part has begun already, so an event without room here is not lost. */
void part_stop(struct part *p);
/* Adds events that were lost in another part, and are in no log. */
void part_lost(struct part *p, uint64_t lost);
/* Clears a suspended part: its file is empty, its stream has no events and no filter. */
void part_clear(struct part *p);
/* Shuts the stream down, which completes the log. Returns 0 or an error number. The file stays open. */
int part_end(struct part *p);
void part_free(struct part *p);

#endif
