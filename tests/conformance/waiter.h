/*
 * waiter.h - a thread that waits in posix_trace_getnext_event() or posix_trace_timedgetnext_event()
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONFORMANCE_WAITER_H
#define CONFORMANCE_WAITER_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "numbers.h"

struct waiter {
	trace_id_t trid;
	const struct timespec *abstime; /* null for posix_trace_getnext_event() */
	struct timespec until;
	pthread_t thread;
	atomic_int tid;
	atomic_int done;

	int result;
	int unavailable;
	size_t len;
	struct posix_trace_event_info info;
	unsigned char data[256];
};

static inline void *waiter_run(void *arg)
{
	struct waiter *w = arg;

	atomic_store(&w->tid, (int)syscall(SYS_gettid));
	if (w->abstime)
		w->result = posix_trace_timedgetnext_event(w->trid, &w->info, w->data, sizeof w->data, &w->len,
		                                           &w->unavailable, w->abstime);
	else
		w->result = posix_trace_getnext_event(w->trid, &w->info, w->data, sizeof w->data, &w->len,
		                                      &w->unavailable);
	atomic_store(&w->done, 1);
	return NULL;
}

/* Returns whether the thread sleeps in the kernel, according to /proc. */
static inline int waiter_asleep(const struct waiter *w)
{
	char path[64], line[512];
	const char *p;
	size_t n;
	FILE *f;

	if (!atomic_load(&w->tid))
		return 0;
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", atomic_load(&w->tid));
	f = fopen(path, "r");
	if (!f)
		return 0;
	n = fread(line, 1, sizeof line - 1, f);
	fclose(f);
	line[n] = 0;
	p = strrchr(line, ')');
	return p && p[1] == ' ' && p[2] == 'S';
}

/* Waits until the thread stays asleep or has returned. */
static inline void waiter_settle(const struct waiter *w)
{
	for (int asleep = 0; asleep < 5 && !atomic_load(&w->done);) {
		sleep_ms(2 * test_slow());
		asleep = waiter_asleep(w) ? asleep + 1 : 0;
	}
}

/* Starts the thread. Returns when it waits. */
static inline void waiter_start(struct waiter *w, trace_id_t trid, const struct timespec *abstime)
{
	memset(w, 0, sizeof *w);
	w->trid = trid;
	if (abstime) { /* copied, as the caller may reuse it */
		w->until = *abstime;
		w->abstime = &w->until;
	}
	w->result = -1;
	w->unavailable = -1;
	MUST(pthread_create(&w->thread, NULL, waiter_run, w) == 0);
	waiter_settle(w);
}

static inline void waiter_join(struct waiter *w)
{
	MUST(pthread_join(w->thread, NULL) == 0);
}

#endif
