/*
 * examples.c - the uses that the rationale describes and that need no log, as tests
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>

#include "numbers.h"

/* -- An instrumented application ---------------------------------------- */

static trace_event_id_t eventid1, eventid2;

static void application(void)
{
	CHECK_EQ("EX-3 EVT-13 EVT-22", posix_trace_eventid_open("my_first_event", &eventid1), 0);
	CHECK_EQ("EX-3 EVT-13 EVT-22", posix_trace_eventid_open("my_2nd_event", &eventid2), 0);
	posix_trace_event(eventid1, NULL, 0);
	posix_trace_event(eventid2, NULL, 0);
}

/* It works in the same way without a stream, with a suspended stream and with a running one. */
TEST(instrumented_application)
{
	trace_event_id_t first, second;
	struct stream_event e;
	trace_id_t trid;

	application();
	first = eventid1;
	second = eventid2;
	CHECK("EX-3 MODEL-12", first != second);
	CHECK("EX-3 MODEL-13", first != POSIX_TRACE_UNNAMED_USEREVENT && second != POSIX_TRACE_UNNAMED_USEREVENT);

	trid = stream_create(NULL);
	application();
	CHECK_EQ("EX-3 EVT-19", eventid1, first);
	CHECK_EQ("EX-3 EVT-4", stream_drain(trid), 0);
	MUST(posix_trace_start(trid) == 0);
	application();
	CHECK_EQ("EX-3 EVT-19", eventid1, first);
	CHECK_EQ("EX-3 EVT-19", eventid2, second);
	stream_expect(trid, POSIX_TRACE_START, &e);
	stream_expect(trid, first, &e);
	CHECK_EQ("EX-3 EVT-2", e.len, 0);
	CHECK_EQ("EX-3 EVT-2", e.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
	stream_expect(trid, second, &e);
	CHECK_EQ("EX-3 EVT-2", e.len, 0);
	CHECK_EQ("EX-3 EVT-2", e.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
	CHECK_EQ("EX-3", stream_drain(trid), 0);
	stream_end(trid);
}

/* -- Attributes --------------------------------------------------------- */

TEST(attributes)
{
	trace_attr_t attr, got;
	char name[TRACE_NAME_MAX + 1];
	size_t size;
	int policy;
	trace_id_t trid;

	CHECK_EQ("EX-6 ATTR-1", posix_trace_attr_init(&attr), 0);
	CHECK_EQ("EX-6 ATTR-19", posix_trace_attr_setname(&attr, "my_trace"), 0);
	CHECK_EQ("EX-6 ATTR-32", posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP), 0);
	CHECK_EQ("EX-6 ATTR-39", posix_trace_attr_setlogsize(&attr, 100000), 0);
	CHECK_EQ("EX-6 ATTR-18", posix_trace_attr_getname(&attr, name), 0);
	CHECK_STR("EX-6 ATTR-19", name, "my_trace");
	CHECK_EQ("EX-6 ATTR-32", posix_trace_attr_getstreamfullpolicy(&attr, &policy), 0);
	CHECK_EQ("EX-6 ATTR-32", policy, POSIX_TRACE_LOOP);
	CHECK_EQ("EX-6 ATTR-39", posix_trace_attr_getlogsize(&attr, &size), 0);
	CHECK_EQ("EX-6 ATTR-39", size, 100000);
	/* A stream takes over the attributes. */
	MUST(posix_trace_create(0, &attr, &trid) == 0);
	MUST(posix_trace_get_attr(trid, &got) == 0);
	MUST(posix_trace_attr_getname(&got, name) == 0);
	CHECK_STR("EX-6 ATTR-57", name, "my_trace");
	MUST(posix_trace_attr_getstreamfullpolicy(&got, &policy) == 0);
	CHECK_EQ("EX-6 ATTR-57", policy, POSIX_TRACE_LOOP);
	CHECK_EQ("EX-6 ATTR-5", posix_trace_attr_destroy(&got), 0);
	CHECK_EQ("EX-6 ATTR-5", posix_trace_attr_destroy(&attr), 0);
	stream_end(trid);
}

/* -- A filter ----------------------------------------------------------- */

/* Filters out the process-independent system events and two user types, but not POSIX_TRACE_ERROR. */
static void set_up_filter(trace_id_t trid, trace_event_id_t *type1, trace_event_id_t *type2)
{
	trace_event_set_t set;

	CHECK_EQ("EX-7 SET-4", posix_trace_eventset_empty(&set), 0);
	CHECK_EQ("EX-7 SET-5 SET-6", posix_trace_eventset_fill(&set, POSIX_TRACE_WOPID_EVENTS), 0);
	CHECK_EQ("EX-7 ID-13", posix_trace_trid_eventid_open(trid, "typeA", type1), 0);
	CHECK_EQ("EX-7 SET-2", posix_trace_eventset_add(*type1, &set), 0);
	CHECK_EQ("EX-7 ID-13", posix_trace_trid_eventid_open(trid, "typeB", type2), 0);
	CHECK_EQ("EX-7 SET-2", posix_trace_eventset_add(*type2, &set), 0);
	CHECK_EQ("EX-7 SET-3", posix_trace_eventset_del(POSIX_TRACE_ERROR, &set), 0);
	CHECK_EQ("EX-7 FILT-2", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
}

/* For a stream that has been created, is running, or is suspended again. */
TEST(filter)
{
	for (int when = 0; when < 3; when++) {
		trace_id_t trid = stream_create(NULL);
		trace_event_id_t type1, type2, other = stream_id("typeC"), id;
		trace_event_set_t filter;
		struct stream_event e;
		int member = -1;

		if (when > 0)
			MUST(posix_trace_start(trid) == 0);
		if (when > 1)
			MUST(posix_trace_stop(trid) == 0);
		stream_drain(trid);
		set_up_filter(trid, &type1, &type2);
		CHECK("EX-7 MODEL-12", type1 != type2);
		CHECK_EQ("EX-7 FILT-6 FILT-7", stream_count(trid, POSIX_TRACE_FILTER), when == 1);
		MUST(posix_trace_start(trid) == 0);
		stream_drain(trid);

		/* The application gets the same ids when it opens the names later. */
		CHECK_EQ("EX-7 ID-18 ID-23", posix_trace_eventid_open("typeA", &id), 0);
		CHECK_EQ("EX-7 ID-18 ID-23", id, type1);
		CHECK_EQ("EX-7 ID-18 ID-23", posix_trace_eventid_open("typeB", &id), 0);
		CHECK_EQ("EX-7 ID-18 ID-23", id, type2);
		posix_trace_event(type1, "A", 1);
		posix_trace_event(other, "C", 1);
		posix_trace_event(type2, "B", 1);
		stream_expect(trid, other, &e);
		CHECK_EQ("EX-7 FILT-4", stream_drain(trid), 0);
		CHECK_EQ("EX-7 FILT-1", posix_trace_get_filter(trid, &filter), 0);
		MUST(posix_trace_eventset_ismember(POSIX_TRACE_ERROR, &filter, &member) == 0);
		CHECK_EQ("EX-7 SET-3", member, 0);
		MUST(posix_trace_eventset_ismember(type1, &filter, &member) == 0);
		CHECK_NE("EX-7 SET-2", member, 0);
		stream_end(trid);
	}
}

/* -- The list of event types -------------------------------------------- */

TEST(event_types)
{
	static const char *const names[] = {
		"posix_trace_error", "posix_trace_start", "posix_trace_stop", "posix_trace_filter",
		"posix_trace_overflow",
		"posix_trace_resume", "posix_trace_flush_start", "posix_trace_flush_stop",
		"posix_trace_unnamed_userevent",
		"mine", "yours",
	};
	enum { NAMES = sizeof names / sizeof names[0] };
	trace_id_t trid;
	trace_event_id_t id;

	stream_id("mine");
	trid = stream_create(NULL);
	MUST(posix_trace_trid_eventid_open(trid, "yours", &id) == 0);
	for (int round = 0; round < 3; round++) {
		int seen[NAMES] = { 0 }, unavailable = 1, n = 0;

		for (;;) {
			char name[TRACE_EVENT_NAME_MAX + 1];
			int i;

			CHECK_EQ("EX-9 ID-28 ID-33", posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable), 0);
			if (unavailable)
				break;
			n++;
			CHECK_EQ("EX-9 ID-6", posix_trace_eventid_get_name(trid, id, name), 0);
			for (i = 0; i < NAMES && strcmp(name, names[i]) != 0; i++)
				;
			if (i < NAMES)
				seen[i]++;
			else if (OURS_IDS) /* other implementations may have more types */
				TEST_FAIL("EX-9 ID-29", "a type named \"%s\"", name);
		}
		for (int i = 0; i < NAMES; i++) {
			if (seen[i] != 1)
				TEST_FAIL("EX-9 ID-26 ID-29 ID-30", "\"%s\" is listed %d times", names[i], seen[i]);
		}
		CHECK_OURS(OURS_IDS, "EX-9 ID-29", n, ==, NAMES);
		CHECK_EQ("EX-9 ID-30", posix_trace_eventtypelist_rewind(trid), 0);
	}
	stream_end(trid);
}

/* -- Tracing per thread, by the application ----------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static trace_event_id_t thread_event;

static void initialise(void)
{
	MUST(pthread_key_create(&key, NULL) == 0);
	CHECK_EQ("EX-10 EVT-13", posix_trace_eventid_open("per thread", &thread_event), 0);
}

static void trace_this_thread(void)
{
	pthread_once(&once, initialise);
	pthread_setspecific(key, "on");
}

static void trace_point(unsigned number)
{
	pthread_once(&once, initialise);
	if (pthread_getspecific(key))
		number_send(thread_event, 0, number);
}

static void *traced(void *arg)
{
	trace_this_thread();
	*(pthread_t *)arg = pthread_self();
	for (unsigned n = 0; n < 100; n++)
		trace_point(n);
	return NULL;
}

static void *untraced(void *arg)
{
	for (unsigned n = 0; n < 100; n++)
		trace_point(1000 + n);
	return arg;
}

TEST(per_thread)
{
	trace_id_t trid = stream_running(NULL);
	pthread_t a, b, self;
	struct stream_event e;
	unsigned n = 0;

	MUST(pthread_create(&a, NULL, traced, &self) == 0);
	MUST(pthread_create(&b, NULL, untraced, NULL) == 0);
	MUST(pthread_join(b, NULL) == 0);
	MUST(pthread_join(a, NULL) == 0);
	while (stream_try(trid, &e)) {
		CHECK_EQ("EX-10", e.info.posix_event_id, thread_event);
		CHECK_EQ("EX-10", number_of(e.data, e.len).number, n++);
		CHECK("EX-10 EVT-7", pthread_equal(e.info.posix_thread_id, self));
	}
	CHECK_EQ("EX-10", n, 100);
	stream_end(trid);
}

/* -- The states of a stream --------------------------------------------- */

TEST(states)
{
	trace_id_t trid = stream_create(NULL);
	trace_event_id_t id = stream_id("states");
	struct posix_trace_status_info s;
	struct stream_event e;

	CHECK_EQ("EX-13 CREATE-24", stream_status(trid).posix_stream_status, POSIX_TRACE_SUSPENDED);
	MUST(posix_trace_start(trid) == 0);
	CHECK_EQ("EX-13 CREATE-24", stream_status(trid).posix_stream_status, POSIX_TRACE_RUNNING);
	number_send(id, 0, 0);
	MUST(posix_trace_stop(trid) == 0);
	CHECK_EQ("EX-13 CREATE-24", stream_status(trid).posix_stream_status, POSIX_TRACE_SUSPENDED);
	stream_expect(trid, POSIX_TRACE_START, &e);
	stream_expect(trid, id, &e);
	CHECK_EQ("EX-13 READ-32", number_of(e.data, e.len).number, 0);
	MUST(posix_trace_start(trid) == 0);
	CHECK_EQ("EX-13 CREATE-24", stream_status(trid).posix_stream_status, POSIX_TRACE_RUNNING);
	MUST(posix_trace_shutdown(trid) == 0);
	CHECK_EQ("EX-13 CREATE-24 SHUT-4", posix_trace_get_status(trid, &s), EINVAL);
	CHECK_EQ("EX-13 SHUT-4", posix_trace_start(trid), EINVAL);
}

/* -- An overrun under LOOP ---------------------------------------------- */

TEST(overrun)
{
	trace_event_id_t id = stream_id("overrun");
	trace_id_t trid = small_stream(POSIX_TRACE_LOOP);
	struct stream_event e;
	unsigned first;

	MUST(posix_trace_start(trid) == 0);
	for (unsigned n = 0; n < 2000; n++)
		number_send(id, 0, n);
	CHECK_EQ("EX-14 STAT-15", stream_status(trid).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	CHECK_EQ("EX-14 STAT-3", stream_status(trid).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	stream_expect(trid, POSIX_TRACE_OVERFLOW, &e);
	stream_expect(trid, POSIX_TRACE_RESUME, &e);
	stream_expect(trid, id, &e);
	first = number_of(e.data, e.len).number;
	CHECK_OP("EX-14 START-11", first, >, 0);
	CHECK_EQ("EX-14 START-11 SYS-10", number_run(trid, id, first + 1, &e), 2000);
	CHECK_EQ("EX-14", e.info.posix_event_id, NO_TYPE);
	stream_end(trid);
}

TEST_MAIN(TEST_ENTRY(instrumented_application), TEST_ENTRY(attributes), TEST_ENTRY(filter), TEST_ENTRY(event_types),
	  TEST_ENTRY(per_thread), TEST_ENTRY(states), TEST_ENTRY(overrun))
