/*
 * read.c - how many events per second can be read?
 *
 * - A log, by posix_trace_getnext_event(), in CPU time; the log is in memory. The floor is read() of the same bytes.
 * - A full stream into which no thread records any more, by posix_trace_trygetnext_event().
 * - A stream while another thread records into it, by posix_trace_getnext_event(), in wall-clock time: the slower of
 *   the two threads determines the rate, and nothing is lost. The writer waits when it is half a stream ahead. The
 *   floor is the same with floor_event() and a copy out of the ring, each record published by one store.
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"
#include "events.h"
#include "floor.h"
#include "rows.h"

#define STREAM MIB
#define BATCH  512 /* events between two looks at the other thread's position */

static const struct section LOG = { "read", "a log: posix_trace_getnext_event(), million events/s", "read()" };
static const struct section FULL = { "full", "a full stream: posix_trace_trygetnext_event(), million events/s", NULL };
static const struct section LIVE = { "live", "a stream meanwhile: posix_trace_getnext_event(), million events/s",
	                                 "store and copy" };

static long events = 1000000;

/* -- A log ------------------------------------------------------------------------------ */

static void measure_log(int round, size_t len, enum data what)
{
	double start, found, cpu;
	trace_id_t trid;
	char name[64];
	int fd;

	snprintf(name, sizeof name, "%zu bytes, %s", len, data_name[what]);
	if (!bench_wants(name))
		return;
	fd = new_file();
	record_log(fd, events, what, len, false);
	must(posix_trace_open(fd, &trid), "posix_trace_open");
	/* The first pass warms the caches. */
	if (count_events(trid) != (double)events)
		die("a log without all of its events");
	must(posix_trace_rewind(trid), "posix_trace_rewind");
	start = seconds(CLOCK_THREAD_CPUTIME_ID);
	found = count_events(trid);
	cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - start;
	must(posix_trace_close(trid), "posix_trace_close");
	bench_row(&LOG, name, round, found / cpu / 1e6, found / read_all(fd, CLOCK_THREAD_CPUTIME_ID) / 1e6);
	close(fd);
}

/* -- A stream ----------------------------------------------------------------------------- */

static trace_id_t new_stream(int policy)
{
	trace_attr_t attr;
	trace_id_t trid;

	must(posix_trace_attr_init(&attr), "posix_trace_attr_init");
	must(posix_trace_attr_setstreamsize(&attr, STREAM), "posix_trace_attr_setstreamsize");
	must(posix_trace_attr_setstreamfullpolicy(&attr, policy), "posix_trace_attr_setstreamfullpolicy");
	must(posix_trace_create(0, &attr, &trid), "posix_trace_create");
	posix_trace_attr_destroy(&attr);
	must(posix_trace_start(trid), "posix_trace_start");
	return trid;
}

static void measure_full(int round, size_t len)
{
	trace_id_t trid = new_stream(POSIX_TRACE_UNTIL_FULL);
	struct posix_trace_status_info status;
	struct posix_trace_event_info info;
	unsigned char buffer[EVENTS_LEN];
	int unavailable = 0;
	double start, n = 0;
	unsigned i = 0;
	char name[64];
	size_t got;

	do {
		for (unsigned until = i + 1000; i < until; i++)
			record(i, RANDOM, len);
		must(posix_trace_get_status(trid, &status), "posix_trace_get_status");
	} while (status.posix_stream_full_status != POSIX_TRACE_FULL);
	start = seconds(CLOCK_THREAD_CPUTIME_ID);
	for (;; n++) {
		must(posix_trace_trygetnext_event(trid, &info, buffer, sizeof buffer, &got, &unavailable),
		     "posix_trace_trygetnext_event");
		if (unavailable)
			break;
	}
	start = seconds(CLOCK_THREAD_CPUTIME_ID) - start;
	if (n < (double)(STREAM / (64 + len)))
		die("a full stream with %.0f events", n);
	must(posix_trace_shutdown(trid), "posix_trace_shutdown");
	snprintf(name, sizeof name, "%zu bytes", len);
	bench_row(&FULL, name, round, n / start / 1e6, NAN);
}

/* -- While somebody records ------------------------------------------------------------------ */

/* The positions of the two threads, in events. */
static struct {
	_Alignas(64) atomic_long recorded;
	_Alignas(64) atomic_long read;
	_Alignas(64) atomic_bool ready;
} far;

struct live {
	size_t len;
	long total, ahead; /* events in total, and how far the writer may be ahead */
	trace_id_t trid;
	struct floor_ring ring;
};

/* Waits until there is room for a batch. */
static void wait_for_reader(const struct live *l, long recorded)
{
	while (recorded - atomic_load_explicit(&far.read, memory_order_acquire) > l->ahead - BATCH)
		sched_yield();
}

static void *record_live(void *arg)
{
	const struct live *l = arg;

	pin(1);
	while (!atomic_load(&far.ready))
		sched_yield();
	for (long n = 0; n < l->total;) {
		wait_for_reader(l, n);
		for (int i = 0; i < BATCH && n < l->total; i++, n++)
			record((unsigned)n, RANDOM, l->len);
	}
	return NULL;
}

static double read_live(struct live *l)
{
	struct posix_trace_event_info info;
	unsigned char buffer[EVENTS_LEN];
	double start;
	int unavailable;
	size_t got;

	atomic_store(&far.ready, true);
	start = seconds(CLOCK_MONOTONIC);
	for (long n = 0; n < l->total;) {
		must(posix_trace_getnext_event(l->trid, &info, buffer, sizeof buffer, &got, &unavailable),
		     "posix_trace_getnext_event");
		if (info.posix_event_id < events_type[0])
			continue;
		if (got != l->len)
			die("an event with %zu bytes, not %zu", got, l->len);
		if (++n % BATCH == 0)
			atomic_store_explicit(&far.read, n, memory_order_release);
	}
	return seconds(CLOCK_MONOTONIC) - start;
}

static void *record_floor(void *arg)
{
	struct live *l = arg;

	pin(1);
	while (!atomic_load(&far.ready))
		sched_yield();
	for (long n = 0; n < l->total;) {
		wait_for_reader(l, n);
		for (int i = 0; i < BATCH && n < l->total; i++) {
			floor_event(&l->ring, 1, data[RANDOM][n % EVENTS_TABLE], l->len);
			atomic_store_explicit(&far.recorded, ++n, memory_order_release);
		}
	}
	return NULL;
}

/* All records have the same length, so a record's place follows from its number and from the length of the ring. */
static double read_floor(struct live *l)
{
	const size_t each = FLOOR_HEADER + ((l->len + 7) & ~(size_t)7);
	unsigned char copy[FLOOR_HEADER + EVENTS_LEN];
	long there = 0;
	size_t at = 0;
	double start;

	atomic_store(&far.ready, true);
	start = seconds(CLOCK_MONOTONIC);
	for (long n = 0; n < l->total;) {
		while (there == n)
			there = atomic_load_explicit(&far.recorded, memory_order_acquire);
		if (l->ring.size - at < each)
			at = 0;
		memcpy(copy, l->ring.base + at, each);
		__asm__ __volatile__("" : : "r"(copy) : "memory");
		at += each;
		if (++n % BATCH == 0)
			atomic_store_explicit(&far.read, n, memory_order_release);
	}
	start = seconds(CLOCK_MONOTONIC) - start;
	if (memcmp(copy + FLOOR_HEADER, data[RANDOM][(l->total - 1) % EVENTS_TABLE], l->len) != 0)
		die("the floor's ring has other data");
	return start;
}

/* Returns the seconds for all events. */
static double run(struct live *l, void *(*writer)(void *), double (*reader)(struct live *))
{
	pthread_t thread;
	double time;

	atomic_store(&far.recorded, 0);
	atomic_store(&far.read, 0);
	atomic_store(&far.ready, false);
	must(pthread_create(&thread, NULL, writer, l), "pthread_create");
	time = reader(l);
	pthread_join(thread, NULL);
	return time;
}

static void measure_live(int round, size_t len)
{
	/* Half of the stream: an event takes 24 bytes and its data. */
	struct live l = { .len = len, .total = events, .ahead = (long)(STREAM / 2 / (24 + len)) };
	double ours, floor;
	char name[64];

	l.trid = new_stream(POSIX_TRACE_LOOP);
	ours = run(&l, record_live, read_live);
	if (lost(l.trid) > 0)
		die("%.0f events lost", lost(l.trid));
	must(posix_trace_shutdown(l.trid), "posix_trace_shutdown");

	l.ring.size = STREAM;
	l.ring.base = mmap(NULL, STREAM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (l.ring.base == MAP_FAILED)
		die("no memory for the floor's ring");
	floor = run(&l, record_floor, read_floor);
	munmap(l.ring.base, STREAM);
	snprintf(name, sizeof name, "%zu bytes", len);
	bench_row(&LIVE, name, round, (double)events / ours / 1e6, (double)events / floor / 1e6);
}

int main(int argc, char **argv)
{
	static const enum data kinds[] = { COUNTERS, REQUESTS, RANDOM };

	bench_begin(argc, argv, 7, "reading events");
	if (bench.quick)
		events = 100000;
	events_begin(true);
	pin(0);
	for (int r = 0; r < bench.rounds; r++) {
		for (size_t len = 8; len <= EVENTS_LEN; len *= 4) {
			for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
				if (len > 8 || kinds[i] != REQUESTS)
					measure_log(r, len, kinds[i]);
			if (!bench.only) {
				measure_full(r, len);
				measure_live(r, len);
			}
		}
	}
	return bench_end();
}
