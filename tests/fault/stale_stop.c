/*
 * stale_stop.c - a thread that finds a stream full is held up while others stop the stream, and readers restart it
 *
 * When the thread goes on, it may stop the stream once more, although there is room now. Whatever it does, the reader
 * is told of each stop: numbers of events are missing only after a STOP, and each START follows a STOP.
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "test.h"

#define SIZE   65536
#define EVENTS (SIZE / 16) /* more than fit */

enum restart { BY_READING, BY_CALLS, RESTARTS };

static trace_event_id_t id;
static trace_id_t trid;
static _Atomic(const char *) armed;
static _Atomic bool stood, released;
static __thread bool mine;
static uint64_t sent;            /* by the main thread */
static uint64_t last, last_held; /* the newest events that were read: of the main thread, of the held-up thread */
static uint64_t read_events;
static bool stopped;             /* a STOP was read since the last event */

static void sleep_a_little(void)
{
	struct timespec t = { 0, 100000 };

	nanosleep(&t, NULL);
}

void test_point(const char *name);

void test_point(const char *name)
{
	const char *at = mine ? atomic_load(&armed) : NULL;

	if (!at || strcmp(name, at) != 0)
		return;
	atomic_store(&armed, NULL);
	stood = true;
	while (!released)
		sleep_a_little();
}

static void create(void)
{
	trace_event_set_t set;
	trace_attr_t attr;

	MUST(posix_trace_attr_init(&attr) == 0);
	MUST(posix_trace_attr_setstreamsize(&attr, SIZE) == 0);
	MUST(posix_trace_attr_setmaxdatasize(&attr, sizeof(uint64_t)) == 0);
	MUST(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_UNTIL_FULL) == 0);
	MUST(posix_trace_create(0, &attr, &trid) == 0);
	posix_trace_attr_destroy(&attr);
	MUST(posix_trace_eventset_empty(&set) == 0);
	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
	MUST(posix_trace_start(trid) == 0);
	sent = last = last_held = read_events = 0;
	stopped = stood = released = false;
}

static void send(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		sent++;
		posix_trace_event(id, &sent, sizeof sent);
	}
}

#define HELD UINT64_C(0x100000000) /* added to the numbers of the held-up thread */

/* Fills the stream, and is held up when it is full. Its last event is the one that finds no room. */
static void *fill(void *events)
{
	uint64_t n = 0;

	mine = true;
	while (n < EVENTS && !stood) {
		uint64_t number = HELD + ++n;

		posix_trace_event(id, &number, sizeof number);
	}
	*(uint64_t *)events = n;
	return NULL;
}

/* Reads all events that are there. */
static void read_all(const char *when)
{
	struct posix_trace_event_info e;
	uint64_t number;
	size_t length;
	int none;

	for (;;) {
		uint64_t *before;

		MUST(posix_trace_trygetnext_event(trid, &e, &number, sizeof number, &length, &none) == 0);
		if (none)
			return;
		if (e.posix_event_id == POSIX_TRACE_STOP) {
			stopped = true;
		} else if (e.posix_event_id == POSIX_TRACE_START) {
			if (!stopped && read_events)
				TEST_FAIL("SYS-10 START-13", "%s: a START without a STOP", when);
		} else if (e.posix_event_id == id) {
			before = number > HELD ? &last_held : &last;
			number = number > HELD ? number - HELD : number;
			if (number != *before + 1 && !stopped)
				TEST_FAIL("SYS-7 SYS-9", "%s: no STOP between events %llu and %llu", when,
				          (unsigned long long)*before, (unsigned long long)number);
			*before = number;
			stopped = false;
			read_events++;
		}
	}
}

static uint64_t lost(void)
{
	struct posix_trace_status_info status;

	MUST(posix_trace_get_status(trid, &status) == 0);
	return status.__posix_lost_events;
}

/* Checks the reports of stops if a thread is held up at the point. Returns true if one was. */
static bool held_up_at(const char *name, enum restart restart)
{
	uint64_t events;
	pthread_t thread;

	create();
	atomic_store(&armed, name);
	MUST(pthread_create(&thread, NULL, fill, &events) == 0);
	while (!stood)
		sleep_a_little();
	send(2); /* they find the stream full, and stop it */
	read_all("while a thread is held up");
	if (restart == BY_CALLS) {
		MUST(posix_trace_stop(trid) == 0);
		MUST(posix_trace_start(trid) == 0);
	}
	read_all("while a thread is held up");
	send(5);
	read_all("after the restart");
	released = true;
	pthread_join(thread, NULL);
	/* These are lost if the held-up thread has stopped the stream once more. */
	send(5);
	read_all("after the thread went on");
	send(5);
	read_all("at the end");
	CHECK_EQ("SYS-7", last, sent);
	CHECK_EQ("MODEL-8", read_events + lost(), sent + events);
	MUST(posix_trace_shutdown(trid) == 0);
	return stood;
}

static void check_at(const char *name)
{
	MUST(posix_trace_eventid_open("stale_stop", &id) == 0);
	for (int restart = 0; restart < RESTARTS; restart++)
		CHECK("-", held_up_at(name, (enum restart)restart));
}

TEST(counted) { check_at("lost_counted"); }
TEST(timed)   { check_at("full_ticks"); }
TEST(full)    { check_at("full_stopped"); }

TEST_MAIN(TEST_ENTRY(counted), TEST_ENTRY(timed), TEST_ENTRY(full))
