/*
 * quiesce.c - waits until no writer is in the middle of a record or holds a chunk
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/quiesce.h"

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/wait.h"
#include "shm/chunk.h"

#define PATIENCE_NS (NS_PER_S / 10)
#define ROUNDS_SPINNING 20

/* Value of h->wanted[i] for a chunk that this round has not locked. */
#define NOT_LOCKED UINT64_MAX

bool quiesce(struct handle *h)
{
	struct stream *s = &h->stream;
	uint32_t ref = stream_thread_ref(&h->stream);
	int64_t until;

	/* Orders the caller's change of the state before the loads of the locks; emit_alone() does the converse. */
	fence_full();
	until = clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
	for (int round = 0;; round++) {
		bool done = true, barrier;

		for (uint32_t i = 0; i < s->chunk_count; i++) {
			struct chunk *c = &s->chunks[i];

			h->wanted[i] = NOT_LOCKED;
			if (!owner_is(load_relaxed(&c->owner)) && !load_acquire(&c->lock)) /* PAIR(lock) */
				continue;
			if (!chunk_trylock(s, c, ref, round >= ROUNDS_SPINNING)) {
				done = false;
			} else if (!chunk_withdraw(c, &h->wanted[i])) {
				h->wanted[i] = NOT_LOCKED;
				chunk_unlock(c);
				done = false;
			}
			TEST_POINT("quiesce_locked");
		}
		barrier = barrier_everywhere();
		TEST_POINT("quiesce_barrier");
		for (uint32_t i = 0; i < s->chunk_count; i++) {
			struct chunk *c = &s->chunks[i];

			if (h->wanted[i] == NOT_LOCKED)
				continue;
			if ((!barrier && owner_is(h->wanted[i])) || !chunk_withdrawn(s, c, h->wanted[i])) {
				chunk_give_back(c, h->wanted[i]);
				done = false;
			}
			chunk_unlock(c);
		}
		TEST_POINT("quiesce_round");
		if (done)
			return true;
		if (clock_ns(CLOCK_MONOTONIC) >= until)
			return false;
		if (round < ROUNDS_SPINNING)
			sys_yield();
		else
			sys_sleep_ns(50000);
	}
}
