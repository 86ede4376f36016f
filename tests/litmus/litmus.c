/*
 * litmus.c - the orders between threads that the library counts on, one pattern at a time
 *
 * Each is two threads that meet again and again, with another distance between
 * them each time, and use the operations of base/atomic.h as the library does.
 * What may not come out never does. The counterparts are without what makes
 * the order: where the machine lets that be seen, it has to be seen, or the
 * test would see nothing at all. pairs.tsv tells which pair is which pattern.
 *
 * LITMUS_ROUNDS (100000 by default): more for a machine that one does not know.
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

/* What one round is about; each word on a line of its own. */
struct words {
	_Alignas(LINE) uint32_t x;
	_Alignas(LINE) uint32_t y;
	_Alignas(LINE) uint32_t z;
	_Alignas(LINE) uint32_t seen[2][2]; /* what each side has loaded */
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

/* Both are here. On one processor, or a busy one, the other needs it. */
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

/* How often what is forbidden came out. */
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

/* -- Message passing: what was stored before the release is seen behind the acquire ------- */

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

/* The acquire is a compare-and-swap: it succeeds only behind the release, and then sees all. */
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

/* What a weak machine shows, and x86 does not: told, not asked for. */
TEST(message_relaxed)
{
	static const struct pattern p = { { message_send_relaxed, message_receive_relaxed }, message_lost };
	unsigned seen = run(&p);

	printf("messages lost without release and acquire: %u\n", seen);
#if defined __x86_64__ || defined __i386__
	CHECK_EQ("-", seen, 0);
#endif
}

/* -- Read, then claim: a copy that was claimed is whole ------------------------------------ */

/* The reader: a copy, and then the claim by compare-and-swap. */
static void copy_claim(struct words *w, unsigned round)
{
	uint32_t unread = 0;

	w->seen[0][1] = load_relaxed(&w->x);
	w->seen[0][0] = cas(&w->y, &unread, 1);
}

/* The taker: takes what was not read away, and only then writes there. */
static void take_overwrite(struct words *w, unsigned round)
{
	w->seen[1][0] = exchange(&w->y, 2);
	store_relaxed(&w->x, round + 1);
}

static bool torn_claimed(const struct words *w)
{
	return w->seen[0][0] && w->seen[0][1];
}

TEST(copy_and_claim)
{
	static const struct pattern p = { { copy_claim, take_overwrite }, torn_claimed };

	CHECK_EQ("-", run(&p), 0);
}

/* -- Look, copy, look again: what was written anew shows in the first word ------------------ */

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

/* -- Store buffering: of two that each store and then look at the other's, one sees it ------- */

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

/* One side plain, as in a trace point; the other passes a barrier on all processors. */
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

/* As a claim and a state: emit_alone() and quiesce(). */
TEST(flags_locked)
{
	static const struct pattern p = { { flag_locked_fence, other_flag_locked_fence }, neither_sees };

	CHECK_EQ("-", run(&p), 0);
}

/* Told only: sequentially consistent operations and relaxed loads are no order in C11. */
TEST(flags_locked_without_fence)
{
	static const struct pattern p = { { flag_locked, other_flag_locked }, neither_sees };
	unsigned seen = run(&p);

	printf("neither seen with locked operations alone: %u\n", seen);
#if defined __x86_64__ || defined __i386__
	CHECK_EQ("-", seen, 0);
#endif
}

/* Without any barrier every machine with more than one processor shows it: or this test is blind. */
TEST(flags_plain)
{
	static const struct pattern p = { { flag_plain, other_flag_plain }, neither_sees };
	unsigned seen = 0;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP("one processor");
	if (getenv("LITMUS_BLIND"))
		SKIP("told that this machine keeps stores in order: emulated, or one thread at a time");
	/* Beside other work the two threads may not run at once for a while. */
	for (time_t until = time(NULL) + 20; !seen && time(NULL) < until;)
		seen = run(&p);
	printf("neither seen without a barrier: %u\n", seen);
	CHECK("-", seen > 0);
}

/* -- Coherence: no word goes back; what was stored last is there in the end ------------------- */

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

/* -- One of two: a compare-and-swap succeeds for one, and the other sees what that one made ---- */

static void claim_first(struct words *w, unsigned round)
{
	uint32_t none = 0;

	w->seen[0][0] = cas(&w->x, &none, 1);
}

static void claim_second(struct words *w, unsigned round)
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
	static const struct pattern p = { { claim_first, claim_second }, both_or_none };

	CHECK_EQ("-", run(&p), 0);
}

TEST_MAIN(TEST_ENTRY(message), TEST_ENTRY(message_by_cas), TEST_ENTRY(hand_over), TEST_ENTRY(message_relaxed),
          TEST_ENTRY(copy_and_claim), TEST_ENTRY(look_again), TEST_ENTRY(flags), TEST_ENTRY(flags_by_membarrier),
          TEST_ENTRY(flags_locked), TEST_ENTRY(flags_locked_without_fence), TEST_ENTRY(flags_plain),
          TEST_ENTRY(coherence), TEST_ENTRY(one_of_two))
