/*
 * guest.h - the command that is watched, beside the screen
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GUEST_H
#define GUEST_H

#include <stdbool.h>

#include "launch.h"

/*
 * A child process that waits. output: descriptor of what it prints, -1: where this process prints; apart:
 * the terminal's signals do not reach it, nor does its input. Ends the program with a message if there can be
 * none, with STATUS_NOT_FOUND or STATUS_NOT_RUN if that is the command's fault. The command is told to end when this
 * process ends in any other way than by guest_end().
 */
void guest_wait(struct launch *l, char **argv, int output, bool apart);
/* It executes the command; likewise. */
void guest_go(struct launch *l, char **argv);
/* It is told to end, if it has not. */
void guest_end(struct launch *l);

#endif
