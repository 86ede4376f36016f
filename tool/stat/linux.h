/*
 * linux.h - stat --sched and --syscalls: what the kernel's events say of threads and of system calls (docs/kernel.md)
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STAT_LINUX_H
#define STAT_LINUX_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/histogram.h"
#include "analysis/linux_event.h"
#include "stat/tally.h"

/* The states of a thread. Times are in ns. */
struct linux_thread {
	const struct tally *tally;
	uint64_t on, ready, blocked, disk;
	uint64_t preempted, moved;
	uint64_t runs;
	uint32_t cpu;              /* of the last run */
	struct histogram latency;  /* from being woken to running */
};

struct linux_call {
	const struct tally *tally; /* of its type */
	uint64_t errors;
	struct histogram took;
};

/* Indexed by the index of a tally. */
struct linux_stat {
	bool wanted; /* one of the tables is */
	struct linux_thread *thread;
	unsigned threads;
	struct linux_call *call;
	unsigned calls;
};

/* Adds an event of this kind. */
void linux_event(struct linux_stat *l, enum linux_kind kind, const struct tally *type, const struct tally *thread,
                 const unsigned char *data, uint32_t length);
/* Return whether there are such events. */
bool linux_some_threads(const struct linux_stat *l);
bool linux_some_calls(const struct linux_stat *l);
/* lines: 0: all. */
void linux_print_threads(const struct linux_stat *l, unsigned lines);
void linux_print_calls(const struct linux_stat *l, unsigned lines);
void linux_json_threads(const struct linux_stat *l);
void linux_json_calls(const struct linux_stat *l);

#endif
