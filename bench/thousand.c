/*
 * thousand.c - a thousand threads record into one stream
 *
 * A thousand threads live at the same time and record their events at once into a stream of 4 MiB, UNTIL_FULL: first as
 * many events as the stream promises room for (as many of maximum size as fit into it), then 100 each. The figures are
 * the events lost, the CPU time for each event, and the memory for each thread, beyond that of the threads themselves.
 *
 * tests/stress/thousand.c tests that nothing is lost within the promise and that all losses are counted. Here they are
 * figures. The floor is floor_event() into one ring for each thread, with the same total memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"
#include "floor.h"
#include "rows.h"

#define THREADS 1000
#define EACH    100
#define SIZE    (4 * MIB)
#define DATA_LEN 8
#define STACK   ((size_t)64 << 10)

static const struct section LOST = { "thousand lost", "1000 threads, a stream of 4 MiB: events lost", NULL };
static const struct section COST = { "thousand cost", "1000 threads: CPU time of their first events, ns/event",
                                    "floor" };
static const struct section SHARED = { "thousand shared", "1000 threads: shared memory, KiB", "as configured" };
static const struct section OWN = { "thousand own",
                                   "1000 threads: private memory for each, KiB more than without trace points",
	                                NULL };

static trace_event_id_t event_id;
static pthread_barrier_t gate;

struct thread {
	pthread_t thread;
	int events;
	struct floor_ring *ring; /* null: record into the stream */
	double cpu;
};

static void *work(void *arg)
{
	static const unsigned char words[DATA_LEN];
	struct thread *t = arg;
	double start;

	pthread_barrier_wait(&gate);
	start = seconds(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < t->events; i++) {
		if (t->ring)
			floor_event(t->ring, event_id, words, sizeof words);
		else
			posix_trace_event(event_id, words, sizeof words);
	}
	t->cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - start;
	/* All threads are alive while the memory is measured. */
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate);
	return NULL;
}

/* Returns the sum over all mappings of this process, KiB. */
static double memory(const char *member)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "re");
	char line[256];
	double kib = NAN;

	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, member, strlen(member)) == 0)
			kib = strtod(line + strlen(member), NULL);
	if (f)
		fclose(f);
	return kib;
}

/* Returns the nanoseconds for each event, and the process's private and shared memory at that time, KiB. */
static double run(int n, int more, struct floor_ring *rings, double *own, double *shared)
{
	static struct thread threads[THREADS];
	pthread_attr_t attr;
	double cpu = 0, events = 0;

	must(pthread_barrier_init(&gate, NULL, THREADS + 1), "pthread_barrier_init");
	must(pthread_attr_init(&attr), "pthread_attr_init");
	must(pthread_attr_setstacksize(&attr, STACK), "pthread_attr_setstacksize");
	for (int i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){ .events = n + (i < more), .ring = rings ? &rings[i] : NULL };
		must(pthread_create(&threads[i].thread, &attr, work, &threads[i]), "pthread_create");
	}
	pthread_attr_destroy(&attr);
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate);
	*own = memory("Anonymous:");
	*shared = memory("Pss_Shmem:");
	pthread_barrier_wait(&gate);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i].thread, NULL);
		cpu += threads[i].cpu;
		events += threads[i].events;
	}
	pthread_barrier_destroy(&gate);
	return cpu / events * 1e9;
}

static double lost(trace_id_t trid)
{
	struct posix_trace_status_info status;

	must(posix_trace_get_status(trid, &status), "posix_trace_get_status");
	return (double)status.__posix_lost_events;
}

static double floor_run(int n, double *own)
{
	static struct floor_ring rings[THREADS];
	static unsigned char *memory_of_all;
	double shared;

	if (!memory_of_all)
		memory_of_all = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1,
		                     0);
	if (memory_of_all == MAP_FAILED)
		die("no memory for the floor's rings");
	for (int i = 0; i < THREADS; i++)
		rings[i] = (struct floor_ring){ .base = memory_of_all + SIZE / THREADS / 64 * 64 * (size_t)i,
		                                .size = SIZE / THREADS / 64 * 64 };
	return run(n, 0, rings, own, &shared);
}

static trace_id_t new_stream(size_t *size, size_t *most)
{
	trace_attr_t attr;
	trace_id_t trid;

	must(posix_trace_attr_init(&attr), "posix_trace_attr_init");
	must(posix_trace_attr_setstreamsize(&attr, SIZE), "posix_trace_attr_setstreamsize");
	must(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_UNTIL_FULL),
	     "posix_trace_attr_setstreamfullpolicy");
	must(posix_trace_create(0, &attr, &trid), "posix_trace_create");
	posix_trace_attr_destroy(&attr);
	must(posix_trace_get_attr(trid, &attr), "posix_trace_get_attr");
	must(posix_trace_attr_getstreamsize(&attr, size), "posix_trace_attr_getstreamsize");
	must(posix_trace_attr_getmaxusereventsize(&attr, DATA_LEN, most), "posix_trace_attr_getmaxusereventsize");
	posix_trace_attr_destroy(&attr);
	must(posix_trace_start(trid), "posix_trace_start");
	return trid;
}

/*
 * each: events of each thread; 0: as many as the stream promises room for. plain: the memory of threads that record
 * nothing.
 */
static void measure(int round, const char *name, int each, double plain)
{
	double own, shared, nothing, cost, before = memory("Pss_Shmem:");
	size_t size, most;
	trace_id_t trid = new_stream(&size, &most);
	/* The START event takes room, too: at most that of one event. */
	long events = each ? (long)each * THREADS : (long)(size / most) - 1;

	cost = run((int)(events / THREADS), (int)(events % THREADS), NULL, &own, &shared);
	bench_row(&LOST, name, round, lost(trid), NAN);
	bench_row(&COST, name, round, cost, floor_run((int)(events / THREADS), &nothing));
	bench_row(&SHARED, name, round, shared - before, (double)size / 1024);
	bench_row(&OWN, name, round, (own - plain) / THREADS, NAN);
	must(posix_trace_shutdown(trid), "posix_trace_shutdown");
}

int main(int argc, char **argv)
{
	double plain;

	bench_begin(argc, argv, 3, "a thousand threads");
	must(posix_trace_eventid_open("bench.thousand", &event_id), "posix_trace_eventid_open");
	/* Before the first event. From now on the C library keeps what it keeps of ended threads. */
	floor_run(1, &plain);
	for (int r = 0; r < bench.rounds; r++) {
		measure(r, "as many as promised", 0, plain);
		measure(r, "100 events each", EACH, plain);
	}
	return bench_end();
}
