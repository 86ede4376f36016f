/*
 * tasks.h - the machines, processes and threads that events are of
 *
 * Logs of one machine, which is one boot of one host, have the same process ids; those of another one may use the same
 * numbers for something else.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TASKS_H
#define TASKS_H

#include <stdbool.h>

#include "lookup.h"
#include "sources.h"

/* A process, or a thread. */
struct task {
	struct lookup_key key;
	uint32_t machine, pid, tid; /* of a process tid is 0 */
	uint32_t number;            /* among all of them */
	uint64_t uuid;              /* the same in whatever is made of logs of this machine; not 0 */
	struct task *process;       /* of a thread */
	char *executable;           /* of a process; null: not known */
	char name[16];              /* of a thread, in its latest event */
	bool told;                  /* of whoever tells of them */
};

struct tasks {
	struct lookup all;
	unsigned *machine; /* of each source: the number of the first one of its machine */
	const struct sources *logs;
};

/* And what the logs say that processes execute. */
void tasks_begin(struct tasks *tasks, const struct sources *logs);
struct task *tasks_process(struct tasks *tasks, const struct source *s, uint32_t pid);
/*
 * The thread of the source's event, with the name that it has there: then told becomes false, if it had another. Of events
 * that no thread has recorded it is one with the tid 0.
 */
struct task *tasks_thread(struct tasks *tasks, const struct source *s);
/* The host that a log is of, as a number for uuids. */
uint64_t tasks_machine_uuid(const struct source *s);

#endif
