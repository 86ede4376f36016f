/*
 * progress.h - a line on the terminal that tells how far a recording, or a conversion, has come, and messages beside it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Starts the progress line, on standard error if this is a terminal and the program's process group is in its
 * foreground. beside: even if the command writes to the same terminal.
 */
void progress_start(bool beside);
bool progress_wanted(void);
void progress_show(uint64_t events, uint64_t bytes, uint64_t lost, unsigned files);
/* Shows how much has been done; all 0: the total is unknown. */
void progress_part(uint64_t done, uint64_t all);
/* Prints a message like complain(), after it has erased the line. */
void progress_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_end(void);

#endif
