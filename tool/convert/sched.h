/*
 * sched.h - what the kernel's scheduler did, as steps of each processor: for viewers that know such steps
 *
 * The states of threads (analysis/history.h) become switches from one thread to the next, and wakings. Where nothing
 * that was recorded runs, the processor is idle as far as known. Steps come by processor, then by time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SCHED_H
#define SCHED_H

#include "analysis/history.h"

enum sched_kind { SCHED_SWITCH, SCHED_WAKING, SCHED_WAKING_NEW };

struct sched_step {
	uint64_t time;
	uint32_t cpu;
	enum sched_kind kind;
	/* SWITCH: who runs until then, and from then on; null: idle, or a thread that is not recorded. */
	const struct history_thread *prev, *next;
	uint32_t prev_state; /* of the thread that stops to run, as the kernel numbers states */
	/* WAKING: the thread that may run now, and on which processor it will. The step is of the waker's processor. */
	const struct history_thread *woken;
	uint32_t waker; /* 0: an interrupt, or not known */
	uint32_t target;
};

/* The kernel's numbers of states. */
enum { SCHED_RUNNABLE = 0, SCHED_SLEEPING = 1, SCHED_DISK = 2, SCHED_STOPPED = 4, SCHED_TRACED = 8, SCHED_DEAD = 16,
       SCHED_PREEMPTED = 256 };

struct sched_steps {
	struct sched_step *step;
	size_t count, room;
};

/* Returns the processor that a thread runs on at a time, or `otherwise` if that is not known. */
uint32_t sched_cpu(const struct history_thread *t, uint64_t time, uint32_t otherwise);
/* Collects the steps on a machine. To be freed by sched_free(). */
void sched_collect(struct sched_steps *s, struct history *h, uint32_t machine);
void sched_free(struct sched_steps *s);

#endif
