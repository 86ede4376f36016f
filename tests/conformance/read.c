/*
 * read.c - posix_trace_getnext_event(), posix_trace_timedgetnext_event(), posix_trace_trygetnext_event()
 *
 * Signals and cancellation while a reader waits are in interrupts.c and
 * cancel.c, what the events of the system carry in system_events.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>

#include "waiter.h"

#define READERS 3
#define WRITERS 2

static trace_event_id_t id;

/* Calls one of the three functions. The timed one waits for a long time, but with a limit. */
enum { GETNEXT, TIMED, TRY, FUNCTIONS };

static int get(int function, trace_id_t trid, struct posix_trace_event_info *event, void *data, size_t num_bytes,
               size_t *len, int *unavailable)
{
	struct timespec abstime;

	switch (function) {
	case GETNEXT:
		return posix_trace_getnext_event(trid, event, data, num_bytes, len, unavailable);
	case TIMED:
		abstime = now_plus_ms(20000L * test_slow());
		return posix_trace_timedgetnext_event(trid, event, data, num_bytes, len, unavailable, &abstime);
	default:
		return posix_trace_trygetnext_event(trid, event, data, num_bytes, len, unavailable);
	}
}

/* All information about an event. */
TEST(everything_reported)
{
	trace_id_t trid = stream_running(NULL);

	id = stream_id("read");
	for (int f = 0; f < FUNCTIONS; f++) {
		struct posix_trace_event_info e;
		struct timespec before = now(), after;
		char data[16];
		size_t len = 99;
		int unavailable = 99;

		posix_trace_event(id, "hello", 5);
		after = now();
		memset(&e, 0xa5, sizeof e);
		memset(data, '.', sizeof data);
		CHECK_EQ("READ-1 READ-2 READ-3 READ-25", get(f, trid, &e, data, sizeof data, &len, &unavailable), 0);
		CHECK_EQ("READ-7 READ-24", unavailable, 0);
		CHECK_EQ("READ-16 READ-17 READ-24", len, 5);
		CHECK("READ-4 READ-17 READ-24", memcmp(data, "hello...........", sizeof data) == 0);
		CHECK_EQ("READ-4 MODEL-11 MODEL-17", e.posix_event_id, id);
		CHECK_EQ("READ-4 MODEL-17 EVT-6", e.posix_pid, getpid());
		CHECK("READ-4 MODEL-17 EVT-7", pthread_equal(e.posix_thread_id, pthread_self()));
		CHECK_TID("MODEL-17", &e, ==, syscall(SYS_gettid));
		CHECK("MODEL-17 EVT-8", e.posix_prog_address != NULL);
		CHECK_EQ("READ-17 EVT-2", e.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
		/* The wall clock may be slewed, the clock of events is not. */
		CHECK_OP("MODEL-17 EVT-9", nanoseconds(e.posix_timestamp), >=, nanoseconds(before) - 50000000);
		CHECK_OP("MODEL-17 EVT-9", nanoseconds(e.posix_timestamp), <=, nanoseconds(after) + 50000000);
		CHECK_OP("EVT-9", e.posix_timestamp.tv_nsec, <, 1000000000);
		CHECK_OP("EVT-9", e.posix_timestamp.tv_nsec, >=, 0);
	}
	stream_end(trid);
}

/* Two events for each function: one is consumed, the other is next. */
TEST(order)
{
	trace_id_t trid = stream_running(NULL);
	long long time = 0;

	id = stream_id("read");
	for (unsigned n = 0; n < 1000; n++)
		number_send(id, 0, n);
	for (unsigned n = 0; n < 1000; n++) {
		struct posix_trace_event_info e;
		unsigned char data[NUMBER_SIZE];
		size_t len;
		int unavailable;

		MUST(get((int)(n % FUNCTIONS), trid, &e, data, sizeof data, &len, &unavailable) == 0 && !unavailable);
		CHECK_EQ("READ-20 READ-22", number_of(data, len).number, n);
		CHECK_OP("READ-21", nanoseconds(e.posix_timestamp), >=, time);
		time = nanoseconds(e.posix_timestamp);
	}
	CHECK_EQ("READ-22", stream_drain(trid), 0);
	stream_end(trid);
}

TEST(truncation)
{
	static const struct {
		size_t sent, room, len;
		int status;
	} cases[] = {
		/* max-data-size is 16 */
		{ 0, 0, 0, POSIX_TRACE_NOT_TRUNCATED },
		{ 0, 8, 0, POSIX_TRACE_NOT_TRUNCATED },
		{ 1, 0, 0, POSIX_TRACE_TRUNCATED_READ },
		{ 1, 1, 1, POSIX_TRACE_NOT_TRUNCATED },
		{ 7, 8, 7, POSIX_TRACE_NOT_TRUNCATED },
		{ 8, 8, 8, POSIX_TRACE_NOT_TRUNCATED },
		{ 9, 8, 8, POSIX_TRACE_TRUNCATED_READ },
		{ 15, 1, 1, POSIX_TRACE_TRUNCATED_READ },
		{ 15, 16, 15, POSIX_TRACE_NOT_TRUNCATED },
		{ 16, 15, 15, POSIX_TRACE_TRUNCATED_READ },
		{ 16, 16, 16, POSIX_TRACE_NOT_TRUNCATED },
		{ 16, 32, 16, POSIX_TRACE_NOT_TRUNCATED },
		{ 17, 15, 15, POSIX_TRACE_TRUNCATED_READ }, /* both */
		{ 17, 16, 16, POSIX_TRACE_TRUNCATED_RECORD },
		{ 17, 32, 16, POSIX_TRACE_TRUNCATED_RECORD },
		{ 32, 32, 16, POSIX_TRACE_TRUNCATED_RECORD },
		{ 32, 0, 0, POSIX_TRACE_TRUNCATED_READ },
		{ 32, 4, 4, POSIX_TRACE_TRUNCATED_READ },
	};
	static const char text[33] = "abcdefghijklmnopqrstuvwxyzABCDEF";
	trace_attr_t attr;
	trace_id_t trid;

	id = stream_id("read");
	stream_attr(&attr, POSIX_TRACE_LOOP, 0, 16);
	trid = stream_running(&attr);
	for (int f = 0; f < FUNCTIONS; f++) {
		for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
			struct posix_trace_event_info e;
			char data[40];
			size_t len = 99, after;
			int unavailable = 99;

			posix_trace_event(id, text, cases[i].sent);
			memset(&e, 0xa5, sizeof e);
			memset(data, '.', sizeof data);
			MUST(get(f, trid, &e, cases[i].room ? data : NULL, cases[i].room, &len, &unavailable) == 0);
			if (len != cases[i].len || e.posix_truncation_status != cases[i].status || unavailable != 0)
				TEST_FAIL("READ-16 READ-17 READ-18 READ-19 READ-24",
					  "function %d, %zu sent, room for %zu: length %zu not %zu, truncation %d not "
					  "%d, unavailable %d",
					  f, cases[i].sent, cases[i].room, len, cases[i].len, e.posix_truncation_status,
					  cases[i].status, unavailable);
			CHECK("READ-4 READ-18", memcmp(data, text, cases[i].len) == 0);
			for (after = cases[i].len; after < sizeof data && data[after] == '.'; after++)
				;
			CHECK_EQ("READ-16 READ-18", after, sizeof data); /* nothing after it */
			CHECK_EQ("READ-18 READ-22", stream_drain(trid), 0); /* nor is the rest read next */
		}
	}
	stream_end(trid);
}

/* Data of system events is truncated by a short buffer too. */
TEST(truncation_of_start)
{
	trace_id_t trid = stream_create(NULL);
	struct posix_trace_event_info e;
	char data[8];
	size_t len = 99;
	int unavailable = 99;

	MUST(posix_trace_start(trid) == 0);
	MUST(posix_trace_getnext_event(trid, &e, data, sizeof data, &len, &unavailable) == 0);
	CHECK_EQ("READ-18 SYS-4", e.posix_event_id, POSIX_TRACE_START);
	CHECK_EQ("READ-18", len, sizeof data);
	CHECK_EQ("READ-18", e.posix_truncation_status, POSIX_TRACE_TRUNCATED_READ);
	stream_end(trid);
}

/* A stopped stream can be read to its end. */
TEST(after_stop)
{
	trace_id_t trid = stream_running(NULL);
	struct stream_event e;

	id = stream_id("read");
	for (unsigned n = 0; n < 10; n++)
		number_send(id, 0, n);
	MUST(posix_trace_stop(trid) == 0);
	CHECK_EQ("READ-32", number_run(trid, id, 0, &e), 10);
	CHECK_EQ("READ-32", e.info.posix_event_id, POSIX_TRACE_STOP);
	CHECK_EQ("READ-22", stream_drain(trid), 0);
	stream_end(trid);
}

/* Without an event, only *unavailable is stored. */
TEST(try_empty)
{
	trace_id_t trid = stream_create(NULL);

	for (int running = 0; running < 2; running++) {
		struct posix_trace_event_info e;
		char data[4];
		size_t len = 99;
		int unavailable = 0;

		CHECK_EQ("READ-14 READ-25", posix_trace_trygetnext_event(trid, &e, data, sizeof data, &len,
		                                                         &unavailable), 0);
		CHECK_NE("READ-7 READ-14", unavailable, 0);
		MUST(posix_trace_start(trid) == 0);
		stream_drain(trid);
	}
	stream_end(trid);
}

/* -- Waiting until a time ----------------------------------------------- */

static int timed(trace_id_t trid, const struct timespec *abstime, int *unavailable)
{
	struct posix_trace_event_info e;
	char data[256];
	size_t len;

	*unavailable = 0;
	return posix_trace_timedgetnext_event(trid, &e, data, sizeof data, &len, unavailable, abstime);
}

TEST(timeout)
{
	trace_id_t trid = stream_running(NULL);
	static const long waits[] = { 0, 1, 10, 150 };

	for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
		struct timespec until = now_plus_ms(waits[i]), end;
		int unavailable;

		CHECK_EQ("READ-8 READ-9 READ-30", timed(trid, &until, &unavailable), ETIMEDOUT);
		end = now();
		CHECK_OP("READ-9 READ-10", nanoseconds(end), >=, nanoseconds(until)); /* not early */
		CHECK_OP("READ-9 READ-10", nanoseconds(end) - nanoseconds(until), <, 20000000000LL * test_slow());
		CHECK_NE("READ-7", unavailable, 0);
	}
	stream_end(trid);
}

/* A deadline in the past, however long ago, returns at once. */
TEST(timeout_in_the_past)
{
	trace_id_t trid = stream_running(NULL);
	struct timespec past[5] = { now(), { 0, 0 }, { 1, 999999999 }, { -1, 0 }, { LONG_MIN, 1 } };

	for (int i = 0; i < 5; i++) {
		int unavailable;

		CHECK_EQ("READ-9 READ-30", timed(trid, &past[i], &unavailable), ETIMEDOUT);
		CHECK_NE("READ-7", unavailable, 0);
	}
	stream_end(trid);
}

/* With an event available, the deadline does not matter. */
TEST(timeout_with_event)
{
	trace_id_t trid = stream_running(NULL);
	struct timespec times[] = { { 0, 0 }, { -1, 0 }, { 1, -1 }, { 1, 1000000000 }, { LONG_MAX, LONG_MAX } };
	int unavailable;

	id = stream_id("read");
	for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
		number_send(id, 0, 0);
		CHECK_EQ("READ-11 READ-12 READ-29", timed(trid, &times[i], &unavailable), 0);
		CHECK_EQ("READ-7 READ-11", unavailable, 0);
	}
	CHECK_EQ("READ-22", stream_drain(trid), 0);
	stream_end(trid);
}

TEST(invalid_time)
{
	trace_id_t trid = stream_create(NULL);
	struct timespec invalid[] = {
		{ 0, -1 },	      { 0, 1000000000 },	 { LONG_MAX, -1 },
		{ LONG_MAX, LONG_MAX }, { now().tv_sec + 1, LONG_MIN }, { now().tv_sec + 1, 2000000000 },
	};

	for (int running = 0; running < 2; running++) {
		for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++) {
			int unavailable;

			CHECK_EQ("READ-29 DOC-2", timed(trid, &invalid[i], &unavailable), EINVAL);
			CHECK_NE("READ-7", unavailable, 0);
		}
		MUST(posix_trace_start(trid) == 0);
		stream_drain(trid);
	}
	stream_end(trid);
}

/* -- Waking ------------------------------------------------------------- */

/* Returns the deadline of the timed waiter, which is later than the end of the test. */
static const struct timespec *never(int i)
{
	static struct timespec t;

	switch (i) {
	case 0:
		return NULL;
	case 1:
		t = now_plus_ms(1000000);
		return &t;
	default:
		t = (struct timespec){ LONG_MAX, 999999999 };
		return &t;
	}
}

TEST(woken_by_event)
{
	id = stream_id("read");
	for (int i = 0; i < 3; i++) {
		trace_id_t trid = stream_running(NULL);

		for (unsigned n = 0; n < 20; n++) {
			struct waiter w;

			waiter_start(&w, trid, never(i));
			CHECK_EQ("READ-5", atomic_load(&w.done), 0);
			number_send(id, 0, n);
			waiter_join(&w);
			CHECK_EQ("READ-1 READ-3 READ-5", w.result, 0);
			CHECK_EQ("READ-7", w.unavailable, 0);
			CHECK_EQ("READ-5", number_of(w.data, w.len).number, n);
		}
		stream_end(trid);
	}
}

/* Events caused by the controller also wake readers. */
TEST(woken_by_start)
{
	for (int i = 0; i < 2; i++) {
		trace_id_t trid = stream_create(NULL);
		trace_event_set_t set = set_of(stream_id("hidden"));
		struct waiter w;

		waiter_start(&w, trid, never(i));
		MUST(posix_trace_start(trid) == 0);
		waiter_join(&w);
		CHECK_EQ("READ-5 START-1", w.result, 0);
		CHECK_EQ("READ-5 START-1", w.info.posix_event_id, POSIX_TRACE_START);
		waiter_start(&w, trid, never(i));
		MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
		waiter_join(&w);
		CHECK_EQ("READ-5 FILT-6", w.info.posix_event_id, POSIX_TRACE_FILTER);
		waiter_start(&w, trid, never(i));
		MUST(posix_trace_stop(trid) == 0);
		waiter_join(&w);
		CHECK_EQ("READ-5 START-4", w.info.posix_event_id, POSIX_TRACE_STOP);
		stream_end(trid);
	}
}

/* Filtered events wake no reader. */
TEST(not_woken)
{
	trace_id_t trid = stream_running(NULL);
	trace_event_id_t hidden = stream_id("hidden");
	trace_event_set_t set = set_of(hidden);
	struct waiter w;

	id = stream_id("read");
	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
	stream_drain(trid);
	waiter_start(&w, trid, NULL);
	number_send(hidden, 0, 0);
	waiter_settle(&w);
	CHECK_EQ("READ-5 FILT-4", atomic_load(&w.done), 0);
	number_send(id, 0, 1);
	waiter_join(&w);
	CHECK_EQ("READ-5 FILT-4", w.info.posix_event_id, id);
	stream_end(trid);
}

/* A wait that times out consumes nothing, and the next wait works. */
TEST(event_about_timeout)
{
	trace_id_t trid = stream_running(NULL);
	unsigned read = 0;

	id = stream_id("read");
	for (unsigned n = 0; n < 200; n++) {
		struct timespec until = now_plus_ms(1);
		struct stream_event e;
		struct waiter w;

		memset(&w, 0, sizeof w);
		w.trid = trid;
		w.abstime = &until;
		MUST(pthread_create(&w.thread, NULL, waiter_run, &w) == 0);
		while (nanoseconds(now()) < nanoseconds(until) - 50000 + 500 * (n % 200))
			;
		number_send(id, 0, n);
		waiter_join(&w);
		if (w.result == 0) {
			CHECK_EQ("READ-22", number_of(w.data, w.len).number, n);
			read++;
		} else {
			CHECK_EQ("READ-30", w.result, ETIMEDOUT);
			stream_expect(trid, id, &e);
			CHECK_EQ("READ-8 READ-22", number_of(e.data, e.len).number, n);
		}
		CHECK_EQ("READ-22", stream_drain(trid), 0);
	}
	stream_end(trid);
	(void)read;
}

TEST(woken_by_shutdown)
{
	for (int running = 0; running < 2; running++) {
		trace_id_t trid = stream_create(NULL);
		struct waiter w[4];

		if (running) {
			MUST(posix_trace_start(trid) == 0);
			stream_drain(trid);
		}
		/* STOP is filtered out, so that the shutdown's event is not returned to a reader. */
		{
			trace_event_set_t set = set_of(POSIX_TRACE_STOP);

			MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
			stream_drain(trid);
		}
		for (int i = 0; i < 4; i++)
			waiter_start(&w[i], trid, never(i % 3));
		CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
		for (int i = 0; i < 4; i++) {
			waiter_join(&w[i]);
			CHECK_EQ("READ-31 SHUT-5", w[i].result, EINVAL);
			CHECK_NE("READ-7 READ-31", w[i].unavailable, 0);
		}
	}
}

/* -- Several readers ---------------------------------------------------- */

static trace_id_t shared;
static unsigned to_send;
static atomic_uint received;
static atomic_uchar *seen; /* of all readers: by writer and number */
static atomic_int ended;

static void *reader(void *arg)
{
	int function = (int)(size_t)arg;
	unsigned next[WRITERS] = { 0 };

	for (;;) {
		struct posix_trace_event_info e;
		unsigned char data[NUMBER_SIZE];
		size_t len;
		int unavailable = -1, error = get(function, shared, &e, data, sizeof data, &len, &unavailable);
		struct number n;

		if (error == EINVAL) {
			CHECK_EQ("READ-31 SHUT-5", atomic_load(&ended), 1);
			CHECK_NE("READ-7", unavailable, 0);
			return NULL;
		}
		if (error != 0) {
			TEST_FAIL("READ-25", "function %d returns %d", function, error);
			return NULL;
		}
		CHECK("READ-7", function == TRY || unavailable == 0);
		if (unavailable) {
			sched_yield();
			continue;
		}
		if (e.posix_event_id != id) {
			CHECK_EQ("SYS-5", e.posix_event_id, POSIX_TRACE_STOP); /* of the shutdown, if it is read at
			                                                        * all */
			continue;
		}
		n = number_of(data, len);
		MUST(n.writer < WRITERS && n.number < to_send);
		if (n.number < next[n.writer])
			TEST_FAIL("READ-20", "number %u after %u", n.number, next[n.writer]);
		next[n.writer] = n.number + 1;
		if (atomic_fetch_add(&seen[n.writer * to_send + n.number], 1) != 0)
			TEST_FAIL("READ-22", "writer %u, number %u was reported twice", n.writer, n.number);
		atomic_fetch_add(&received, 1);
	}
}

static void *writer(void *arg)
{
	unsigned me = (unsigned)(size_t)arg;

	for (unsigned n = 0; n < to_send; n++) {
		number_send(id, me, n);
		if (n % 100 == 0)
			sleep_ms(1); /* so that the readers have to wait repeatedly */
	}
	return NULL;
}

TEST(several_readers)
{
	pthread_t r[READERS], w[WRITERS];
	trace_attr_t attr;

	to_send = 10000 / (unsigned)test_slow();
	seen = calloc((size_t)WRITERS * to_send, 1);
	MUST(seen != NULL);
	id = stream_id("read");
	stream_attr(&attr, POSIX_TRACE_LOOP, (size_t)WRITERS * to_send * 256, NUMBER_SIZE);
	shared = stream_running(&attr);
	for (size_t i = 0; i < READERS; i++)
		MUST(pthread_create(&r[i], NULL, reader, (void *)(i % FUNCTIONS)) == 0);
	for (size_t i = 0; i < WRITERS; i++)
		MUST(pthread_create(&w[i], NULL, writer, (void *)i) == 0);
	for (size_t i = 0; i < WRITERS; i++)
		MUST(pthread_join(w[i], NULL) == 0);
	for (int i = 0; i < 20000 && atomic_load(&received) < WRITERS * to_send; i++)
		sleep_ms(1);
	CHECK_EQ("READ-22 MODEL-8", atomic_load(&received), WRITERS * to_send);
	CHECK_LOST("MODEL-8", lost_events(shared), ==, 0);
	atomic_store(&ended, 1);
	CHECK_EQ("SHUT-5", posix_trace_shutdown(shared), 0);
	for (size_t i = 0; i < READERS; i++)
		MUST(pthread_join(r[i], NULL) == 0);
	for (unsigned i = 0; i < WRITERS * to_send; i++) {
		if (seen[i] != 1) {
			TEST_FAIL("READ-22", "writer %u, number %u was reported %u times", i / to_send, i % to_send,
			          seen[i]);
			break;
		}
	}
}

/* With several waiting readers, one event wakes one of them. */
TEST(one_event_one_reader)
{
	trace_id_t trid = stream_running(NULL);
	struct waiter w[READERS];
	unsigned numbers = 0;

	id = stream_id("read");
	for (int i = 0; i < READERS; i++)
		waiter_start(&w[i], trid, never(i % 2));
	for (unsigned n = 0; n < READERS; n++) {
		int done = 0;

		number_send(id, 0, n);
		for (int i = 0; i < 10000 && done < (int)n + 1; i++) {
			sleep_ms(1);
			done = 0;
			for (int j = 0; j < READERS; j++)
				done += atomic_load(&w[j].done);
		}
		for (int j = 0; j < READERS; j++)
			waiter_settle(&w[j]);
		done = 0;
		for (int j = 0; j < READERS; j++)
			done += atomic_load(&w[j].done);
		CHECK_EQ("READ-5 READ-22", done, n + 1);
	}
	for (int i = 0; i < READERS; i++) {
		waiter_join(&w[i]);
		CHECK_EQ("READ-22", w[i].result, 0);
		numbers |= 1u << number_of(w[i].data, w[i].len).number;
	}
	CHECK_EQ("READ-22", numbers, (1u << READERS) - 1);
	stream_end(trid);
}

TEST_MAIN(TEST_ENTRY(everything_reported), TEST_ENTRY(order), TEST_ENTRY(truncation), TEST_ENTRY(truncation_of_start),
          TEST_ENTRY(after_stop), TEST_ENTRY(try_empty), TEST_ENTRY(timeout), TEST_ENTRY(timeout_in_the_past),
          TEST_ENTRY(timeout_with_event), TEST_ENTRY(invalid_time), TEST_ENTRY(woken_by_event),
          TEST_ENTRY(woken_by_start), TEST_ENTRY(not_woken), TEST_ENTRY(event_about_timeout),
          TEST_ENTRY(woken_by_shutdown), TEST_ENTRY(several_readers), TEST_ENTRY(one_event_one_reader))
