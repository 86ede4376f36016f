/*
 * outfile.h - a file or a directory that is written whole, or not at all
 *
 * Its name is OUT.unfinished until it is; what was there before goes only then. A program that ends before, also by a
 * signal that asks it to, leaves nothing behind. Only its owner may read it, as a log that is recorded. One for a program.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef OUTFILE_H
#define OUTFILE_H

#include <stdbool.h>
#include <stdint.h>

/* FILE.suffix for FILE.log; for standard input as if that were LOGFILE_DEFAULT. */
char *outfile_name(const char *log, const char *suffix);

/* All of these end the program with a message if it cannot be. */

/*
 * All of out.h goes there from now on; "-": standard output. A log is not overwritten, and what is no regular file is
 * written to as it is.
 */
void outfile_open(const char *path);
/* Returns the path to write files to. force: what is there already, if it was made so, goes. */
const char *outfile_directory(const char *path, bool force);
/* From time to time: has a signal asked the program to end? Then it does. */
void outfile_check(void);
/* It is whole. Returns how many bytes it has; 0: nobody knows. */
uint64_t outfile_done(void);

#endif
