/*
 * controller.c - a whole session in one process: prepare, create, filter, start, read, stop, shut down
 *
 * SPDX-License-Identifier: MIT
 */
#include "stream.h"

/* Everything that a controller may do with a stream, in the usual order. */
TEST(session)
{
	trace_event_id_t wanted = stream_id("controller.wanted"), other = 0, late = 0;
	struct stream_event e;
	trace_event_set_t set;
	trace_attr_t attr, got;
	trace_id_t trid;
	char name[TRACE_EVENT_NAME_MAX + 1], stream[TRACE_NAME_MAX];

	stream_attr(&attr, POSIX_TRACE_UNTIL_FULL, 100000, 100);
	CHECK_EQ("MODEL-2", posix_trace_attr_setname(&attr, "session"), 0);
	CHECK_EQ("MODEL-2 MODEL-4", posix_trace_create(getpid(), &attr, &trid), 0);
	CHECK_EQ("MODEL-2", posix_trace_attr_destroy(&attr), 0);
	CHECK_EQ("MODEL-2 MODEL-18", posix_trace_get_attr(trid, &got), 0);
	CHECK_EQ("MODEL-2", posix_trace_attr_getname(&got, stream), 0);
	CHECK_STR("MODEL-2", stream, "session");

	CHECK_EQ("MODEL-2", posix_trace_trid_eventid_open(trid, "controller.other", &other), 0);
	CHECK_EQ("MODEL-2", posix_trace_eventid_get_name(trid, wanted, name), 0);
	CHECK_STR("MODEL-2", name, "controller.wanted");
	CHECK_EQ("MODEL-2", posix_trace_eventset_fill(&set, POSIX_TRACE_WOPID_EVENTS), 0);
	CHECK_EQ("MODEL-2", posix_trace_eventset_add(other, &set), 0);
	CHECK_EQ("MODEL-2", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
	CHECK_EQ("MODEL-2 MODEL-18", posix_trace_start(trid), 0);
	CHECK_EQ("MODEL-2", stream_status(trid).posix_stream_status, POSIX_TRACE_RUNNING);
	posix_trace_event(wanted, "1", 1);
	posix_trace_event(other, "2", 1);
	CHECK_EQ("MODEL-2", posix_trace_eventset_empty(&set), 0);
	CHECK_EQ("MODEL-2", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
	CHECK_EQ("MODEL-2", posix_trace_trid_eventid_open(trid, "controller.late", &late), 0);
	posix_trace_event(late, "3", 1);
	CHECK_EQ("MODEL-2 MODEL-18", posix_trace_stop(trid), 0);
	posix_trace_event(wanted, "4", 1);

	/* User events and system events in one stream. */
	stream_expect(trid, POSIX_TRACE_START, &e);
	stream_expect(trid, wanted, &e);
	CHECK("OBJ-1", e.len == 1 && e.data[0] == '1');
	stream_expect(trid, POSIX_TRACE_FILTER, &e);
	stream_expect(trid, late, &e);
	CHECK("OBJ-1", e.len == 1 && e.data[0] == '3');
	stream_expect(trid, POSIX_TRACE_STOP, &e);
	CHECK("OBJ-1 MODEL-2", !stream_try(trid, &e));

	/* The identifier is valid until the shutdown. */
	CHECK_EQ("MODEL-2 MODEL-18", posix_trace_shutdown(trid), 0);
	CHECK_EQ("MODEL-18", posix_trace_get_attr(trid, &got), EINVAL);
	CHECK_EQ("MODEL-18", posix_trace_start(trid), EINVAL);
	CHECK_EQ("MODEL-18", posix_trace_shutdown(trid), EINVAL);
}

/* Events that have a process, and events that have none. */
TEST(with_and_without_process)
{
	trace_event_id_t id = stream_id("controller.many");
	size_t of_process = 0, of_none = 0;
	struct stream_event e;
	trace_attr_t attr;
	trace_id_t trid;

	stream_attr(&attr, POSIX_TRACE_LOOP, 4096, 0);
	trid = stream_running(&attr);
	for (int i = 0; i < 10000; i++)
		posix_trace_event(id, &i, sizeof i);
	while (stream_try(trid, &e)) {
		if (e.info.posix_pid == getpid())
			of_process++;
		else if (e.info.posix_pid == 0)
			of_none++;
		else
			TEST_FAIL("OBJ-2", "process %d", (int)e.info.posix_pid);
	}
	CHECK_OP("OBJ-2", of_process, >, 0);
	CHECK_EQ("OBJ-2", of_none, 2); /* OVERFLOW and RESUME */
	stream_end(trid);
}

TEST_MAIN(TEST_ENTRY(session), TEST_ENTRY(with_and_without_process))
