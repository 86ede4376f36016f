/*
 * system_events.c - the events of the trace system itself: names, data, and where and when they happened
 *
 * Which of them a call or a full stream makes is in start_stop.c, the
 * FILTER event in filter.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "numbers.h"
#include "predefined.h"

static trace_event_id_t id;

TEST(names)
{
	trace_id_t trid[2];

	trid[0] = stream_create(NULL);
	trid[1] = small_stream(POSIX_TRACE_UNTIL_FULL);
	for (int s = 0; s < 2; s++) {
		trace_event_id_t got;
		int unavailable = 0, listed = 0;

		for (size_t i = 0; i < PREDEFINED; i++) {
			char name[TRACE_EVENT_NAME_MAX + 1] = "";

			CHECK_EQ("SYS-1 SYS-14 ID-12", posix_trace_eventid_get_name(trid[s], predefined[i].id, name),
			         0);
			CHECK_STR("SYS-1 SYS-2 SYS-3 SYS-5 SYS-6 SYS-7 SYS-9 SYS-11 SYS-12 SYS-13 ID-12", name,
			          predefined[i].name);
			CHECK_EQ("SYS-14 ID-25", posix_trace_trid_eventid_open(trid[s], predefined[i].name, &got), 0);
			CHECK_EQ("SYS-14 ID-25 MODEL-12", got, predefined[i].id);
			CHECK_EQ("SYS-14 MODEL-12", posix_trace_eventid_open(predefined[i].name, &got), 0);
			CHECK_EQ("SYS-14 MODEL-12", got, predefined[i].id);
		}
		/* Eight system types and one user type, and no other system types. */
		for (;;) {
			MUST(posix_trace_eventtypelist_getnext_id(trid[s], &got, &unavailable) == 0);
			if (unavailable)
				break;
			listed++;
		}
		CHECK_OP("SYS-1 SYS-14 MODEL-15", listed, >=, PREDEFINED);
		CHECK_OURS(OURS_IDS, "SYS-1", listed, ==, PREDEFINED);
		stream_end(trid[s]);
	}
}

/* A trace point cannot record one. */
TEST(not_by_trace_point)
{
	trace_id_t trid = stream_running(NULL);

	for (size_t i = 0; i < PREDEFINED; i++)
		if (predefined[i].id != POSIX_TRACE_UNNAMED_USEREVENT)
			posix_trace_event(predefined[i].id, "x", 1);
	for (trace_event_id_t t = 0; OURS_IDS && t < POSIX_TRACE_UNNAMED_USEREVENT; t++)
		posix_trace_event(t, "x", 1);
	CHECK_EQ("MODEL-10", stream_drain(trid), 0);
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, "x", 1);
	CHECK_EQ("SYS-13 EVT-25", stream_count(trid, POSIX_TRACE_UNNAMED_USEREVENT), 1);
	stream_end(trid);
}

/* -- Where: the code of these functions, all in a section of its own ---- */

#define CALLER __attribute__((noinline, noclone, section("callers")))
extern const char __start_callers[], __stop_callers[];

CALLER static int call_start(trace_id_t trid)
{
	int error = posix_trace_start(trid);

	__asm__ volatile("");
	return error;
}

CALLER static int call_stop(trace_id_t trid)
{
	int error = posix_trace_stop(trid);

	__asm__ volatile("");
	return error;
}

CALLER static int call_set_filter(trace_id_t trid, const trace_event_set_t *set)
{
	int error = posix_trace_set_filter(trid, set, POSIX_TRACE_SET_EVENTSET);

	__asm__ volatile("");
	return error;
}

static int in_callers(const void *address)
{
	return (const char *)address > __start_callers && (const char *)address <= __stop_callers;
}

struct origin {
	trace_id_t trid;
	pthread_t thread;
	pid_t tid;
	struct timespec time[4]; /* the three calls were made between these times */
};

static void *control(void *arg)
{
	struct origin *o = arg;
	trace_event_set_t set = set_of(stream_id("hidden"));

	o->thread = pthread_self();
	o->tid = (pid_t)syscall(SYS_gettid);
	o->time[0] = now();
	MUST(call_start(o->trid) == 0);
	o->time[1] = now();
	MUST(call_set_filter(o->trid, &set) == 0);
	o->time[2] = now();
	MUST(call_stop(o->trid) == 0);
	o->time[3] = now();
	return NULL;
}

/* Events caused by a call contain the caller. */
TEST(origin_of_calls)
{
	static const trace_event_id_t expected[] = { POSIX_TRACE_START, POSIX_TRACE_FILTER, POSIX_TRACE_STOP };
	struct origin o[2];
	struct stream_event e;
	pthread_t thread;
	const void *address[3] = { NULL };

	memset(o, 0, sizeof o);
	o[0].trid = stream_create(NULL);
	o[1].trid = stream_create(NULL);
	control(&o[0]);
	MUST(pthread_create(&thread, NULL, control, &o[1]) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	CHECK("-", !pthread_equal(o[0].thread, o[1].thread));
	for (int i = 0; i < 2; i++) {
		for (int j = 0; j < 3; j++) {
			stream_expect(o[i].trid, expected[j], &e);
			CHECK_EQ("MODEL-21 SYS-15", e.info.posix_pid, getpid());
			CHECK("MODEL-21 SYS-16", pthread_equal(e.info.posix_thread_id, o[i].thread));
			CHECK_TID("MODEL-21 SYS-16", &e.info, ==, o[i].tid);
			CHECK("SYS-17", in_callers(e.info.posix_prog_address));
			if (i == 0)
				address[j] = e.info.posix_prog_address;
			else
				CHECK("SYS-17", e.info.posix_prog_address == address[j]);
			/* The wall clock may be slewed, the clock of events is not. */
			CHECK_OP("EVT-9", nanoseconds(e.info.posix_timestamp), >=, nanoseconds(o[i].time[j]) - 2000000);
			CHECK_OP("EVT-9", nanoseconds(e.info.posix_timestamp), <=,
			         nanoseconds(o[i].time[j + 1]) + 2000000);
			CHECK_EQ("SYS-3 SYS-5 SYS-6", e.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
		}
		CHECK_EQ("SYS-1", stream_drain(o[i].trid), 0);
		stream_end(o[i].trid);
	}
	CHECK("SYS-17", address[0] != address[1] && address[1] != address[2] && address[0] != address[2]);
}

static void check_no_origin(const struct stream_event *e)
{
	pthread_t none;

	memset(&none, 0, sizeof none);
	CHECK_EQ("SYS-15 MODEL-21", e->info.posix_pid, 0);
	CHECK("SYS-16 MODEL-21", memcmp(&none, &e->info.posix_thread_id, sizeof none) == 0);
	CHECK_TID("SYS-16", &e->info, ==, 0);
	CHECK("SYS-17", e->info.posix_prog_address == NULL);
	CHECK_EQ("SYS-1", e->info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
}

/* The data has two filters, the old one first. */
TEST(filter_data)
{
	trace_id_t trid = stream_running(NULL);
	trace_event_set_t a = set_of(stream_id("a")), b = set_of(stream_id("b")), both = a,
	                  empty = set_of(NO_TYPE), got[2];
	const struct {
		int how;
		const trace_event_set_t *set, *from, *to;
	} steps[] = {
		{ POSIX_TRACE_SET_EVENTSET, &a, &empty, &a },
		{ POSIX_TRACE_ADD_EVENTSET, &b, &a, &both },
		{ POSIX_TRACE_SUB_EVENTSET, &a, &both, &b },
		{ POSIX_TRACE_SET_EVENTSET, &empty, &b, &empty },
	};

	MUST(posix_trace_eventset_add(stream_id("b"), &both) == 0);
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		struct stream_event e;

		MUST(posix_trace_set_filter(trid, steps[i].set, steps[i].how) == 0);
		stream_expect(trid, POSIX_TRACE_FILTER, &e);
		CHECK_EQ("SYS-6", e.len, sizeof got);
		memcpy(got, e.data, sizeof got);
		CHECK("SYS-6", set_equal(&got[0], steps[i].from));
		CHECK("SYS-6", set_equal(&got[1], steps[i].to));
		CHECK_EQ("SYS-6", e.info.posix_pid, getpid());
	}
	stream_end(trid);
}

/* -- Full streams ------------------------------------------------------- */

/* OVERFLOW and RESUME around a gap, and their times. */
TEST(overflow_and_resume)
{
	trace_id_t trid;
	struct timespec before, after;
	struct stream_event overflow, resume, e;
	unsigned sent, first;
	long long time;

	id = stream_id("full");
	trid = small_stream(POSIX_TRACE_LOOP);
	MUST(posix_trace_start(trid) == 0);
	stream_expect(trid, POSIX_TRACE_START, &e);
	for (int round = 0; round < 3; round++) {
		/* Event 0 will be the first to be overwritten. */
		before = now();
		number_send(id, 0, 0);
		after = now();
		sleep_ms(30); /* long before the next event */
		sent = fill(trid, id, 1);
		for (int i = 0; i < 1000; i++)
			number_send(id, 0, sent++);

		stream_next(trid, &overflow);
		CHECK_EQ("SYS-7 SYS-18", overflow.info.posix_event_id, POSIX_TRACE_OVERFLOW);
		CHECK_EQ("SYS-7", overflow.len, 0);
		check_no_origin(&overflow);
		time = nanoseconds(overflow.info.posix_timestamp);
		CHECK_OP("SYS-8", time, >=, nanoseconds(before) - 10000000);
		CHECK_OP("SYS-8", time, <=, nanoseconds(after) + 10000000);

		stream_next(trid, &resume);
		CHECK_EQ("SYS-9 SYS-10 SYS-18", resume.info.posix_event_id, POSIX_TRACE_RESUME);
		CHECK_EQ("SYS-9", resume.len, 0);
		check_no_origin(&resume);
		stream_expect(trid, id, &e);
		CHECK_EQ("SYS-10", nanoseconds(resume.info.posix_timestamp), nanoseconds(e.info.posix_timestamp));
		CHECK_OP("SYS-8 SYS-10", time, <=, nanoseconds(resume.info.posix_timestamp));

		/* A single gap, with one pair of events. */
		first = number_of(e.data, e.len).number;
		CHECK_OP("START-11", first, >, 0);
		CHECK_EQ("SYS-10 SYS-18", number_run(trid, id, first + 1, &e), sent);
		CHECK_EQ("SYS-10", e.info.posix_event_id, NO_TYPE);
	}
	stream_end(trid);
}

/* After a partial read the stream is overrun again: the second gap is reported like the first. */
TEST(second_gap)
{
	trace_id_t trid;
	struct stream_event e;
	unsigned sent, n;
	long long last, pairs = 0;

	id = stream_id("full");
	trid = small_stream(POSIX_TRACE_LOOP);
	MUST(posix_trace_start(trid) == 0);
	sent = fill(trid, id, 0);
	for (int round = 0; round < 50; round++) {
		stream_next(trid, &e);
		if (e.info.posix_event_id == POSIX_TRACE_START)
			stream_next(trid, &e); /* it may not have been overwritten */
		CHECK_EQ("SYS-7 SYS-18", e.info.posix_event_id, POSIX_TRACE_OVERFLOW);
		last = nanoseconds(e.info.posix_timestamp);
		stream_expect(trid, POSIX_TRACE_RESUME, &e);
		CHECK_OP("READ-21 SYS-10", nanoseconds(e.info.posix_timestamp), >=, last);
		last = nanoseconds(e.info.posix_timestamp);
		stream_expect(trid, id, &e);
		CHECK_EQ("SYS-10", nanoseconds(e.info.posix_timestamp), last);
		n = number_of(e.data, e.len).number;
		for (int i = 0; i < 5; i++) {
			stream_expect(trid, id, &e);
			CHECK_EQ("READ-20", number_of(e.data, e.len).number, ++n);
			CHECK_OP("READ-21", nanoseconds(e.info.posix_timestamp), >=, last);
			last = nanoseconds(e.info.posix_timestamp);
		}
		pairs++;
		for (int i = 0; i < 1000; i++)
			number_send(id, 0, sent++);
		/*
		 * The gap begins after the last event read. Some events may have left the stream with the ones that
		 * were read.
		 */
		while (stream_try(trid, &e) && e.info.posix_event_id == id) {
			CHECK_EQ("READ-20", number_of(e.data, e.len).number, ++n);
			CHECK_OP("READ-21", nanoseconds(e.info.posix_timestamp), >=, last);
			last = nanoseconds(e.info.posix_timestamp);
		}
		CHECK_EQ("SYS-7 SYS-18", e.info.posix_event_id, POSIX_TRACE_OVERFLOW);
		CHECK_OP("SYS-8 READ-21", nanoseconds(e.info.posix_timestamp), >=, last);
		stream_expect(trid, POSIX_TRACE_RESUME, &e);
		stream_expect(trid, id, &e);
		n = number_of(e.data, e.len).number;
		CHECK_EQ("READ-20 START-11", number_run(trid, id, n + 1, &e), sent);
		sent = fill(trid, id, sent);
	}
	stream_end(trid);
}

/* Threads record in turn: wherever a number is missing, a gap is reported. */
static unsigned sent_by_all;

static void *send_some(void *arg)
{
	for (int i = 0; i < *(int *)arg; i++)
		number_send(id, 0, sent_by_all++);
	return NULL;
}

TEST(each_gap_is_reported)
{
	static int some[] = { 1, 3, 10, 40, 5, 100, 2 };

	id = stream_id("full");
	for (int round = 0; round < 20; round++) {
		trace_id_t trid = small_stream(POSIX_TRACE_LOOP);
		struct stream_event e;
		unsigned next = 0;
		int reported = 0;

		MUST(posix_trace_start(trid) == 0);
		sent_by_all = 0;
		for (int i = 0; i < 7 + round; i++) {
			pthread_t thread;

			MUST(pthread_create(&thread, NULL, send_some, &some[i % 7]) == 0);
			MUST(pthread_join(thread, NULL) == 0);
			number_send(id, 0, sent_by_all++);
		}
		while (stream_try(trid, &e)) {
			unsigned n;

			if (e.info.posix_event_id == POSIX_TRACE_RESUME)
				reported = 1;
			if (e.info.posix_event_id != id)
				continue;
			n = number_of(e.data, e.len).number;
			if (n != next && !reported)
				TEST_FAIL("SYS-7 SYS-9 SYS-18", "%u follows %u, and nothing is said of what is missing",
				          n, next - 1);
			if (n == next && reported)
				TEST_FAIL("SYS-7 SYS-9 SYS-18",
				          "a loss is reported before %u, but nothing is missing", n);
			next = n + 1;
			reported = 0;
		}
		CHECK_EQ("START-11", next, sent_by_all);
		stream_end(trid);
	}
}

/* The automatic stop and start. */
TEST(automatic_stop_and_start)
{
	trace_id_t trid;
	struct stream_event e;
	struct timespec full, read;
	unsigned sent;
	long long last = 0, stop;
	int value = 0;

	id = stream_id("full");
	trid = small_stream(POSIX_TRACE_UNTIL_FULL);
	MUST(posix_trace_start(trid) == 0);
	stream_expect(trid, POSIX_TRACE_START, &e);
	CHECK_EQ("MODEL-21 SYS-15", e.info.posix_pid, getpid());
	sent = fill(trid, id, 0);
	full = now();
	sleep_ms(30);
	read = now();
	for (unsigned n = 0; n < sent - 1; n++) {
		stream_expect(trid, id, &e);
		CHECK_EQ("READ-20", number_of(e.data, e.len).number, n);
		last = nanoseconds(e.info.posix_timestamp);
	}
	stream_next(trid, &e);
	CHECK_EQ("START-13 SYS-5", e.info.posix_event_id, POSIX_TRACE_STOP);
	CHECK_EQ("SYS-5", e.len, sizeof value);
	memcpy(&value, e.data, sizeof value);
	CHECK_EQ("START-13 SYS-5", value, 1);
	check_no_origin(&e);
	stop = nanoseconds(e.info.posix_timestamp);
	CHECK_OP("READ-21 START-13", stop, >=, last);
	CHECK_OP("START-13", stop, <=, nanoseconds(full) + 2000000);
	stream_next(trid, &e);
	CHECK_EQ("START-17 SYS-3", e.info.posix_event_id, POSIX_TRACE_START);
	CHECK_EQ("SYS-4", e.len, sizeof(trace_event_set_t));
	check_no_origin(&e);
	CHECK_OP("READ-21 START-17", nanoseconds(e.info.posix_timestamp), >=, stop);
	CHECK_OP("START-17", nanoseconds(e.info.posix_timestamp), >=, nanoseconds(read) - 2000000);
	last = nanoseconds(e.info.posix_timestamp);
	number_send(id, 0, 0);
	stream_expect(trid, id, &e);
	CHECK_OP("READ-21 START-17", nanoseconds(e.info.posix_timestamp), >=, last);
	stream_end(trid);
}

/* All events of a stream of one thread are in order of time, system events included. */
static void times_grow(int policy)
{
	trace_id_t trid = small_stream(policy);
	trace_event_set_t sets[2] = { set_of(stream_id("hidden")), set_of(NO_TYPE) };
	long long last = 0;
	unsigned n = 0;
	struct stream_event e;

	id = stream_id("full");
	for (int round = 0; round < 300; round++) {
		MUST(posix_trace_start(trid) == 0);
		for (int i = 0; i < round % 50; i++)
			number_send(id, 0, n++);
		MUST(posix_trace_set_filter(trid, &sets[round & 1], POSIX_TRACE_SET_EVENTSET) == 0);
		if (round % 7 == 0)
			MUST(posix_trace_stop(trid) == 0);
		for (int i = 0; i < 40 && stream_try(trid, &e); i++) {
			if (nanoseconds(e.info.posix_timestamp) < last)
				TEST_FAIL("READ-21", "type %u is %lld ns before the event before it",
				          (unsigned)e.info.posix_event_id,
					  last - nanoseconds(e.info.posix_timestamp));
			last = nanoseconds(e.info.posix_timestamp);
		}
	}
	CHECK_OP("-", n, >, 1000);
	stream_end(trid);
}

TEST(times_grow_loop)
{
	times_grow(POSIX_TRACE_LOOP);
}

TEST(times_grow_until_full)
{
	times_grow(POSIX_TRACE_UNTIL_FULL);
}

TEST_MAIN(TEST_ENTRY(names), TEST_ENTRY(not_by_trace_point), TEST_ENTRY(origin_of_calls), TEST_ENTRY(filter_data),
          TEST_ENTRY(overflow_and_resume), TEST_ENTRY(second_gap), TEST_ENTRY(each_gap_is_reported),
          TEST_ENTRY(automatic_stop_and_start), TEST_ENTRY(times_grow_loop), TEST_ENTRY(times_grow_until_full))
