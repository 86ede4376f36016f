/*
 * launch.h - starts a command that waits until it is traced
 *
 * The process is there before its program: so a stream can be made for it, and runs before its
 * first instruction.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

struct launch {
	pid_t pid;
	int go;   /* a byte into it: execute */
	int told; /* an error number comes out of it, or its end: it was executed */
};

/* The file that a command's name means, as a shell finds it; to be freed. Null: there is none, errno says why. */
char *launch_find(const char *name);
/* 0 or an error number. The child calls set_up(arg) when it is about to execute. */
int launch_start(struct launch *l, const char *path, char **argv, void (*set_up)(void *arg), void *arg);
/* 0: it executes its file; else why not, and it has ended. */
int launch_go(struct launch *l);
/* Any process: it is not there, or waits to be reaped. For Linux before 5.3, which has no pidfd_open(). */
bool launch_ended(pid_t pid);
/* It never executes. */
void launch_cancel(struct launch *l);

#endif
