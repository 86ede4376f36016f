/*
 * tasks.h - the machines, processes and threads of events
 *
 * A machine is one boot of one host. Logs of one machine have the same process ids. Logs of different machines may use
 * the same numbers for different processes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TASKS_H
#define TASKS_H

#include <stdbool.h>

#include "common/lookup.h"
#include "logs/sources.h"

/* A process, or a thread. */
struct task {
	struct lookup_key key;
	uint32_t machine, pid, tid; /* tid is 0 for a process */
	uint32_t number;            /* among all tasks */
	uint64_t uuid;              /* the same in all conversions of logs of this machine; not 0 */
	struct task *process;       /* for a thread */
	char *executable;           /* for a process; null: unknown */
	char name[16];              /* for a thread, in its latest event */
	bool written;               /* for the caller: the name was written to the output */
};

struct tasks {
	struct lookup all;
	unsigned *machine; /* for each source, the number of the first source of its machine */
	const struct sources *logs;
};

/* Reads from the logs which files processes execute. */
void tasks_begin(struct tasks *tasks, const struct sources *logs);
struct task *tasks_process(struct tasks *tasks, const struct source *s, uint32_t pid);
/*
 * Returns the thread of the next event, with its name at the time of the event. Clears written if the name has changed.
 * An event without a thread gets a task with tid 0.
 */
struct task *tasks_thread(struct tasks *tasks, const struct source *s);
/* Returns a number for the log's host, for uuids. */
uint64_t tasks_machine_uuid(const struct source *s);

#endif
