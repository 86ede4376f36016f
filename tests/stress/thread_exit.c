/*
 * thread_exit.c - threads that record a little and end
 *
 * The guarantee about a stream's size does not depend on threads: events whose sizes add up to it are all kept, even if
 * each of two thousand threads records only one to three of them, one thread after the other or all at once.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stress.h"

#define THREADS 2000
#define AT_ONCE 1000

/* One source for all: the number of an event tells the thread and its position there. */
#define MOST   4 /* events of a thread */
#define SOURCE 0

struct mortal {
	pthread_t thread;
	unsigned number;
	unsigned events;
};

static pthread_attr_t small_stack;

static void set_up(void)
{
	stress_types();
	MUST(pthread_attr_init(&small_stack) == 0);
	/* Sanitizers and valgrind need more stack than the thread itself. */
	MUST(pthread_attr_setstacksize(&small_stack, 256 << 10) == 0);
}

static void record(const struct mortal *m, unsigned i)
{
	uint64_t words[STRESS_WORDS];
	size_t len = stress_fill(words, SOURCE, m->number * MOST + i);

	posix_trace_event(stress_type(SOURCE), words, len);
}

/*
 * Returns the bytes that the stream needs for the events of these threads, by the library's own count, and for START.
 */
static size_t size_for(const struct mortal *mortals, int n)
{
	uint64_t words[STRESS_WORDS];
	trace_attr_t attr;
	size_t sum, one;

	MUST(posix_trace_attr_init(&attr) == 0);
	CHECK_EQ("ATTR-47", posix_trace_attr_getmaxsystemeventsize(&attr, &sum), 0);
	for (int i = 0; i < n; i++) {
		for (unsigned k = 0; k < mortals[i].events; k++) {
			size_t len = stress_fill(words, SOURCE, mortals[i].number * MOST + k);

			CHECK_EQ("ATTR-48", posix_trace_attr_getmaxusereventsize(&attr, len, &one), 0);
			sum += one;
		}
	}
	MUST(posix_trace_attr_destroy(&attr) == 0);
	return sum;
}

/* Checks that the stream has each event of these threads once, in each thread's order, and no others. */
static void read_all(trace_id_t trid, const struct mortal *mortals, int n)
{
	unsigned *next = calloc((size_t)n, sizeof *next), seen = 0, expected = 0;
	struct posix_trace_status_info status;
	struct posix_trace_event_info info;
	unsigned char data[1024];
	int unavailable, missing = 0;
	size_t len;

	MUST(next);
	MUST(posix_trace_get_status(trid, &status) == 0);
	CHECK_EQ("ATTR-49 MODEL-8", status.__posix_lost_events, 0);
	CHECK_EQ("ATTR-49 STAT-15", status.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ("ATTR-49 STAT-11", status.posix_stream_status, POSIX_TRACE_RUNNING);
	for (;;) {
		unsigned source, thread;
		uint64_t number;

		CHECK_EQ("READ-14", posix_trace_trygetnext_event(trid, &info, data, sizeof data, &len, &unavailable),
		         0);
		if (unavailable || test_failures > 10)
			break;
		if (info.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT) {
			CHECK_EQ("ATTR-49 SYS-1", info.posix_event_id, POSIX_TRACE_START);
			continue;
		}
		if (!stress_intact(data, len, &source, &number)) {
			TEST_FAIL("EVT-2", "a torn event of %zu bytes", len);
			continue;
		}
		thread = (unsigned)(number / MOST) - mortals[0].number;
		if (thread >= (unsigned)n) {
			TEST_FAIL("EVT-1", "an event of thread %u", thread);
			continue;
		}
		CHECK_EQ("READ-21 READ-22", number % MOST, next[thread]);
		next[thread]++;
		seen++;
	}
	for (int i = 0; i < n; i++) {
		expected += mortals[i].events;
		missing += next[i] != mortals[i].events;
	}
	CHECK_EQ("ATTR-49 EVT-1", seen, expected);
	CHECK_EQ("ATTR-49 EVT-1", missing, 0);
	free(next);
}

static struct mortal *make(int n)
{
	struct mortal *m = calloc((size_t)n, sizeof *m);

	MUST(m);
	for (int i = 0; i < n; i++) {
		m[i].number = (unsigned)i;
		m[i].events = 1 + (unsigned)(chance_mix((uint64_t)i) % 3);
	}
	return m;
}

static trace_id_t running(int policy, size_t size)
{
	trace_id_t trid = stress_stream(policy, size);

	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	return trid;
}

static void finish(trace_id_t trid)
{
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-2", stress_files(), 0);
}

/* -- One after the other, some at a time --------------------------------- */

static void *live(void *arg)
{
	const struct mortal *m = arg;

	for (unsigned i = 0; i < m->events; i++)
		record(m, i);
	return NULL;
}

static void run_in_groups(int group)
{
	int n = stress_count(THREADS, 100);
	struct mortal *m;
	trace_id_t trid;

	set_up();
	m = make(n);
	trid = running(POSIX_TRACE_UNTIL_FULL, size_for(m, n));
	for (int i = 0; i < n; i += group) {
		for (int k = i; k < i + group && k < n; k++)
			MUST(pthread_create(&m[k].thread, &small_stack, live, &m[k]) == 0);
		for (int k = i; k < i + group && k < n; k++)
			pthread_join(m[k].thread, NULL);
	}
	read_all(trid, m, n);
	finish(trid);
	free(m);
}

TEST(one_by_one)     { run_in_groups(1); }
TEST(eight_by_eight) { run_in_groups(8); }

/* -- All alive at the same time ------------------------------------------ */

static pthread_barrier_t all_there, all_recorded, all_read;

static void *live_together(void *arg)
{
	const struct mortal *m = arg;

	pthread_barrier_wait(&all_there);
	for (unsigned i = 0; i < m->events; i++) {
		record(m, i);
		if (m->number & 1)
			sched_yield();
	}
	pthread_barrier_wait(&all_recorded);
	pthread_barrier_wait(&all_read);
	return NULL;
}

/* No thread ends before everything is read, so memory that a thread did not use must be available to others. */
TEST(all_at_once)
{
	int n = stress_count(AT_ONCE, 50);
	struct mortal *m;
	trace_id_t trid;

	set_up();
	m = make(n);
	pthread_barrier_init(&all_there, NULL, (unsigned)n);
	pthread_barrier_init(&all_recorded, NULL, (unsigned)n + 1);
	pthread_barrier_init(&all_read, NULL, (unsigned)n + 1);
	trid = running(POSIX_TRACE_UNTIL_FULL, size_for(m, n));
	for (int i = 0; i < n; i++)
		MUST(pthread_create(&m[i].thread, &small_stack, live_together, &m[i]) == 0);
	pthread_barrier_wait(&all_recorded);
	read_all(trid, m, n);
	pthread_barrier_wait(&all_read);
	for (int i = 0; i < n; i++)
		pthread_join(m[i].thread, NULL);
	finish(trid);
	free(m);
}

/* The same, but the events alternate over all threads: when a thread needs more memory, others hold the rest. */
static _Atomic unsigned turn;
static pthread_mutex_t turn_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_cond = PTHREAD_COND_INITIALIZER;
static unsigned n_turns;

static void *live_in_turns(void *arg)
{
	const struct mortal *m = arg;

	for (unsigned i = 0; i < m->events; i++) {
		pthread_mutex_lock(&turn_mutex);
		while (turn % n_turns != m->number)
			pthread_cond_wait(&turn_cond, &turn_mutex);
		record(m, i);
		turn++;
		pthread_cond_broadcast(&turn_cond);
		pthread_mutex_unlock(&turn_mutex);
	}
	return NULL;
}

TEST(in_turns)
{
	int n = stress_count(100, 20);
	struct mortal *m;
	trace_id_t trid;

	set_up();
	m = make(n);
	for (int i = 0; i < n; i++)
		m[i].events = 3;
	n_turns = (unsigned)n;
	trid = running(POSIX_TRACE_UNTIL_FULL, size_for(m, n));
	for (int i = 0; i < n; i++)
		MUST(pthread_create(&m[i].thread, &small_stack, live_in_turns, &m[i]) == 0);
	for (int i = 0; i < n; i++)
		pthread_join(m[i].thread, NULL);
	read_all(trid, m, n);
	finish(trid);
	free(m);
}

/* -- Trace points in the last moments of a thread ------------------------ */

static pthread_key_t keys[2];
static _Thread_local struct mortal *dying;
static _Thread_local unsigned last_words;

/* Called in several rounds: other destructors, also the library's, run before, between and after. */
static void record_at_end(void *arg)
{
	const struct mortal *m = dying;

	if (last_words < m->events) {
		record(m, last_words++);
		pthread_setspecific(keys[0], arg);
		pthread_setspecific(keys[1], arg);
	}
}

static void *live_to_the_end(void *arg)
{
	dying = arg;
	if (dying->number & 1)
		record(dying, last_words++);
	pthread_setspecific(keys[0], arg);
	pthread_setspecific(keys[1], arg);
	if (dying->number & 2)
		pthread_exit(NULL);
	return NULL;
}

TEST(destructors)
{
	int n = stress_count(THREADS, 100);
	struct mortal *m;
	trace_id_t trid;

	MUST(pthread_key_create(&keys[0], record_at_end) == 0);
	set_up();
	m = make(n);
	trid = running(POSIX_TRACE_UNTIL_FULL, size_for(m, n));
	/* One key is older than the library's key, the other is newer. */
	MUST(pthread_key_create(&keys[1], record_at_end) == 0);
	for (int i = 0; i < n; i += 4) {
		for (int k = i; k < i + 4 && k < n; k++)
			MUST(pthread_create(&m[k].thread, &small_stack, live_to_the_end, &m[k]) == 0);
		for (int k = i; k < i + 4 && k < n; k++)
			pthread_join(m[k].thread, NULL);
	}
	read_all(trid, m, n);
	finish(trid);
	free(m);
}

static void record_in_cleanup(void *arg)
{
	struct mortal *m = arg;

	record(m, m->events - 1);
}

static void *live_until_cancelled(void *arg)
{
	struct mortal *m = arg;

	pthread_cleanup_push(record_in_cleanup, m);
	for (unsigned i = 0; i + 1 < m->events; i++)
		record(m, i);
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return NULL;
}

/* Cancelled before it begins. But posix_trace_event() is no cancellation point, so all events come first. */
TEST(cancelled)
{
	int n = stress_count(THREADS / 2, 50);
	struct mortal *m;
	trace_id_t trid;

	set_up();
	m = make(n);
	trid = running(POSIX_TRACE_UNTIL_FULL, size_for(m, n));
	for (int i = 0; i < n; i++) {
		void *result;

		MUST(pthread_create(&m[i].thread, &small_stack, live_until_cancelled, &m[i]) == 0);
		MUST(pthread_cancel(m[i].thread) == 0);
		pthread_join(m[i].thread, &result);
		CHECK("-", result == PTHREAD_CANCELED);
	}
	read_all(trid, m, n);
	finish(trid);
	free(m);
}

/* -- More threads than the stream has room for ---------------------------- */

/* In LOOP the last events stay, and all others are counted. */
TEST(many_in_a_small_loop)
{
	int n = stress_count(10000, 200);
	struct posix_trace_event_info info;
	struct posix_trace_status_info status;
	struct mortal m = { .events = 1 };
	uint64_t read = 0, last = 0;
	unsigned char data[1024];
	trace_id_t trid;
	int unavailable;
	size_t len;

	set_up();
	trid = running(POSIX_TRACE_LOOP, 4096);
	for (int i = 0; i < n; i++) {
		m.number = (unsigned)i;
		MUST(pthread_create(&m.thread, &small_stack, live, &m) == 0);
		pthread_join(m.thread, NULL);
	}
	for (;;) {
		unsigned source;
		uint64_t number = 0;

		CHECK_EQ("READ-14", posix_trace_trygetnext_event(trid, &info, data, sizeof data, &len, &unavailable),
		         0);
		if (unavailable)
			break;
		if (info.posix_event_id == POSIX_TRACE_OVERFLOW || info.posix_event_id == POSIX_TRACE_RESUME)
			continue;
		read++;
		if (info.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT)
			continue;
		if (!stress_intact(data, len, &source, &number))
			TEST_FAIL("EVT-2", "a torn event of %zu bytes", len);
		CHECK_OP("READ-20 READ-21", number, >=, last);
		last = number;
	}
	CHECK_EQ("START-11", last, (uint64_t)(n - 1) * MOST);
	MUST(posix_trace_get_status(trid, &status) == 0);
	CHECK_EQ("MODEL-8", read + status.__posix_lost_events, n + 1); /* and START */
	finish(trid);
}

TEST_MAIN(TEST_ENTRY(one_by_one), TEST_ENTRY(eight_by_eight), TEST_ENTRY(all_at_once), TEST_ENTRY(in_turns),
          TEST_ENTRY(destructors), TEST_ENTRY(cancelled), TEST_ENTRY(many_in_a_small_loop))
