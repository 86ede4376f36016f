/*
 * explain.h - why a recording is empty
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include <stdbool.h>
#include <sys/types.h>
#include <trace.h>

#include "event/suggest.h"
#include "logs/match.h"

/*
 * What is known about a process without events. Some fields can be filled only while the stream exists or the process
 * lives.
 */
struct evidence {
	bool linked;   /* the file, or one of the mapped libraries, names our library */
	bool script;   /* the file is a script */
	bool other_user; /* the process has the rights of its file (set-user-ID) */
	bool attached; /* the process has called the library */
	bool filtered; /* the process was under a seccomp filter when the recording began */
	bool gone;     /* the process had ended at the last explain_user() */
	bool sigsys;   /* signal SIGSYS has ended it */
	bool not_found; /* the process ended with status 127, as a shell that did not find a command */
	uint32_t became; /* the user that the process became after the stream was created; 0: same user */
	uint32_t user, last_user; /* users when the recording began, and at the last explain_user() */
	bool user_known, last_known; /* last_known: the last look was at the end of the process */
	unsigned types, wanted; /* named event types, and how many of them match the pattern */
	struct suggest names;
};

/* Fills *e for a file that is about to be executed. */
void explain_file(struct evidence *e, const char *path);
/* Fills *e for a process that runs already. */
void explain_process(struct evidence *e, pid_t pid);
/* Records as which user the process runs. Called from the beginning of the recording on. */
void explain_user(struct evidence *e, pid_t pid);
/* Adds to *e what a stream knows before it is shut down. */
void explain_stream(struct evidence *e, trace_id_t trid, const struct match *m);
/*
 * Prints why there are no events. m: the events asked for. children: children were traced too. alive: how many children
 * still run.
 */
void explain_say(struct evidence *e, const char *what, const struct match *m, bool children, unsigned alive);
/* Prints that a seccomp filter has killed the process, if that is known. Returns whether it is. */
bool explain_killed(const struct evidence *e, const char *what);
/* Returns in words why this user may not look into the process. *remedy: what the user can do. */
const char *explain_permission(pid_t pid, char text[96], const char **remedy);
/* Prints each pattern of the option that matches no event type of the stream, with the names of the stream's types. */
void explain_names(trace_id_t trid, const char *what, const struct match *m, const char *option);

#endif
