/*
 * points.h - the perf events of each group of --kernel: which there are, and which this user may have
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KERNEL_POINTS_H
#define KERNEL_POINTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "kernel/ring.h"
#include "kernel/sampling.h"
#include "kernel/tracefs.h"

enum group { GROUP_SCHED, GROUP_SYSCALLS, GROUP_FAULTS, GROUP_SIGNALS, GROUP_IO, GROUP_COUNT };
#define GROUPS_ALL ((1U << GROUP_COUNT) - 1)
extern const char *const group_names[GROUP_COUNT];

/* The kinds of events in the rings. POINT_TASK: births, executions, ends, names; with GROUP_SCHED also switches. */
enum point {
	POINT_TASK, POINT_SWITCH, POINT_WAKING, POINT_ENTER, POINT_EXIT, POINT_MINOR, POINT_MAJOR, POINT_SEND,
	POINT_DELIVER, POINT_ISSUE, POINT_COMPLETE, POINT_STACK, POINT_OFF_STACK, POINT_COUNT
};

struct points {
	unsigned groups;  /* a bit for each */
	bool on_exec;     /* begin when the process executes a program */
	bool has[POINT_COUNT];
	int error[POINT_COUNT]; /* why not */
	bool user_only;   /* page faults of the kernel on behalf of the program are not recorded */
	bool namespaced;  /* tracepoints have other ids than this process knows, so some are useless */
	bool all;         /* all processes are asked for; set it after points_find() */
	bool wide;        /* all threads of the machine are recorded: others have to be left out, unless all */
	const char *no_tracefs; /* why there are no tracepoints, or null */
	struct tracefs_format format[POINT_COUNT]; /* of tracepoints */
	struct sampling sampling;
	/* Threads that are recorded: */
	pid_t *tid;
	unsigned tids, room;
};

/* Finds out which of the groups' events this user may have. Returns 0, or why there is not a single one. */
int points_find(struct points *p, unsigned groups);
/* Adds stacks to what points_find() has found. */
void points_find_stacks(struct points *p, const struct sampling *wanted);
/* Opens the events for all threads of a process. Returns 0 or an error number. */
int points_open(struct points *p, struct rings *r, pid_t pid);
void points_free(struct points *p);
/* Returns what a group lacks, as a text to follow its name, or null if it is complete. */
const char *points_lack(const struct points *p, enum group group);

#endif
