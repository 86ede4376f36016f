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

#include "match.h"

/* What can be known as long as there is the stream, or only while the process lives. */
struct evidence {
	bool linked;   /* its file, or what it has mapped, names the library */
	bool script;   /* its file is one */
	bool other_user; /* it runs with the rights of its file */
	bool attached; /* it has come to the library */
	unsigned types, wanted; /* event types with names, and those that the pattern matches */
	char names[512];
};

/* Of a file that is about to be executed. */
void explain_file(struct evidence *e, const char *path);
/* Of a process that runs already. */
void explain_process(struct evidence *e, pid_t pid);
/* Of a stream that is about to end. */
void explain_stream(struct evidence *e, trace_id_t trid, const struct match *m);
/* Says it. children: those were traced too. */
void explain_say(const struct evidence *e, const char *what, bool children);

#endif
