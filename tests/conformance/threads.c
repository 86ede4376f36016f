/*
 * threads.c - every function from many threads at a time, and whose events are whose
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "numbers.h"

#define THREADS 4
#define NAMES 40

static trace_event_id_t id;
static trace_id_t shared;
static pthread_barrier_t barrier;

static void run(void *(*function)(void *), pthread_t *thread, unsigned threads)
{
	MUST(pthread_barrier_init(&barrier, NULL, threads) == 0);
	for (size_t i = 0; i < threads; i++)
		MUST(pthread_create(&thread[i], NULL, function, (void *)i) == 0);
	for (unsigned i = 0; i < threads; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
}

/* -- Origin ------------------------------------------------------------- */

#define PER_THREAD 2000u

static struct {
	pthread_t thread;
	pid_t tid;
} origin_of[THREADS];

static void *numbering(void *arg)
{
	unsigned me = (unsigned)(size_t)arg;

	origin_of[me].thread = pthread_self();
	origin_of[me].tid = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(&barrier);
	for (unsigned n = 0; n < PER_THREAD; n++) {
		number_send(id, me, n);
		if (n % 50 == me)
			sched_yield();
	}
	pthread_barrier_wait(&barrier); /* so that no thread id is used twice */
	return NULL;
}

TEST(origin)
{
	pthread_t thread[THREADS];
	unsigned next[THREADS] = { 0 };
	struct stream_event e;
	long long last = 0;

	id = stream_id("threads");
	shared = large_stream(THREADS * PER_THREAD * 256);
	MUST(posix_trace_start(shared) == 0);
	stream_expect(shared, POSIX_TRACE_START, &e);
	run(numbering, thread, THREADS);
	while (stream_try(shared, &e)) {
		struct number n = number_of(e.data, e.len);

		MUST(n.writer < THREADS);
		CHECK_EQ("READ-20 READ-22 THR-1", n.number, next[n.writer]);
		next[n.writer] = n.number + 1;
		CHECK("EVT-7 MODEL-17", pthread_equal(e.info.posix_thread_id, origin_of[n.writer].thread));
		CHECK_TID("EVT-7 MODEL-17", &e.info, ==, origin_of[n.writer].tid);
		CHECK_EQ("EVT-6", e.info.posix_pid, getpid());
		CHECK_OP("READ-21", nanoseconds(e.info.posix_timestamp), >=, last);
		last = nanoseconds(e.info.posix_timestamp);
		if (test_failures > 20)
			break;
	}
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ("MODEL-8 INH-17 THR-1", next[i], PER_THREAD);
	stream_end(shared);
}

/* Threads record one after the other, possibly on different processors: the events are in this order. */
static void *one_event(void *arg)
{
	number_send(id, 0, (unsigned)(size_t)arg);
	return NULL;
}

TEST(order_between_threads)
{
	struct stream_event e;
	unsigned threads = 300 / (unsigned)test_slow();

	id = stream_id("threads");
	shared = stream_running(NULL);
	for (size_t i = 0; i < threads; i++) {
		pthread_t thread;

		MUST(pthread_create(&thread, NULL, one_event, (void *)i) == 0);
		MUST(pthread_join(thread, NULL) == 0);
	}
	CHECK_EQ("READ-20 READ-21 INH-17", number_run(shared, id, 0, &e), threads);
	CHECK_EQ("READ-22", e.info.posix_event_id, NO_TYPE);
	stream_end(shared);
}

/* Two threads pass a token to each other: an event recorded after seeing the other's event comes after it. */
static atomic_uint token;

static void *to_and_fro(void *arg)
{
	unsigned me = (unsigned)(size_t)arg;

	for (unsigned n = me; n < 4000 / (unsigned)test_slow(); n += 2) {
		while (atomic_load(&token) != n)
			sched_yield();
		/* An emulator's clock may stand still for a microsecond. */
		if (test_slow() > 1)
			usleep(2);
		number_send(id, 0, n);
		atomic_store(&token, n + 1);
	}
	return NULL;
}

TEST(order_of_causes)
{
	pthread_t thread[2];
	struct stream_event e;

	id = stream_id("threads");
	shared = large_stream(4000 * 256);
	MUST(posix_trace_start(shared) == 0);
	stream_expect(shared, POSIX_TRACE_START, &e);
	run(to_and_fro, thread, 2);
	CHECK_EQ("READ-20 READ-21", number_run(shared, id, 0, &e), 4000 / (unsigned)test_slow());
	stream_end(shared);
}

/*
 * The events of threads that have ended stay, and new threads find room: many more threads than exist at the same time.
 */
TEST(many_short_threads)
{
	trace_id_t trid = small_stream(POSIX_TRACE_UNTIL_FULL);
	unsigned threads = 1000 / (unsigned)test_slow();
	struct stream_event e;

	id = stream_id("threads");
	MUST(posix_trace_start(trid) == 0);
	stream_expect(trid, POSIX_TRACE_START, &e);
	for (size_t i = 0; i < threads; i++) {
		pthread_t thread;

		MUST(pthread_create(&thread, NULL, one_event, (void *)i) == 0);
		MUST(pthread_join(thread, NULL) == 0);
		stream_expect(trid, id, &e);
		CHECK_EQ("MODEL-8 READ-23", number_of(e.data, e.len).number, i);
	}
	CHECK_LOST("MODEL-8 START-14", lost_events(trid), ==, 0);
	stream_end(trid);
}

/* -- Names -------------------------------------------------------------- */

static trace_event_id_t opened[THREADS][NAMES];

static void *opener(void *arg)
{
	size_t me = (size_t)arg;

	pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < NAMES; i++) {
		unsigned k = me & 1 ? NAMES - 1 - i : i;
		char name[32];

		snprintf(name, sizeof name, "name %u", k);
		if (me & 2)
			CHECK_EQ("THR-1", posix_trace_trid_eventid_open(shared, name, &opened[me][k]), 0);
		else
			CHECK_EQ("THR-1", posix_trace_eventid_open(name, &opened[me][k]), 0);
	}
	return NULL;
}

TEST(names)
{
	pthread_t thread[THREADS];

	shared = stream_create(NULL);
	run(opener, thread, THREADS);
	for (int k = 0; k < NAMES; k++) {
		char name[TRACE_EVENT_NAME_MAX + 1], expected[32];

		for (int i = 1; i < THREADS; i++)
			CHECK_EQ("THR-1 EVT-19 ID-18 ID-24", opened[i][k], opened[0][k]);
		for (int l = 0; l < k; l++)
			CHECK("MODEL-12 EVT-18", opened[0][k] != opened[0][l]);
		snprintf(expected, sizeof expected, "name %d", k);
		MUST(posix_trace_eventid_get_name(shared, opened[0][k], name) == 0);
		CHECK_STR("MODEL-12 ID-8", name, expected);
	}
	stream_end(shared);
}

/* All threads make the first call of a process at the same time. */
TEST(first_call)
{
	for (int round = 0; round < 30 / test_slow() + 1; round++) {
		int status;
		pid_t pid;

		fflush(stderr);
		pid = fork();
		if (pid == 0) {
			pthread_t thread[THREADS];

			alarm((unsigned)(20 * test_slow()));
			shared = 0;
			if (round & 1)
				shared = stream_create(NULL);
			run(opener, thread, shared ? THREADS : 2);
			for (int k = 0; k < NAMES; k++)
				CHECK_EQ("THR-1 EVT-19", opened[1][k], opened[0][k]);
			exit(test_failures != 0);
		}
		MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
		CHECK_EQ("THR-1", status, 0);
	}
}

/* -- Everything --------------------------------------------------------- */

static void use_attributes(unsigned n)
{
	trace_attr_t attr;
	struct timespec t;
	char text[TRACE_NAME_MAX + 1], name[32];
	size_t size;
	int value;

	snprintf(name, sizeof name, "stream %u", n);
	CHECK_EQ("THR-1", posix_trace_attr_init(&attr), 0);
	CHECK_EQ("THR-1", posix_trace_attr_setname(&attr, name), 0);
	CHECK_EQ("THR-1", posix_trace_attr_getname(&attr, text), 0);
	CHECK_STR("THR-1", text, name);
	CHECK_EQ("THR-1", posix_trace_attr_getgenversion(&attr, text), 0);
	CHECK_EQ("THR-1", posix_trace_attr_getclockres(&attr, &t), 0);
	CHECK_EQ("THR-1", posix_trace_attr_getcreatetime(&attr, &t), 0);
	CHECK_EQ("THR-1", posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED), 0);
	CHECK_EQ("THR-1", posix_trace_attr_getinherited(&attr, &value), 0);
	CHECK_EQ("THR-1", value, POSIX_TRACE_INHERITED);
	CHECK_EQ("THR-1", posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND), 0);
	CHECK_EQ("THR-1", posix_trace_attr_getlogfullpolicy(&attr, &value), 0);
	CHECK_EQ("THR-1", posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_UNTIL_FULL), 0);
	CHECK_EQ("THR-1", posix_trace_attr_getstreamfullpolicy(&attr, &value), 0);
	CHECK_EQ("THR-1", posix_trace_attr_setlogsize(&attr, 100000 + n), 0);
	CHECK_EQ("THR-1", posix_trace_attr_getlogsize(&attr, &size), 0);
	CHECK_EQ("THR-1", size, 100000 + n);
	CHECK_EQ("THR-1", posix_trace_attr_setmaxdatasize(&attr, 100 + n % 100), 0);
	CHECK_EQ("THR-1", posix_trace_attr_getmaxdatasize(&attr, &size), 0);
	CHECK_EQ("THR-1", size, 100 + n % 100);
	CHECK_EQ("THR-1", posix_trace_attr_setstreamsize(&attr, 10000 + n), 0);
	CHECK_EQ("THR-1", posix_trace_attr_getstreamsize(&attr, &size), 0);
	CHECK_EQ("THR-1", posix_trace_attr_getmaxsystemeventsize(&attr, &size), 0);
	CHECK_EQ("THR-1", posix_trace_attr_getmaxusereventsize(&attr, 10, &size), 0);
	CHECK_EQ("THR-1", posix_trace_attr_destroy(&attr), 0);
}

static void use_sets(unsigned n)
{
	trace_event_set_t set;
	int member;

	CHECK_EQ("THR-1", posix_trace_eventset_fill(&set, POSIX_TRACE_SYSTEM_EVENTS), 0);
	CHECK_EQ("THR-1", posix_trace_eventset_empty(&set), 0);
	CHECK_EQ("THR-1", posix_trace_eventset_add(100 + n % 100, &set), 0);
	CHECK_EQ("THR-1", posix_trace_eventset_ismember(100 + n % 100, &set, &member), 0);
	CHECK("THR-1", member);
	CHECK_EQ("THR-1", posix_trace_eventset_del(100 + n % 100, &set), 0);
}

/* Waits for an event, as posix_trace_trygetnext_event() may find none while another thread is within a trace point. */
static void next(trace_id_t trid, struct stream_event *e)
{
	int unavailable = 1;

	MUST(posix_trace_getnext_event(trid, &e->info, e->data, sizeof e->data, &e->len, &unavailable) == 0);
	CHECK_EQ("READ-7", unavailable, 0);
}

/* A stream used by one thread only: other threads have no effect on it. */
static void use_own_stream(unsigned me, unsigned n)
{
	trace_id_t trid = large_stream(200000);
	struct posix_trace_status_info s;
	struct posix_trace_event_info info;
	trace_event_set_t set = set_of(stream_id("hidden")), got;
	struct stream_event e;
	trace_event_id_t t;
	trace_attr_t attr;
	struct timespec past = { 0, 0 };
	char text[TRACE_EVENT_NAME_MAX + 1];
	unsigned char data[NUMBER_SIZE];
	size_t len;
	int unavailable;

	CHECK_EQ("THR-1", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
	CHECK_EQ("THR-1", posix_trace_get_filter(trid, &got), 0);
	CHECK("THR-1", set_equal(&set, &got));
	CHECK_EQ("THR-1", posix_trace_start(trid), 0);
	next(trid, &e);
	CHECK_EQ("THR-1 START-1", e.info.posix_event_id, POSIX_TRACE_START);
	number_send(id, me, n);
	/* The stream has events of all threads, including this one. */
	do {
		next(trid, &e);
		MUST(e.info.posix_event_id == id);
	} while (number_of(e.data, e.len).writer != me);
	CHECK_EQ("THR-1 READ-20", number_of(e.data, e.len).number, n);
	CHECK_EQ("THR-1", posix_trace_get_status(trid, &s), 0);
	CHECK_EQ("THR-1", s.posix_stream_status, POSIX_TRACE_RUNNING);
	CHECK_EQ("THR-1", posix_trace_stop(trid), 0);
	do {
		next(trid, &e);
	} while (e.info.posix_event_id == id);
	CHECK_EQ("THR-1 START-4", e.info.posix_event_id, POSIX_TRACE_STOP);
	CHECK_EQ("THR-1", posix_trace_timedgetnext_event(trid, &info, data, sizeof data, &len, &unavailable, &past),
	         ETIMEDOUT);
	CHECK_EQ("THR-1", posix_trace_get_attr(trid, &attr), 0);
	CHECK_EQ("THR-1", posix_trace_trid_eventid_open(trid, "own", &t), 0);
	CHECK_EQ("THR-1", posix_trace_eventid_get_name(trid, t, text), 0);
	CHECK_STR("THR-1", text, "own");
	CHECK("THR-1", posix_trace_eventid_equal(trid, t, stream_id("own")));
	CHECK_EQ("THR-1", posix_trace_eventtypelist_getnext_id(trid, &t, &unavailable), 0);
	CHECK_EQ("THR-1", unavailable, 0);
	CHECK_EQ("THR-1", posix_trace_eventtypelist_rewind(trid), 0);
	CHECK_EQ("THR-1", posix_trace_clear(trid), 0);
	CHECK_EQ("THR-1", posix_trace_flush(trid), EINVAL);
	CHECK_EQ("THR-1", posix_trace_rewind(trid), EINVAL);
	CHECK_EQ("THR-1", posix_trace_close(trid), EINVAL);
	CHECK_EQ("THR-1", posix_trace_shutdown(trid), 0);
	CHECK_EQ("THR-1", posix_trace_shutdown(trid), EINVAL);
}

/* A stream shared by all threads: each call works, whatever the other threads do. */
static void use_shared_stream(unsigned me, unsigned n)
{
	struct posix_trace_status_info s;
	struct timespec past = { 0, 0 };
	trace_event_set_t set = set_of(stream_id("hidden"));
	struct posix_trace_event_info info;
	trace_event_id_t t;
	trace_attr_t attr;
	unsigned char data[1024];
	size_t len;
	int unavailable, error;

	switch ((me + n) % 8) {
	case 0:
		CHECK_EQ("THR-1", posix_trace_start(shared), 0);
		break;
	case 1:
		CHECK_EQ("THR-1", posix_trace_stop(shared), 0);
		break;
	case 2:
		CHECK_EQ("THR-1", posix_trace_set_filter(shared, &set,
		                                         n & 1 ? POSIX_TRACE_ADD_EVENTSET
		                                         	: POSIX_TRACE_SUB_EVENTSET), 0);
		break;
	case 3:
		CHECK_EQ("THR-1", posix_trace_clear(shared), 0);
		break;
	case 4:
		CHECK_EQ("THR-1", posix_trace_trygetnext_event(shared, &info, data, sizeof data, &len, &unavailable),
		         0);
		break;
	case 5:
		error = posix_trace_timedgetnext_event(shared, &info, data, sizeof data, &len, &unavailable, &past);
		CHECK("THR-1", error == 0 || error == ETIMEDOUT);
		break;
	case 6:
		CHECK_EQ("THR-1", posix_trace_eventtypelist_getnext_id(shared, &t, &unavailable), 0);
		if (unavailable)
			CHECK_EQ("THR-1", posix_trace_eventtypelist_rewind(shared), 0);
		break;
	default:
		CHECK_EQ("THR-1", posix_trace_get_attr(shared, &attr), 0);
		CHECK_EQ("THR-1", posix_trace_get_filter(shared, &set), 0);
	}
	CHECK_EQ("THR-1", posix_trace_get_status(shared, &s), 0);
	number_send(id, me, n);
}

static void *everything(void *arg)
{
	unsigned me = (unsigned)(size_t)arg;

	pthread_barrier_wait(&barrier);
	for (unsigned n = 0; n < (test_thorough() ? 800u : 300u) / (unsigned)test_slow() && test_failures < 20; n++) {
		use_attributes(n);
		use_sets(n);
		use_shared_stream(me, n);
		if (n % 4 == me)
			use_own_stream(me, n);
	}
	return NULL;
}

static void all_functions(int policy)
{
	pthread_t thread[THREADS];
	struct stream_event e;

	id = stream_id("threads");
	shared = small_stream(policy);
	run(everything, thread, THREADS);
	/* The stream still works. */
	MUST(posix_trace_stop(shared) == 0);
	CHECK_EQ("THR-1", posix_trace_clear(shared), 0);
	CHECK_STR("THR-1 THR-2", state(shared), "SN");
	CHECK_EQ("THR-1 THR-2", posix_trace_start(shared), 0);
	number_send(id, 0, 1);
	stream_expect(shared, POSIX_TRACE_START, &e);
	stream_expect(shared, id, &e);
	CHECK_EQ("THR-1 THR-2", stream_drain(shared), 0);
	stream_end(shared);
}

TEST(all_functions_loop)
{
	all_functions(POSIX_TRACE_LOOP);
}

TEST(all_functions_until_full)
{
	all_functions(POSIX_TRACE_UNTIL_FULL);
}

/* Shutdown during other calls: each of them works or returns EINVAL. */
static atomic_int finished;
static _Atomic trace_id_t current;

static void *user(void *arg)
{
	unsigned me = (unsigned)(size_t)arg;
	struct posix_trace_status_info s;
	struct posix_trace_event_info info;
	trace_event_set_t set;
	trace_event_id_t t;
	trace_attr_t attr;
	unsigned char data[1024];
	size_t len;
	int unavailable;

	for (unsigned n = 0; !atomic_load(&finished); n++) {
		trace_id_t trid = atomic_load(&current);
		int error;

		switch ((me + n) % 7) {
		case 0:
			error = posix_trace_get_status(trid, &s);
			break;
		case 1:
			error = posix_trace_trygetnext_event(trid, &info, data, sizeof data, &len, &unavailable);
			break;
		case 2:
			error = posix_trace_get_filter(trid, &set);
			break;
		case 3:
			error = posix_trace_get_attr(trid, &attr);
			break;
		case 4:
			error = posix_trace_stop(trid);
			break;
		case 5:
			error = posix_trace_eventtypelist_getnext_id(trid, &t, &unavailable);
			break;
		default:
			error = posix_trace_start(trid);
		}
		if (error != 0 && error != EINVAL) {
			TEST_FAIL("SHUT-4 THR-1", "function %u: error %d", (me + n) % 7, error);
			break;
		}
		number_send(id, me, n);
	}
	return NULL;
}

TEST(shutdown_among_uses)
{
	pthread_t thread[THREADS];

	id = stream_id("threads");
	atomic_store(&current, small_stream(POSIX_TRACE_LOOP));
	for (size_t i = 0; i < THREADS; i++)
		MUST(pthread_create(&thread[i], NULL, user, (void *)i) == 0);
	for (int i = 0; i < (test_thorough() ? 1000 : 300) / test_slow(); i++) {
		trace_id_t old = atomic_load(&current);

		if (i & 1)
			sched_yield();
		CHECK_EQ("SHUT-2 THR-1", posix_trace_shutdown(old), 0);
		CHECK_EQ("SHUT-4", posix_trace_start(old), EINVAL);
		atomic_store(&current, small_stream(POSIX_TRACE_LOOP));
	}
	atomic_store(&finished, 1);
	for (size_t i = 0; i < THREADS; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
	stream_end(atomic_load(&current));
}

TEST_MAIN(TEST_ENTRY(origin), TEST_ENTRY(order_between_threads), TEST_ENTRY(order_of_causes),
          TEST_ENTRY(many_short_threads), TEST_ENTRY(names), TEST_ENTRY(first_call), TEST_ENTRY(all_functions_loop),
          TEST_ENTRY(all_functions_until_full), TEST_ENTRY(shutdown_among_uses))
