/*
 * fork.c - the child of a process that traces itself: not traced, not in control, and harmless
 *
 * What an inherited stream does, and a process that somebody else traces, is
 * in inheritance.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>

#include "fork.h"
#include "numbers.h"

static trace_id_t trid;
static trace_event_id_t id;

/* Ways to make a child. After the last two, only async-signal-safe functions may be used in the child. */
static pid_t (*const ways[])(void) = { fork, fork_underscore, fork_clone };
#define WAYS 3

static int wait_for(pid_t pid)
{
	int status;

	MUST(pid > 0);
	MUST(waitpid(pid, &status, 0) == pid);
	return status;
}

/* Checks that the parent's stream is unchanged: it runs, and records the parent's events. */
static void check_parent(void)
{
	static unsigned n;
	struct stream_event e;

	CHECK_STR("INH-3 INH-8", state(trid), "RN");
	number_send(id, 0, ++n);
	stream_expect(trid, id, &e);
	CHECK_EQ("INH-3 INH-8", number_of(e.data, e.len).number, n);
	CHECK_EQ("INH-3 EVT-6", e.info.posix_pid, getpid());
	CHECK_EQ("INH-3", stream_drain(trid), 0);
	CHECK_LOST("INH-3", lost_events(trid), ==, 0);
}

static void begin(void)
{
	id = stream_id("fork");
	trid = stream_running(NULL);
}

/* A stream that is closed for children, which is the default, records no event of a child. */
TEST(child_is_not_traced)
{
	begin();
	for (int way = 0; way < WAYS; way++) {
		pid_t pid = ways[way]();

		if (pid == 0) {
			for (int i = 0; i < 100; i++)
				posix_trace_event(id, "child", 5);
			_exit(0);
		}
		number_send(id, 0, 1000); /* at the same time */
		CHECK_EQ("INH-3 THR-5", wait_for(pid), 0);
		CHECK_EQ("INH-3", stream_count(trid, id), 1);
		check_parent();
	}
	stream_end(trid);
}

TEST(grandchild_is_not_traced)
{
	begin();
	for (int way = 0; way < WAYS; way++) {
		pid_t pid = ways[way]();

		if (pid == 0) {
			pid = ways[way]();
			if (pid == 0) {
				posix_trace_event(id, "grandchild", 10);
				_exit(0);
			}
			_exit(waitpid(pid, NULL, 0) != pid);
		}
		CHECK_EQ("INH-3 THR-5", wait_for(pid), 0);
		check_parent();
	}
	stream_end(trid);
}

/* Each of two streams is closed or not by its own attribute, set explicitly here. */
TEST(close_for_child)
{
	trace_attr_t attr;
	pid_t pid;

	stream_attr(&attr, POSIX_TRACE_LOOP, 0, 0);
	MUST(posix_trace_attr_setinherited(&attr, POSIX_TRACE_CLOSE_FOR_CHILD) == 0);
	id = stream_id("fork");
	trid = stream_running(&attr);
	pid = fork();
	if (pid == 0) {
		posix_trace_event(id, "child", 5);
		exit(0);
	}
	CHECK_EQ("INH-3", wait_for(pid), 0);
	check_parent();
	stream_end(trid);
}

/* Every use of the parent's identifier fails. matrix.c checks the outputs of each function. */
TEST(child_does_not_control)
{
	pid_t pid;

	begin();
	pid = fork();
	if (pid == 0) {
		struct posix_trace_status_info s;
		struct posix_trace_event_info e;
		trace_event_set_t set = set_of(id);
		struct timespec soon = now_plus_ms(100);
		size_t len;
		int unavailable;

		CHECK_EQ("CREATE-15 INH-8", posix_trace_stop(trid), EINVAL);
		CHECK_EQ("CREATE-15 INH-8", posix_trace_start(trid), EINVAL);
		CHECK_EQ("CREATE-15 INH-8", posix_trace_clear(trid), EINVAL);
		CHECK_EQ("CREATE-15 INH-8", posix_trace_get_status(trid, &s), EINVAL);
		CHECK_EQ("CREATE-15 INH-8", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), EINVAL);
		CHECK_EQ("CREATE-15 INH-8", posix_trace_getnext_event(trid, &e, NULL, 0, &len, &unavailable), EINVAL);
		CHECK_EQ("CREATE-15 INH-8", posix_trace_timedgetnext_event(trid, &e, NULL, 0, &len, &unavailable,
		                                                           &soon), EINVAL);
		CHECK_EQ("CREATE-15 INH-8", posix_trace_trygetnext_event(trid, &e, NULL, 0, &len, &unavailable),
		         EINVAL);
		CHECK_EQ("CREATE-15 INH-8", posix_trace_shutdown(trid), EINVAL);
		fflush(stderr);
		_exit(test_failures != 0);
	}
	CHECK_EQ("CREATE-15 INH-8", wait_for(pid), 0);
	check_parent();
	stream_end(trid);
}

/* Ways in which the child ends, or becomes a different program. */
static void end_by_exit(void) { exit(0); }
static void end_by_underscore_exit(void) { _exit(0); }
static void end_by_signal(void) { raise(SIGKILL); }
static void end_by_exec(void) { execl("/bin/true", "true", (char *)NULL); _exit(1); }
static void end_after_use(void)
{
	trace_id_t own = stream_create(NULL);

	posix_trace_start(own);
	posix_trace_event(id, "x", 1);
	exit(0); /* with a stream */
}

TEST(end_of_child)
{
	static void (*const ends[])(void) = { end_by_exit, end_by_underscore_exit, end_by_signal, end_by_exec,
	                                      end_after_use };

	begin();
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		pid_t pid;
		int status;

		number_send(id, 0, 5); /* unread when the child ends */
		pid = fork();
		if (pid == 0) {
			ends[i]();
			_exit(1);
		}
		status = wait_for(pid);
		CHECK("-", status == 0 || (ends[i] == end_by_signal && WIFSIGNALED(status)));
		CHECK_EQ("INH-8 SHUT-6", stream_count(trid, id), 1);
		check_parent();
	}
	stream_end(trid);
}

/* vfork() and exec: the child runs in the parent's memory. */
TEST(vfork_and_exec)
{
	volatile pid_t pid;

	begin();
	for (int i = 0; i < 3; i++) {
		pid = vfork();
		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		CHECK_EQ("INH-8", wait_for(pid), 0);
		check_parent();
	}
	stream_end(trid);
}

/* A child may trace itself like any process. Its stream and the parent's are independent. */
TEST(child_traces_itself)
{
	pid_t pid;

	begin();
	for (int round = 0; round < 3; round++) {
		pid = fork();
		if (pid == 0) {
			trace_id_t own = stream_running(NULL);
			struct stream_event e;
			char name[TRACE_EVENT_NAME_MAX + 1];

			/* The ids that it inherited are still valid. */
			CHECK_EQ("INH-10", stream_id("fork"), id);
			CHECK_EQ("INH-10 CREATE-26", posix_trace_eventid_get_name(own, id, name), 0);
			CHECK_STR("INH-10", name, "fork");
			number_send(id, 0, 42);
			stream_expect(own, id, &e);
			CHECK_EQ("CREATE-1", number_of(e.data, e.len).number, 42);
			CHECK_EQ("EVT-6", e.info.posix_pid, getpid());
			CHECK_TID("EVT-6 EVT-7", &e.info, ==, getpid());
			CHECK("EVT-7", pthread_equal(e.info.posix_thread_id, pthread_self()));
			/* A name that the child opens is not known in the parent. */
			stream_id("of the child");
			stream_end(own);
			fflush(stderr);
			_exit(test_failures != 0);
		}
		CHECK_EQ("CREATE-1 INH-10", wait_for(pid), 0);
		check_parent();
	}
	{
		trace_event_id_t got;
		char name[TRACE_EVENT_NAME_MAX + 1];
		int unavailable;

		for (;;) {
			MUST(posix_trace_eventtypelist_getnext_id(trid, &got, &unavailable) == 0);
			if (unavailable)
				break;
			MUST(posix_trace_eventid_get_name(trid, got, name) == 0);
			CHECK("MODEL-14 MODEL-15", strcmp(name, "of the child") != 0);
		}
	}
	stream_end(trid);
}

/*
 * The child's own stream, for a child made without the C library's knowledge: its records have the child's process id.
 */
TEST(origin_in_child)
{
	pid_t pid;

	begin();
	number_send(id, 0, 0); /* now the library has stored the ids of this process and thread */
	pid = fork();
	if (pid == 0) {
		trace_id_t own = stream_running(NULL);
		struct stream_event e;
		pid_t grandchild;

		number_send(id, 0, 1);
		stream_expect(own, id, &e);
		CHECK_EQ("EVT-6", e.info.posix_pid, getpid());
		grandchild = fork_clone();
		if (grandchild == 0) {
			posix_trace_event(id, "x", 1);
			_exit(0);
		}
		CHECK_EQ("THR-5", wait_for(grandchild), 0);
		CHECK_EQ("INH-3", stream_drain(own), 0);
		number_send(id, 0, 2);
		stream_expect(own, id, &e);
		CHECK_EQ("EVT-6", e.info.posix_pid, getpid());
		stream_end(own);
		fflush(stderr);
		_exit(test_failures != 0);
	}
	CHECK_EQ("EVT-6", wait_for(pid), 0);
	stream_drain(trid);
	check_parent();
	stream_end(trid);
}

/* The parent's shutdown does not affect a stream that the child has created. */
TEST(parent_shuts_down)
{
	int to_child[2];
	pid_t pid;
	char c;

	MUST(pipe(to_child) == 0);
	begin();
	pid = fork();
	if (pid == 0) {
		trace_id_t own = stream_running(NULL);
		struct stream_event e;

		close(to_child[1]);
		if (read(to_child[0], &c, 1) != 0)
			_exit(2);
		number_send(id, 0, 3);
		stream_expect(own, id, &e);
		CHECK_EQ("MODEL-7", number_of(e.data, e.len).number, 3);
		stream_end(own);
		_exit(test_failures != 0);
	}
	stream_end(trid);
	close(to_child[0]);
	close(to_child[1]);
	CHECK_EQ("MODEL-7", wait_for(pid), 0);
}

/* A full stream and many children: the children do not count. */
TEST(full_stream)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL };

	id = stream_id("fork");
	for (int i = 0; i < 2; i++) {
		unsigned long long lost;
		pid_t pid;

		trid = small_stream(policies[i]);
		MUST(posix_trace_start(trid) == 0);
		fill(trid, id, 0);
		lost = lost_events(trid);
		pid = fork();
		if (pid == 0) {
			for (unsigned n = 0; n < 1000; n++)
				number_send(id, 7, n);
			exit(0);
		}
		CHECK_EQ("-", wait_for(pid), 0);
		CHECK_LOST("INH-3", lost_events(trid), ==, lost);
		CHECK_STR("INH-3 STAT-15", state(trid), i ? "SF" : "RF");
		stream_end(trid);
	}
}

TEST_MAIN(TEST_ENTRY(child_is_not_traced), TEST_ENTRY(grandchild_is_not_traced), TEST_ENTRY(close_for_child),
          TEST_ENTRY(child_does_not_control), TEST_ENTRY(end_of_child), TEST_ENTRY(vfork_and_exec),
          TEST_ENTRY(child_traces_itself), TEST_ENTRY(origin_in_child), TEST_ENTRY(parent_shuts_down),
          TEST_ENTRY(full_stream))
