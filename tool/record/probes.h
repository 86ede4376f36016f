/*
 * probes.h - record --usdt: the probes in the files of a process, set by the kernel, into a log beside FILE
 *
 * A thread of the recorder takes the kernel's samples, sorts them by time, and opens the probes of libraries that the
 * process loads later. The process is not changed but by the kernel's own uprobes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROBES_H
#define PROBES_H

#include <stdbool.h>
#include <sys/types.h>

#include "record/probe_patterns.h"
#include "record/probelog.h"

struct probes;

/*
 * Begins to record the probes of a process. program: the file that the process is about to execute; null: it is
 * running. path, fd: the log, which was begun. Returns null after it has printed the reason.
 */
struct probes *probes_start(const struct probes_wanted *wanted, pid_t pid, const char *program, const char *path,
                            int fd);
/* Takes what is left of the samples, completes the log beside, and prints what could not be recorded. */
void probes_stop(struct probes *p);
/* Merges the log beside into FILE. Returns false after it has printed why that is impossible. */
bool probes_merge(struct probes *p, const char *path, int fd, struct merged *m);
/* Frees all; the log beside is removed unless it was merged or `keep`. */
void probes_free(struct probes *p, bool keep);

#endif
