/*
 * module.c - the library is loaded by dlopen() and closed by dlclose() while events are recorded
 *
 * This program is not linked with the library. H8: a thread may be inside a trace point at the last dlclose(), so the
 * library stays mapped.
 *
 * SPDX-License-Identifier: MIT
 */
#define __POSIX_TRACE_NO_INLINE /* every trace point is a call, by pointer */
#include <limits.h>
#include <pthread.h>
#include <trace.h>

#include "shm.h"

#include <dlfcn.h>
#include <stdint.h>

static void (*event)(trace_event_id_t, const void *, size_t);
static int (*create)(pid_t, const trace_attr_t *, trace_id_t *);
static int (*start)(trace_id_t);
static int (*end)(trace_id_t);
static int (*name_open)(const char *, trace_event_id_t *);
static int (*create_withlog)(pid_t, const trace_attr_t *, int, trace_id_t *);
static int (*flush)(trace_id_t);
static int (*log_open)(int, trace_id_t *);
static int (*log_next)(trace_id_t, struct posix_trace_event_info *, void *, size_t, size_t *, int *);
static int (*log_close)(trace_id_t);
static int (*next)(trace_id_t, struct posix_trace_event_info *, void *, size_t, size_t *, int *);

static void *load(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		TEST_FAIL("-", "%s", dlerror());
	MUST(library);
	MUST((event = (void (*)(trace_event_id_t, const void *, size_t))dlsym(library, "posix_trace_event")));
	MUST((create = (int (*)(pid_t, const trace_attr_t *, trace_id_t *))dlsym(library, "posix_trace_create")));
	MUST((start = (int (*)(trace_id_t))dlsym(library, "posix_trace_start")));
	MUST((end = (int (*)(trace_id_t))dlsym(library, "posix_trace_shutdown")));
	MUST((name_open = (int (*)(const char *, trace_event_id_t *))dlsym(library, "posix_trace_eventid_open")));
	MUST((create_withlog = (int (*)(pid_t, const trace_attr_t *, int, trace_id_t *))dlsym(
		      library, "posix_trace_create_withlog")));
	MUST((flush = (int (*)(trace_id_t))dlsym(library, "posix_trace_flush")));
	MUST((log_open = (int (*)(int, trace_id_t *))dlsym(library, "posix_trace_open")));
	MUST((log_next = (int (*)(trace_id_t, struct posix_trace_event_info *, void *, size_t, size_t *, int *))
	      dlsym(library, "posix_trace_getnext_event")));
	MUST((log_close = (int (*)(trace_id_t))dlsym(library, "posix_trace_close")));
	MUST((next = (int (*)(trace_id_t, struct posix_trace_event_info *, void *, size_t, size_t *, int *))
	      dlsym(library, "posix_trace_trygetnext_event")));
	return library;
}

static volatile int stop;
static trace_event_id_t id;

static void *trace_for_ever(void *arg)
{
	volatile unsigned long *n = arg;

	for (*n = 0; !stop; ++*n)
		event(id, "data", 4);
	return NULL;
}

/* Reads at most this many events: threads that trace for ever may be faster. Returns how many are ours. */
static int count(trace_id_t trid, int most)
{
	struct posix_trace_event_info info;
	int unavailable = 0, n = 0;
	size_t length;
	char data[16];

	while (most-- > 0 && next(trid, &info, data, sizeof data, &length, &unavailable) == 0 && !unavailable)
		n += info.posix_event_id == id;
	return n;
}

TEST(opened_and_closed)
{
	volatile unsigned long n[2] = { 0, 0 };
	pthread_t thread[2];
	trace_id_t trid;

	shm_private("");
	dlclose(load());
	MUST(dlclose(load()) == 0);
	load();
	MUST(name_open("module", &id) == 0);
	MUST(create(0, NULL, &trid) == 0 && start(trid) == 0);
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&thread[i], NULL, trace_for_ever, (void *)(uintptr_t)&n[i]) == 0);
	for (int i = 0; i < 100; i++) {
		void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

		dlclose(library);
		dlclose(library); /* one more than was opened: the handle of load() */
		CHECK("-", count(trid, 1000) >= 0);
		load();
	}
	for (int i = 0; i < 2; i++)
		while (n[i] < 1000)
			sched_yield();
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	count(trid, INT_MAX);
	event(id, NULL, 0);
	CHECK_EQ("-", count(trid, INT_MAX), 1);
	CHECK_EQ("-", end(trid), 0);
	event(id, NULL, 0);
}

/* A thread older than the library, which ends after the library was closed. */
static volatile int loaded;

static void *trace_once_loaded(void *arg)
{
	while (!loaded)
		sched_yield();
	for (int i = 0; i < 10; i++)
		event(id, NULL, 0);
	return NULL;
}

TEST(older_thread)
{
	pthread_t thread;
	trace_id_t trid;
	void *library;

	shm_private("");
	MUST(pthread_create(&thread, NULL, trace_once_loaded, NULL) == 0);
	library = load();
	MUST(name_open("module", &id) == 0);
	MUST(create(0, NULL, &trid) == 0 && start(trid) == 0);
	dlclose(library);
	loaded = 1;
	pthread_join(thread, NULL);
	CHECK_EQ("-", count(trid, INT_MAX), 10);
	CHECK_EQ("-", end(trid), 0);
}

/* Exit removes the files, whether the library was closed or not. */
TEST(exit_after_close)
{
	int status;

	shm_private("");
	if (fork() == 0) {
		void *library = load();
		trace_id_t trid;

		MUST(name_open("module", &id) == 0);
		MUST(create(0, NULL, &trid) == 0 && start(trid) == 0);
		event(id, NULL, 0);
		dlclose(library);
		event(id, NULL, 0);
		exit(test_failures ? 1 : 0);
	}
	wait(&status);
	CHECK_EQ("-", status, 0);
	CHECK_STR("-", shm_left(), "");
}

/* Returns the number of our events in a log. */
static int log_count(int fd)
{
	struct posix_trace_event_info info;
	int unavailable = 0, n = 0;
	trace_id_t trid;
	size_t length;
	char data[16];

	MUST(log_open(fd, &trid) == 0);
	while (log_next(trid, &info, data, sizeof data, &length, &unavailable) == 0 && !unavailable)
		n += info.posix_event_id == id;
	MUST(log_close(trid) == 0);
	return n;
}

/* The thread that writes a log runs the library's code after dlclose(), and exit() completes the log. */
TEST(log_after_close)
{
	int fd, status;

	shm_private("");
	NEEDS_ROOM(128);
	fd = open("/dev/shm/log", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	MUST(fd >= 0);
	for (int how = 0; how < 3; how++) {
		fflush(stderr);
		if (fork() == 0) {
			void *library = load();
			trace_id_t trid;

			alarm((unsigned)(20 * test_slow()));
			MUST(name_open("module", &id) == 0);
			MUST(create_withlog(0, NULL, fd, &trid) == 0 && start(trid) == 0);
			event(id, NULL, 0);
			dlclose(library);
			for (int i = 0; i < 99; i++) {
				event(id, NULL, 0);
				if (how == 1)
					CHECK_EQ("-", flush(trid), 0);
			}
			if (how == 2)
				CHECK_EQ("-", end(trid), 0);
			exit(test_failures ? 1 : 0);
		}
		MUST(wait(&status) > 0);
		CHECK_EQ("-", status, 0);
		CHECK_EQ("-", shm_count(shm_directory(), "stream"), 0);
		load();
		MUST(name_open("module", &id) == 0);
		CHECK_EQ("-", log_count(fd), 100);
	}
}

TEST_MAIN(TEST_ENTRY(opened_and_closed), TEST_ENTRY(older_thread), TEST_ENTRY(exit_after_close),
          TEST_ENTRY(log_after_close))
