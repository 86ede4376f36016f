/*
 * outfile.h - writes a file or a directory completely, or not at all
 *
 * Until it is complete, the output has no name or an unpredictable one, and an existing file keeps its contents. A
 * program that ends earlier, also by a signal that asks it to, leaves nothing behind. Only output of this process is
 * removed, and what --force allows to replace. The output is readable by its owner only, like a recorded log. A program
 * has only one output.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef OUTFILE_H
#define OUTFILE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns FILE.suffix for FILE.log. Standard input counts as LOGFILE_DEFAULT. */
char *outfile_name(const char *log, const char *suffix);

/* All functions end the program with a message on failure. */

/*
 * Directs the output of out.h to the file; "-" is standard output. A log is never overwritten. A file that is not a
 * regular file is written to in place. ours: returns whether an open existing file may be replaced, else the message is
 * `instead`; null allows any file.
 */
void outfile_open(const char *path, bool (*ours)(int fd), const char *instead);
/* Creates a directory. Returns its descriptor. force: replaces an existing directory made by this function. */
int outfile_directory(const char *path, bool force);
/* Returns the name of the output, for messages. */
const char *outfile_path(void);
/* Creates a subdirectory for one of several traces. Returns its descriptor. */
int outfile_inner(const char *name);
/* Ends the program if a signal has asked it to. Called from time to time. */
void outfile_check(void);
/* Completes the output. Returns its size in bytes, 0 if unknown. */
uint64_t outfile_done(void);

#endif
