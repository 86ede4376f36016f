/*
 * traceable.h - processes that use the library: they have mapped it, or are traced
 *
 * A process that is linked with the static library is known from its first trace call on.
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
	unsigned events;   /* names of event types, of the process and of its family */
	unsigned streams;  /* streams that trace the process */
	bool attached;     /* the process has mapped or called the library; false if it is only traced */
};

/* Fills *t. Returns false if the process does not use the library, or if this user may not trace it. */
bool traceable_look(pid_t pid, struct traceable *t);
/*
 * Returns the traceable processes of this user, or of all users for root, by process id; to be freed by the caller.
 * Returns null if there are none.
 */
struct traceable *traceable_all(unsigned *count);
/* Calls each for the names of a process's event types, with their layouts, in the order of their definition. */
void traceable_names(pid_t pid, void (*each)(const char *name, void *arg), void *arg);

#endif
