/*
 * disk.c - how many events per second go to a file without loss?
 *
 * One and two threads record into a stream with the policy FLUSH. First they record as fast as they can, and the events
 * that are kept count. Then they record at a steady rate, and the highest rate without loss is found by bisection.
 *
 * At last two threads record without a pause for ten seconds, with as much stream for each, and the share of the events
 * that is kept counts. There is no floor: with two processors, three threads want more than there is.
 *
 * The floor is write() of as many bytes as the log has to another file of the same file system, in events per second:
 * producing the bytes costs nothing. A second floor adds fdatasync(), which waits for the disk; the log does not.
 *
 * All times are wall-clock times: the flusher needs a CPU while the threads record, and needs it in time. A tmpfs
 * (--directory /dev/shm) shows the work of the library, a disk shows realistic figures.
 *
 * Each log that was recorded as fast as possible is read back and counted: it must have the events that were recorded,
 * less __posix_lost_events.
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common.h"
#include "events.h"
#include "rows.h"

#define MAX_THREADS 2
#define TICK        100e-6 /* interval at which a thread with a steady rate records, seconds */
#define STEPS       5      /* of the bisection */
#define TRIES       2      /* for one rate: a disturbance of the machine must not count against the log */

static const struct section KEPT = { "kept", "as fast as it can: what is kept, million events/s", "write()" };
static const struct section FLUSHER = { "flusher", "the flusher's CPU time, ns/event", "write()" };
static const struct section SUSTAINED = { "sustained", "sustained without loss, million events/s", "write()" };
static const struct section SYNCED = { "synced", "the same, and the disk, million events/s", "and fdatasync()" };

static const struct section SHARE = { "share", "two threads as fast as they can, 10 s: kept, percent", NULL };

static double least_trial = 0.1; /* how long a rate has to be held, seconds */

struct load {
	int threads;
	size_t len, stream;
	double rate; /* events per second of all threads together; 0: as fast as possible */
	double time; /* seconds */
};

struct outcome {
	double recorded, lost, seconds;
	double flusher; /* CPU time of the flusher, seconds */
};

struct worker {
	pthread_t thread;
	const struct load *load;
	double recorded, cpu;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	const struct load *l = w->load;
	enum data what = l->len == 8 ? COUNTERS : REQUESTS;
	double start = seconds(CLOCK_MONOTONIC), now = start, next = start, owed = 0;
	double each = l->rate / l->threads * TICK;
	unsigned n = 0;

	prctl(PR_SET_TIMERSLACK, 1);
	for (; now - start < l->time; now = seconds(CLOCK_MONOTONIC)) {
		unsigned until = n + 100;

		if (each > 0) {
			/* A thread that falls behind does not catch up, which would change the rate. */
			next = now > next + 10 * TICK ? now : next + TICK;
			sleep_until(next);
			owed += each;
			until = n + (unsigned)owed;
			owed -= (unsigned)owed;
		}
		for (; n < until; n++)
			record(n, what, l->len);
	}
	w->recorded = n;
	w->cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static struct outcome run(int fd, const struct load *l)
{
	struct worker workers[MAX_THREADS];
	trace_id_t trid = new_log(fd, l->stream);
	struct outcome o = { 0 };
	double own = seconds(CLOCK_THREAD_CPUTIME_ID), all = seconds(CLOCK_PROCESS_CPUTIME_ID);

	o.seconds = seconds(CLOCK_MONOTONIC);
	for (int i = 0; i < l->threads; i++) {
		workers[i] = (struct worker){ .load = l };
		must(pthread_create(&workers[i].thread, NULL, work, &workers[i]), "pthread_create");
	}
	for (int i = 0; i < l->threads; i++) {
		pthread_join(workers[i].thread, NULL);
		o.recorded += workers[i].recorded;
		o.flusher -= workers[i].cpu;
	}
	/* Flushing the rest belongs to the measured time. */
	must(posix_trace_flush(trid), "posix_trace_flush");
	o.seconds = seconds(CLOCK_MONOTONIC) - o.seconds;
	o.flusher += seconds(CLOCK_PROCESS_CPUTIME_ID) - all - (seconds(CLOCK_THREAD_CPUTIME_ID) - own);
	must(posix_trace_stop(trid), "posix_trace_stop");
	o.lost = lost(trid);
	must(posix_trace_shutdown(trid), "posix_trace_shutdown");
	return o;
}

/* Returns a time long enough for even a slightly too high rate to fill the stream. */
static double trial_time(const struct load *l, double rate)
{
	double needed = 16 * (double)l->stream / ((double)(32 + l->len) * rate);

	return needed < least_trial ? least_trial : needed > 5 * least_trial ? 5 * least_trial : needed;
}

/* Returns the events per second achieved at this rate, or 0 if events were lost. */
static double holds(int fd, struct load l, double rate)
{
	l.rate = rate;
	l.time = trial_time(&l, rate);
	for (int i = 0; i < TRIES; i++) {
		struct outcome o = run(fd, &l);

		if (o.lost == 0)
			return o.recorded / o.seconds;
	}
	return 0;
}

/* Returns the highest rate without loss, searching from a first guess. */
static double sustained(int fd, const struct load *l, double guess)
{
	double best = holds(fd, *l, guess), low = guess, high = guess, rate;

	if (best > 0)
		high = 2 * guess;
	else
		low = guess / 8;
	for (int i = 0; i < STEPS; i++) {
		double middle = (low + high) / 2;

		rate = holds(fd, *l, middle);
		if (rate > 0)
			low = middle;
		else
			high = middle;
		best = rate > best ? rate : best;
	}
	return best;
}

static void sustain(int round, int threads, size_t len, size_t stream)
{
	struct load l = { .threads = threads, .len = len, .stream = stream, .time = 2 * least_trial };
	double kept, written, synced, rate;
	char name[64];
	struct outcome o;
	int fd;

	snprintf(name, sizeof name, "%d thread%s, %zu bytes, %zu MiB", threads, threads == 1 ? "" : "s", len,
	         stream / MIB);
	if (!bench_wants(name))
		return;
	fd = new_file();
	o = run(fd, &l);
	kept = o.recorded - o.lost;
	check_log(fd, kept);
	written = write_all(fd, false);
	synced = write_all(fd, true);
	bench_row(&KEPT, name, round, kept / o.seconds / 1e6, kept / written / 1e6);
	bench_row(&FLUSHER, name, round, o.flusher / kept * 1e9, written / kept * 1e9);
	rate = sustained(fd, &l, kept / o.seconds) / 1e6;
	bench_row(&SUSTAINED, name, round, rate, kept / written / 1e6);
	bench_row(&SYNCED, name, round, rate, kept / synced / 1e6);
	close(fd);
}

static void share(int round, size_t len)
{
	struct load l = { .threads = 2, .len = len, .stream = 2 * 8 * MIB, .time = bench.quick ? 0.05 : 10 };
	struct outcome o;
	char name[64];
	int fd;

	snprintf(name, sizeof name, "2 threads, %zu bytes, 8 MiB each", len);
	if (!bench_wants(name))
		return;
	fd = new_file();
	o = run(fd, &l);
	if (bench.quick)
		check_log(fd, o.recorded - o.lost);
	bench_row(&SHARE, name, round, 100 * (o.recorded - o.lost) / o.recorded, NAN);
	close(fd);
}

int main(int argc, char **argv)
{
	bench_begin(argc, argv, 3, "events to a log on the disk under FLUSH");
	if (bench.quick)
		least_trial = 0.01;
	if (n_cpus < 2)
		puts("note: one CPU for those who record and the flusher");
	events_begin(true);
	for (int r = 0; r < bench.rounds; r++)
		for (int threads = 1; threads <= MAX_THREADS; threads++)
			for (size_t len = 8; len <= EVENTS_LEN; len *= 4)
				for (size_t stream = MIB; stream <= 8 * MIB; stream *= 8)
					sustain(r, threads, len, stream);
	for (int r = 0; r < bench.rounds; r++)
		for (size_t len = 8; len <= EVENTS_LEN; len *= 4)
			share(r, len);
	return bench_end();
}
