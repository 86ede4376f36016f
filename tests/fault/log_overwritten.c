/*
 * log_overwritten.c - a log's creator is killed, and the traced process continues
 *
 * H25. The stream overwrites itself until its end is noticed. Completing the log must report where events are missing,
 * not only how many: tests/fault/crowd.c found a log without such a report.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"

#include <stdbool.h>
#include <sys/wait.h>

static trace_event_id_t id;

static void trace(unsigned from, unsigned until)
{
	for (unsigned i = from; i < until; i++)
		posix_trace_event(id, &i, sizeof i);
}

/* Lets a creator trace this process into a log, flush it if `flushed`, and be killed. Then records until there are 5000
 * events. */
static void killed_creator(const char *log, int policy, bool flushed)
{
	pid_t self = getpid(), child;
	int come[2], go[2], status;
	char c;

	MUST(pipe(come) == 0 && pipe(go) == 0);
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		int fd = open(log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		trace_attr_t attr;
		trace_id_t trid;

		posix_trace_attr_init(&attr);
		posix_trace_attr_setstreamsize(&attr, 0);
		posix_trace_attr_setstreamfullpolicy(&attr, policy);
		posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND);
		if (fd < 0 || posix_trace_create_withlog(self, &attr, fd, &trid) != 0 || posix_trace_start(trid) != 0 ||
		    write(come[1], "", 1) != 1 || read(go[0], &c, 1) != 1 || (flushed && posix_trace_flush(trid) != 0))
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	MUST(read(come[0], &c, 1) == 1);
	trace(0, 50);
	MUST(write(go[1], "", 1) == 1);
	MUST(waitpid(child, &status, 0) == child);
	CHECK("-", WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	trace(50, 5000);
	for (int i = 0; i < 2; i++)
		close(come[i]), close(go[i]);
}

/* Returns the number of missing events including START. Checks that each gap is reported in its place. */
static unsigned long missing(trace_id_t trid)
{
	unsigned long n = 1, first = 0;
	struct posix_trace_event_info e;
	int unavailable = 0;
	bool reported = false;
	size_t length;
	unsigned number;

	while (posix_trace_getnext_event(trid, &e, &number, sizeof number, &length, &unavailable) == 0 &&
	       !unavailable) {
		if (e.posix_event_id == POSIX_TRACE_OVERFLOW || e.posix_event_id == POSIX_TRACE_STOP)
			reported = true;
		if (e.posix_event_id == POSIX_TRACE_START)
			n = 0;
		if (e.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT || length != sizeof number)
			continue;
		CHECK_OP("LOG-20", number, >=, first);
		CHECK("SYS-7 SYS-18", number == first || reported);
		n += number - first;
		first = number + 1;
		reported = false;
	}
	return n + 5000 - first;
}

static void check(int policy, bool flushed)
{
	static const char log[] = "/dev/shm/log";
	struct posix_trace_status_info status;
	trace_id_t trid;
	int fd;

	shm_private("");
	id = fault_open("fault");
	killed_creator(log, policy, flushed);
	/* The next process that creates a stream completes the log. */
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_shutdown(trid) == 0);
	fd = open(log, O_RDONLY | O_CLOEXEC);
	MUST(fd >= 0 && posix_trace_open(fd, &trid) == 0);
	MUST(posix_trace_get_status(trid, &status) == 0);
	CHECK_EQ("SYS-7", missing(trid), status.__posix_lost_events);
	CHECK_OP("-", status.__posix_lost_events, >, 1000);
	CHECK_EQ("-", posix_trace_close(trid), 0);
	close(fd);
}

TEST(loop)
{
	check(POSIX_TRACE_LOOP, false);
}

TEST(loop_flushed)
{
	check(POSIX_TRACE_LOOP, true);
}

TEST(until_full)
{
	check(POSIX_TRACE_UNTIL_FULL, false);
}

TEST(until_full_flushed)
{
	check(POSIX_TRACE_UNTIL_FULL, true);
}

TEST_MAIN(TEST_ENTRY(loop), TEST_ENTRY(loop_flushed), TEST_ENTRY(until_full), TEST_ENTRY(until_full_flushed))
