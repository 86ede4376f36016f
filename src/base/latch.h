/*
 * latch.h - a lock between the threads of a process, for calls that are short and come often
 *
 * One locked instruction to take it, none to release it, where a mutex has two. Who finds it
 * taken says in waiting that it does, and then passes a barrier on all processors that run this process:
 *
 *     holder:  held = 0; load waiting         other:  waiting++; barrier; load held
 *
 * so that either the holder sees that it must wake, or the other sees that it is free (wait.h has
 * the same for whole systems). Without membarrier() the other looks again each millisecond.
 *
 * Zeroed memory is a free one. Not for signal handlers, nor to be left locked in a forked child.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_LATCH_H
#define BASE_LATCH_H

#include "base/atomic.h"

struct latch {
	uint32_t held;
	uint32_t waiting; /* threads */
};

static inline bool latch_try(struct latch *l)
{
	uint32_t free = 0;

	return cas(&l->held, &free, 1); /* PAIR(latch) */
}

/* What is left of taking and releasing it when somebody else has it, or waits. */
void latch_wait(struct latch *l);
void latch_wake(struct latch *l);

static inline void latch_take(struct latch *l)
{
	if (__builtin_expect(!latch_try(l), 0))
		latch_wait(l);
}

static inline void latch_release(struct latch *l)
{
	store_release(&l->held, 0); /* PAIR(latch) */
	fence_signal();
	if (__builtin_expect(load_relaxed(&l->waiting) != 0, 0))
		latch_wake(l);
}

#endif
