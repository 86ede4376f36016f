/*
 * launch.h - starts a command that waits until it is traced
 *
 * The child process is forked before it executes the program, so a stream can be created for it and runs before the
 * program's first instruction.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LAUNCH_H
#define LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct launch {
	pid_t pid;
	int go;   /* write one byte to let the child execute the program */
	int failure; /* yields an error number if execv() failed, else end of file */
};

/*
 * Returns the path of the file that a command's name means to a shell, to be freed by the caller. Returns null and sets
 * errno if there is no such file.
 */
char *launch_find(const char *name);
/* Copies the path of the program that will be executed for a file: of a script, that of its interpreter. */
void launch_program(const char *path, char program[PATH_MAX]);
/*
 * Returns the interpreter of a script, or the loader of a program, that does not exist, so that the file cannot be
 * executed: to be freed by the caller. Returns null if it exists, or is not known.
 */
char *launch_missing(const char *path);
/* Forks the child. Returns 0 or an error number. The child calls set_up(arg) right before it executes the program. */
int launch_start(struct launch *l, const char *path, char **argv, void (*set_up)(void *arg), void *arg);
/* Lets the child execute the program. Returns 0, or an error number; then the child has ended and was reaped. */
int launch_go(struct launch *l);
/* Returns whether any process has ended, or is a zombie. For Linux before 5.3, which has no pidfd_open(). */
bool launch_ended(pid_t pid);
/* Ends the child before it executes the program. */
void launch_cancel(struct launch *l);

#endif
