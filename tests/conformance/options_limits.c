/*
 * options_limits.c - the option constants and the limits, in the header and from sysconf(), and that they hold
 *
 * SPDX-License-Identifier: MIT
 */
#include "stream.h"

#include <limits.h>

#if !(_POSIX_TRACE == 200809L && _POSIX_TRACE_EVENT_FILTER == 200809L && \
      _POSIX_TRACE_LOG == 200809L && _POSIX_TRACE_INHERIT == 200809L)
# error "the options must work in #if"
#endif
#if !(TRACE_EVENT_NAME_MAX >= 30 && TRACE_NAME_MAX >= 8 && TRACE_SYS_MAX >= 8 && TRACE_USER_EVENT_MAX >= 32)
# error "the limits must work in #if"
#endif

/* Returns sysconf(name). It must know the name and leave errno alone. */
static long ask(int name)
{
	long value;

	errno = E2BIG;
	value = sysconf(name);
	CHECK_EQ("LIM-8", errno, E2BIG);
	return value;
}

/*
 * Skips the test where the C library has no second name for its sysconf(), so that other questions could not be passed
 * on. There the C library answers all of them.
 */
static void skip_without_sysconf(void)
{
#ifndef __GLIBC__
	if (sysconf(_SC_TRACE) <= 0)
		SKIP("the C library's own sysconf() answers, and knows of no tracing");
#endif
}

TEST(options)
{
	CHECK_EQ("OPT-1 OPT-6", _POSIX_TRACE, 200809L);
	CHECK_EQ("OPT-2 OPT-6", _POSIX_TRACE_EVENT_FILTER, 200809L);
	CHECK_EQ("OPT-3 OPT-6", _POSIX_TRACE_LOG, 200809L);
	CHECK_EQ("OPT-4 OPT-6", _POSIX_TRACE_INHERIT, 200809L);
	CHECK("OPT-5", _POSIX_TRACE != -1 || (_POSIX_TRACE_EVENT_FILTER == -1 && _POSIX_TRACE_LOG == -1 &&
					      _POSIX_TRACE_INHERIT == -1));
}

TEST(options_at_run_time)
{
	skip_without_sysconf();
	CHECK_EQ("OPT-7 OPT-9", sysconf(_SC_TRACE), 200809L);
	CHECK_EQ("OPT-7 OPT-9", sysconf(_SC_TRACE_EVENT_FILTER), 200809L);
	CHECK_EQ("OPT-7 OPT-9", sysconf(_SC_TRACE_LOG), 200809L);
	CHECK_EQ("OPT-7 OPT-9", sysconf(_SC_TRACE_INHERIT), 200809L);
	/* Positive in the header, so a program need not ask. */
	CHECK("OPT-8", _POSIX_TRACE > 0 && sysconf(_SC_TRACE) == _POSIX_TRACE);
	CHECK("OPT-8", _POSIX_TRACE_EVENT_FILTER > 0 && sysconf(_SC_TRACE_EVENT_FILTER) == _POSIX_TRACE_EVENT_FILTER);
}

/* Other names get the system's answers, invalid ones its error. */
TEST(sysconf_for_the_rest)
{
	CHECK_EQ("OPT-7", sysconf(_SC_PAGESIZE), getpagesize());
	CHECK_OP("OPT-7", sysconf(_SC_NPROCESSORS_ONLN), >=, 1);
	errno = 0;
	CHECK_EQ("OPT-7", sysconf(-12345), -1);
	CHECK_EQ("OPT-7", errno, EINVAL);
}

TEST(minima)
{
	CHECK_EQ("LIM-6", _POSIX_TRACE_EVENT_NAME_MAX, 30);
	CHECK_EQ("LIM-6", _POSIX_TRACE_NAME_MAX, 8);
	CHECK_EQ("LIM-6", _POSIX_TRACE_SYS_MAX, 8);
	CHECK_EQ("LIM-6", _POSIX_TRACE_USER_EVENT_MAX, 32);
	CHECK_OP("LIM-1 LIM-7", TRACE_EVENT_NAME_MAX, >=, _POSIX_TRACE_EVENT_NAME_MAX);
	CHECK_OP("LIM-2 LIM-7", TRACE_NAME_MAX, >=, _POSIX_TRACE_NAME_MAX);
	CHECK_OP("LIM-3 LIM-7", TRACE_SYS_MAX, >=, _POSIX_TRACE_SYS_MAX);
	CHECK_OP("LIM-4 LIM-7", TRACE_USER_EVENT_MAX, >=, _POSIX_TRACE_USER_EVENT_MAX);
}

TEST(limits_at_run_time)
{
	skip_without_sysconf();
	/* Twice, as the values must not change, and with a stream in between. */
	for (int i = 0; i < 2; i++) {
		CHECK_EQ("LIM-8", ask(_SC_TRACE_EVENT_NAME_MAX), TRACE_EVENT_NAME_MAX);
		CHECK_EQ("LIM-8", ask(_SC_TRACE_NAME_MAX), TRACE_NAME_MAX);
		CHECK_EQ("LIM-8", ask(_SC_TRACE_SYS_MAX), TRACE_SYS_MAX);
		CHECK_EQ("LIM-8", ask(_SC_TRACE_USER_EVENT_MAX), TRACE_USER_EVENT_MAX);
		if (i == 0)
			stream_end(stream_running(NULL));
	}
}

TEST(event_name_length)
{
	char name[TRACE_EVENT_NAME_MAX + 2], got[TRACE_EVENT_NAME_MAX + 1];
	trace_id_t trid = stream_create(NULL);
	trace_event_id_t id = 0;

	memset(name, 'n', sizeof name);
	name[TRACE_EVENT_NAME_MAX] = '\0';
	CHECK_EQ("LIM-1", posix_trace_eventid_open(name, &id), 0);
	CHECK_EQ("LIM-1", posix_trace_eventid_get_name(trid, id, got), 0);
	CHECK_STR("LIM-1", got, name);
	name[TRACE_EVENT_NAME_MAX] = 'n';
	name[TRACE_EVENT_NAME_MAX + 1] = '\0';
	CHECK_EQ("LIM-1", posix_trace_eventid_open(name, &id), ENAMETOOLONG);
	stream_end(trid);
}

TEST(stream_name_length)
{
	char version[TRACE_NAME_MAX + 1], name[TRACE_NAME_MAX + 1], got[TRACE_NAME_MAX + 1];
	trace_attr_t attr;

	stream_attr(&attr, 0, 0, 0);
	memset(version, 'v', sizeof version);
	CHECK_EQ("LIM-2", posix_trace_attr_getgenversion(&attr, version), 0);
	CHECK("LIM-2", memchr(version, '\0', TRACE_NAME_MAX));
	memset(name, 'n', sizeof name);
	name[TRACE_NAME_MAX - 1] = '\0';
	CHECK_EQ("LIM-2", posix_trace_attr_setname(&attr, name), 0);
	CHECK_EQ("LIM-2", posix_trace_attr_getname(&attr, got), 0);
	CHECK_STR("LIM-2", got, name);
}

/*
 * The minimum for every system. The limit itself is tested with posix_trace_create(), as it takes all streams of the
 * system.
 */
TEST(streams_at_once)
{
	trace_event_id_t id = stream_id("limits.stream");
	trace_id_t trid[_POSIX_TRACE_SYS_MAX];

	for (int i = 0; i < _POSIX_TRACE_SYS_MAX; i++) {
		trid[i] = stream_running(NULL);
		for (int j = 0; j < i; j++)
			CHECK("LIM-3", trid[i] != trid[j]);
	}
	posix_trace_event(id, NULL, 0);
	for (int i = 0; i < _POSIX_TRACE_SYS_MAX; i++)
		CHECK_EQ("LIM-3", stream_count(trid[i], id), 1);
	for (int i = 0; i < _POSIX_TRACE_SYS_MAX; i++)
		stream_end(trid[i]);
}

/* One of the types is the unnamed one, which leaves one name less. Names of system types do not count. */
TEST(user_events)
{
	trace_event_id_t id, first = 0, last = 0;
	char name[32];
	int own = 0;

	MUST(posix_trace_eventid_open("posix_trace_start", &id) == 0);
	MUST(posix_trace_eventid_open("posix_trace_unnamed_userevent", &id) == 0);
	for (int i = 0; i < TRACE_USER_EVENT_MAX + 10; i++) {
		snprintf(name, sizeof name, "limits.%d", i);
		id = 0;
		CHECK_EQ("LIM-4", posix_trace_eventid_open(name, &id), 0);
		if (id == POSIX_TRACE_UNNAMED_USEREVENT)
			continue;
		CHECK_EQ("LIM-4", own, i); /* the unnamed ones come last */
		own++;
		if (i == 0)
			first = id;
		last = id;
	}
	CHECK_EQ("LIM-4 LIM-5", own, TRACE_USER_EVENT_MAX - 1);
	CHECK_EQ("LIM-4", stream_id("limits.0"), first);
	snprintf(name, sizeof name, "limits.%d", TRACE_USER_EVENT_MAX - 2);
	CHECK_EQ("LIM-4 LIM-5", stream_id(name), last);
}

TEST_MAIN(TEST_ENTRY(options), TEST_ENTRY(options_at_run_time), TEST_ENTRY(sysconf_for_the_rest), TEST_ENTRY(minima),
	  TEST_ENTRY(limits_at_run_time), TEST_ENTRY(event_name_length), TEST_ENTRY(stream_name_length),
	  TEST_ENTRY(streams_at_once), TEST_ENTRY(user_events))
