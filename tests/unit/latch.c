/*
 * latch.c - src/base/latch.c: one holder at a time, and no waiter sleeps while it is free
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/latch.h"

#include "unit.h"

#define THREADS 4

static struct latch latch;
static uint64_t counter; /* incremented without atomic operations */
static uint32_t inside, done;

TEST(alone)
{
	CHECK("-", latch_try(&latch));
	CHECK("-", !latch_try(&latch));
	latch_release(&latch);
	latch_acquire(&latch);
	CHECK("-", !latch_try(&latch));
	latch_release(&latch);
	CHECK("-", latch.held == 0 && latch.waiting == 0);
}

static void *take_often(void *arg)
{
	uint64_t rounds = *(uint64_t *)arg;

	for (uint64_t i = 0; i < rounds; i++) {
		latch_acquire(&latch);
		counter++;
		latch_release(&latch);
	}
	return NULL;
}

TEST(excludes)
{
	uint64_t rounds = 300000 / (uint64_t)test_slow();
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&thread[i], NULL, take_often, &rounds) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ("-", counter, THREADS * rounds);
	CHECK("-", latch.held == 0 && latch.waiting == 0);
}

/* The holder sleeps, so that the waiting threads sleep too, and each release must wake one of them. */
static void *sleep_inside(void *arg)
{
	for (int i = 0; i < 200 / test_slow() + 5; i++) {
		latch_acquire(&latch);
		CHECK_EQ("-", fetch_add(&inside, 1), 0);
		counter++;
		usleep(i % 3 * 100);
		fetch_add(&inside, -1);
		latch_release(&latch);
	}
	fetch_add(&done, 1);
	return arg;
}

TEST(wakes)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&thread[i], NULL, sleep_inside, NULL) == 0);
	for (int i = 0; i < 60000 && load_relaxed(&done) < THREADS; i++)
		unit_sleep_ms(1);
	CHECK_EQ("-", load_acquire(&done), THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHECK("-", latch.held == 0 && latch.waiting == 0);
}

static void *take_once(void *arg)
{
	latch_acquire(&latch);
	counter = 1;
	latch_release(&latch);
	store_release(&done, 1);
	return arg;
}

/* The only release comes while the waiting thread sleeps or is about to sleep. */
TEST(one_release)
{
	for (int i = 0; i < 300 / test_slow() + 20; i++) {
		pthread_t thread;

		store_relaxed(&done, 0);
		latch_acquire(&latch);
		MUST(pthread_create(&thread, NULL, take_once, NULL) == 0);
		usleep((unsigned)i % 30 * 10);
		CHECK_EQ("-", load_acquire(&done), 0);
		latch_release(&latch);
		pthread_join(thread, NULL);
		CHECK_EQ("-", done, 1);
	}
}

TEST_MAIN(TEST_ENTRY(alone), TEST_ENTRY(excludes), TEST_ENTRY(wakes), TEST_ENTRY(one_release))
