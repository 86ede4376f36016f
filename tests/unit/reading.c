/*
 * reading.c - src/control/reading.c: a reader without an event sleeps, and is woken
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/reading.h"

#include <stdatomic.h>

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shm.h"
#include "unit.h"

static trace_id_t trid;
static trace_event_id_t id;
static struct posix_trace_event_info event;
static char data[16];
static size_t length;
static int unavailable;

static void begin(void)
{
	trace_event_set_t all;

	shm_private("");
	/* The system events are filtered out. */
	MUST(posix_trace_eventset_fill(&all, POSIX_TRACE_SYSTEM_EVENTS) == 0);
	MUST(posix_trace_eventid_open("unit", &id) == 0);
	MUST(posix_trace_create(0, NULL, &trid) == 0);
	MUST(posix_trace_set_filter(trid, &all, POSIX_TRACE_SET_EVENTSET) == 0);
	MUST(posix_trace_start(trid) == 0);
}

static int read_one(enum reading_wait wait, const struct timespec *deadline)
{
	unavailable = 99;
	return reading_next(trid, &event, data, sizeof data, &length, &unavailable, wait, deadline);
}

static struct timespec in_ms(long ms)
{
	int64_t ns = clock_ns(CLOCK_REALTIME) + ms * 1000000ll;

	return (struct timespec){ ns / NS_PER_S, ns % NS_PER_S };
}

TEST(try)
{
	begin();
	CHECK_EQ("-", read_one(READING_TRY, NULL), 0);
	CHECK_EQ("-", unavailable, 1);
	posix_trace_event(id, "abc", 3);
	CHECK_EQ("-", read_one(READING_TRY, NULL), 0);
	CHECK_EQ("-", unavailable, 0);
	CHECK_EQ("-", event.posix_event_id, id);
	CHECK("-", length == 3 && memcmp(data, "abc", 3) == 0);
	trid ^= 1;
	CHECK_EQ("-", read_one(READING_TRY, NULL), EINVAL);
	CHECK_EQ("-", unavailable, 1);
}

/*
 * The latest time, the last one that fits into nanoseconds, and one after 2038. Where time_t has 32 bits, the latest
 * time in each case.
 */
#define SECONDS(n) (sizeof(time_t) > 4 ? (time_t)(n) : (time_t)LONG_MAX)
static const struct timespec far[] = {
	{ LONG_MAX, 999999999 },
	{ SECONDS(INT64_MAX / 1000000000), 0 },
	{ SECONDS((int64_t)1 << 33), 0 },
};

TEST(deadlines)
{
	struct timespec t = in_ms(30), past[] = { { 0, 0 }, { 1, 0 }, { -1, 0 }, { LONG_MIN, 0 } }, bad = { 0, -1 };
	int64_t before = unit_now();

	begin();
	CHECK_EQ("-", read_one(READING_UNTIL, &t), ETIMEDOUT);
	CHECK("-", unavailable != 0);
	CHECK("-", unit_now() - before >= 25000000);
	for (int i = 0; i < 4; i++)
		CHECK_EQ("-", read_one(READING_UNTIL, &past[i]), ETIMEDOUT);
	CHECK_EQ("-", read_one(READING_UNTIL, &bad), EINVAL);
	bad.tv_nsec = NS_PER_S;
	CHECK_EQ("-", read_one(READING_UNTIL, &bad), EINVAL);
	/* With an event to return, an invalid time is not an error. */
	for (int i = 0; i < 4; i++) {
		posix_trace_event(id, NULL, 0);
		CHECK_EQ("-", read_one(READING_UNTIL, &past[i]), 0);
		CHECK_EQ("-", unavailable, 0);
	}
	posix_trace_event(id, NULL, 0);
	CHECK_EQ("-", read_one(READING_UNTIL, &bad), 0);
	for (int i = 0; i < 3; i++) {
		posix_trace_event(id, NULL, 0);
		CHECK_EQ("-", read_one(READING_UNTIL, &far[i]), 0);
	}
}

static void *trace_later(void *arg)
{
	unit_sleep_ms(*(int *)arg);
	posix_trace_event(id, "late", 4);
	return NULL;
}

TEST(woken)
{
	int delay[] = { 0, 1, 5, 20 };

	begin();
	for (int i = 0; i < 40; i++) {
		int64_t before = unit_now();
		pthread_t thread;

		MUST(pthread_create(&thread, NULL, trace_later, &delay[i % 4]) == 0);
		CHECK_EQ("-", i % 2 ? read_one(READING_FOREVER, NULL) : read_one(READING_UNTIL, &far[i % 3]), 0);
		CHECK_EQ("-", unavailable, 0);
		CHECK("-", length == 4);
		CHECK_OP("-", unit_now() - before, <, 1000000000ll * test_slow());
		pthread_join(thread, NULL);
	}
}

static int result;

static void *read_for_ever(void *arg)
{
	result = read_one(READING_FOREVER, NULL);
	return NULL;
}

TEST(shut_down_meanwhile)
{
	pthread_t thread;

	begin();
	MUST(pthread_create(&thread, NULL, read_for_ever, NULL) == 0);
	unit_sleep_ms(20);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	pthread_join(thread, NULL);
	CHECK_EQ("-", result, EINVAL);
	CHECK("-", unavailable != 0);
}

/* -- A fast clock: it advances at each look by more than a call may take ------------------- */

static _Atomic int64_t stride, away;

int clock_gettime(clockid_t clock, struct timespec *t)
{
	long r = syscall(SYS_clock_gettime, clock, t);

	if (r == 0 && clock == CLOCK_MONOTONIC && stride) {
		int64_t step = stride, ns = t->tv_sec * NS_PER_S + t->tv_nsec + atomic_fetch_add(&away, step) + step;

		*t = (struct timespec){ ns / NS_PER_S, ns % NS_PER_S };
	}
	return (int)r;
}

#define BY_TURNS 12000 /* the last turn ends within a chunk */

static _Atomic int turn;

static void *record_by_turns(void *arg)
{
	int mine = (int)(intptr_t)arg;

	for (int i = 0; i < BY_TURNS; i++) {
		while (turn != mine)
			sched_yield();
		posix_trace_event(id, "abcdefghijkl", mine ? 12 : 4);
		turn = !mine;
	}
	return NULL;
}

/*
 * Two threads record in turn. Where a chunk of one is overwritten, many events of the other are older and must be
 * skipped. However long that takes, a call does not report an empty stream before it is empty.
 */
static void read_slowly(enum reading_wait wait)
{
	struct timespec deadline = in_ms(0);
	struct posix_trace_status_info status;
	pthread_t thread[2];
	trace_attr_t attr;
	uint64_t count = 0;
	int error;

	begin();
	MUST(posix_trace_shutdown(trid) == 0);
	MUST(posix_trace_attr_init(&attr) == 0 && posix_trace_attr_setstreamsize(&attr, 256 << 10) == 0);
	MUST(posix_trace_create(0, &attr, &trid) == 0 && posix_trace_start(trid) == 0);
	turn = 0;
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&thread[i], NULL, record_by_turns, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < 2; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
	MUST(posix_trace_stop(trid) == 0);
	stride = 20000000;
	while ((error = read_one(wait, &deadline)) == 0 && !unavailable)
		count += event.posix_event_id == id;
	stride = 0;
	CHECK_EQ("READ-14", error, wait == READING_TRY ? 0 : ETIMEDOUT);
	MUST(posix_trace_get_status(trid, &status) == 0);
	/* START was overwritten and lost, STOP was not. */
	CHECK_OP("READ-14", count, >, 1000);
	CHECK_EQ("READ-14", count + status.__posix_lost_events, 2 * BY_TURNS + 1);
	MUST(posix_trace_shutdown(trid) == 0);
}

TEST(slow_try) { read_slowly(READING_TRY); }
TEST(slow_deadline) { read_slowly(READING_UNTIL); }

TEST_MAIN(TEST_ENTRY(slow_try), TEST_ENTRY(slow_deadline), TEST_ENTRY(try), TEST_ENTRY(deadlines), TEST_ENTRY(woken),
          TEST_ENTRY(shut_down_meanwhile))
