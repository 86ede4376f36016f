/*
 * status.c - posix_trace_get_status(): one consistent picture, overruns reset by reading, and losses counted exactly
 *
 * That each state of a stream is shown is in start_stop.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdatomic.h>

#include "numbers.h"

#define WRITERS 3

static trace_event_id_t id;

/* Only the overrun status is reset, and only by reading the status. */
TEST(reset_by_reading)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL };

	id = stream_id("status");
	for (int i = 0; i < 2; i++) {
		trace_id_t trid = small_stream(policies[i]);
		struct posix_trace_status_info first, second;
		struct stream_event e;
		trace_attr_t attr;

		MUST(posix_trace_start(trid) == 0);
		fill(trid, id, 0);
		for (unsigned n = 0; n < 1000; n++)
			number_send(id, 0, n);
		MUST(posix_trace_get_attr(trid, &attr) == 0);
		stream_next(trid, &e);
		first = stream_status(trid);
		second = stream_status(trid);
		CHECK_EQ("STAT-15", first.posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
		CHECK_EQ("STAT-3", second.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
		CHECK_EQ("STAT-3", POSIX_TRACE_NO_OVERRUN, 0);
		CHECK_EQ("STAT-3", second.posix_stream_status, first.posix_stream_status);
		CHECK_EQ("STAT-3", second.posix_stream_full_status, first.posix_stream_full_status);
		CHECK_LOST("STAT-3", ours_lost(&second), ==, ours_lost(&first));
		CHECK_LOST("STAT-15", ours_lost(&first), >, 0);
		CHECK_EQ("STAT-20", first.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
		CHECK_EQ("STAT-20", first.posix_log_full_status, POSIX_TRACE_NOT_FULL);
		CHECK_EQ("STAT-17", first.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
		CHECK_EQ("STAT-17", first.posix_stream_flush_error, 0);
		stream_end(trid);
	}
}

/* The status shows an overrun exactly if an event was lost since the last call. */
TEST(overrun_for_each_loss)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL };

	NEEDS_LOST_EVENTS();
	id = stream_id("status");
	for (int i = 0; i < 2; i++) {
		trace_id_t trid = small_stream(policies[i]);
		unsigned long long lost = 0;
		struct stream_event e;

		MUST(posix_trace_start(trid) == 0);
		for (unsigned n = 0; n < 3000; n++) {
			struct posix_trace_status_info s;

			number_send(id, 0, n);
			if (n % 2 == 0)
				stream_try(trid, &e);
			s = stream_status(trid);
			if ((s.posix_stream_overrun_status == POSIX_TRACE_OVERRUN) != (ours_lost(&s) > lost)) {
				TEST_FAIL("STAT-15 STAT-3", "event %u: overrun %d, lost before %llu, now %llu", n,
					  s.posix_stream_overrun_status, lost, (unsigned long long)ours_lost(&s));
				break;
			}
			lost = ours_lost(&s);
		}
		CHECK_OP("STAT-15", lost, >, 0);
		stream_end(trid);
	}
}

/* LOOP without a reader: each event is either in the stream or counted as lost. */
TEST(lost_loop)
{
	static const unsigned counts[] = { 1, 10, 100, 1000, 1003, 1017, 5000 };

	id = stream_id("status");
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
		trace_id_t trid = small_stream(POSIX_TRACE_LOOP);
		unsigned read = 0, next = 0, first_read = 0, any = 0, pairs = 0;
		unsigned long long lost;
		struct stream_event e;

		MUST(posix_trace_start(trid) == 0);
		for (unsigned n = 0; n < counts[i]; n++)
			number_send(id, 0, n);
		MUST(posix_trace_stop(trid) == 0);
		lost = lost_events(trid);
		while (stream_try(trid, &e)) {
			if (e.info.posix_event_id == POSIX_TRACE_OVERFLOW ||
			    e.info.posix_event_id == POSIX_TRACE_RESUME) {
				pairs++;
				continue;
			}
			read++;
			if (e.info.posix_event_id == id) {
				struct number n = number_of(e.data, e.len);

				if (any)
					CHECK_EQ("READ-20 START-11", n.number, next);
				else
					first_read = n.number;
				any = 1;
				next = n.number + 1;
			}
		}
		CHECK_EQ("START-11", next, counts[i]);
		CHECK_LOST("MODEL-8 STAT-15", read + lost, ==, counts[i] + 2); /* START and STOP */
		CHECK_EQ("SYS-7 SYS-9 SYS-18", pairs, first_read > 0 ? 2 : 0);
		CHECK_LOST("MODEL-8", lost_events(trid), ==, lost);
		stream_end(trid);
	}
}

/* UNTIL_FULL: the first events are in the stream, the others are counted. */
TEST(lost_until_full)
{
	trace_id_t trid = small_stream(POSIX_TRACE_UNTIL_FULL);
	unsigned first = 0, read = 0, sent = 0;
	struct stream_event e;

	NEEDS_LOST_EVENTS();
	id = stream_id("status");
	MUST(posix_trace_start(trid) == 0);
	for (unsigned round = 0; round < 20; round++) {
		unsigned long long lost = lost_events(trid);
		unsigned n, end;

		first = sent;
		for (n = 0; n < 1000 + 7 * round; n++)
			number_send(id, 0, sent++);
		lost = lost_events(trid) - lost;
		if (round > 0)
			stream_expect(trid, POSIX_TRACE_STOP, &e);
		stream_expect(trid, POSIX_TRACE_START, &e);
		/* The rest is read in the next round. */
		for (end = sent - (unsigned)lost; first < end; first++) {
			stream_expect(trid, id, &e);
			CHECK_EQ("READ-20 START-12", number_of(e.data, e.len).number, first);
			read++;
		}
		CHECK_OP("STAT-15", lost, >, 0);
		CHECK_STR("START-15", state(trid), "RN");
	}
	CHECK_LOST("MODEL-8 STAT-15", read + lost_events(trid), ==, sent);
	stream_expect(trid, POSIX_TRACE_STOP, &e);
	stream_expect(trid, POSIX_TRACE_START, &e);
	CHECK_EQ("START-17", stream_drain(trid), 0);
	stream_end(trid);
}

/* Events that are filtered out or come after a stop are not lost. */
TEST(not_lost)
{
	trace_id_t trid = small_stream(POSIX_TRACE_LOOP);
	trace_event_id_t hidden = stream_id("hidden");
	trace_event_set_t set = set_of(hidden);

	MUST(posix_trace_start(trid) == 0);
	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
	for (unsigned n = 0; n < 2000; n++)
		number_send(hidden, 0, n);
	CHECK_STR("FILT-4 STAT-15", state(trid), "RN");
	MUST(posix_trace_stop(trid) == 0);
	id = stream_id("status");
	for (unsigned n = 0; n < 2000; n++)
		number_send(id, 0, n);
	CHECK_STR("EVT-4 STAT-15", state(trid), "SN");
	CHECK_LOST("EVT-4 FILT-4", lost_events(trid), ==, 0);
	stream_end(trid);
}

/* -- With threads ------------------------------------------------------- */

static atomic_int ready, writing;
static unsigned to_send;

static void *writer(void *arg)
{
	unsigned me = (unsigned)(size_t)arg;

	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < WRITERS)
		sched_yield();
	for (unsigned n = 0; n < to_send; n++) {
		number_send(id, me, n);
		if (n % 64 == 0)
			sched_yield();
	}
	atomic_fetch_sub(&writing, 1);
	return NULL;
}

static void start_writers(pthread_t *thread, unsigned n)
{
	to_send = n;
	atomic_store(&ready, 0);
	atomic_store(&writing, WRITERS);
	for (size_t i = 0; i < WRITERS; i++)
		MUST(pthread_create(&thread[i], NULL, writer, (void *)i) == 0);
}

static void join_writers(pthread_t *thread)
{
	for (size_t i = 0; i < WRITERS; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
}

struct seen {
	unsigned next[WRITERS]; /* increasing numbers, with gaps */
	unsigned long long user, starts, stops, pairs;
	long long time;
};

static int see(trace_id_t trid, struct seen *seen)
{
	struct stream_event e;

	if (!stream_try(trid, &e))
		return 0;
	if (nanoseconds(e.info.posix_timestamp) < seen->time)
		TEST_FAIL("READ-21", "time goes back by %lld ns", seen->time - nanoseconds(e.info.posix_timestamp));
	seen->time = nanoseconds(e.info.posix_timestamp);
	if (e.info.posix_event_id == id) {
		struct number n = number_of(e.data, e.len);

		MUST(n.writer < WRITERS);
		if (n.number < seen->next[n.writer])
			TEST_FAIL("READ-20 READ-22", "writer %u: number %u after %u", n.writer, n.number,
			          seen->next[n.writer] - 1);
		seen->next[n.writer] = n.number + 1;
		seen->user++;
	} else if (e.info.posix_event_id == POSIX_TRACE_START) {
		seen->starts++;
	} else if (e.info.posix_event_id == POSIX_TRACE_STOP) {
		seen->stops++;
	} else {
		seen->pairs++;
	}
	return 1;
}

/* Several writers and a reader: every event that was not read is counted. */
static void lost_with_threads(int policy)
{
	trace_id_t trid;
	pthread_t thread[WRITERS];
	struct seen seen = { .user = 0 };
	struct posix_trace_status_info s;
	unsigned long long lost = 0;
	int overrun = 0;

	id = stream_id("status");
	trid = small_stream(policy);
	MUST(posix_trace_start(trid) == 0);
	start_writers(thread, 20000 / (unsigned)test_slow());
	while (atomic_load(&writing) > 0) {
		for (int i = 0; i < 100; i++)
			see(trid, &seen);
		s = stream_status(trid);
		overrun |= s.posix_stream_overrun_status == POSIX_TRACE_OVERRUN;
		if (policy == POSIX_TRACE_LOOP)
			CHECK_EQ("STAT-2 STAT-12 START-11", s.posix_stream_status, POSIX_TRACE_RUNNING);
		else
			CHECK_EQ("STAT-2 STAT-12 START-12", s.posix_stream_status == POSIX_TRACE_SUSPENDED,
				 s.posix_stream_full_status == POSIX_TRACE_FULL);
		CHECK_LOST("STAT-1", ours_lost(&s), >=, lost);
		lost = ours_lost(&s);
		sleep_ms(1);
	}
	join_writers(thread);
	s = stream_status(trid);
	overrun |= s.posix_stream_overrun_status == POSIX_TRACE_OVERRUN;
	while (see(trid, &seen))
		;
	lost = lost_events(trid);
	CHECK_LOST("STAT-15 STAT-3", overrun, ==, lost > 0);
	if (policy == POSIX_TRACE_LOOP) {
		CHECK_LOST("MODEL-8 STAT-15 READ-22", seen.user + seen.starts + lost, ==,
		           (unsigned long long)WRITERS * to_send + 1);
		CHECK_EQ("SYS-5", seen.stops, 0);
		CHECK_EQ("SYS-7 SYS-9", seen.pairs % 2, 0);
	} else {
		CHECK_LOST("MODEL-8 STAT-15 READ-22", seen.user + lost, ==, (unsigned long long)WRITERS * to_send);
		CHECK_EQ("STAT-15 STAT-3", overrun, seen.user < (unsigned long long)WRITERS * to_send);
		CHECK_EQ("START-13 START-17", seen.starts, seen.stops + 1);
		CHECK_EQ("SYS-7", seen.pairs, 0);
	}
	CHECK_STR("STAT-11", state(trid), "RN");
	stream_end(trid);
}

TEST(threads_loop)
{
	lost_with_threads(POSIX_TRACE_LOOP);
}

TEST(threads_until_full)
{
	lost_with_threads(POSIX_TRACE_UNTIL_FULL);
}

/*
 * While one thread starts and stops the stream, the other never sees a combination of statuses that the policy
 * excludes.
 */
static atomic_int finished;
static trace_id_t shared;

static void *start_and_stop(void *arg)
{
	for (int i = 0; i < 3000 / test_slow(); i++) {
		CHECK_EQ("START-9 THR-1", posix_trace_start(shared), 0);
		for (unsigned n = 0; n < 20; n++)
			number_send(id, 0, n);
		CHECK_EQ("START-9 THR-1", posix_trace_stop(shared), 0);
		if (i % 3 == 0)
			CHECK_EQ("CLEAR-13 THR-1", posix_trace_clear(shared), 0);
	}
	atomic_store(&finished, 1);
	return arg;
}

static void consistent(int policy)
{
	pthread_t thread;
	struct stream_event e;

	id = stream_id("status");
	shared = small_stream(policy);
	MUST(pthread_create(&thread, NULL, start_and_stop, NULL) == 0);
	while (!atomic_load(&finished)) {
		const char *s = state(shared);

		if (policy == POSIX_TRACE_UNTIL_FULL && strncmp(s, "RF", 2) == 0)
			TEST_FAIL("STAT-2 STAT-12", "running and full");
		stream_try(shared, &e);
	}
	MUST(pthread_join(thread, NULL) == 0);
	stream_end(shared);
}

TEST(consistent_loop)
{
	consistent(POSIX_TRACE_LOOP);
}

TEST(consistent_until_full)
{
	consistent(POSIX_TRACE_UNTIL_FULL);
}

TEST(null_result)
{
	trace_id_t trid = small_stream(POSIX_TRACE_LOOP);

	CHECK_EQ("HDR-32", posix_trace_get_status(trid, NULL), EINVAL);
	MUST(posix_trace_shutdown(trid) == 0);
}

TEST_MAIN(TEST_ENTRY(reset_by_reading), TEST_ENTRY(overrun_for_each_loss), TEST_ENTRY(lost_loop),
          TEST_ENTRY(lost_until_full), TEST_ENTRY(not_lost), TEST_ENTRY(threads_loop), TEST_ENTRY(threads_until_full),
          TEST_ENTRY(consistent_loop), TEST_ENTRY(consistent_until_full), TEST_ENTRY(null_result))
