/*
 * history.h - what threads did over time: when they ran, could run, or were blocked, and in which calls
 *
 * The states are those of record --kernel sched. Each was recorded at its end, so a state that began before the
 * recording, or before a loss, is not known: there is no slice for that time. System calls are those of --kernel
 * syscalls, calls of the C library those of record --libc.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HISTORY_H
#define HISTORY_H

#include "analysis/linux_event.h"
#include "common/lookup.h"
#include "logs/sources.h"
#include "logs/tasks.h"

enum history_state { HISTORY_UNKNOWN, HISTORY_RUNNING, HISTORY_READY, HISTORY_BLOCKED };

/* A time in which a thread was in one state. */
struct history_slice {
	uint64_t from, until;
	uint32_t waker;    /* READY, BLOCKED: the thread that ended the blocking; 0: an interrupt */
	uint32_t cpu;      /* RUNNING */
	uint8_t state;     /* enum history_state */
	uint8_t how;       /* enum linux_state; RUNNING: why it ended */
	bool waker_known;
	bool fault;        /* BLOCKED: for a page of a file, that the thread has touched */
};

/* A call, from its begin to its end. */
struct history_call {
	uint64_t from, until;
	const char *name; /* the same pointer for the same name; of a system call without linux_sys_ */
};

struct history_fault {
	uint64_t time;
	bool major;
};

struct history_list {
	void *item;
	size_t count, room;
};

struct history_thread {
	struct lookup_key key;
	uint32_t machine, pid, tid;
	char name[LINUX_NAME];
	/* All in the order of time; calls that are inside of others are left out. */
	struct history_list slices, system, library, faults;
};

#define HISTORY_NAMES 1024

struct history {
	const struct sources *logs;
	const struct tasks *tasks;
	struct lookup threads, wakers;
	struct history_name *name[HISTORY_NAMES]; /* by hash */
	struct history_type *types; /* of each source */
	bool states, system, library; /* there are such events */
};

/* A part of a thread's time, in which nothing changes. */
struct history_part {
	uint64_t from, until;
	const struct history_slice *slice; /* null: the state is unknown */
	const struct history_call *system, *library; /* null: in none */
};

/* Prepares for the events of logs. */
void history_begin(struct history *h, const struct sources *logs, const struct tasks *tasks);
/* Takes the next event of a source, whatever its type is. */
void history_event(struct history *h, const struct source *s);
/* Returns a thread, which is added if it is new. */
struct history_thread *history_thread(struct history *h, uint32_t machine, uint32_t tid);
/* Returns the name of a waker that is not recorded itself; "" if it is unknown. */
const char *history_waker_name(struct history *h, uint32_t machine, uint32_t tid);
/* Calls a function for each part of the thread's time, in order. */
void history_parts(const struct history_thread *t, uint64_t from, uint64_t until,
                   void (*each)(void *arg, const struct history_part *part), void *arg);
/* Returns the index of the first state of a thread that has not ended before a time. */
size_t history_slice_at(const struct history_thread *t, uint64_t time);
/* Counts the page faults of a thread. */
void history_faults(const struct history_thread *t, uint64_t from, uint64_t until, uint64_t *minor, uint64_t *major);

#endif
