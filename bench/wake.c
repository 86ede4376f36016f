/*
 * wake.c - how long does it take until a sleeping reader has an event?
 *
 * One thread sleeps in posix_trace_getnext_event(). Another thread records an event about each millisecond, with the
 * current time as its data. The latency is the time from there until the reader returns with the event. Each thread has
 * a CPU of its own.
 *
 * The floor is the same with a store and a futex: the time that the machine, or its host, takes to wake a thread on
 * another CPU.
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common.h"
#include "events.h"
#include "rows.h"

#define MAX_EVENTS 300

static const struct section WAKE = { "wake", "a sleeping reader has an event, us", "futex" };

static trace_event_id_t event_id;
static trace_id_t trid;
static int events = MAX_EVENTS;
static double latency[MAX_EVENTS]; /* us */
static uint64_t sent;              /* time of the floor's event, ns */
static atomic_uint count;          /* number of the floor's events */

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void pause_for_a_while(void)
{
	sleep_until(seconds(CLOCK_MONOTONIC) + 0.8e-3 + (double)(random_word() % 400) * 1e-6);
}

/* -- Ours ---------------------------------------------------------------------- */

static void *read_ours(void *arg)
{
	struct posix_trace_event_info info;
	int unavailable;
	uint64_t at;
	size_t len;

	pin(0);
	for (int n = 0; n < events;) {
		must(posix_trace_getnext_event(trid, &info, &at, sizeof at, &len, &unavailable),
		     "posix_trace_getnext_event");
		if (info.posix_event_id == event_id)
			latency[n++] = (double)(now() - at) / 1e3;
	}
	return arg;
}

static void send_ours(void)
{
	uint64_t at = now();

	posix_trace_event(event_id, &at, sizeof at);
}

/* -- The floor -------------------------------------------------------------------- */

static void *read_floor(void *arg)
{
	pin(0);
	for (unsigned n = 0; n < (unsigned)events; n++) {
		while (atomic_load(&count) == n)
			syscall(SYS_futex, &count, FUTEX_WAIT_PRIVATE, n, NULL, NULL, 0);
		latency[n] = (double)(now() - sent) / 1e3;
	}
	return arg;
}

static void send_floor(void)
{
	sent = now();
	atomic_fetch_add(&count, 1);
	syscall(SYS_futex, &count, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void run(void *(*reader)(void *), void (*send)(void), double *median, double *most)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, reader, NULL), "pthread_create");
	for (int i = 0; i < events; i++) {
		pause_for_a_while();
		send();
	}
	pthread_join(thread, NULL);
	*median = quantile(latency, events, 0.5);
	*most = quantile(latency, events, 1);
}

int main(int argc, char **argv)
{
	bench_begin(argc, argv, 7, "waking a reader");
	if (bench.quick)
		events = 30;
	if (n_cpus < 2)
		puts("note: one CPU for both");
	events_begin(false);
	pin(1);
	must(posix_trace_eventid_open("bench.wake", &event_id), "posix_trace_eventid_open");
	for (int r = 0; r < bench.rounds; r++) {
		double ours, ours_most, floor, floor_most;

		must(posix_trace_create(0, NULL, &trid), "posix_trace_create");
		must(posix_trace_start(trid), "posix_trace_start");
		run(read_ours, send_ours, &ours, &ours_most);
		must(posix_trace_shutdown(trid), "posix_trace_shutdown");
		atomic_store(&count, 0);
		run(read_floor, send_floor, &floor, &floor_most);
		bench_row(&WAKE, "median", r, ours, floor);
		bench_row(&WAKE, "longest", r, ours_most, floor_most);
	}
	return bench_end();
}
