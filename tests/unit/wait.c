/*
 * wait.c - src/base/wait.c: one of two threads sees the other's store, and only one of them pays for a barrier
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/wait.h"

#include "unit.h"

#define ROUNDS 10000

/* Each round has its own words, on separate cache lines. */
static struct {
	_Alignas(64) uint32_t a;
	_Alignas(64) uint32_t b;
} word[ROUNDS];
static uint32_t writer_saw[ROUNDS], other_saw[ROUNDS];
static _Alignas(64) uint32_t writer_at;
static _Alignas(64) uint32_t other_at;

static void meet(uint32_t *mine, uint32_t *theirs, uint32_t round)
{
	store_release(mine, round);
	for (unsigned i = 1; load_acquire(theirs) < round; i++)
		if (i % 1000 == 0)
			sched_yield();
		else
			spin_pause();
}

static void *writer(void *arg)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		meet(&writer_at, &other_at, i + 1);
		store_relaxed(&word[i].a, 1);
		fence_signal(); /* the compiler keeps the order; the processor need not */
		writer_saw[i] = load_relaxed(&word[i].b);
	}
	return NULL;
}

TEST(one_sees_the_other)
{
	pthread_t thread;
	uint32_t neither = 0;

	if (!barrier_register())
		SKIP("no membarrier() here");
	MUST(pthread_create(&thread, NULL, writer, NULL) == 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		meet(&other_at, &writer_at, i + 1);
		store_relaxed(&word[i].b, 1);
		if (!barrier_everywhere())
			TEST_FAIL("-", "round %u: no barrier", i);
		other_saw[i] = load_relaxed(&word[i].a);
	}
	pthread_join(thread, NULL);
	for (uint32_t i = 0; i < ROUNDS; i++)
		neither += !writer_saw[i] && !other_saw[i];
	CHECK_EQ("-", neither, 0);
}

/* A process need not be registered to ask for a barrier in registered processes. */
TEST(without_registration)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(barrier_everywhere() ? 0 : barrier_register() ? 1 : 2);
	MUST(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		SKIP("no membarrier() here");
	CHECK_EQ("-", status, 0);
}

TEST_MAIN(TEST_ENTRY(one_sees_the_other), TEST_ENTRY(without_registration))
