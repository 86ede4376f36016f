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
	bool attached;     /* it has something of the library; not: it is only traced */
};

/* False: it is none. */
bool traceable_look(pid_t pid, struct traceable *t);
/* All of this user's, for root all that there are, by process id. To be freed; null: none. */
struct traceable *traceable_all(unsigned *count);
/* Names of event types of a process, with their layouts, in the order in which they were defined. */
void traceable_names(pid_t pid, void (*each)(const char *name, void *arg), void *arg);

#endif
