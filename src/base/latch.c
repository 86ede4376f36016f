/*
 * latch.c - a lock between the threads of a process: when it is not free
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/latch.h"

#include "base/sys.h"
#include "base/wait.h"

#define LOOKS    100     /* most holders are out again before one has fallen asleep */
#define SLICE_NS 1000000 /* where there is no barrier */

void latch_wait(struct latch *l)
{
	bool barrier;

	for (int i = 0; i < LOOKS; i++) {
		spin_pause();
		if (!load_relaxed(&l->held) && latch_try(l))
			return;
	}
	fetch_add(&l->waiting, 1);
	/* One barrier is enough: a holder that releases the latch after it sees waiting. */
	barrier = barrier_here();
	while (!latch_try(l))
		if (barrier)
			sys_futex_wait(&l->held, 1, NULL);
		else
			sys_futex_wait_for(&l->held, 1, SLICE_NS);
	fetch_add(&l->waiting, -1);
}

/* Wakes all waiters: a single one that is slow to run would keep the others asleep. */
void latch_wake(struct latch *l)
{
	sys_futex_wake(&l->held);
}
