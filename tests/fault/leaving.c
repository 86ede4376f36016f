/*
 * leaving.c - a process has begun to exit while another of its threads still traces
 *
 * At exit a process removes its page, if no other process holds it. A later controller gets the answer that there is
 * no such process: nobody would look at a new page of that name, and events would be missing without a report (H9).
 * tests/fault/crowd.c found that when exit() took long. The same applies if the page was removed otherwise (H24). As
 * long as a controller holds the page, further controllers may come.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static struct shared {
	_Atomic int left, go;
	_Atomic unsigned long traced;
} *shared;

static bool stands;
static trace_event_id_t id;

void test_point(const char *name);

void test_point(const char *name)
{
	if (!stands || strcmp(name, "leave_removed") != 0)
		return;
	shared->left = 1;
	while (!shared->go)
		usleep(100);
}

static void *trace(void *arg)
{
	for (;;) {
		posix_trace_event(id, "data", 4);
		shared->traced++;
		usleep(100);
	}
	return arg;
}

/* Starts a process with a thread that traces until the process ends. */
static pid_t start(void)
{
	pthread_t thread;
	pid_t pid;

	shared->left = shared->go = 0;
	shared->traced = 0;
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		stands = true;
		MUST(posix_trace_eventid_open("leaving", &id) == 0 && pthread_create(&thread, NULL, trace, NULL) == 0);
		while (!shared->go)
			usleep(100);
		shared->go = 0;
		exit(0);
	}
	while (shared->traced < 10)
		usleep(100);
	return pid;
}

static void leave(void)
{
	shared->go = 1;
	while (!shared->left)
		usleep(100);
}

static void end(pid_t pid)
{
	int status;

	shared->go = 1;
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK("-", WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Returns the number of events in a stream after the thread has traced for a while. */
static int events_of(trace_id_t trid)
{
	struct posix_trace_event_info e;
	unsigned long until = shared->traced + 10;
	int unavailable = 0, count = 0;
	size_t length;
	char data[8];

	while (shared->traced < until)
		usleep(100);
	while (posix_trace_trygetnext_event(trid, &e, data, sizeof data, &length, &unavailable) == 0 && !unavailable)
		count += e.posix_event_id > POSIX_TRACE_UNNAMED_USEREVENT;
	return count;
}

static void begin(void)
{
	shm_private("");
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST((void *)shared != MAP_FAILED);
}

TEST(has_left)
{
	trace_id_t trid;
	pid_t pid;

	begin();
	pid = start();
	leave();
	CHECK_EQ("CREATE-23", posix_trace_create(pid, NULL, &trid), ESRCH);
	CHECK_EQ("-", shm_count(shm_directory(), "page-"), 0);
	end(pid);
	CHECK_EQ("-", shm_count(shm_directory(), "names-"), 0);
}

TEST(has_left_with_a_controller)
{
	trace_id_t first, second;
	pid_t pid;

	begin();
	pid = start();
	MUST(posix_trace_create(pid, NULL, &first) == 0 && posix_trace_start(first) == 0);
	leave();
	CHECK_OP("EVT-1", events_of(first), >, 0);
	MUST(posix_trace_create(pid, NULL, &second) == 0 && posix_trace_start(second) == 0);
	CHECK_OP("EVT-1", events_of(second), >, 0);
	CHECK_EQ("-", posix_trace_shutdown(first), 0);
	CHECK_OP("EVT-1", events_of(second), >, 0);
	CHECK_EQ("-", posix_trace_shutdown(second), 0);
	CHECK_EQ("CREATE-23", posix_trace_create(pid, NULL, &first), ESRCH);
	end(pid);
}

TEST(page_removed)
{
	trace_id_t trid;
	char command[100];
	pid_t pid;

	begin();
	pid = start();
	snprintf(command, sizeof command, "rm %s/page-%d-*", shm_directory(), (int)pid);
	MUST(system(command) == 0);
	CHECK_EQ("CREATE-23", posix_trace_create(pid, NULL, &trid), ESRCH);
	kill(pid, SIGKILL);
	MUST(waitpid(pid, NULL, 0) == pid);
}

TEST_MAIN(TEST_ENTRY(has_left), TEST_ENTRY(has_left_with_a_controller), TEST_ENTRY(page_removed))
