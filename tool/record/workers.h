/*
 * workers.h - records descendants of a process of root that have become other users
 *
 * Such a worker cannot write to the stream of root's process, and should not. So each user whose rights descendants
 * have taken gets a stream of its own, which lies in that user's memory. It is entered in a page of root's process in
 * that user's directory, where all later workers look for what they inherit (shm/family.h): they are recorded from
 * their first event. A worker that was forked before its user had a stream gets one for itself and its children.
 *
 * A worker may be hostile. The recorder trusts nothing that it maps, as with every process that has fewer rights
 * (docs/processes.md). What a worker's stream says about processes of other users is left out.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WORKERS_H
#define WORKERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "logs/match.h"
#include "record/kin.h"
#include "record/part.h"

#define WORKERS_USERS 64 /* users who get a stream */

/* A user whose workers are to be recorded from their first event. */
struct worker_user {
	uint32_t uid, gid;
};

/* What is recorded, and how. */
struct workers_plan {
	pid_t pid;
	const char *path; /* FILE; null: it is a pipe, which takes one log only */
	const char *what; /* "process 12", or the name of the command */
	trace_attr_t attr;
	const struct part *part; /* the streams of the process */
	unsigned parts;
	const struct match *match;
	const char *where; /* null: none */
	const struct worker_user *user; /* users who are known before */
	unsigned users;
	bool quiet;
};

struct workers_totals {
	uint64_t events, bytes, lost;
};

struct workers;

/* Returns null if there is nothing to do for this process: it is not root's. kin is used until workers_end(). */
struct workers *workers_begin(const struct workers_plan *plan, struct kin *kin);
/* Returns false after it has printed why a user who was named before cannot be recorded. */
bool workers_begun(const struct workers *w);
/* Looks for workers that are not recorded yet, if it is time to. Returns when to look again, CLOCK_MONOTONIC. */
int64_t workers_look(struct workers *w, int64_t now);
/* Looks at processes that have changed. more: there are others. Afterwards workers_look() looks less often. */
void workers_changed(struct workers *w, const uint32_t *pid, unsigned count, bool more);
/* Filters out event types that are not wanted, as their names become known. */
void workers_follow(struct workers *w);
struct workers_totals workers_totals(const struct workers *w);
/* A FILE.N with the program's events. */
struct workers_kept {
	const char *path;
	int fd;
	uint64_t begin, end; /* period; 0, UINT64_MAX: everything */
	uint64_t bytes; /* of the file */
	uint64_t events; /* result: events of workers in it */
};

/*
 * Adds the workers' events, but for those that earlier files have. Returns false after it has printed why that is not
 * possible; then they come into the next file.
 */
bool workers_keep(struct workers *w, struct workers_kept *k);
/*
 * Ends the streams. drop: their events are not wanted. Otherwise makes one log of the program's, which is complete, and
 * theirs. program: the part with it; its descriptor and numbers become those of the new log. Returns false after it has
 * printed why some events are missing, or in files of their own.
 */
bool workers_end(struct workers *w, struct part *program, bool drop);
/* Prints whose events are in the log, and what is missing. path: of the log, for messages. */
void workers_say(const struct workers *w, const char *path);
void workers_free(struct workers *w);

#endif
