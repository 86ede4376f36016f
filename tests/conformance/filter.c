/*
 * filter.c - the filter of a stream: what is in it is not recorded
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <sched.h>
#include <sys/time.h>

#include "stream.h"

/* All identifiers of event types are below this number here. */

static trace_event_id_t a, b, c;

static void open_names(void)
{
	a = stream_id("filter.a");
	b = stream_id("filter.b");
	c = stream_id("filter.c");
}

/* Returns a set of the types, up to NO_TYPE. */
static trace_event_set_t set_of(trace_event_id_t first, trace_event_id_t second)
{
	trace_event_set_t set;

	MUST(posix_trace_eventset_empty(&set) == 0);
	if (first != NO_TYPE)
		MUST(posix_trace_eventset_add(first, &set) == 0);
	if (second != NO_TYPE)
		MUST(posix_trace_eventset_add(second, &set) == 0);
	return set;
}

static trace_event_set_t get(trace_id_t trid)
{
	trace_event_set_t set;

	memset(&set, 0xa5, sizeof set);
	MUST(posix_trace_get_filter(trid, &set) == 0);
	return set;
}

static int filter_is(trace_id_t trid, trace_event_id_t first, trace_event_id_t second)
{
	trace_event_set_t now = get(trid), expected = set_of(first, second);

	return set_equal(&now, &expected);
}

static void set_filter(trace_id_t trid, trace_event_id_t first, trace_event_id_t second)
{
	trace_event_set_t set = set_of(first, second);

	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
}

/* Returns which of a, b, c are recorded in this stream: bits 1, 2, 4. Reads all events of the stream. */
static int recorded(trace_id_t trid)
{
	struct stream_event e;
	int bits = 0;

	stream_drain(trid);
	posix_trace_event(a, "a", 1);
	posix_trace_event(b, "b", 1);
	posix_trace_event(c, "c", 1);
	while (stream_try(trid, &e))
		bits |= e.info.posix_event_id == a ? 1 : e.info.posix_event_id == b ? 2 : e.info.posix_event_id == c ? 4
			: 8;
	return bits;
}

TEST(empty_at_creation)
{
	trace_id_t trid;

	open_names();
	trid = stream_create(NULL);
	CHECK("FILT-1 FILT-5", filter_is(trid, NO_TYPE, NO_TYPE));
	MUST(posix_trace_start(trid) == 0);
	CHECK_EQ("FILT-5", recorded(trid), 7);
	stream_end(trid);
}

/* The members of the filter are the types that are filtered out. */
TEST(members_are_ignored)
{
	trace_event_set_t set;
	trace_id_t trid;

	open_names();
	trid = stream_running(NULL);
	set = set_of(a, c);
	CHECK_EQ("FILT-2 FILT-14", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
	CHECK_EQ("FILT-2 FILT-4", recorded(trid), 2);
	CHECK("FILT-1", filter_is(trid, a, c));
	/* Filtered events do not count as lost. */
	CHECK_EQ("FILT-4", stream_status(trid).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	set_filter(trid, NO_TYPE, NO_TYPE);
	CHECK_EQ("FILT-2 FILT-4", recorded(trid), 7);
	MUST(posix_trace_eventset_fill(&set, POSIX_TRACE_ALL_EVENTS) == 0);
	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
	CHECK_EQ("FILT-4", recorded(trid), 0);
	/* "All" includes types that are opened later. */
	stream_drain(trid);
	posix_trace_event(stream_id("filter.later"), NULL, 0);
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
	CHECK_EQ("FILT-4", stream_drain(trid), 0);
	stream_end(trid);
}

TEST(operations)
{
	trace_event_set_t set;
	trace_id_t trid;

	open_names();
	trid = stream_running(NULL);
	set = set_of(a, b);
	CHECK_EQ("FILT-8 FILT-14", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
	CHECK("FILT-8", filter_is(trid, a, b));
	CHECK_EQ("FILT-8", recorded(trid), 4);

	set = set_of(b, NO_TYPE);
	CHECK_EQ("FILT-8", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
	CHECK("FILT-8", filter_is(trid, b, NO_TYPE)); /* a is no longer a member */
	CHECK_EQ("FILT-8", recorded(trid), 5);

	set = set_of(b, c);
	CHECK_EQ("FILT-9 FILT-14", posix_trace_set_filter(trid, &set, POSIX_TRACE_ADD_EVENTSET), 0);
	CHECK("FILT-9", filter_is(trid, b, c));
	CHECK_EQ("FILT-9", recorded(trid), 1);
	set = set_of(NO_TYPE, NO_TYPE);
	CHECK_EQ("FILT-9", posix_trace_set_filter(trid, &set, POSIX_TRACE_ADD_EVENTSET), 0);
	CHECK("FILT-9", filter_is(trid, b, c));

	set = set_of(a, b); /* a is not in the filter, and need not be */
	CHECK_EQ("FILT-10 FILT-14", posix_trace_set_filter(trid, &set, POSIX_TRACE_SUB_EVENTSET), 0);
	CHECK("FILT-10", filter_is(trid, c, NO_TYPE));
	CHECK_EQ("FILT-10", recorded(trid), 3);
	MUST(posix_trace_eventset_fill(&set, POSIX_TRACE_ALL_EVENTS) == 0);
	CHECK_EQ("FILT-10", posix_trace_set_filter(trid, &set, POSIX_TRACE_SUB_EVENTSET), 0);
	CHECK("FILT-10", filter_is(trid, NO_TYPE, NO_TYPE));
	CHECK_EQ("FILT-10", recorded(trid), 7);
	stream_end(trid);
}

/* Before the start, while running, while stopped, running again. */
TEST(at_any_time)
{
	trace_id_t trid;

	open_names();
	trid = stream_create(NULL);
	set_filter(trid, a, NO_TYPE);
	CHECK("FILT-3", filter_is(trid, a, NO_TYPE));
	MUST(posix_trace_start(trid) == 0);
	CHECK_EQ("FILT-3", recorded(trid), 6);
	set_filter(trid, b, NO_TYPE);
	CHECK_EQ("FILT-3", recorded(trid), 5);
	MUST(posix_trace_stop(trid) == 0);
	CHECK_EQ("FILT-3", recorded(trid), 0);
	set_filter(trid, c, NO_TYPE);
	CHECK("FILT-3", filter_is(trid, c, NO_TYPE));
	MUST(posix_trace_start(trid) == 0);
	CHECK_EQ("FILT-3", recorded(trid), 3);
	/* Stop and start do not change the filter. */
	MUST(posix_trace_stop(trid) == 0);
	MUST(posix_trace_start(trid) == 0);
	CHECK("FILT-3", filter_is(trid, c, NO_TYPE));
	stream_end(trid);
}

static void check_filter_event(trace_id_t trid, trace_event_set_t old, trace_event_set_t new, int line)
{
	trace_event_set_t data[2];
	struct stream_event e;

	stream_expect(trid, POSIX_TRACE_FILTER, &e);
	if (e.len != sizeof data) {
		TEST_FAIL("FILT-6", "line %d: %zu bytes of data", line, e.len);
		return;
	}
	memcpy(data, e.data, sizeof data);
	if (!set_equal(&data[0], &old))
		TEST_FAIL("FILT-6", "line %d: the old filter", line);
	if (!set_equal(&data[1], &new))
		TEST_FAIL("FILT-6", "line %d: the new filter", line);
	CHECK_EQ("FILT-6", e.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
}

TEST(filter_event)
{
	struct stream_event e;
	trace_event_set_t set;
	trace_id_t trid;

	open_names();
	trid = stream_running(NULL);
	set = set_of(a, b);
	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
	check_filter_event(trid, set_of(NO_TYPE, NO_TYPE), set_of(a, b), __LINE__);
	set = set_of(c, NO_TYPE);
	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
	check_filter_event(trid, set_of(a, b), set_of(c, NO_TYPE), __LINE__);
	set = set_of(a, NO_TYPE);
	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_ADD_EVENTSET) == 0);
	check_filter_event(trid, set_of(c, NO_TYPE), set_of(a, c), __LINE__);
	set = set_of(c, b);
	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SUB_EVENTSET) == 0);
	check_filter_event(trid, set_of(a, c), set_of(a, NO_TYPE), __LINE__);
	/* A call that changes nothing is recorded too. */
	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SUB_EVENTSET) == 0);
	check_filter_event(trid, set_of(a, NO_TYPE), set_of(a, NO_TYPE), __LINE__);
	CHECK("FILT-6", !stream_try(trid, &e));
	stream_end(trid);
}

/* FILTER is recorded between the events before and after the change. */
TEST(filter_event_in_order)
{
	struct stream_event e;
	trace_id_t trid;

	open_names();
	trid = stream_running(NULL);
	posix_trace_event(a, NULL, 0);
	set_filter(trid, a, NO_TYPE);
	posix_trace_event(a, NULL, 0);
	posix_trace_event(b, NULL, 0);
	stream_expect(trid, a, &e);
	check_filter_event(trid, set_of(NO_TYPE, NO_TYPE), set_of(a, NO_TYPE), __LINE__);
	stream_expect(trid, b, &e);
	CHECK("FILT-4 FILT-6", !stream_try(trid, &e));
	stream_end(trid);
}

TEST(suspended_records_nothing)
{
	struct stream_event e;
	trace_id_t trid;

	open_names();
	trid = stream_create(NULL);
	set_filter(trid, a, NO_TYPE);
	CHECK("FILT-7", !stream_try(trid, &e));
	MUST(posix_trace_start(trid) == 0);
	MUST(posix_trace_stop(trid) == 0);
	stream_drain(trid);
	set_filter(trid, b, NO_TYPE);
	CHECK("FILT-7", !stream_try(trid, &e));
	stream_end(trid);
}

/* System types are filtered too. Whether FILTER is recorded depends on the filter before the call. */
TEST(system_types)
{
	struct stream_event e;
	trace_id_t trid;

	open_names();
	trid = stream_create(NULL);
	set_filter(trid, POSIX_TRACE_START, POSIX_TRACE_STOP);
	MUST(posix_trace_start(trid) == 0);
	posix_trace_event(a, NULL, 0);
	MUST(posix_trace_stop(trid) == 0);
	stream_expect(trid, a, &e);
	CHECK("FILT-15", !stream_try(trid, &e));

	MUST(posix_trace_start(trid) == 0);
	set_filter(trid, POSIX_TRACE_FILTER, NO_TYPE);
	check_filter_event(trid, set_of(POSIX_TRACE_START, POSIX_TRACE_STOP), set_of(POSIX_TRACE_FILTER, NO_TYPE),
	                   __LINE__);
	set_filter(trid, POSIX_TRACE_FILTER, a);
	CHECK("FILT-15", !stream_try(trid, &e));
	set_filter(trid, NO_TYPE, NO_TYPE);
	CHECK("FILT-15", !stream_try(trid, &e));
	set_filter(trid, NO_TYPE, NO_TYPE);
	check_filter_event(trid, set_of(NO_TYPE, NO_TYPE), set_of(NO_TYPE, NO_TYPE), __LINE__);
	MUST(posix_trace_stop(trid) == 0);
	stream_expect(trid, POSIX_TRACE_STOP, &e);
	stream_end(trid);
}

/* START contains the current filter. */
TEST(start_shows_the_filter)
{
	trace_event_set_t set, expected;
	struct stream_event e;
	trace_id_t trid;

	open_names();
	trid = stream_create(NULL);
	set_filter(trid, a, c);
	MUST(posix_trace_start(trid) == 0);
	stream_expect(trid, POSIX_TRACE_START, &e);
	MUST(e.len == sizeof set);
	memcpy(&set, e.data, sizeof set);
	expected = set_of(a, c);
	CHECK("FILT-2 START-19", set_equal(&set, &expected));
	stream_end(trid);
}

TEST(several_streams)
{
	trace_id_t trid[4];

	open_names();
	for (int i = 0; i < 4; i++)
		trid[i] = stream_running(NULL);
	set_filter(trid[0], a, NO_TYPE);
	set_filter(trid[1], b, NO_TYPE);
	set_filter(trid[2], a, c);
	for (int i = 0; i < 4; i++)
		stream_drain(trid[i]);
	posix_trace_event(a, NULL, 0);
	posix_trace_event(b, NULL, 0);
	posix_trace_event(c, NULL, 0);
	{
		static const int expected[4][3] = { { 0, 1, 1 }, { 1, 0, 1 }, { 0, 1, 0 }, { 1, 1, 1 } };
		const trace_event_id_t ids[3] = { a, b, c };

		for (int i = 0; i < 4; i++) {
			struct stream_event e;

			for (int j = 0; j < 3; j++)
				if (expected[i][j])
					stream_expect(trid[i], ids[j], &e);
			CHECK("FILT-2 FILT-4", !stream_try(trid[i], &e));
		}
	}
	CHECK("FILT-1", filter_is(trid[0], a, NO_TYPE));
	CHECK("FILT-1", filter_is(trid[1], b, NO_TYPE));
	CHECK("FILT-1", filter_is(trid[2], a, c));
	CHECK("FILT-1", filter_is(trid[3], NO_TYPE, NO_TYPE));
	/* When one stream ends, the others keep their filters. */
	stream_end(trid[0]);
	CHECK_EQ("FILT-4", recorded(trid[1]), 5);
	CHECK_EQ("FILT-4", recorded(trid[2]), 2);
	CHECK_EQ("FILT-4", recorded(trid[3]), 7);
	for (int i = 1; i < 4; i++)
		stream_end(trid[i]);
}

/*
 * Another thread uses a changed filter as soon as the call has returned, whether types are added or removed, and
 * notices streams that are created and shut down.
 */
static _Atomic int turn;

static void *trace_in_turns(void *arg)
{
	(void)arg;
	for (int done = 0;;) {
		int now = turn;

		if (now < 0)
			return NULL;
		if (now == done || now % 2 == 0) {
			sched_yield();
			continue;
		}
		posix_trace_event(a, NULL, 0);
		posix_trace_event(b, NULL, 0);
		done = now;
		turn = now + 1;
	}
}

/* Returns which of a, b the other thread records in this stream: bits 1, 2. */
static int recorded_there(trace_id_t trid)
{
	struct stream_event e;
	int bits = 0, now = turn;

	stream_drain(trid);
	turn = now + 1;
	while (turn != now + 2)
		sched_yield();
	while (stream_try(trid, &e))
		bits |= e.info.posix_event_id == a ? 1 : e.info.posix_event_id == b ? 2 : 0;
	return bits;
}

TEST(other_thread)
{
	pthread_t thread;
	trace_id_t trid, other;

	open_names();
	trid = stream_running(NULL);
	MUST(pthread_create(&thread, NULL, trace_in_turns, NULL) == 0);
	for (int i = 0; i < 50; i++) {
		CHECK_EQ("FILT-2", recorded_there(trid), 3);
		set_filter(trid, a, NO_TYPE);
		CHECK_EQ("FILT-2", recorded_there(trid), 2);
		CHECK_EQ("FILT-2", recorded_there(trid), 2);
		set_filter(trid, b, NO_TYPE);
		CHECK_EQ("FILT-2", recorded_there(trid), 1);
		other = stream_running(NULL);
		CHECK_EQ("FILT-4", recorded_there(other), 3);
		CHECK_EQ("FILT-4", recorded_there(trid), 1);
		set_filter(other, b, a);
		CHECK_EQ("FILT-4", recorded_there(other), 0);
		CHECK_EQ("FILT-4", recorded_there(trid), 1);
		MUST(posix_trace_clear(other) == 0);
		CHECK_EQ("CLEAR-1 FILT-4", recorded_there(other), 3);
		stream_end(other);
		CHECK_EQ("FILT-4", recorded_there(trid), 1);
		MUST(posix_trace_stop(trid) == 0);
		set_filter(trid, NO_TYPE, NO_TYPE);
		MUST(posix_trace_start(trid) == 0);
	}
	turn = -1;
	MUST(pthread_join(thread, NULL) == 0);
	stream_end(trid);
}

TEST(invalid_arguments)
{
	trace_event_set_t set, bad, untouched;
	trace_id_t trid, gone;
	struct stream_event e;

	open_names();
	gone = stream_create(NULL);
	stream_end(gone);
	trid = stream_running(NULL);
	set_filter(trid, a, NO_TYPE);
	stream_drain(trid);
	set = set_of(b, NO_TYPE);
	memset(&untouched, 0x5a, sizeof untouched);
	bad = untouched;

	CHECK_EQ("FILT-12", posix_trace_get_filter(gone, &bad), EINVAL);
	CHECK_EQ("FILT-12", posix_trace_get_filter(0, &bad), EINVAL);
	CHECK_EQ("FILT-12", posix_trace_get_filter((trace_id_t)-1, &bad), EINVAL);
	CHECK_EQ("FILT-14", memcmp(&bad, &untouched, sizeof bad), 0);
	CHECK_REFUSED("FILT-12", posix_trace_get_filter(trid, NULL));

	CHECK_EQ("FILT-12", posix_trace_set_filter(gone, &set, POSIX_TRACE_SET_EVENTSET), EINVAL);
	CHECK_EQ("FILT-12", posix_trace_set_filter(0, &set, POSIX_TRACE_SET_EVENTSET), EINVAL);
	CHECK_EQ("FILT-12", posix_trace_set_filter((trace_id_t)-1, &set, POSIX_TRACE_SET_EVENTSET), EINVAL);
	CHECK_REFUSED("FILT-12", posix_trace_set_filter(trid, NULL, POSIX_TRACE_SET_EVENTSET));
	CHECK_EQ("FILT-12", posix_trace_set_filter(trid, &bad, POSIX_TRACE_SET_EVENTSET), EINVAL);
	memset(&bad, 0, sizeof bad);
	CHECK_EQ("FILT-12", posix_trace_set_filter(trid, &bad, POSIX_TRACE_ADD_EVENTSET), EINVAL);
	for (int how = -3; how < 50; how++)
		if (how != POSIX_TRACE_SET_EVENTSET && how != POSIX_TRACE_ADD_EVENTSET &&
		    how != POSIX_TRACE_SUB_EVENTSET)
			CHECK_EQ("FILT-12", posix_trace_set_filter(trid, &set, how), EINVAL);
	/* Nothing has changed. */
	CHECK("FILT-12", filter_is(trid, a, NO_TYPE));
	CHECK("FILT-12", !stream_try(trid, &e));
	CHECK_EQ("FILT-12", recorded(trid), 6);
	stream_end(trid);
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	(void)number;
	signals++;
}

/* A signal never makes the call fail: either the filter is changed, or an argument was wrong. */
TEST(signals_do_not_interrupt)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct itimerval timer = { { 0, 100 }, { 0, 100 } }, off = { { 0, 0 }, { 0, 0 } };
	trace_event_set_t set, now;
	trace_id_t trid;

	open_names();
	trid = stream_running(NULL);
	MUST(sigaction(SIGALRM, &action, NULL) == 0); /* no SA_RESTART; it also replaces the time limit of the test */
	MUST(setitimer(ITIMER_REAL, &timer, NULL) == 0);
	for (int i = 0; signals < 300 && i < 10000000; i++) {
		set = set_of(i & 1 ? a : b, NO_TYPE);
		CHECK_EQ("FILT-11 FILT-13", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
		CHECK_EQ("FILT-13", posix_trace_get_filter(trid, &now), 0);
		if (!set_equal(&now, &set)) {
			TEST_FAIL("FILT-11", "not the filter that was set");
			break;
		}
	}
	MUST(setitimer(ITIMER_REAL, &off, NULL) == 0);
	CHECK_OP("-", signals, >=, 300);
	CHECK_EQ("FILT-11", stream_status(trid).posix_stream_status, POSIX_TRACE_RUNNING);
	stream_end(trid);
}

TEST_MAIN(TEST_ENTRY(empty_at_creation), TEST_ENTRY(members_are_ignored), TEST_ENTRY(operations),
          TEST_ENTRY(at_any_time), TEST_ENTRY(filter_event), TEST_ENTRY(filter_event_in_order),
          TEST_ENTRY(suspended_records_nothing), TEST_ENTRY(system_types), TEST_ENTRY(start_shows_the_filter),
          TEST_ENTRY(several_streams), TEST_ENTRY(other_thread), TEST_ENTRY(invalid_arguments),
          TEST_ENTRY(signals_do_not_interrupt))
