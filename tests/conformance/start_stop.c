/*
 * start_stop.c - posix_trace_start(), posix_trace_stop(), and automatic changes of a stream that is full or has been read
 *
 * Every state of a stream meets every happening:
 *
 *     SN  suspended, not full         RN  running, not full
 *     RF  running, full (LOOP)        SA  suspended, full; restarts by itself (UNTIL_FULL)
 *     SC  suspended, full; waits for a start
 *
 * A test is named by policy (l, u), state and happening. state() gives "SF"
 * for both SA and SC; which one it is shows when the stream has been read.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>

#include "numbers.h"

static trace_id_t trid;
static trace_event_id_t id;
static unsigned sent; /* the next number */
static struct stream_event event;

static void enter_sn(int policy)
{
	id = stream_id("numbered");
	sent = 0;
	trid = small_stream(policy);
}

static void enter_rn(int policy)
{
	enter_sn(policy);
	CHECK_EQ("START-1 START-9", posix_trace_start(trid), 0);
	MUST(strcmp(state(trid), "RN") == 0);
}

/* RF under LOOP, SA under UNTIL_FULL: START and the numbers 0 to sent - 2 are recorded. */
static void enter_full(int policy)
{
	enter_rn(policy);
	sent = fill(trid, id, 0);
	MUST(strcmp(state(trid), policy == POSIX_TRACE_LOOP ? "RF" : "SF") == 0);
}

static void enter_sc(int policy)
{
	enter_full(policy);
	CHECK_EQ("START-9", posix_trace_stop(trid), 0);
	MUST(strncmp(state(trid), "SF", 2) == 0);
}

static void send_one(void)
{
	number_send(id, 0, sent++);
}

static void expect_start(void)
{
	trace_event_set_t filter, empty = set_of(NO_TYPE);

	stream_expect(trid, POSIX_TRACE_START, &event);
	CHECK_EQ("SYS-3 SYS-4 START-19", event.len, sizeof filter);
	memcpy(&filter, event.data, sizeof filter);
	CHECK("SYS-4 START-19", set_equal(&filter, &empty));
}

static void check_stop(int automatic)
{
	int value = -1;

	CHECK_EQ("SYS-5", event.info.posix_event_id, POSIX_TRACE_STOP);
	CHECK_EQ("SYS-5", event.len, sizeof value);
	memcpy(&value, event.data, sizeof value);
	if (automatic)
		CHECK_NE("SYS-5 START-13", value, 0);
	else
		CHECK_EQ("SYS-5 START-4", value, 0);
}

static void expect_stop(int automatic)
{
	stream_expect(trid, POSIX_TRACE_STOP, &event);
	check_stop(automatic);
}

static void expect_number(unsigned number)
{
	stream_expect(trid, id, &event);
	CHECK_EQ("READ-20", number_of(event.data, event.len).number, number);
}

static void expect_nothing(void)
{
	CHECK_EQ("START-10", stream_drain(trid), 0);
}

/*
 * A START that has not been overwritten may come before the gap. oldest_first checks which event is overwritten first.
 */
static void expect_overflow(void)
{
	stream_next(trid, &event);
	if (event.info.posix_event_id == POSIX_TRACE_START)
		stream_next(trid, &event);
	CHECK_EQ("SYS-7 SYS-18", event.info.posix_event_id, POSIX_TRACE_OVERFLOW);
	/* Reading may drop events older than the overwritten ones. This is an overrun too, and reported once. */
	state(trid);
}

/*
 * Reads a LOOP stream that has overwritten: OVERFLOW and RESUME, then numbers to the last one. Returns the first
 * number.
 */
static unsigned expect_window(void)
{
	unsigned first;

	expect_overflow();
	stream_expect(trid, POSIX_TRACE_RESUME, &event);
	stream_expect(trid, id, &event);
	first = number_of(event.data, event.len).number;
	CHECK_OP("START-11", first, <, sent);
	CHECK_EQ("START-11 READ-20", number_run(trid, id, first + 1, &event), sent);
	return first;
}

/* Reads an UNTIL_FULL stream that was full: all events except the last one, which did not fit. */
static void expect_all_but_lost(unsigned end)
{
	for (unsigned number = 0; number < end; number++) {
		if (number > 0 && number % 16 == 0)
			CHECK_STR("START-15 START-16 STAT-14", state(trid), "SF");
		expect_number(number);
	}
}

/* -- Suspended, not full: the same for both policies -------------------- */

static void sn_start(int policy)
{
	enter_sn(policy);
	CHECK_EQ("START-1 START-9", posix_trace_start(trid), 0);
	CHECK_STR("START-1 STAT-8 STAT-11", state(trid), "RN");
	expect_start();
	expect_nothing();
	stream_end(trid);
}

static void sn_stop(int policy)
{
	enter_sn(policy);
	CHECK_EQ("START-5 START-9", posix_trace_stop(trid), 0);
	CHECK_STR("START-5 STAT-13", state(trid), "SN");
	expect_nothing();
	/* Also after a stop by a call. */
	MUST(posix_trace_start(trid) == 0);
	MUST(posix_trace_stop(trid) == 0);
	CHECK_EQ("START-5", posix_trace_stop(trid), 0);
	CHECK_STR("START-5 STAT-13", state(trid), "SN");
	expect_start();
	expect_stop(0);
	expect_nothing();
	stream_end(trid);
}

static void sn_event(int policy)
{
	enter_sn(policy);
	for (int i = 0; i < 2000; i++) /* more than it can hold */
		send_one();
	CHECK_STR("MODEL-5 EVT-4 STAT-9 STAT-13", state(trid), "SN");
	CHECK_LOST("EVT-4 MODEL-8", lost_events(trid), ==, 0);
	expect_nothing();
	stream_end(trid);
}

static void sn_read(int policy)
{
	enter_rn(policy);
	send_one();
	send_one();
	MUST(posix_trace_stop(trid) == 0);
	CHECK_STR("START-4 STAT-13", state(trid), "SN");
	expect_start();
	expect_number(0);
	CHECK_STR("READ-32 STAT-13", state(trid), "SN");
	expect_number(1);
	expect_stop(0);
	CHECK_STR("START-15 STAT-13", state(trid), "SN");
	expect_nothing();
	stream_end(trid);
}

static void sn_clear(int policy)
{
	enter_rn(policy);
	send_one();
	MUST(posix_trace_stop(trid) == 0);
	CHECK_EQ("CLEAR-1", posix_trace_clear(trid), 0);
	CHECK_STR("CLEAR-4 CLEAR-6", state(trid), "SN");
	expect_nothing();
	stream_end(trid);
}

static void sn_shutdown(int policy)
{
	enter_sn(policy);
	CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-4 START-7", posix_trace_start(trid), EINVAL);
}

/* -- Running, not full -------------------------------------------------- */

static void rn_start(int policy)
{
	enter_rn(policy);
	CHECK_EQ("START-2 START-9", posix_trace_start(trid), 0);
	CHECK_STR("START-2", state(trid), "RN");
	expect_start();
	expect_nothing();
	stream_end(trid);
}

static void rn_stop(int policy)
{
	enter_rn(policy);
	send_one();
	CHECK_EQ("START-4 START-9", posix_trace_stop(trid), 0);
	CHECK_STR("START-4 STAT-9", state(trid), "SN");
	send_one();
	MUST(posix_trace_start(trid) == 0);
	send_one();
	expect_start();
	expect_number(0);
	expect_stop(0);
	expect_start();
	expect_number(2);
	expect_nothing();
	stream_end(trid);
}

static void rn_event(int policy)
{
	enter_rn(policy);
	send_one();
	CHECK_STR("STAT-8 STAT-11", state(trid), "RN");
	expect_start();
	expect_number(0);
	expect_nothing();
	CHECK_LOST("MODEL-8", lost_events(trid), ==, 0);
	stream_end(trid);
}

/* Records events until one does not fit. */
static const char *rn_event_too_many(int policy)
{
	const char *s;

	enter_rn(policy);
	for (;;) {
		MUST(sent < 100000);
		send_one();
		s = state(trid);
		if (strcmp(s, "RN") != 0)
			return s;
	}
}

static void rn_read(int policy)
{
	enter_rn(policy);
	send_one();
	expect_start();
	CHECK_STR("STAT-11", state(trid), "RN");
	expect_number(0);
	CHECK_STR("STAT-11", state(trid), "RN");
	send_one();
	expect_number(1);
	expect_nothing();
	stream_end(trid);
}

/* Reading makes room: many more events pass through the stream than it can hold, and none is lost. */
static void rn_read_all_the_time(int policy)
{
	enter_rn(policy);
	expect_start();
	for (int i = 0; i < 5000; i++) {
		send_one();
		send_one();
		expect_number(sent - 2);
		expect_number(sent - 1);
	}
	CHECK_STR("START-14 START-20 READ-23 STAT-11", state(trid), "RN");
	CHECK_LOST("START-14 START-20 READ-23 MODEL-8", lost_events(trid), ==, 0);
	expect_nothing();
	stream_end(trid);
}

static void rn_clear(int policy)
{
	enter_rn(policy);
	send_one();
	CHECK_EQ("CLEAR-1", posix_trace_clear(trid), 0);
	CHECK_STR("CLEAR-4", state(trid), "RN");
	send_one();
	expect_number(1);
	expect_nothing();
	stream_end(trid);
}

static void rn_shutdown(int policy)
{
	enter_rn(policy);
	send_one();
	CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-4 START-7", posix_trace_stop(trid), EINVAL);
}

#define BOTH(cell)                                            \
	TEST(l_##cell) { cell(POSIX_TRACE_LOOP); }            \
	TEST(u_##cell) { cell(POSIX_TRACE_UNTIL_FULL); }
BOTH(sn_start)
BOTH(sn_stop)
BOTH(sn_event)
BOTH(sn_read)
BOTH(sn_clear)
BOTH(sn_shutdown)
BOTH(rn_start)
BOTH(rn_stop)
BOTH(rn_event)
BOTH(rn_read)
BOTH(rn_read_all_the_time)
BOTH(rn_clear)
BOTH(rn_shutdown)

TEST(l_rn_too_many)
{
	CHECK_STR("STAT-12 STAT-15 START-11", rn_event_too_many(POSIX_TRACE_LOOP), "RF!");
	CHECK_STR("STAT-3", state(trid), "RF");
	CHECK_LOST("STAT-15", lost_events(trid), >=, 1);
	expect_window();
	CHECK_STR("STAT-11", state(trid), "RN");
	stream_end(trid);
}

TEST(u_rn_too_many)
{
	CHECK_STR("START-12 STAT-14 STAT-15", rn_event_too_many(POSIX_TRACE_UNTIL_FULL), "SF!");
	CHECK_STR("STAT-3 START-12", state(trid), "SF");
	CHECK_LOST("STAT-15", lost_events(trid), ==, 1);
	expect_start();
	expect_all_but_lost(sent - 1);
	expect_stop(1);
	expect_start();
	expect_nothing();
	stream_end(trid);
}

/* -- Running, full: LOOP only ------------------------------------------- */

TEST(l_rf_start)
{
	enter_full(POSIX_TRACE_LOOP);
	CHECK_EQ("START-2 START-3", posix_trace_start(trid), 0);
	CHECK_STR("START-2 START-3 STAT-12", state(trid), "RF");
	expect_window();
	CHECK_EQ("START-2 START-3", event.info.posix_event_id, NO_TYPE);
	stream_end(trid);
}

TEST(l_rf_stop)
{
	enter_full(POSIX_TRACE_LOOP);
	CHECK_EQ("START-4 START-11", posix_trace_stop(trid), 0);
	CHECK("START-4 STAT-14", strncmp(state(trid), "SF", 2) == 0);
	send_one();
	CHECK_STR("EVT-4 STAT-14", state(trid), "SF");
	sent--;
	expect_window();
	check_stop(0);
	expect_nothing();
	CHECK_STR("STAT-13", state(trid), "SN");
	stream_end(trid);
}

TEST(l_rf_event)
{
	unsigned long long lost;
	int overrun = 0;

	enter_full(POSIX_TRACE_LOOP);
	lost = lost_events(trid);
	for (int i = 0; i < 2000; i++) {
		const char *s;

		send_one();
		s = state(trid);
		overrun |= s[2] == '!';
		if (strncmp(s, "RF", 2) != 0)
			TEST_FAIL("START-11 STAT-12", "%s after %u events", s, sent);
	}
	CHECK("STAT-15", overrun);
	CHECK_LOST("STAT-15", lost_events(trid), >, lost + 1000);
	expect_window();
	expect_nothing();
	stream_end(trid);
}

TEST(l_rf_read)
{
	enter_full(POSIX_TRACE_LOOP);
	/* There is room when everything has been read, at the latest. The stream runs all the time. */
	for (int full = 1; stream_try(trid, &event);) {
		const char *s = state(trid);

		if (strcmp(s, "RN") == 0)
			full = 0;
		else if (strncmp(s, "RF", 2) != 0 || !full) /* the first time it may be an overrun: see
		                                             * expect_overflow() */
			TEST_FAIL("STAT-11 STAT-12", "%s while it is read", s);
	}
	CHECK_STR("STAT-11 READ-23", state(trid), "RN");
	send_one();
	expect_number(sent - 1);
	expect_nothing();
	stream_end(trid);
}

/* After half of the events are read, there is room for more. */
TEST(l_rf_read_some)
{
	unsigned first;

	enter_full(POSIX_TRACE_LOOP);
	expect_overflow();
	stream_expect(trid, POSIX_TRACE_RESUME, &event);
	stream_expect(trid, id, &event);
	first = number_of(event.data, event.len).number + 1;
	while (sent - first > 2)
		expect_number(first++);
	CHECK_STR("STAT-11 START-20 READ-23", state(trid), "RN");
	send_one();
	CHECK_STR("STAT-11 START-20", state(trid), "RN");
	while (first < sent)
		expect_number(first++);
	expect_nothing();
	stream_end(trid);
}

TEST(l_rf_clear)
{
	enter_full(POSIX_TRACE_LOOP);
	CHECK_EQ("CLEAR-1", posix_trace_clear(trid), 0);
	CHECK_STR("CLEAR-4 CLEAR-6", state(trid), "RN");
	send_one();
	expect_number(sent - 1);
	expect_nothing();
	stream_end(trid);
}

TEST(l_rf_shutdown)
{
	enter_full(POSIX_TRACE_LOOP);
	CHECK_EQ("SHUT-3 SHUT-10", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-4 START-7", posix_trace_stop(trid), EINVAL);
}

/* -- Suspended and full by itself: UNTIL_FULL --------------------------- */

TEST(u_sa_start)
{
	enter_full(POSIX_TRACE_UNTIL_FULL);
	CHECK_EQ("START-3 START-9", posix_trace_start(trid), 0);
	CHECK_STR("START-3", state(trid), "SF");
	expect_start();
	expect_all_but_lost(sent - 1);
	/* It still restarts automatically. */
	CHECK_STR("START-15", state(trid), "RN");
	expect_stop(1);
	expect_start();
	send_one();
	expect_number(sent - 1);
	expect_nothing();
	stream_end(trid);
}

TEST(u_sa_stop)
{
	enter_full(POSIX_TRACE_UNTIL_FULL);
	CHECK_EQ("START-5 START-6 START-9", posix_trace_stop(trid), 0);
	CHECK_STR("START-5 START-6 STAT-14", state(trid), "SF");
	expect_start();
	for (unsigned number = 0; number < sent - 1; number++)
		expect_number(number);
	expect_stop(1); /* without a STOP of the call */
	expect_nothing();
	/* It no longer restarts automatically. */
	CHECK_STR("START-5 STAT-13", state(trid), "SN");
	send_one();
	expect_nothing();
	MUST(posix_trace_start(trid) == 0);
	send_one();
	expect_start();
	expect_number(sent - 1);
	expect_nothing();
	stream_end(trid);
}

TEST(u_sa_event)
{
	unsigned long long lost;
	unsigned recorded;

	enter_full(POSIX_TRACE_UNTIL_FULL);
	recorded = sent - 1;
	lost = lost_events(trid);
	CHECK_LOST("STAT-15", lost, ==, 1);
	for (int i = 0; i < 10; i++) {
		send_one();
		CHECK_STR("STAT-15 STAT-14", state(trid), "SF!");
		CHECK_STR("STAT-3", state(trid), "SF");
	}
	CHECK_LOST("STAT-15", lost_events(trid), ==, 11);
	/* Also when there is room again, as the stream is still stopped. */
	expect_start();
	for (unsigned number = 0; number < recorded - 1; number++)
		expect_number(number);
	CHECK_STR("START-15", state(trid), "SF");
	send_one();
	CHECK_STR("STAT-15 STAT-14", state(trid), "SF!");
	posix_trace_event(id, NULL, 0);
	CHECK_STR("STAT-15 STAT-14", state(trid), "SF!");
	CHECK_LOST("STAT-15", lost_events(trid), ==, 13);
	expect_number(recorded - 1);
	expect_stop(1);
	expect_start();
	expect_nothing();
	stream_end(trid);
}

TEST(u_sa_read)
{
	enter_full(POSIX_TRACE_UNTIL_FULL);
	expect_start();
	expect_all_but_lost(sent - 1);
	/* The last event has been read: the stream runs, and STOP and START come before new events. */
	CHECK_STR("START-15 STAT-11", state(trid), "RN");
	send_one();
	expect_stop(1);
	expect_start();
	expect_number(sent - 1);
	expect_nothing();
	stream_end(trid);
}

/* Filled and read several times, with the same result. */
TEST(u_sa_again)
{
	unsigned first = 0, end;

	enter_rn(POSIX_TRACE_UNTIL_FULL);
	for (int round = 0; round < 10; round++) {
		end = fill(trid, id, first);
		if (round > 0)
			expect_stop(1);
		expect_start();
		while (first < end - 1)
			expect_number(first++);
		CHECK_STR("START-15", state(trid), "RN");
		first = end;
	}
	expect_stop(1);
	expect_start();
	expect_nothing();
	CHECK_LOST("STAT-15", lost_events(trid), ==, 10);
	stream_end(trid);
}

/* START contains the filter at the time of the restart. */
TEST(u_sa_filter)
{
	trace_event_set_t hidden = set_of(stream_id("hidden")), filter;

	enter_full(POSIX_TRACE_UNTIL_FULL);
	CHECK_EQ("FILT-3", posix_trace_set_filter(trid, &hidden, POSIX_TRACE_SET_EVENTSET), 0);
	CHECK_STR("FILT-3", state(trid), "SF");
	expect_start();
	expect_all_but_lost(sent - 1);
	expect_stop(1);
	stream_expect(trid, POSIX_TRACE_START, &event);
	CHECK_EQ("START-17 START-19 SYS-4", event.len, sizeof filter);
	memcpy(&filter, event.data, sizeof filter);
	CHECK("START-17 START-19 SYS-4", set_equal(&filter, &hidden));
	expect_nothing();
	stream_end(trid);
}

TEST(u_sa_clear)
{
	enter_full(POSIX_TRACE_UNTIL_FULL);
	CHECK_EQ("CLEAR-1", posix_trace_clear(trid), 0);
	CHECK_STR("CLEAR-4 CLEAR-6 STAT-13", state(trid), "SN");
	send_one();
	CHECK_STR("CLEAR-4 STAT-13", state(trid), "SN");
	expect_nothing(); /* no STOP and no restart */
	CHECK_STR("CLEAR-4 STAT-13", state(trid), "SN");
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	send_one();
	expect_start();
	expect_number(sent - 1);
	expect_nothing();
	stream_end(trid);
}

TEST(u_sa_shutdown)
{
	enter_full(POSIX_TRACE_UNTIL_FULL);
	CHECK_EQ("SHUT-3 SHUT-10", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-4 START-7", posix_trace_start(trid), EINVAL);
}

/* -- Suspended and full, stopped by call -------------------------------- */

TEST(l_sc_start)
{
	enter_sc(POSIX_TRACE_LOOP);
	CHECK_EQ("START-1 START-11", posix_trace_start(trid), 0);
	CHECK("START-1 STAT-12", strncmp(state(trid), "RF", 2) == 0);
	send_one();
	sent--;
	expect_window();
	check_stop(0);
	expect_start();
	expect_number(sent);
	expect_nothing();
	CHECK_STR("STAT-11", state(trid), "RN");
	stream_end(trid);
}

TEST(u_sc_start)
{
	enter_sc(POSIX_TRACE_UNTIL_FULL);
	CHECK_EQ("START-3 START-9", posix_trace_start(trid), 0);
	CHECK_STR("START-3", state(trid), "SF");
	/* Not now, but it may restart automatically again. */
	expect_start();
	expect_all_but_lost(sent - 1);
	CHECK_STR("START-15", state(trid), "RN");
	send_one();
	expect_stop(1);
	expect_start();
	expect_number(sent - 1);
	expect_nothing();
	stream_end(trid);
}

static void sc_stop(int policy)
{
	enter_sc(policy);
	state(trid);
	CHECK_EQ("START-5 START-6", posix_trace_stop(trid), 0);
	CHECK_STR("START-5 START-6 STAT-14", state(trid), "SF");
	if (policy == POSIX_TRACE_LOOP) {
		expect_window();
		check_stop(0);
	} else {
		expect_start();
		CHECK_EQ("READ-32", number_run(trid, id, 0, &event), sent - 1);
		check_stop(1);
	}
	expect_nothing();
	stream_end(trid);
}

/* Under UNTIL_FULL an event is lost while the stream is full, even if a call has stopped the stream. */
static void sc_event(int policy)
{
	int counted = policy != POSIX_TRACE_LOOP;
	unsigned long long lost;

	enter_sc(policy);
	state(trid);
	lost = lost_events(trid);
	for (int i = 0; i < 2000; i++)
		number_send(id, 0, 0);
	CHECK_STR("EVT-4 STAT-14 STAT-15", state(trid), counted ? "SF!" : "SF");
	CHECK_STR("STAT-3", state(trid), "SF");
	CHECK_LOST("EVT-4 STAT-15", lost_events(trid), ==, lost + (counted ? 2000 : 0));
	if (counted) {
		/* Until the stream is no longer full. It does not restart. */
		while (strncmp(state(trid), "SF", 2) == 0)
			stream_next(trid, &event);
		lost = lost_events(trid);
		number_send(id, 0, 0);
		CHECK_STR("STAT-13 STAT-15", state(trid), "SN");
		CHECK_LOST("EVT-4", lost_events(trid), ==, lost);
	}
	stream_end(trid);
}

static void sc_read(int policy)
{
	int full = 1;

	enter_sc(policy);
	state(trid);
	while (stream_try(trid, &event)) {
		const char *s = state(trid);

		if (strcmp(s, "SN") == 0)
			full = 0;
		else if (strncmp(s, "SF", 2) != 0 || !full)
			TEST_FAIL("STAT-13 STAT-14", "%s while it is read", s);
	}
	CHECK_STR("STAT-13 READ-23", state(trid), "SN");
	number_send(id, 0, 0);
	expect_nothing();
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	CHECK_STR("START-1 STAT-11", state(trid), "RN");
	expect_start();
	expect_nothing();
	stream_end(trid);
}

static void sc_clear(int policy)
{
	enter_sc(policy);
	CHECK_EQ("CLEAR-1", posix_trace_clear(trid), 0);
	CHECK_STR("CLEAR-4 CLEAR-6 STAT-13", state(trid), "SN");
	send_one();
	expect_nothing();
	stream_end(trid);
}

static void sc_shutdown(int policy)
{
	enter_sc(policy);
	CHECK_EQ("SHUT-3 SHUT-10", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-4 START-7", posix_trace_start(trid), EINVAL);
}

BOTH(sc_stop)
BOTH(sc_event)
BOTH(sc_read)
BOTH(sc_clear)
BOTH(sc_shutdown)

/* -- Beside the table --------------------------------------------------- */

/* LOOP overwrites the oldest event: no event survives a younger one. */
TEST(oldest_first)
{
	unsigned first = 0;

	enter_full(POSIX_TRACE_LOOP); /* START, 0, 1, ... */
	stream_next(trid, &event);
	CHECK_EQ("START-11", event.info.posix_event_id, POSIX_TRACE_OVERFLOW);
	while (event.info.posix_event_id != id)
		stream_next(trid, &event);
	first = number_of(event.data, event.len).number;
	CHECK_EQ("START-11", number_run(trid, id, first + 1, &event), sent);
	stream_end(trid);
}

static void *send_some(void *arg)
{
	for (int i = 0; i < *(int *)arg; i++)
		send_one();
	return NULL;
}

/* The same with threads that record in turn: the remaining numbers are consecutive, to the last one. */
TEST(oldest_first_of_threads)
{
	static int some[] = { 1, 3, 10, 40, 5, 100, 2 };

	for (int round = 0; round < 20; round++) {
		unsigned first;

		enter_rn(POSIX_TRACE_LOOP);
		for (int i = 0; i < 7 + round; i++) {
			pthread_t thread;

			MUST(pthread_create(&thread, NULL, send_some, &some[i % 7]) == 0);
			MUST(pthread_join(thread, NULL) == 0);
			send_one();
		}
		while (strncmp(state(trid), "RF", 2) != 0)
			send_one();
		do {
			stream_next(trid, &event);
		} while (event.info.posix_event_id != id);
		first = number_of(event.data, event.len).number;
		CHECK_EQ("START-11", number_run(trid, id, first + 1, &event), sent);
		stream_end(trid);
	}
}

/* With any amount of data in the stream, even if the next event would not fit: a stop is recorded, and then a start. */
static void at_any_fill(int policy)
{
	NEEDS_LOST_EVENTS();
	for (unsigned k = 0; k < 200; k++) {
		unsigned long long lost;
		unsigned starts = 0, stops = 0, numbers = 0;
		trace_event_id_t last = 0;
		int value = -1;

		enter_rn(policy);
		while (sent < k)
			send_one();
		lost = lost_events(trid);
		CHECK_EQ("START-4 START-9", posix_trace_stop(trid), 0);
		CHECK_EQ("START-4", stream_status(trid).posix_stream_status, POSIX_TRACE_SUSPENDED);
		if (k & 1) { /* now, or after reading */
			CHECK_EQ("START-1 START-9", posix_trace_start(trid), 0);
			if (policy == POSIX_TRACE_LOOP)
				CHECK_EQ("START-1", stream_status(trid).posix_stream_status, POSIX_TRACE_RUNNING);
		}
		while (stream_try(trid, &event)) {
			if (event.info.posix_event_id == id)
				numbers++;
			else if (event.info.posix_event_id == POSIX_TRACE_OVERFLOW ||
			         event.info.posix_event_id == POSIX_TRACE_RESUME)
				continue;
			last = event.info.posix_event_id;
			starts += last == POSIX_TRACE_START;
			if (last == POSIX_TRACE_STOP) {
				stops++;
				memcpy(&value, event.data, sizeof value);
				if (stops == 1)
					CHECK_EQ("START-4 START-13 SYS-5", value != 0,
					         policy == POSIX_TRACE_UNTIL_FULL && lost > 0);
			}
		}
		if (policy == POSIX_TRACE_UNTIL_FULL)
			CHECK_EQ("START-12 MODEL-8", numbers, k - lost);
		CHECK_EQ("START-4 START-10", last, k & 1 ? POSIX_TRACE_START : POSIX_TRACE_STOP);
		CHECK_OP("START-4 START-10", stops, >=, 1);
		if (policy == POSIX_TRACE_UNTIL_FULL)
			CHECK_EQ("START-10 START-17 SYS-18", starts, stops + (k & 1));
		CHECK("START-1 START-4", strncmp(state(trid), k & 1 ? "RN" : "SN",
		                                 policy == POSIX_TRACE_LOOP ? 2 : 4) == 0);
		CHECK_EQ("START-1 START-9", posix_trace_start(trid), 0);
		CHECK_EQ("START-1 START-2", stream_count(trid, POSIX_TRACE_START), !(k & 1));
		stream_end(trid);
		if (test_failures > 10)
			return;
	}
}

BOTH(at_any_fill)

/* The same for a changed filter: the change takes place, and a lost FILTER event is counted. */
TEST(u_filter_at_any_fill)
{
	trace_event_set_t hidden = set_of(stream_id("hidden")), got;

	NEEDS_LOST_EVENTS();
	for (unsigned k = 0; k < 200; k++) {
		unsigned long long lost;
		unsigned filters, recorded;

		enter_rn(POSIX_TRACE_UNTIL_FULL);
		while (sent < k)
			send_one();
		CHECK_EQ("FILT-14", posix_trace_set_filter(trid, &hidden, POSIX_TRACE_SET_EVENTSET), 0);
		MUST(posix_trace_get_filter(trid, &got) == 0);
		CHECK("FILT-3 FILT-8", set_equal(&got, &hidden));
		lost = lost_events(trid);
		expect_start();
		recorded = number_run(trid, id, 0, &event);
		filters = event.info.posix_event_id == POSIX_TRACE_FILTER;
		if (lost == 0)
			CHECK_EQ("FILT-6 MODEL-8", filters, 1);
		/* The stream stopped before the change or because of it. */
		CHECK_EQ("FILT-6 MODEL-8 STAT-15", recorded + filters + lost, k + (filters || recorded == k));
		stream_drain(trid);
		CHECK_STR("START-15", state(trid)[0] == 'R' ? "R" : "S", "R");
		stream_end(trid);
		if (test_failures > 10)
			return;
	}
}

/* START contains the filter at the time of each start. */
TEST(start_data)
{
	trace_event_set_t filter, one = set_of(stream_id("one")), both = one, got;

	MUST(posix_trace_eventset_add(stream_id("two"), &both) == 0);
	enter_sn(POSIX_TRACE_LOOP);
	MUST(posix_trace_set_filter(trid, &one, POSIX_TRACE_SET_EVENTSET) == 0);
	MUST(posix_trace_start(trid) == 0);
	MUST(posix_trace_stop(trid) == 0);
	MUST(posix_trace_set_filter(trid, &both, POSIX_TRACE_ADD_EVENTSET) == 0);
	MUST(posix_trace_start(trid) == 0);
	MUST(posix_trace_get_filter(trid, &got) == 0);

	stream_expect(trid, POSIX_TRACE_START, &event);
	CHECK_EQ("SYS-4 START-19", event.len, sizeof filter);
	CHECK_EQ("SYS-4", event.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
	memcpy(&filter, event.data, sizeof filter);
	CHECK("SYS-4 START-19", set_equal(&filter, &one));
	expect_stop(0);
	stream_expect(trid, POSIX_TRACE_START, &event);
	memcpy(&filter, event.data, sizeof filter);
	CHECK("SYS-4 START-19", set_equal(&filter, &both));
	CHECK("SYS-4 START-19 FILT-1", set_equal(&filter, &got));
	expect_nothing();
	stream_end(trid);
}

/* Data of system events is not truncated, even with the smallest limit. */
TEST(small_max_data)
{
	trace_attr_t attr;

	stream_attr(&attr, POSIX_TRACE_LOOP, 65536, 1);
	trid = stream_create(&attr);
	MUST(posix_trace_start(trid) == 0);
	MUST(posix_trace_stop(trid) == 0);
	expect_start();
	CHECK_EQ("SYS-4 ATTR-44", event.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
	expect_stop(0);
	CHECK_EQ("SYS-5 ATTR-44", event.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
	stream_end(trid);
}

TEST_MAIN(TEST_ENTRY(l_sn_start), TEST_ENTRY(u_sn_start), TEST_ENTRY(l_sn_stop), TEST_ENTRY(u_sn_stop),
          TEST_ENTRY(l_sn_event), TEST_ENTRY(u_sn_event), TEST_ENTRY(l_sn_read), TEST_ENTRY(u_sn_read),
          TEST_ENTRY(l_sn_clear), TEST_ENTRY(u_sn_clear), TEST_ENTRY(l_sn_shutdown), TEST_ENTRY(u_sn_shutdown),
          TEST_ENTRY(l_rn_start), TEST_ENTRY(u_rn_start), TEST_ENTRY(l_rn_stop), TEST_ENTRY(u_rn_stop),
          TEST_ENTRY(l_rn_event), TEST_ENTRY(u_rn_event), TEST_ENTRY(l_rn_too_many), TEST_ENTRY(u_rn_too_many),
          TEST_ENTRY(l_rn_read), TEST_ENTRY(u_rn_read), TEST_ENTRY(l_rn_read_all_the_time),
          TEST_ENTRY(u_rn_read_all_the_time), TEST_ENTRY(l_rn_clear), TEST_ENTRY(u_rn_clear),
          TEST_ENTRY(l_rn_shutdown), TEST_ENTRY(u_rn_shutdown), TEST_ENTRY(l_rf_start), TEST_ENTRY(l_rf_stop),
          TEST_ENTRY(l_rf_event), TEST_ENTRY(l_rf_read), TEST_ENTRY(l_rf_read_some), TEST_ENTRY(l_rf_clear),
          TEST_ENTRY(l_rf_shutdown), TEST_ENTRY(u_sa_start), TEST_ENTRY(u_sa_stop), TEST_ENTRY(u_sa_event),
          TEST_ENTRY(u_sa_read), TEST_ENTRY(u_sa_again), TEST_ENTRY(u_sa_filter), TEST_ENTRY(u_sa_clear),
          TEST_ENTRY(u_sa_shutdown), TEST_ENTRY(l_sc_start), TEST_ENTRY(u_sc_start), TEST_ENTRY(l_sc_stop),
          TEST_ENTRY(u_sc_stop), TEST_ENTRY(l_sc_event), TEST_ENTRY(u_sc_event), TEST_ENTRY(l_sc_read),
          TEST_ENTRY(u_sc_read), TEST_ENTRY(l_sc_clear), TEST_ENTRY(u_sc_clear), TEST_ENTRY(l_sc_shutdown),
          TEST_ENTRY(u_sc_shutdown), TEST_ENTRY(oldest_first), TEST_ENTRY(oldest_first_of_threads),
          TEST_ENTRY(l_at_any_fill), TEST_ENTRY(u_at_any_fill), TEST_ENTRY(u_filter_at_any_fill),
          TEST_ENTRY(start_data), TEST_ENTRY(small_max_data))
