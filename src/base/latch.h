/*
 * latch.h - a lock between the threads of a process, for calls that are short and come often
 *
 * Locking takes one locked instruction and unlocking none, where a mutex needs two. A thread that finds the latch held
 * increments waiting, and then passes a barrier on all processors that run this process:
 *
 *     holder:  held = 0; load waiting         other:  waiting++; barrier; load held
 *
 * so that either the holder sees that it must wake the other thread, or the other thread sees that the latch is free
 * (wait.h does this for whole systems). Without membarrier() the other thread looks again each millisecond.
 *
 * Zeroed memory is a free latch. Not for signal handlers; a forked child must not inherit a held latch.
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

/* Slow paths of locking and unlocking: the latch is held, or other threads wait. */
void latch_wait(struct latch *l);
void latch_wake(struct latch *l);

static inline void latch_acquire(struct latch *l)
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
