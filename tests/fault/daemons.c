/*
 * daemons.c - a process that survives the processes that it was forked from
 *
 * As a daemon: it opens its event types and forks, and the parent ends; or the workers of a server outlive the server.
 * The event ids in the child's variables mean the names that the parent has opened. This must also hold for a
 * controller that creates a stream before the child's first trace point, when only the child's memory points to the
 * parent's registry.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define WORKERS 3

static const char *const names[] = { "daemon.begin", "daemon.work", "daemon.end" };
#define NAMES (sizeof names / sizeof names[0])

enum end { BY_EXIT, BY_UNDERSCORE_EXIT, BY_SIGNAL };

static struct shared {
	_Atomic pid_t pid[WORKERS];
	_Atomic int go, end;
} *shared;

static trace_event_id_t id[NAMES];

static void begin(void)
{
	shm_private("");
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST((void *)shared != MAP_FAILED);
}

static void work(int number)
{
	shared->pid[number] = getpid();
	while (!shared->end) {
		for (unsigned i = 0; shared->go && i < NAMES; i++)
			posix_trace_event(id[i], names[i], strlen(names[i]));
		usleep(1000);
	}
	_exit(0);
}

static void leave(enum end end)
{
	if (end == BY_EXIT)
		exit(0);
	if (end == BY_SIGNAL)
		raise(SIGKILL);
	_exit(0);
}

/* Starts workers whose ancestors, of this many generations, have all ended. */
static void start(int generations, int workers, enum end end)
{
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid == 0) {
		for (unsigned i = 0; i < NAMES; i++)
			MUST(posix_trace_eventid_open(names[i], &id[i]) == 0);
		for (; generations > 1; generations--)
			if (fork() > 0)
				leave(end);
		for (int i = 0; i < workers; i++)
			if (fork() == 0)
				work(i);
		leave(end);
	}
	MUST(waitpid(pid, NULL, 0) == pid);
	for (int i = 0; i < workers; i++)
		while (!shared->pid[i])
			usleep(100);
	usleep(20000); /* the last ancestor ends after its fork */
}

/* Returns how many of the names a stream knows. */
static unsigned known(trace_id_t trid)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t type;
	unsigned count = 0;
	int none;

	MUST(posix_trace_eventtypelist_rewind(trid) == 0);
	while (posix_trace_eventtypelist_getnext_id(trid, &type, &none) == 0 && !none) {
		MUST(posix_trace_eventid_get_name(trid, type, name) == 0);
		for (unsigned i = 0; i < NAMES; i++)
			count += strcmp(name, names[i]) == 0;
	}
	return count;
}

/* Checks that each event's type has the name that is the event's data. */
static void check_events(trace_id_t trid)
{
	char data[TRACE_EVENT_NAME_MAX + 1], name[TRACE_EVENT_NAME_MAX + 1];
	struct posix_trace_event_info e;
	size_t length;
	int none = 0;

	for (unsigned seen = 0; seen < 2 * NAMES;) {
		MUST(posix_trace_getnext_event(trid, &e, data, sizeof data - 1, &length, &none) == 0 && !none);
		if (e.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT)
			continue;
		data[length] = 0;
		CHECK_EQ("ID-6", posix_trace_eventid_get_name(trid, e.posix_event_id, name), 0);
		CHECK("ID-6", strcmp(name, data) == 0);
		seen++;
	}
}

/* Checks what two consecutive controllers of this process find. `known_before`: the names are known before the first
 * trace point. */
static void check(pid_t pid, bool known_before)
{
	trace_event_id_t other;
	trace_id_t trid;

	for (int round = 0; round < 2; round++) {
		MUST(posix_trace_create(pid, NULL, &trid) == 0);
		if (known_before)
			CHECK_EQ("MODEL-15", known(trid), NAMES);
		/* A name of the controller must not get in the way. */
		if (known_before && round == 0)
			MUST(posix_trace_trid_eventid_open(trid, "controller.own", &other) == 0);
		MUST(posix_trace_start(trid) == 0);
		shared->go = 1;
		check_events(trid);
		CHECK_EQ("MODEL-15", known(trid), NAMES);
		CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	}
}

static void daemon_of(int generations, int workers, enum end end)
{
	begin();
	start(generations, workers, end);
	for (int i = 0; i < workers; i++)
		check(shared->pid[i], true);
	shared->end = 1;
}

TEST(parent_exits)
{
	daemon_of(1, 1, BY_EXIT);
}

TEST(parent_exits_as_in_daemon)
{
	daemon_of(1, 1, BY_UNDERSCORE_EXIT);
}

TEST(parent_is_killed)
{
	daemon_of(1, 1, BY_SIGNAL);
}

TEST(grandchild)
{
	daemon_of(2, 1, BY_EXIT);
}

TEST(great_grandchild)
{
	daemon_of(3, 1, BY_UNDERSCORE_EXIT);
}

TEST(prefork_workers)
{
	daemon_of(1, WORKERS, BY_EXIT);
}

/* Other processes' creates recover files before the worker's controller comes. */
TEST(others_clear_away)
{
	trace_id_t trid;

	begin();
	start(2, 1, BY_SIGNAL);
	for (int i = 0; i < 2; i++)
		MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_shutdown(trid) == 0);
	check(shared->pid[0], true);
	shared->end = 1;
}

/* The registry was removed (H24): the names are only in the memory of the worker, which adds them when it attaches. */
TEST(registry_removed)
{
	char path[600];
	struct dirent *e;
	DIR *d;

	begin();
	start(1, 1, BY_EXIT);
	d = opendir(shm_directory());
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof path, "%s/%s", shm_directory(), e->d_name);
		if (strncmp(e->d_name, "names-", 6) == 0)
			MUST(unlink(path) == 0);
	}
	MUST(d && closedir(d) == 0);
	check(shared->pid[0], false);
	shared->end = 1;
}

/* The registry is removed after the end of its last user. */
TEST(nothing_stays)
{
	trace_id_t trid;
	pid_t pid;

	begin();
	MUST(prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L) == 0);
	start(2, 1, BY_EXIT);
	pid = shared->pid[0];
	CHECK_EQ("-", shm_count(shm_directory(), "names-"), 1);
	shared->end = 1;
	MUST(waitpid(pid, NULL, 0) == pid);
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_shutdown(trid) == 0);
	/* The registry of this process, which has created a stream. */
	CHECK_EQ("-", shm_count(shm_directory(), "names-"), 1);
}

TEST_MAIN(TEST_ENTRY(parent_exits), TEST_ENTRY(parent_exits_as_in_daemon), TEST_ENTRY(parent_is_killed),
          TEST_ENTRY(grandchild), TEST_ENTRY(great_grandchild), TEST_ENTRY(prefork_workers),
          TEST_ENTRY(others_clear_away), TEST_ENTRY(registry_removed), TEST_ENTRY(nothing_stays))
