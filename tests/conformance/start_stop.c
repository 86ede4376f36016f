/*
 * start_stop.c - posix_trace_start(), posix_trace_stop(), and automatic changes of a stream that is full or was read
 *
 * Every state of a stream meets every happening: the table in TEST(table), and after it the happenings that need a
 * loop.
 *
 *     SN  suspended, not full         RN  running, not full
 *     RF  running, full (LOOP)        SA  suspended, full; restarts by itself (UNTIL_FULL)
 *     SC  suspended, full; waits for a start
 *
 * state() gives "SF" for both SA and SC; which one it is shows when the stream has been read. The other tests are named
 * by policy (l, u), state and happening.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdbool.h>

#include "numbers.h"

static trace_id_t trid;
static trace_event_id_t id;
static unsigned sent;    /* the next number */
static unsigned fitting; /* the numbers before this one were recorded before the stream was full or stopped by a call */
static bool stopped;     /* `fitting` stays */
static struct stream_event event;
static bool kept;        /* `event` was read, but not looked at */

/* -- The states ---------------------------------------------------------- */

enum from { SN, RN, FULL, SC, AND }; /* FULL: RF or SA; AND: the stream of the row above, as that row left it */

static void enter(enum from from, int policy)
{
	id = stream_id("numbered");
	sent = 0;
	stopped = kept = false;
	trid = small_stream(policy);
	if (from >= RN) {
		CHECK_EQ("START-1 START-9", posix_trace_start(trid), 0);
		MUST(strcmp(state(trid), "RN") == 0);
	}
	if (from >= FULL) {
		sent = fill(trid, id, 0);
		MUST(strcmp(state(trid), policy == POSIX_TRACE_LOOP ? "RF" : "SF") == 0);
	}
	if (from >= SC) {
		CHECK_EQ("START-9", posix_trace_stop(trid), 0);
		MUST(strncmp(state(trid), "SF", 2) == 0);
	}
	/* UNTIL_FULL has lost the last event. */
	fitting = sent - (from >= FULL && policy == POSIX_TRACE_UNTIL_FULL);
	stopped = from == SC || (from == FULL && policy == POSIX_TRACE_UNTIL_FULL);
	state(trid); /* a stop may overwrite, too */
}

static void send_one(void)
{
	number_send(id, 0, sent++);
	if (!stopped)
		fitting = sent;
}

/* -- What is read -------------------------------------------------------- */

static void check_start(void)
{
	trace_event_set_t filter, empty = set_of(NO_TYPE);

	CHECK_EQ("SYS-3 SYS-4 START-19", event.len, sizeof filter);
	memcpy(&filter, event.data, sizeof filter);
	CHECK("SYS-4 START-19", set_equal(&filter, &empty));
}

static void check_stop(bool automatic)
{
	int value = -1;

	CHECK_EQ("SYS-5", event.len, sizeof value);
	memcpy(&value, event.data, sizeof value);
	if (automatic)
		CHECK_NE("SYS-5 START-13", value, 0);
	else
		CHECK_EQ("SYS-5 START-4", value, 0);
}

/* Reads the next event. Returns its type, or NO_TYPE if there is none. */
static trace_event_id_t next(void)
{
	if (!kept && !stream_try(trid, &event))
		event.info.posix_event_id = NO_TYPE;
	kept = false;
	return event.info.posix_event_id;
}

/* Reads consecutive numbers. With `full`, the stream is full until the last one has been read. */
static void expect_numbers(const char *ids, unsigned first, unsigned end, bool full)
{
	for (unsigned number = first; number < end; number++) {
		if (full && number > 0 && number % 16 == 0)
			CHECK_STR("START-15 START-16 STAT-14", state(trid), "SF");
		if (next() != id) {
			TEST_FAIL(ids, "event type %u instead of number %u", event.info.posix_event_id, number);
			return;
		}
		CHECK_EQ("READ-20", number_of(event.data, event.len).number, number);
	}
}

/*
 * Reads to the end of a gap. A START that has not been overwritten may come before it. oldest_first checks which event
 * is overwritten first.
 */
static void expect_gap(void)
{
	if (next() == POSIX_TRACE_START)
		next();
	CHECK_EQ("SYS-7 SYS-18", event.info.posix_event_id, POSIX_TRACE_OVERFLOW);
	/* Reading may drop events older than the overwritten ones. This is an overrun too, and reported once. */
	state(trid);
	CHECK_EQ("SYS-7 SYS-18", next(), POSIX_TRACE_RESUME);
}

/* Reads a LOOP stream that has overwritten: a gap, then numbers to the last one that was recorded before a stop. */
static void expect_window(void)
{
	unsigned first;

	expect_gap();
	if (next() != id) {
		TEST_FAIL("START-11", "event type %u after a gap", event.info.posix_event_id);
		return;
	}
	first = number_of(event.data, event.len).number;
	CHECK_OP("START-11", first, <, fitting);
	CHECK_EQ("START-11 READ-20", number_run(trid, id, first + 1, &event), fitting);
	kept = event.info.posix_event_id != NO_TYPE;
}

static void expect_step(const char *ids, const char *step)
{
	if (strcmp(step, "START") == 0) {
		CHECK_EQ(ids, next(), POSIX_TRACE_START);
		check_start();
	} else if (strncmp(step, "STOP", 4) == 0) {
		CHECK_EQ(ids, next(), POSIX_TRACE_STOP);
		check_stop(step[4] == '!');
	} else if (strcmp(step, "window") == 0) {
		expect_window();
	} else if (strcmp(step, "all") == 0 || strcmp(step, "rest") == 0) {
		expect_numbers(ids, 0, fitting, step[0] == 'a');
	} else if (strcmp(step, "last") == 0) {
		expect_numbers(ids, sent - 1, sent, false);
	} else if (step[0] >= '0' && step[0] <= '9') {
		expect_numbers(ids, (unsigned)atoi(step), (unsigned)atoi(step) + 1, false);
	} else if (strcmp(step, "end") == 0) {
		CHECK_EQ("START-10", next(), NO_TYPE);
	} else if (strcmp(step, "+") == 0) {
		send_one();
	} else if (strchr(step, '?')) {
		CHECK(ids, strncmp(state(trid), step, 2) == 0);
	} else {
		CHECK_STR(ids, state(trid), step);
	}
}

/*
 * Takes steps, which are words. These are read next: START; STOP (of a call), STOP! (by itself); a number; `last`, the
 * number sent last; `all` or `rest`, the numbers that fitted (`all`: the stream is full until they are read); `window`,
 * a gap and the numbers that have not been overwritten. `end`: there is nothing to read. `+`: an event is recorded.
 * Anything else is the state, where ? stands for an overrun or none.
 */
static void expect(const char *ids, const char *steps)
{
	char text[100], *rest = text;

	MUST(strlen(steps) < sizeof text);
	strcpy(text, steps);
	for (char *step; (step = strtok_r(rest, " ", &rest));)
		expect_step(ids, step);
}

/* -- The table ----------------------------------------------------------- */

enum call { NOTHING, START, STOP, CLEAR, SHUTDOWN, EVENT, EVENTS };

#define L  1
#define U  2
#define LU (L | U)

struct row {
	const char *ids;
	int policies;
	enum from from;
	enum call call;
	const char *then; /* for expect() */
};
#define ROW(ids, ...) { ids, __VA_ARGS__ }

static int make_call(enum call call)
{
	switch (call) {
	case START:
		return posix_trace_start(trid);
	case STOP:
		stopped = true;
		return posix_trace_stop(trid);
	case CLEAR:
		return posix_trace_clear(trid);
	case SHUTDOWN:
		return posix_trace_shutdown(trid);
	default:
		for (int i = call == EVENT ? 1 : call == EVENTS ? 2000 : 0; i > 0; i--)
			send_one();
		return 0;
	}
}

static void run_row(const struct row *row, int policy)
{
	int before = test_failures;

	if (row->from != AND)
		enter(row->from, policy);
	CHECK_EQ(row->ids, make_call(row->call), 0);
	if (row->call == SHUTDOWN) {
		CHECK_EQ("SHUT-4 START-7", posix_trace_start(trid), EINVAL);
		CHECK_EQ("SHUT-4 START-7", posix_trace_stop(trid), EINVAL);
	}
	expect(row->ids, row->then);
	if (test_failures > before)
		fprintf(stderr, "  ... policy %d, state %d, call %d: %s\n", policy, row->from, row->call, row->then);
}

/* Policies, state, call; then the state after it, what is read, and further states and events in between. */
TEST(table)
{
	static const struct row table[] = {
		ROW("START-1 START-9 STAT-8 STAT-11", LU, SN, START, "RN START end"),
		ROW("START-5 START-9 STAT-13", LU, SN, STOP, "SN end"),
		ROW("START-1", LU, AND, START, "RN"),
		ROW("START-4", LU, AND, STOP, "SN"),
		ROW("START-5 STAT-13", LU, AND, STOP, "SN START STOP end"),
		ROW("MODEL-5 EVT-4 STAT-9 STAT-13", LU, SN, EVENTS, "SN end"), /* more than it can hold */
		ROW("CLEAR-4", LU, SN, CLEAR, "SN end"),
		ROW("SHUT-10", LU, SN, SHUTDOWN, ""),

		ROW("START-2 START-9", LU, RN, START, "RN START end"),
		ROW("STAT-8 STAT-11", LU, RN, EVENT, "RN"),
		ROW("START-4 START-9 STAT-9", LU, AND, STOP, "SN +"),
		ROW("START-1", LU, AND, START, "+ START 0 STOP START 2 end"),
		ROW("STAT-8 STAT-11", LU, RN, EVENT, "RN START RN 0 RN + 1 end"),
		ROW("-", LU, RN, EVENT, "+"),
		ROW("START-4 READ-32 STAT-13", LU, AND, STOP, "SN START 0 SN 1"),
		ROW("START-15 STAT-13", LU, AND, NOTHING, "STOP SN end"),
		ROW("CLEAR-1 CLEAR-4", LU, RN, EVENT, ""),
		ROW("CLEAR-1 CLEAR-4", LU, AND, CLEAR, "RN + 1 end"),
		ROW("-", LU, RN, EVENT, ""),
		ROW("START-4", LU, AND, STOP, ""),
		ROW("CLEAR-1 CLEAR-4 CLEAR-6", LU, AND, CLEAR, "SN end"),
		ROW("SHUT-10", LU, RN, EVENT, ""),
		ROW("SHUT-10", LU, AND, SHUTDOWN, ""),

		/* RF */
		ROW("START-2 START-3 STAT-12", L, FULL, START, "RF window end"),
		ROW("START-4 START-11 STAT-14", L, FULL, STOP, "SF?"),
		ROW("EVT-4 STAT-13 STAT-14", L, AND, EVENT, "SF window STOP end SN"),
		ROW("CLEAR-1 CLEAR-4 CLEAR-6", L, FULL, CLEAR, "RN + last end"),
		ROW("SHUT-3 SHUT-10", L, FULL, SHUTDOWN, ""),

		/* SA. It restarts by itself until it is stopped by a call. */
		ROW("START-3 START-9 START-15", U, FULL, START, "SF START all RN STOP! START + last end"),
		ROW("START-5 START-6 START-9 STAT-13 STAT-14", U, FULL, STOP, "SF START rest STOP! end SN + end"),
		ROW("START-1", U, AND, START, "+ START last end"),
		ROW("START-15 STAT-11", U, FULL, NOTHING, "START all RN + STOP! START last end"),
		ROW("CLEAR-1 CLEAR-4 CLEAR-6 STAT-13", U, FULL, CLEAR, "SN + SN end SN"),
		ROW("START-1", U, AND, START, "+ START last end"),
		ROW("SHUT-3 SHUT-10", U, FULL, SHUTDOWN, ""),

		ROW("START-1 START-11 STAT-11 STAT-12", L, SC, START, "RF? + window STOP START last end RN"),
		ROW("START-3 START-9 START-15", U, SC, START, "SF START all RN + STOP! START last end"),
		ROW("START-5 START-6 STAT-14", L, SC, STOP, "SF window STOP end"),
		ROW("START-5 START-6 STAT-14 READ-32", U, SC, STOP, "SF START rest STOP! end"),
		ROW("CLEAR-1 CLEAR-4 CLEAR-6 STAT-13", LU, SC, CLEAR, "SN + end"),
		ROW("SHUT-3 SHUT-10", LU, SC, SHUTDOWN, ""),
	};
	const int rows = sizeof table / sizeof table[0];

	for (int i = 0; i < rows; i++) {
		for (int policy = L; policy <= U && table[i].from != AND; policy++) {
			int last = i;

			if (!(table[i].policies & policy))
				continue;
			run_row(&table[i], policy == L ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL);
			while (last + 1 < rows && table[last + 1].from == AND)
				run_row(&table[++last], policy == L ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL);
			if (table[last].call != SHUTDOWN)
				stream_end(trid);
		}
	}
}

/* -- Happenings that need a loop ----------------------------------------- */

#define BOTH(cell)                                            \
	TEST(l_##cell) { cell(POSIX_TRACE_LOOP); }            \
	TEST(u_##cell) { cell(POSIX_TRACE_UNTIL_FULL); }

/* Nothing is lost of what a suspended stream does not record, or what a running one has room for. */
static void none_lost(int policy)
{
	enter(SN, policy);
	make_call(EVENTS);
	CHECK_LOST("EVT-4 MODEL-8", lost_events(trid), ==, 0);
	stream_end(trid);
	enter(RN, policy);
	send_one();
	CHECK_LOST("MODEL-8", lost_events(trid), ==, 0);
	stream_end(trid);
}

/* Reading makes room: many more events pass through the stream than it can hold, and none is lost. */
static void rn_read_all_the_time(int policy)
{
	enter(RN, policy);
	expect("-", "START");
	for (int i = 0; i < 5000; i++) {
		send_one();
		send_one();
		expect_numbers("-", sent - 2, sent, false);
	}
	expect("START-14 START-20 READ-23 STAT-11", "RN");
	CHECK_LOST("START-14 START-20 READ-23 MODEL-8", lost_events(trid), ==, 0);
	expect("-", "end");
	stream_end(trid);
}

BOTH(none_lost)
BOTH(rn_read_all_the_time)

/* Records events until one does not fit. */
static const char *rn_event_too_many(int policy)
{
	const char *s;

	enter(RN, policy);
	do {
		MUST(sent < 100000);
		send_one();
		s = state(trid);
	} while (strcmp(s, "RN") == 0);
	return s;
}

TEST(l_rn_too_many)
{
	CHECK_STR("STAT-12 STAT-15 START-11", rn_event_too_many(POSIX_TRACE_LOOP), "RF!");
	CHECK_STR("STAT-3", state(trid), "RF");
	CHECK_LOST("STAT-15", lost_events(trid), >=, 1);
	expect("STAT-11", "window RN");
	stream_end(trid);
}

TEST(u_rn_too_many)
{
	CHECK_STR("START-12 STAT-14 STAT-15", rn_event_too_many(POSIX_TRACE_UNTIL_FULL), "SF!");
	CHECK_STR("STAT-3 START-12", state(trid), "SF");
	CHECK_LOST("STAT-15", lost_events(trid), ==, 1);
	fitting--;
	expect("START-12", "START all STOP! START end");
	stream_end(trid);
}

TEST(l_rf_event)
{
	unsigned long long lost;
	int overrun = 0;

	enter(FULL, POSIX_TRACE_LOOP);
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
	expect("START-11", "window end");
	stream_end(trid);
}

TEST(l_rf_read)
{
	enter(FULL, POSIX_TRACE_LOOP);
	/* There is room when everything has been read, at the latest. The stream runs all the time. */
	for (int full = 1; stream_try(trid, &event);) {
		const char *s = state(trid);

		if (strcmp(s, "RN") == 0)
			full = 0;
		else if (strncmp(s, "RF", 2) != 0 || !full) /* the first time it may be an overrun: expect_gap() */
			TEST_FAIL("STAT-11 STAT-12", "%s while it is read", s);
	}
	expect("STAT-11 READ-23", "RN + last end");
	stream_end(trid);
}

/* After half of the events are read, there is room for more. */
TEST(l_rf_read_some)
{
	unsigned first;

	enter(FULL, POSIX_TRACE_LOOP);
	expect_gap();
	MUST(next() == id);
	first = number_of(event.data, event.len).number + 1;
	expect_numbers("-", first, sent - 2, false);
	expect("STAT-11 START-20 READ-23", "RN + RN");
	expect_numbers("START-20", sent - 3, sent, false);
	expect("-", "end");
	stream_end(trid);
}

TEST(u_sa_event)
{
	enter(FULL, POSIX_TRACE_UNTIL_FULL);
	CHECK_LOST("STAT-15", lost_events(trid), ==, 1);
	for (int i = 0; i < 10; i++)
		expect("STAT-3 STAT-14 STAT-15", "+ SF! SF");
	CHECK_LOST("STAT-15", lost_events(trid), ==, 11);
	/* Also when there is room again, as the stream is still stopped. */
	expect("-", "START");
	expect_numbers("-", 0, fitting - 1, false);
	expect("START-15 STAT-14 STAT-15", "SF + SF!");
	posix_trace_event(id, NULL, 0);
	expect("STAT-14 STAT-15", "SF!");
	CHECK_LOST("STAT-15", lost_events(trid), ==, 13);
	expect_numbers("-", fitting - 1, fitting, false);
	expect("START-15", "STOP! START end");
	stream_end(trid);
}

/* Filled and read several times, with the same result. */
TEST(u_sa_again)
{
	unsigned first = 0, end;

	enter(RN, POSIX_TRACE_UNTIL_FULL);
	for (int round = 0; round < 10; round++, first = end) {
		end = fill(trid, id, first);
		expect("START-15", round > 0 ? "STOP! START" : "START");
		expect_numbers("START-15", first, end - 1, false);
		expect("START-15", "RN");
	}
	expect("START-15", "STOP! START end");
	CHECK_LOST("STAT-15", lost_events(trid), ==, 10);
	stream_end(trid);
}

/* START contains the filter at the time of the restart. */
TEST(u_sa_filter)
{
	trace_event_set_t hidden = set_of(stream_id("hidden")), filter;

	enter(FULL, POSIX_TRACE_UNTIL_FULL);
	CHECK_EQ("FILT-3", posix_trace_set_filter(trid, &hidden, POSIX_TRACE_SET_EVENTSET), 0);
	expect("FILT-3", "SF START all STOP!");
	stream_expect(trid, POSIX_TRACE_START, &event);
	CHECK_EQ("START-17 START-19 SYS-4", event.len, sizeof filter);
	memcpy(&filter, event.data, sizeof filter);
	CHECK("START-17 START-19 SYS-4", set_equal(&filter, &hidden));
	expect("-", "end");
	stream_end(trid);
}

/* Under UNTIL_FULL an event is lost while the stream is full, even if a call has stopped the stream. */
static void sc_event(int policy)
{
	int counted = policy != POSIX_TRACE_LOOP;
	unsigned long long lost;

	enter(SC, policy);
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

	enter(SC, policy);
	while (stream_try(trid, &event)) {
		const char *s = state(trid);

		if (strcmp(s, "SN") == 0)
			full = 0;
		else if (strncmp(s, "SF", 2) != 0 || !full)
			TEST_FAIL("STAT-13 STAT-14", "%s while it is read", s);
	}
	CHECK_STR("STAT-13 READ-23", state(trid), "SN");
	expect("-", "+ end");
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	expect("START-1 STAT-11", "RN START end");
	stream_end(trid);
}

BOTH(sc_event)
BOTH(sc_read)

/* -- Beside the table --------------------------------------------------- */

/* LOOP overwrites the oldest event: no event survives a younger one. */
TEST(oldest_first)
{
	unsigned first = 0;

	enter(FULL, POSIX_TRACE_LOOP); /* START, 0, 1, ... */
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

		enter(RN, POSIX_TRACE_LOOP);
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

		enter(RN, policy);
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

		enter(RN, POSIX_TRACE_UNTIL_FULL);
		while (sent < k)
			send_one();
		CHECK_EQ("FILT-14", posix_trace_set_filter(trid, &hidden, POSIX_TRACE_SET_EVENTSET), 0);
		MUST(posix_trace_get_filter(trid, &got) == 0);
		CHECK("FILT-3 FILT-8", set_equal(&got, &hidden));
		lost = lost_events(trid);
		expect("-", "START");
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
	enter(SN, POSIX_TRACE_LOOP);
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
	expect("-", "STOP");
	stream_expect(trid, POSIX_TRACE_START, &event);
	memcpy(&filter, event.data, sizeof filter);
	CHECK("SYS-4 START-19", set_equal(&filter, &both));
	CHECK("SYS-4 START-19 FILT-1", set_equal(&filter, &got));
	expect("-", "end");
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
	expect("-", "START");
	CHECK_EQ("SYS-4 ATTR-44", event.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
	expect("-", "STOP");
	CHECK_EQ("SYS-5 ATTR-44", event.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
	stream_end(trid);
}

TEST_MAIN(TEST_ENTRY(table), TEST_ENTRY(l_none_lost), TEST_ENTRY(u_none_lost), TEST_ENTRY(l_rn_read_all_the_time),
          TEST_ENTRY(u_rn_read_all_the_time), TEST_ENTRY(l_rn_too_many), TEST_ENTRY(u_rn_too_many),
          TEST_ENTRY(l_rf_event), TEST_ENTRY(l_rf_read), TEST_ENTRY(l_rf_read_some), TEST_ENTRY(u_sa_event),
          TEST_ENTRY(u_sa_again), TEST_ENTRY(u_sa_filter), TEST_ENTRY(l_sc_event), TEST_ENTRY(u_sc_event),
          TEST_ENTRY(l_sc_read), TEST_ENTRY(u_sc_read), TEST_ENTRY(oldest_first), TEST_ENTRY(oldest_first_of_threads),
          TEST_ENTRY(l_at_any_fill), TEST_ENTRY(u_at_any_fill), TEST_ENTRY(u_filter_at_any_fill),
          TEST_ENTRY(start_data), TEST_ENTRY(small_max_data))
