/*
 * quiesce.c - no writer in the middle of a record, none that holds a chunk
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

/* h->wanted[i] of a chunk that this round has not claimed. */
#define NOT_CLAIMED UINT64_MAX

bool quiesce(struct handle *h)
{
	struct stream *s = &h->stream;
	uint32_t who = stream_who(&h->stream);
	int64_t until;

	/* The caller's change of the state, before the look at the claims: against emit_alone(). */
	fence_full();
	until = clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
	for (int round = 0;; round++) {
		bool done = true, barrier;

		for (uint32_t i = 0; i < s->chunk_count; i++) {
			struct chunk *c = &s->chunks[i];

			h->wanted[i] = NOT_CLAIMED;
			if (!owner_is(load_relaxed(&c->owner)) && !load_acquire(&c->claim)) /* PAIR(claim) */
				continue;
			if (chunk_claim(s, c, who, round >= ROUNDS_SPINNING))
				chunk_withdraw(c, &h->wanted[i]);
			else
				done = false;
			TEST_POINT("quiesce_claimed");
		}
		barrier = barrier_everywhere();
		TEST_POINT("quiesce_barrier");
		for (uint32_t i = 0; i < s->chunk_count; i++) {
			struct chunk *c = &s->chunks[i];

			if (h->wanted[i] == NOT_CLAIMED)
				continue;
			if ((!barrier && owner_is(h->wanted[i])) || !chunk_withdrawn(s, c, h->wanted[i])) {
				chunk_give_back(c, h->wanted[i]);
				done = false;
			}
			chunk_unclaim(c);
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
