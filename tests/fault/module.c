/*
 * module.c - the library comes by dlopen() and goes by dlclose(), while events are recorded
 *
 * This program is not linked with the library. H8: a thread may be inside a
 * trace point when the last dlclose() comes, so the library stays.
 *
 * SPDX-License-Identifier: MIT
 */
#define __POSIX_TRACE_NO_INLINE /* every trace point is a call, by pointer */
#include <pthread.h>
#include <trace.h>

#include "shm.h"

#include <dlfcn.h>

static void (*event)(trace_event_id_t, const void *, size_t);
static int (*create)(pid_t, const trace_attr_t *, trace_id_t *);
static int (*start)(trace_id_t);
static int (*end)(trace_id_t);
static int (*name_open)(const char *, trace_event_id_t *);
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

static int count(trace_id_t trid)
{
	struct posix_trace_event_info info;
	int unavailable = 0, n = 0;
	size_t length;
	char data[16];

	while (next(trid, &info, data, sizeof data, &length, &unavailable) == 0 && !unavailable)
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
		CHECK("-", count(trid) >= 0);
		load();
	}
	for (int i = 0; i < 2; i++)
		while (n[i] < 1000)
			sched_yield();
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	count(trid);
	event(id, NULL, 0);
	CHECK_EQ("-", count(trid), 1);
	CHECK_EQ("-", end(trid), 0);
	event(id, NULL, 0);
}

/* A thread that was there before the library, and one that ends after it was closed. */
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
	CHECK_EQ("-", count(trid), 10);
	CHECK_EQ("-", end(trid), 0);
}

/* At exit the files go, closed or not. */
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
	CHECK_EQ("-", shm_count(shm_directory(), ""), 0);
}

TEST_MAIN(TEST_ENTRY(opened_and_closed), TEST_ENTRY(older_thread), TEST_ENTRY(exit_after_close))
