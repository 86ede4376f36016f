/*
 * sys_max.c - TRACE_SYS_MAX: how many streams there can be, and that shutdown gives them back
 *
 * The limit is that of the whole system, and somebody else may trace now. So
 * the test takes a /dev/shm of its own, where it may; elsewhere it waits for a
 * while, and gives up if it cannot have all. Here one process has them all; in
 * ends.c several share them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "numbers.h"
#include "shm.h"

static trace_id_t trid[TRACE_SYS_MAX + 1];

static int alone;

static void be_alone(void)
{
	alone = shm_try_private();
}

static int create(trace_id_t *t)
{
	trace_attr_t attr;
	int error;

	stream_attr(&attr, POSIX_TRACE_LOOP, 4096, 64);
	error = posix_trace_create(0, &attr, t);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	return error;
}

/* Creates streams until an error, TRACE_SYS_MAX + 1 at most. Returns how many. */
static int create_all(int have, int *error)
{
	*error = 0;
	while (have <= TRACE_SYS_MAX && (*error = create(&trid[have])) == 0)
		have++;
	return have;
}

static void end_all(int n)
{
	while (n > 0)
		CHECK_EQ("SHUT-2 SHUT-10", posix_trace_shutdown(trid[--n]), 0);
}

/* Creates all streams. */
static int create_max(int *error)
{
	int n = create_all(0, error);

	for (int i = 0; !alone && i < 20 * test_slow() && n < TRACE_SYS_MAX && *error == EAGAIN; i++) {
		sleep_ms(500);
		n = create_all(n, error);
	}
	if (!alone && n < TRACE_SYS_MAX && *error == EAGAIN)
		SKIP("others have streams");
	return n;
}

TEST(limit)
{
	trace_event_id_t id;
	struct stream_event e;
	trace_id_t one_more = 0x5555;
	int error, n;

	be_alone();
	id = stream_id("all");
	n = create_max(&error);
	CHECK_EQ("CREATE-14 LIM-3", n, TRACE_SYS_MAX);
	CHECK_EQ("CREATE-18 DOC-2", error, EAGAIN);
	CHECK_EQ("CREATE-18", create(&one_more), EAGAIN);
	CHECK("CREATE-8", one_more == 0x5555);
	/* Streams count while they exist, running or not. All of them work. */
	for (int i = 0; i < n; i++)
		CHECK_EQ("START-1 CREATE-14", posix_trace_start(trid[i]), 0);
	CHECK_EQ("CREATE-18", create(&one_more), EAGAIN);
	posix_trace_event(id, "all", 3);
	for (int i = 0; i < n; i++) {
		for (int j = 0; j < i; j++) {
			if (trid[i] == trid[j])
				TEST_FAIL("CREATE-7 LOG-5", "streams %d and %d have one identifier", i, j);
		}
		stream_expect(trid[i], POSIX_TRACE_START, &e);
		stream_expect(trid[i], id, &e);
		CHECK_EQ("MODEL-6 CREATE-14", e.len, 3);
		CHECK_EQ("MODEL-6", stream_drain(trid[i]), 0);
	}
	end_all(n);
}

TEST(given_back)
{
	int error, n;

	be_alone();
	n = create_max(&error);
	MUST(n == TRACE_SYS_MAX && error == EAGAIN);
	/* At places all over the table, two times each. */
	for (int i = 0; i < 64; i++) {
		int at = i % 32 * (n - 1) / 31;
		trace_id_t old = trid[at];

		CHECK_EQ("SHUT-2", posix_trace_shutdown(old), 0);
		error = create(&trid[at]);
		for (int j = 0; !alone && j < 20 && error == EAGAIN; j++) { /* a different process was faster */
			sleep_ms(500);
			error = create(&trid[at]);
		}
		if (error != 0) {
			TEST_FAIL("SHUT-2 CREATE-14", "stream %d is not given back: error %d", at, error);
			exit(1);
		}
		CHECK("SHUT-4 CREATE-7", trid[at] != old);
		CHECK_EQ("SHUT-4", posix_trace_start(old), EINVAL);
	}
	end_all(n);
}

/* The streams of a process are released when it ends or is killed. */
TEST(end_gives_back)
{
	be_alone();
	for (int killed = 0; killed < 2; killed++) {
		int error, n, status;
		pid_t pid = fork();

		if (pid == 0) {
			n = create_max(&error);
			if (n != TRACE_SYS_MAX)
				_exit(1);
			if (killed)
				raise(SIGKILL);
			_exit(0);
		}
		MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
			SKIP("others have streams");
		CHECK("-", killed ? WIFSIGNALED(status) : status == 0);
		n = create_max(&error);
		CHECK_EQ("SHUT-6 MODEL-20 INH-14 CREATE-14", n, TRACE_SYS_MAX);
		end_all(n);
	}
}

TEST_MAIN(TEST_ENTRY(limit), TEST_ENTRY(given_back), TEST_ENTRY(end_gives_back))
