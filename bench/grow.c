/*
 * grow.c - how does the cost grow with the number of threads, streams and types, and with the size of a log?
 *
 * Measures threads that record into one stream, streams that one process records into, event types, and the size of a
 * log: from one to a hundred and beyond, each next to its floor. script/bench --plot draws the figures.
 *
 * - threads: CPU time of an event of 32 bytes in one stream of 1 MiB, LOOP. Floor: a ring of 1 MiB for each thread.
 * - streams: the same for one thread that records into all streams, of 128 KiB each. Floor: as many rings.
 * - types: the same, one stream, each event of the next type. Floor: one ring.
 * - log size: time until posix_trace_open() has the first event. Floor: one pread() of 256 KiB, the size of a segment.
 * - log length: CPU time to read an event of a log of this size. Floor: read().
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common.h"
#include "events.h"
#include "floor.h"
#include "rows.h"

#define LEN         32
#define MAX_THREADS 200
#define MAX_STREAMS 200 /* below TRACE_SYS_MAX, because other processes may have streams */
#define MAX_TYPES   1000
#define SMALL       (MIB / 8)

static const struct section THREADS = { "grow threads", "threads: ns/event", "floor" };
static const struct section STREAMS = { "grow streams", "streams: ns/event", "floor" };
static const struct section TYPES = { "grow types", "event types: ns/event", "floor" };
static const struct section LOG_OPEN = { "grow log open", "MiB of a log: ms until the first event is there",
                                        "pread()" };
static const struct section LOG_READ = { "grow log read", "MiB of a log: ns to read an event", "read()" };

static const int steps[] = { 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000 };
#define STEPS (int)(sizeof steps / sizeof *steps)

static trace_event_id_t types[MAX_TYPES];
static double slice = 0.05; /* seconds for one figure */

static trace_id_t new_stream(size_t size)
{
	trace_attr_t attr;
	trace_id_t trid;

	must(posix_trace_attr_init(&attr), "posix_trace_attr_init");
	must(posix_trace_attr_setstreamsize(&attr, size), "posix_trace_attr_setstreamsize");
	must(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP), "posix_trace_attr_setstreamfullpolicy");
	must(posix_trace_create(0, &attr, &trid), "posix_trace_create");
	posix_trace_attr_destroy(&attr);
	must(posix_trace_start(trid), "posix_trace_start");
	return trid;
}

static void new_ring(struct floor_ring *ring, size_t size)
{
	ring->at = 0;
	ring->size = size;
	ring->base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (ring->base == MAP_FAILED)
		die("no memory for the floor's ring");
}

/* -- Events ------------------------------------------------------------------------- */

struct worker {
	pthread_t thread;
	pthread_barrier_t *start;
	int number, n_types, n_rings;
	unsigned warm; /* events before the measurement starts */
	struct floor_ring *rings; /* null: record into the streams */
	double cpu, events;
};

static void batch(struct worker *w, unsigned from, unsigned to)
{
	unsigned type = from % (unsigned)w->n_types;

	for (unsigned i = from; i < to; i++) {
		const void *bytes = data[RANDOM][i % EVENTS_TABLE];

		if (w->rings) {
			for (int k = 0; k < w->n_rings; k++)
				floor_event(&w->rings[k], types[type], bytes, LEN);
		} else {
			posix_trace_event(types[type], bytes, LEN);
		}
		if (++type == (unsigned)w->n_types)
			type = 0;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned n = w->warm;
	double cpu, end;

	pin(w->number);
	/* Touches all memory and uses all types before the clock starts. */
	batch(w, 0, n);
	pthread_barrier_wait(w->start);
	cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
	end = seconds(CLOCK_MONOTONIC) + slice;
	do {
		batch(w, n, n + 1000);
		n += 1000;
	} while (seconds(CLOCK_MONOTONIC) < end);
	w->cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
	w->events = n - w->warm;
	return NULL;
}

/* Returns the nanoseconds for each event, averaged over all threads. */
static double run(int threads, int n_types, int n_rings, struct floor_ring *rings)
{
	static struct worker workers[MAX_THREADS];
	pthread_barrier_t start;
	double cpu = 0, events = 0;

	must(pthread_barrier_init(&start, NULL, (unsigned)threads), "pthread_barrier_init");
	for (int i = 0; i < threads; i++) {
		workers[i] = (struct worker){ .start = &start, .number = i, .n_types = n_types, .n_rings = n_rings,
			                      .warm = 2000 + 40000 / (unsigned)threads,
			                      .rings = rings ? rings + (threads > 1 ? i : 0) : NULL };
		must(pthread_create(&workers[i].thread, NULL, work, &workers[i]), "pthread_create");
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		cpu += workers[i].cpu;
		events += workers[i].events;
	}
	pthread_barrier_destroy(&start);
	return cpu / events * 1e9;
}

/*
 * Measures one figure with these numbers of threads, streams and types. The floor has this many rings of the same size.
 */
static void measure(const struct section *section, int round, int n, int threads, int streams, int n_types)
{
	static struct floor_ring rings[MAX_STREAMS > MAX_THREADS ? MAX_STREAMS : MAX_THREADS];
	size_t size = section == &STREAMS ? SMALL : MIB;
	int n_rings = threads > streams ? threads : streams;
	trace_id_t trids[MAX_STREAMS];
	double ours, floor;
	char name[16];

	for (int i = 0; i < streams; i++)
		trids[i] = new_stream(size);
	ours = run(threads, n_types, 0, NULL);
	for (int i = 0; i < streams; i++)
		must(posix_trace_shutdown(trids[i]), "posix_trace_shutdown");
	for (int i = 0; i < n_rings; i++)
		new_ring(&rings[i], size);
	floor = run(threads, n_types, threads > 1 ? 1 : streams, rings);
	for (int i = 0; i < n_rings; i++)
		munmap(rings[i].base, rings[i].size);
	snprintf(name, sizeof name, "%d", n);
	bench_row(section, name, round, ours, floor);
}

/* -- Logs ------------------------------------------------------------------------------ */

static double read_some(int fd)
{
	static unsigned char some[256 << 10];
	double start = seconds(CLOCK_MONOTONIC);

	if (pread(fd, some, sizeof some, 0) <= 0)
		die("pread: %s", strerror(errno));
	return (seconds(CLOCK_MONOTONIC) - start) * 1e3;
}

/* Makes a log of ordinary events, of some 37 bytes each in the log. */
static int log_of(int mib)
{
	int fd = new_file();

	record_log(fd, (long)mib * (long)MIB / 37, RANDOM, LEN, false);
	return fd;
}

/* Returns the median of several measurements. A single disturbance lasts longer than one measurement. */
static double median_of(double (*measured)(int fd), int fd)
{
	double v[9];

	for (int i = 0; i < 9; i++)
		v[i] = measured(fd);
	return quantile(v, 9, 0.5);
}

static void measure_log(int round, int fd, int mib)
{
	double cpu, events;
	trace_id_t trid;
	char name[16];

	snprintf(name, sizeof name, "%d", mib);
	bench_row(&LOG_OPEN, name, round, median_of(open_log, fd), median_of(read_some, fd));
	must(posix_trace_open(fd, &trid), "posix_trace_open");
	cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
	events = count_events(trid);
	cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
	must(posix_trace_close(trid), "posix_trace_close");
	bench_row(&LOG_READ, name, round, cpu / events * 1e9, read_all(fd, CLOCK_THREAD_CPUTIME_ID) / events * 1e9);
}

static bool room_for(int mib)
{
	struct statvfs space;

	if (statvfs(bench.directory, &space) < 0)
		die("%s: %s", bench.directory, strerror(errno));
	return (double)space.f_bavail * (double)space.f_frsize >= 3 * (double)mib * MIB;
}

int main(int argc, char **argv)
{
	int fd[STEPS], n_logs = 0;

	bench_begin(argc, argv, 3, "what grows with what");
	if (bench.quick)
		slice = 0.005;
	events_begin(true);
	for (int i = 0; i < MAX_TYPES; i++) {
		char name[32];

		snprintf(name, sizeof name, "bench.grow.%d", i);
		must(posix_trace_eventid_open(name, &types[i]), "posix_trace_eventid_open");
	}
	for (; n_logs < STEPS && steps[n_logs] <= (bench.quick ? 10 : 1000) && room_for(steps[n_logs]); n_logs++)
		fd[n_logs] = log_of(steps[n_logs]);
	for (int r = 0; r < bench.rounds; r++) {
		for (int i = 0; i < STEPS; i++) {
			if (steps[i] <= MAX_THREADS)
				measure(&THREADS, r, steps[i], steps[i], 1, 1);
			if (steps[i] <= MAX_STREAMS)
				measure(&STREAMS, r, steps[i], 1, steps[i], 1);
			measure(&TYPES, r, steps[i], 1, 1, steps[i]);
			if (i < n_logs)
				measure_log(r, fd[i], steps[i]);
		}
	}
	return bench_end();
}
