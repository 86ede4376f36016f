/*
 * kernel.h - record --kernel: Linux's own events about the recorded process, into the log beside FILE
 *
 * A thread of the recorder reads the kernel's rings and writes the events.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_KERNEL_H
#define RECORD_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/sampling.h"
#include "record/beside.h"

struct match;

struct kernel_options {
	unsigned groups; /* bits of enum group; 0: no --kernel */
	struct sampling sampling; /* stacks that are wanted */
	int64_t write_ns; /* longest time between two flushes of the log */
	size_t buffer;   /* of each processor; 0: the default */
	bool quiet;      /* does not print what this user cannot have */
	bool all;        /* all processes of the machine, while the recorded one lives */
	bool without_recorder; /* with all: but this one */
	const struct match *match; /* the patterns of -e */
};

struct kernel;

/* Returns the groups of a list, or ends the program with wrong usage. */
unsigned kernel_groups(const char *list);
/* Returns how many samples in a second the kernel allows now; UINT32_MAX if that is not known. */
uint32_t kernel_samples_most(void);
/*
 * Begins to record the process; if it is a command, when that executes its program, unless all are recorded. Prints
 * what this user cannot have; if that is everything, *k is null, and the program's own events can still be recorded.
 * Returns false after it has printed why nothing should be recorded. path, fd: the log.
 */
bool kernel_start(struct kernel **k, const struct kernel_options *o, pid_t pid, bool command, bool children,
                  const char *path, int fd);
/* Ends the recording, and returns its complete log, which the caller closes. */
struct beside *kernel_stop(struct kernel *k, bool quiet);

#endif
