/*
 * launch.h - starts a command that waits until it is traced
 *
 * The process is there before its program: so a stream can be made for it, and runs before its
 * first instruction. It stays in the terminal's foreground group, and has the signals' dispositions and mask, and the
 * descriptors, that it would have without a recorder.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "signals.h"

struct launch {
	pid_t pid;
	int go;   /* a byte into it: execute */
	int told; /* an error number comes out of it, or its end: it was executed */
};

/* The file that a command's name means, as a shell finds it; to be freed. Null: there is none, errno says why. */
char *launch_find(const char *name);
/* 0 or an error number. aside: what it writes to standard output goes to standard error. */
int launch_start(struct launch *l, const char *path, char **argv, const struct signals *signals, bool aside);
/* 0: it executes its file; else why not, and it has ended. */
int launch_go(struct launch *l);
/* It never executes. */
void launch_cancel(struct launch *l);

#endif
