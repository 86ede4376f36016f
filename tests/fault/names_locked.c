/*
 * names_locked.c - a child of _Fork() opens names, although a thread of its parent was opening one at the fork
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdatomic.h>
#include <string.h>

#include "fork.h"
#include "fault.h"

static atomic_bool holds, ends;

void test_point(const char *name);

/* Called while the thread has the lock of the names. */
void test_point(const char *name)
{
	if (strcmp(name, "names_opened") != 0 || atomic_load(&ends))
		return;
	atomic_store(&holds, true);
	while (!atomic_load(&ends))
		usleep(1000);
}

static void *open_name(void *arg)
{
	trace_event_id_t id;

	MUST(posix_trace_eventid_open("parent", &id) == 0);
	return arg;
}

static void child(void)
{
	trace_event_id_t one, two;

	atomic_store(&ends, true);
	/* Waited for ever. */
	alarm(20);
	CHECK_EQ("-", posix_trace_eventid_open("one", &one), 0);
	CHECK_EQ("-", posix_trace_eventid_open("two", &two), 0);
	CHECK_NE("-", one, two);
	_exit(test_failures != 0);
}

static void with(pid_t (*fork_it)(void))
{
	pthread_t thread;
	int status = -1;
	pid_t pid;

	MUST(pthread_create(&thread, NULL, open_name, NULL) == 0);
	while (!atomic_load(&holds))
		usleep(1000);
	pid = fork_it();
	if (pid == 0)
		child();
	MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_EQ("-", status, 0);
	atomic_store(&ends, true);
	pthread_join(thread, NULL);
}

TEST(underscore)
{
	with(fork_underscore);
}

TEST(cloned)
{
	with(fork_clone);
}

TEST(forked)
{
	with(fork);
}

TEST_MAIN(TEST_ENTRY(underscore), TEST_ENTRY(cloned), TEST_ENTRY(forked))
