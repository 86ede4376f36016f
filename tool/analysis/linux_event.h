/*
 * linux_event.h - reads the events of record --kernel: what a type is, and the values of an event (docs/kernel.md)
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LINUX_EVENT_H
#define LINUX_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* What an event type is. */
enum linux_kind {
	LINUX_NONE,
	LINUX_RUN,
	LINUX_OFF,
	LINUX_CALL,       /* a system call */
	LINUX_LAST_CALL,  /* a system call that ends its thread, and has no result */
	LINUX_UNFINISHED, /* a system call that did not return, whose name is in the data */
	LINUX_FAULT,
	LINUX_FORK,
	LINUX_EXIT,
};

/* Why a thread does not run, in the numbers of logs. */
enum linux_state {
	LINUX_PREEMPTED, LINUX_BLOCKED, LINUX_SLEEPING, LINUX_DISK, LINUX_STOPPED, LINUX_TRACED, LINUX_NEW, LINUX_OTHER,
	/* These end a run, and are no states. */
	LINUX_EXITED, LINUX_RECORDED,
};

#define LINUX_CALL_PREFIX "linux_sys_"
/* The longest name of a thread, with the null. */
#define LINUX_NAME 17

/* A thread ran for this long, until the time of the event. */
struct linux_run {
	uint64_t took;
	bool cpu_known, why_known;
	uint32_t cpu;
	unsigned why; /* enum linux_state */
};

/* A thread did not run. */
struct linux_off {
	uint64_t took;
	unsigned state;
	bool ready_known, waker_known;
	uint64_t ready; /* for how long it could have run, at the end; not more than took */
	uint32_t waker; /* 0: an interrupt */
	char waker_name[LINUX_NAME];
};

/* Returns what an event type with this name and layout is. */
enum linux_kind linux_kind(const char *name, const char *layout);
/* Returns the first field that is an argument of a system call: after `took` and, unless it has none, `result`. */
static inline unsigned linux_first_argument(enum linux_kind kind)
{
	return kind == LINUX_CALL ? 2 : 1;
}

/* Returns the name of a state: preempted, sleeping. */
const char *linux_state_name(unsigned state);
/* Return false if the data are too short for an event of this kind. */
bool linux_read_run(struct linux_run *run, const unsigned char *data, uint32_t length);
bool linux_read_off(struct linux_off *off, const unsigned char *data, uint32_t length);
/* Reads how long a system call took, and its result. */
bool linux_read_call(uint64_t *took, int64_t *result, const unsigned char *data, uint32_t length);
/* Returns whether a page fault had to wait for a disk. */
bool linux_is_major(const unsigned char *data, uint32_t length);
/* Returns whether the result of a system call is an error number. */
static inline bool linux_is_error(int64_t result)
{
	return result < 0 && result >= -4095;
}

#endif
