/*
 * traceable.h - processes that have something to do with the library: they have mapped it, or are traced
 *
 * Those that are linked with the static library are known from their first trace call on.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEABLE_H
#define TRACEABLE_H

#include <stdbool.h>
#include <sys/types.h>

struct traceable {
	pid_t pid;
	char command[200]; /* with its arguments */
	unsigned events;   /* names of event types, its own and those of its family */
	unsigned streams;  /* that trace it */
};

/* Is it one? */
bool traceable_is(pid_t pid);
/* All of this user's, for root all that there are, by process id. To be freed; null: none. */
struct traceable *traceable_all(unsigned *count);

#endif
