/*
 * guest.h - a command that does not begin before it is traced
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GUEST_H
#define GUEST_H

#include <stdbool.h>
#include <sys/types.h>

struct guest {
	pid_t pid;
	int go;    /* pipe to it: begin */
	int error; /* and from it: why it cannot */
};

/*
 * A child process that waits. output: descriptor of what it prints, -1: where this process prints; apart:
 * the terminal's signals do not reach it, nor does its input. Ends the program with a message if there can be none.
 */
struct guest guest_wait(char **argv, int output, bool apart);
/* It executes the command. Ends the program with STATUS_NOT_FOUND or STATUS_NOT_RUN if it cannot. */
void guest_go(struct guest *l, char **argv);
/* It is told to end, if it has not. */
void guest_end(struct guest *l);

#endif
