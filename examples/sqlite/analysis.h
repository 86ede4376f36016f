/*
 * analysis.h - a stream for sqltrace's events, a line for each statement in it, and a table of them
 *
 * What the analyzers share: analyzer.c, which is in the traced process
 * (sqlanalyze.so), attach.c, which is a process of its own (sqlattach), and
 * readlog.c, which comes later and has a log (sqlread).
 * There is one analysis in a program. Its settings are environment variables, in
 * README.md; analysis_create() and analysis_open() read them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ANALYSIS_H
#define ANALYSIS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <trace.h>

/*
 * The controller's: creates a stream for the process (0: this one) and stores
 * its identifier; it is not started. Lines and tables will go to out. 0, or an
 * error number.
 */
int analysis_create(pid_t pid, FILE *out, trace_id_t *trid);

/*
 * Instead of that: opens the log behind a descriptor. 0, or an error number.
 */
int analysis_open(int fd, FILE *out, trace_id_t *trid);

/*
 * The analyzer's, which is one thread: reads the stream until it has been
 * stopped, or the log to its end, a line for each statement that ends. Events that are
 * not sqltrace's are given to the caller, the one of that stop the last. 0, or
 * the error number that reading ended with.
 */
int analysis_run(void (*other)(trace_event_id_t id, const void *data, size_t length));

/* Prints the table of the statements that have ended, and returns their number. For the analyzer's thread. */
uint64_t analysis_report(void);

#endif
