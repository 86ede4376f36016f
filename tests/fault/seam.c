/*
 * seam.c - two streams take turns while a thread stops at a point of a trace point: no event may be in neither
 *
 * As in posixtrace record --rotate: the next stream is started, and then the previous one is stopped. Streams of the
 * same group have each event once, even while both run.
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "control/lifecycle.h"
#include "shm.h"
#include "test.h"

#define EVENTS  6
#define PASSES  3 /* most passages of a point before the streams change */
#define TURNS   7 /* the number of the group of streams that have each event once */
#define OTHERS  3 /* most streams: two that take turns, and a permanent one */

static trace_event_id_t id;
static trace_id_t stream[OTHERS];
static const char *armed;
static int passes, swaps, running;
static __thread bool mine;
static bool swapped, nests;
static enum { AT_ONCE, HALF, OTHER_HALF } overlap; /* whether the previous stream continues until the point is passed
						    * again */

static void *swap(void *unused)
{
	if (overlap != OTHER_HALF)
		MUST(posix_trace_start(stream[!running]) == 0);
	if (overlap != HALF) {
		MUST(posix_trace_stop(stream[running]) == 0);
		running = !running;
	}
	if (overlap != AT_ONCE)
		overlap = overlap == HALF ? OTHER_HALF : HALF;
	return unused;
}

void test_point(const char *name);

void test_point(const char *name)
{
	pthread_t thread;

	if (!mine || !armed)
		return;
	if (nests && strcmp(name, "event_inside") == 0) {
		nests = false;
		raise(SIGUSR1);
	}
	if (!armed || strcmp(name, armed) != 0 || passes-- > 0)
		return;
	swapped = true;
	/* Swap again at each of the next passages, until `swaps` is reached. */
	passes = 0;
	if (--swaps == 0)
		armed = NULL;
	MUST(pthread_create(&thread, NULL, swap, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
}

static void record(uint32_t number)
{
	posix_trace_event(id, &number, sizeof number);
}

static void handle(int signal)
{
	(void)signal;
	record(EVENTS);
}

enum when { FIRST, LATER, NESTED, WHENS };

struct round {
	const char *name;
	enum when when;
	int streams, swaps;
	uint32_t turns;
	bool overlap;
};

static void *write_events(void *arg)
{
	const struct round *r = arg;

	mine = true;
	if (r->when != FIRST)
		record(0);
	nests = r->when == NESTED;
	armed = r->name;
	for (uint32_t i = r->when == FIRST ? 0 : 1; i < EVENTS; i++)
		record(i);
	armed = NULL;
	if (nests || r->when != NESTED)
		record(EVENTS);
	nests = false;
	return NULL;
}

static void count_events(trace_id_t trid, unsigned *count)
{
	struct posix_trace_event_info e;
	uint32_t number;
	size_t length;
	int none;

	memset(count, 0, (EVENTS + 1) * sizeof *count);
	for (;;) {
		MUST(posix_trace_trygetnext_event(trid, &e, &number, sizeof number, &length, &none) == 0);
		if (none)
			return;
		if (e.posix_event_id == id && number <= EVENTS)
			count[number]++;
	}
}

/* Records events, with a change of streams at the point. Returns true if the point was passed. */
static bool change_at(struct round *r, int first, int pass)
{
	unsigned count[OTHERS][EVENTS + 1];
	pthread_t thread;

	for (int i = 0; i < r->streams; i++)
		MUST(lifecycle_create(0, NULL, NULL, i < 2 ? r->turns : 0, &stream[i]) == 0);
	running = first;
	MUST(posix_trace_start(stream[first]) == 0);
	if (r->streams > 2)
		MUST(posix_trace_start(stream[2]) == 0);
	swapped = false;
	overlap = r->overlap ? HALF : AT_ONCE;
	passes = pass;
	swaps = r->swaps;
	MUST(pthread_create(&thread, NULL, write_events, r) == 0);
	pthread_join(thread, NULL);
	for (int i = 0; i < r->streams; i++) {
		count_events(stream[i], count[i]);
		MUST(posix_trace_shutdown(stream[i]) == 0);
	}
	for (int e = 0; e <= EVENTS; e++) {
		if (!count[0][e] && !count[1][e])
			TEST_FAIL("-", "%s, %d, first %d, pass %d, %d streams, %d swaps: event %d is in neither",
			          r->name, r->when, first, pass, r->streams, r->swaps, e);
		if (r->turns && count[0][e] && count[1][e])
			TEST_FAIL("-", "%s, %d, first %d, pass %d, %d streams, %d swaps: event %d is in both", r->name,
			          r->when, first, pass, r->streams, r->swaps, e);
		for (int i = 0; i < r->streams; i++)
			if (count[i][e] > 1)
				TEST_FAIL("-", "%s, %d, first %d, pass %d: event %d is in a stream %u times", r->name,
				          r->when, first, pass, e, count[i][e]);
		if (r->streams > 2)
			CHECK_OP("-", count[2][e], ==, 1);
	}
	return swapped;
}

/* Tries each point, at its first passages, as long as it is passed. */
static void change_turns(enum when when, int streams, int swaps_max, uint32_t turns, bool overlaps)
{
	static const char *const names[] = { "event_inside", "record_looked", "record_alone",
		                             "slow_inside",  "slow_looked",   "slow_slot",
		                             "writer_held",  "alone_locked",  "seam_again" };
	int done = 0;

	shm_private("");
	MUST(posix_trace_eventid_open("seam", &id) == 0);
	MUST(signal(SIGUSR1, handle) != SIG_ERR);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		for (int swaps_now = 1; swaps_now <= swaps_max; swaps_now++)
			for (int first = 0; first < 2; first++)
				for (int pass = 0; pass < PASSES; pass++) {
					struct round r = { names[i], when, streams, swaps_now, turns, overlaps };

					if (!change_at(&r, first, pass))
						break;
					done++;
				}
	CHECK_OP("-", done, >=, 12);
}

static void change(enum when when, int streams, int swaps_max)
{
	change_turns(when, streams, swaps_max, 0, false);
}

TEST(first_event)
{
	change(FIRST, 2, 2);
}

TEST(later_event)
{
	change(LATER, 2, 3);
}

TEST(nested_event)
{
	change(NESTED, 2, 2);
}

/* An event in the third stream must still be in one of the two. */
TEST(third_stream)
{
	change(LATER, 3, 1);
	change(NESTED, 3, 1);
}

/* The two streams run alternately, and in other rounds also both at once. */
TEST(turns)
{
	change_turns(FIRST, 2, 2, TURNS, false);
	change_turns(LATER, 2, 3, TURNS, false);
	change_turns(LATER, 2, 4, TURNS, true);
}

TEST(turns_nested)
{
	change_turns(NESTED, 2, 2, TURNS, false);
	change_turns(NESTED, 2, 2, TURNS, true);
}

TEST(turns_third_stream)
{
	change_turns(LATER, 3, 3, TURNS, false);
	change_turns(LATER, 3, 2, TURNS, true);
	change_turns(NESTED, 3, 1, TURNS, false);
	change_turns(NESTED, 3, 2, TURNS, true);
}

TEST_MAIN(TEST_ENTRY(first_event), TEST_ENTRY(later_event), TEST_ENTRY(nested_event), TEST_ENTRY(third_stream),
          TEST_ENTRY(turns), TEST_ENTRY(turns_nested), TEST_ENTRY(turns_third_stream))
