/*
 * longjmp.c - a signal handler interrupts a trace point and never returns to it
 *
 * H17. The timer's handler jumps back to the beginning of the loop. Each time one event may be lost, and is counted;
 * the thread continues to record.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>

#include "fault.h"

#include <sys/time.h>

static sigjmp_buf back;
static volatile sig_atomic_t jumps;

static void jump(int signal)
{
	jumps++;
	siglongjmp(back, 1);
}

static void timer(int us)
{
	struct itimerval t = { { 0, us }, { 0, us } };

	setitimer(ITIMER_REAL, us ? &t : &(struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL);
}

static void check(size_t stream_size, int policy)
{
	static volatile unsigned long begun, ended;
	struct posix_trace_status_info status;
	trace_event_id_t id;
	trace_attr_t attr;
	trace_id_t trid;
	int read;

	shm_private("");
	id = fault_open("fault");
	posix_trace_attr_init(&attr);
	posix_trace_attr_setstreamsize(&attr, stream_size);
	posix_trace_attr_setstreamfullpolicy(&attr, policy);
	MUST(posix_trace_create(0, &attr, &trid) == 0 && posix_trace_start(trid) == 0);
	signal(SIGALRM, jump);
	begun = ended = 0;
	/* On a machine with much to do, the first jump may come at once. */
	if (sigsetjmp(back, 1) == 0)
		timer(500);
	while (jumps < 300) {
		begun++;
		posix_trace_event(id, "data", 4);
		ended++;
	}
	timer(0);
	signal(SIGALRM, SIG_IGN);
	CHECK_EQ("-", posix_trace_stop(trid), 0);
	read = fault_count(trid, id);
	CHECK_EQ("-", posix_trace_get_status(trid, &status), 0);
	CHECK("-", read >= 0);
	/* A jump after the record was written and before the end of the call leaves an event that has not "ended". */
	CHECK("-", (unsigned long)read + status.__posix_lost_events <= begun);
	CHECK("-", (unsigned long)read + status.__posix_lost_events >= ended);
	/* Everything works again. */
	posix_trace_clear(trid);
	CHECK_EQ("-", posix_trace_start(trid), 0);
	for (int i = 0; i < 50; i++)
		posix_trace_event(id, "data", 4);
	CHECK_EQ("-", fault_count(trid, id), 50);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

TEST(large)
{
	check(8 << 20, POSIX_TRACE_LOOP);
}

/* The slow path is often interrupted. Signals are blocked in it, so the handler runs before or after it. */
TEST(small)
{
	check(4096, POSIX_TRACE_LOOP);
}

TEST(full)
{
	check(4096, POSIX_TRACE_UNTIL_FULL);
}

TEST_MAIN(TEST_ENTRY(large), TEST_ENTRY(small), TEST_ENTRY(full))
