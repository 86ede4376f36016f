/*
 * guest.h - runs the watched command beside the screen
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GUEST_H
#define GUEST_H

#include <stdbool.h>

#include "process/launch.h"

/*
 * Forks a child process that waits. output: descriptor for its output, -1: the output of this process. apart: the child
 * gets no signals and no input from the terminal. Ends the program with a message on failure, with STATUS_NOT_FOUND or
 * STATUS_NOT_RUN if the command is the cause. The command gets SIGTERM if this process ends without guest_end().
 */
void guest_wait(struct launch *l, char **argv, int output, bool apart);
/* Lets the child execute the command. Fails like guest_wait(). */
void guest_go(struct launch *l, char **argv);
/* Sends SIGTERM to the command if it still runs. */
void guest_end(struct launch *l);

#endif
