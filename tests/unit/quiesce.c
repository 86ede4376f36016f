/*
 * quiesce.c - src/control/quiesce.c: no thread in the middle of a record, no thread with a chunk
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/quiesce.h"

#include "base/wait.h"
#include "unit.h"

static struct handle h;

static void begin(void)
{
	unit_stream(&h.stream, 32768, 64, POSIX_TRACE_LOOP);
	if (!barrier_register())
		SKIP("no membarrier() here");
	h.wanted = calloc(h.stream.chunk_count, sizeof *h.wanted);
	MUST(h.wanted);
	for (uint32_t i = 0; i < h.stream.chunk_count; i += 2) {
		unit_record(&h.stream, &h.stream.chunks[i], 100 + i, 64, NULL, 0);
		h.stream.seats[i].ref = unit_tid();
		h.stream.chunks[i].owner = (uint64_t)3 << 32 | (i + 1);
	}
}

static void check_quiet(void)
{
	for (uint32_t i = 0; i < h.stream.chunk_count; i++) {
		const struct chunk *c = &h.stream.chunks[i];

		CHECK("-", !owner_is(c->owner));
		CHECK_EQ("-", c->lock, 0);
		/* The records stay. */
		CHECK_EQ("-", chunk_unread(c, c->progress), i % 2 == 0);
	}
}

TEST(idle)
{
	begin();
	CHECK("-", quiesce(&h));
	check_quiet();
	CHECK("-", quiesce(&h));
	check_quiet();
}

TEST(dead)
{
	uint32_t dead = unit_dead_thread();

	begin();
	h.stream.seats[2].ref = dead;
	h.stream.seats[2].busy = 2 + 1;
	h.stream.chunks[5].lock = dead;
	CHECK("-", quiesce(&h));
	check_quiet();
}

static void *come_out(void *arg)
{
	unit_sleep_ms(20);
	store_release((uint32_t *)arg, 0);
	return NULL;
}

/* A busy thread, or one with a lock, is waited for. */
TEST(waits)
{
	uint32_t other = unit_living_thread();
	pthread_t thread;

	begin();
	h.stream.seats[4].ref = other;
	h.stream.seats[4].busy = 4 + 1;
	MUST(pthread_create(&thread, NULL, come_out, &h.stream.seats[4].busy) == 0);
	CHECK("-", quiesce(&h));
	CHECK_EQ("-", load_acquire(&h.stream.seats[4].busy), 0);
	pthread_join(thread, NULL);
	check_quiet();

	h.stream.chunks[7].lock = other;
	MUST(pthread_create(&thread, NULL, come_out, &h.stream.chunks[7].lock) == 0);
	CHECK("-", quiesce(&h));
	pthread_join(thread, NULL);
	check_quiet();
}

/* The wait has a limit, and the chunk is given back to its owner. */
TEST(gives_up)
{
	int64_t before;

	begin();
	h.stream.seats[4].ref = unit_living_thread();
	h.stream.seats[4].busy = 4 + 1;
	before = unit_now();
	CHECK("-", !quiesce(&h));
	CHECK_OP("-", unit_now() - before, <, 3000000000ll * test_slow());
	CHECK("-", unit_now() - before > 50000000);
	CHECK("-", h.stream.chunks[4].owner == ((uint64_t)3 << 32 | 5));
	CHECK_EQ("-", h.stream.chunks[4].lock, 0);
	CHECK("-", !owner_is(h.stream.chunks[2].owner)); /* the other chunks are quiet */
}

TEST_MAIN(TEST_ENTRY(idle), TEST_ENTRY(dead), TEST_ENTRY(waits), TEST_ENTRY(gives_up))
