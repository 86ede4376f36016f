/*
 * litmus.c - the orders between threads that the library relies on, one pattern at a time
 *
 * In each pattern two threads meet again and again, at a different distance each time, and use the operations of
 * base/atomic.h as the library does. The forbidden result must never come out. Counterparts without the ordering
 * operation must show the forbidden result where the machine can show it; otherwise the test would be blind. pairs.tsv
 * maps each pair to its pattern.
 *
 * LITMUS_ROUNDS (100000 by default) can be raised for an unfamiliar machine.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/atomic.h"
#include "base/wait.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

#define LINE 64
#define PLACES 64 /* rounds between two meetings, each with words of its own */

/* The words of one round, each on a cache line of its own. */
struct words {
	_Alignas(LINE) uint32_t x;
	_Alignas(LINE) uint32_t y;
	_Alignas(LINE) uint32_t z;
	_Alignas(LINE) uint32_t seen[2][2]; /* the values that each side has loaded */
};

struct pattern {
	void (*side[2])(struct words *w, unsigned round);
	bool (*forbidden)(const struct words *w);
};

static struct words words[PLACES];
static const struct pattern *now;
static unsigned rounds;
static uint32_t arrived, turn;

static unsigned count_rounds(void)
{
	const char *text = getenv("LITMUS_ROUNDS");

	return text ? (unsigned)strtoul(text, NULL, 10) : 100000;
}

/* Waits until both threads are here. Yields the processor, because the other thread may need it. */
static void meet(uint32_t *generation)
{
	uint32_t mine = ++*generation;

	if (fetch_add(&arrived, 1) % 2 == 1) {
		store_release(&turn, mine);
		return;
	}
	for (unsigned i = 0; load_acquire(&turn) != mine; i++)
		if (i % 1000 == 999)
			sched_yield();
}

static void delay(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		__asm__ __volatile__("" ::: "memory");
}

static unsigned outcomes;

static void run_side(int side, uint32_t *generation)
{
	unsigned seed = (unsigned)side + 1;

	for (unsigned done = 0; done < rounds; done += PLACES) {
		meet(generation);
		for (unsigned i = 0; i < PLACES; i++) {
			delay((unsigned)rand_r(&seed) % 32);
			now->side[side](&words[i], done + i);
		}
		meet(generation);
		if (side == 1)
			continue;
		for (unsigned i = 0; i < PLACES; i++)
			outcomes += now->forbidden(&words[i]);
		memset(words, 0, sizeof words);
	}
}

static void *other_side(void *unused)
{
	uint32_t generation = 0;

	(void)unused;
	run_side(1, &generation);
	return NULL;
}

/* Returns how often the forbidden result came out. */
static unsigned run(const struct pattern *pattern)
{
	uint32_t generation = 0;
	pthread_t thread;

	now = pattern;
	rounds = count_rounds();
	outcomes = arrived = turn = 0;
	memset(words, 0, sizeof words);
	MUST(pthread_create(&thread, NULL, other_side, NULL) == 0);
	run_side(0, &generation);
	pthread_join(thread, NULL);
	return outcomes;
}

/* -- Message passing: stores before the release are seen after the acquire ---------------- */

static void message_send(struct words *w, unsigned round)
{
	store_relaxed(&w->x, round + 1);
	store_release(&w->y, 1);
}

static void message_receive(struct words *w, unsigned round)
{
	w->seen[1][0] = load_acquire(&w->y);
	w->seen[1][1] = load_relaxed(&w->x);
}

static bool message_lost(const struct words *w)
{
	return w->seen[1][0] && !w->seen[1][1];
}

static void message_send_relaxed(struct words *w, unsigned round)
{
	store_relaxed(&w->x, round + 1);
	store_relaxed(&w->y, 1);
}

static void message_receive_relaxed(struct words *w, unsigned round)
{
	w->seen[1][0] = load_relaxed(&w->y);
	w->seen[1][1] = load_relaxed(&w->x);
}

TEST(message)
{
	static const struct pattern p = { { message_send, message_receive }, message_lost };

	CHECK_EQ("-", run(&p), 0);
}

/* The release is a compare-and-swap. */
static void message_publish(struct words *w, unsigned round)
{
	uint32_t none = 0;

	store_relaxed(&w->x, round + 1);
	cas(&w->y, &none, 1);
}

TEST(message_by_cas)
{
	static const struct pattern p = { { message_publish, message_receive }, message_lost };

	CHECK_EQ("-", run(&p), 0);
}

/* The acquire is a compare-and-swap: it succeeds only after the release, and then sees everything before it. */
static void message_send_free(struct words *w, unsigned round)
{
	store_relaxed(&w->x, round + 1);
	store_release(&w->y, 1);
}

static void message_take(struct words *w, unsigned round)
{
	uint32_t one = 1;

	w->seen[1][0] = cas(&w->y, &one, 2);
	w->seen[1][1] = load_relaxed(&w->x);
}

TEST(hand_over)
{
	static const struct pattern p = { { message_send_free, message_take }, message_lost };

	CHECK_EQ("-", run(&p), 0);
}

/* A weak machine shows this, x86 does not: printed, not checked. */
TEST(message_relaxed)
{
	static const struct pattern p = { { message_send_relaxed, message_receive_relaxed }, message_lost };
	unsigned seen = run(&p);

	printf("messages lost without release and acquire: %u\n", seen);
#if defined __x86_64__ || defined __i386__
	CHECK_EQ("-", seen, 0);
#endif
}

/* -- Read, then lock: a locked copy is intact -------------------------------------------- */

/* The reader: copies, and then locks by compare-and-swap. */
static void copy_lock(struct words *w, unsigned round)
{
	uint32_t unread = 0;

	w->seen[0][1] = load_relaxed(&w->x);
	w->seen[0][0] = cas(&w->y, &unread, 1);
}

/* The acquirer: takes the unread words, and only then overwrites the copy's source. */
static void acquire_overwrite(struct words *w, unsigned round)
{
	w->seen[1][0] = exchange(&w->y, 2);
	store_relaxed(&w->x, round + 1);
}

static bool torn_consumed(const struct words *w)
{
	return w->seen[0][0] && w->seen[0][1];
}

TEST(copy_and_lock)
{
	static const struct pattern p = { { copy_lock, acquire_overwrite }, torn_consumed };

	CHECK_EQ("-", run(&p), 0);
}

/* -- Look, copy, look again: an overwritten copy shows in the first word -------------------- */

static void write_anew(struct words *w, unsigned round)
{
	store_release(&w->y, 1);
	fence_full();
	store_relaxed(&w->x, round + 1);
}

static void look_twice(struct words *w, unsigned round)
{
	uint32_t first = load_acquire(&w->y);

	w->seen[1][1] = load_relaxed(&w->x);
	fence_acquire();
	w->seen[1][0] = first == 0 && load_relaxed(&w->y) == 0;
}

static bool anew_unnoticed(const struct words *w)
{
	return w->seen[1][0] && w->seen[1][1];
}

TEST(look_again)
{
	static const struct pattern p = { { write_anew, look_twice }, anew_unnoticed };

	CHECK_EQ("-", run(&p), 0);
}

/* -- Store buffering: each side stores and then loads; at least one side sees the other's store ------- */

static void flag_fenced(struct words *w, unsigned round)
{
	store_relaxed(&w->x, 1);
	fence_full();
	w->seen[0][0] = load_relaxed(&w->y);
}

static void other_flag_fenced(struct words *w, unsigned round)
{
	store_relaxed(&w->y, 1);
	fence_full();
	w->seen[1][0] = load_relaxed(&w->x);
}

static void flag_plain(struct words *w, unsigned round)
{
	store_relaxed(&w->x, 1);
	fence_signal();
	w->seen[0][0] = load_relaxed(&w->y);
}

static void other_flag_plain(struct words *w, unsigned round)
{
	store_relaxed(&w->y, 1);
	fence_signal();
	w->seen[1][0] = load_relaxed(&w->x);
}

static void other_flag_barrier(struct words *w, unsigned round)
{
	store_relaxed(&w->y, 1);
	barrier_everywhere();
	w->seen[1][0] = load_relaxed(&w->x);
}

static bool neither_sees(const struct words *w)
{
	return !w->seen[0][0] && !w->seen[1][0];
}

TEST(flags)
{
	static const struct pattern p = { { flag_fenced, other_flag_fenced }, neither_sees };

	CHECK_EQ("-", run(&p), 0);
}

/* One side is plain, as in a trace point. The other passes a barrier on all processors. */
TEST(flags_by_membarrier)
{
	static const struct pattern p = { { flag_plain, other_flag_barrier }, neither_sees };

	if (!barrier_register() || !barrier_everywhere())
		SKIP("no membarrier() here");
	CHECK_EQ("-", run(&p), 0);
}

static void flag_locked(struct words *w, unsigned round)
{
	exchange(&w->x, 1);
	w->seen[0][0] = load_relaxed(&w->y);
}

static void other_flag_locked(struct words *w, unsigned round)
{
	uint32_t none = 0;

	cas(&w->y, &none, 1);
	w->seen[1][0] = load_relaxed(&w->x);
}

static void flag_locked_fence(struct words *w, unsigned round)
{
	uint32_t none = 0;

	cas(&w->x, &none, 1);
	fence_full();
	w->seen[0][0] = load_relaxed(&w->y);
}

static void other_flag_locked_fence(struct words *w, unsigned round)
{
	fetch_or(&w->y, 1);
	fence_full();
	w->seen[1][0] = load_relaxed(&w->x);
}

/* Like a lock and a state: emit_alone() and quiesce(). */
TEST(flags_locked)
{
	static const struct pattern p = { { flag_locked_fence, other_flag_locked_fence }, neither_sees };

	CHECK_EQ("-", run(&p), 0);
}

/* Printed only: in C11, sequentially consistent operations and relaxed loads are not ordered. */
TEST(flags_locked_without_fence)
{
	static const struct pattern p = { { flag_locked, other_flag_locked }, neither_sees };
	unsigned seen = run(&p);

	printf("neither seen with locked operations alone: %u\n", seen);
#if defined __x86_64__ || defined __i386__
	CHECK_EQ("-", seen, 0);
#endif
}

/*
 * Without any barrier every machine with several processors shows the forbidden result; otherwise this test is blind.
 */
TEST(flags_plain)
{
	static const struct pattern p = { { flag_plain, other_flag_plain }, neither_sees };
	unsigned seen = 0;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP("one processor");
	if (getenv("LITMUS_BLIND"))
		SKIP("told that this machine keeps stores in order: emulated, or one thread at a time");
	/* On a busy machine the two threads may not run at the same time for a while. */
	for (time_t until = time(NULL) + 20; !seen && time(NULL) < until;)
		seen = run(&p);
	printf("neither seen without a barrier: %u\n", seen);
	CHECK("-", seen > 0);
}

/* -- Coherence: no word goes back; the last stored value remains ----------------------------- */

static void count_up(struct words *w, unsigned round)
{
	store_relaxed(&w->x, 1);
	store_relaxed(&w->x, 2);
	store_release(&w->x, 3);
}

static void watch(struct words *w, unsigned round)
{
	w->seen[1][0] = load_relaxed(&w->x);
	w->seen[1][1] = load_relaxed(&w->x);
}

static bool went_back(const struct words *w)
{
	return w->seen[1][1] < w->seen[1][0] || w->x != 3;
}

TEST(coherence)
{
	static const struct pattern p = { { count_up, watch }, went_back };

	CHECK_EQ("-", run(&p), 0);
}

/* -- Mutual exclusion: a compare-and-swap succeeds once, and the loser sees the winner's value ---- */

static void lock_first(struct words *w, unsigned round)
{
	uint32_t none = 0;

	w->seen[0][0] = cas(&w->x, &none, 1);
}

static void lock_second(struct words *w, unsigned round)
{
	uint32_t none = 0;

	w->seen[1][0] = cas(&w->x, &none, 2);
}

static bool both_or_none(const struct words *w)
{
	return w->seen[0][0] == w->seen[1][0] || w->x != (w->seen[0][0] ? 1u : 2u);
}

TEST(one_of_two)
{
	static const struct pattern p = { { lock_first, lock_second }, both_or_none };

	CHECK_EQ("-", run(&p), 0);
}

TEST_MAIN(TEST_ENTRY(message), TEST_ENTRY(message_by_cas), TEST_ENTRY(hand_over), TEST_ENTRY(message_relaxed),
          TEST_ENTRY(copy_and_lock), TEST_ENTRY(look_again), TEST_ENTRY(flags), TEST_ENTRY(flags_by_membarrier),
          TEST_ENTRY(flags_locked), TEST_ENTRY(flags_locked_without_fence), TEST_ENTRY(flags_plain),
          TEST_ENTRY(coherence), TEST_ENTRY(one_of_two))
