/*
 * latency.c - how long does it take from a trace point until a reader of the log can have the event?
 *
 * One thread records at a steady rate into a stream of 16 MiB whose policy is FLUSH. Another one sleeps until the log's
 * file changes, and notes when it sees which segment complete. When the log is closed, the latency of each event is the
 * time from the event until its segment was seen.
 *
 * The floor is the same with the default flush period of a second.
 *
 * SPDX-License-Identifier: MIT
 */
#include <posixtrace/log.h>
#include <posixtrace/trace.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common.h"
#include "events.h"
#include "rows.h"

#define SEGMENTS_MAX (1 << 16)
#define TICK         100e-6 /* interval at which events are recorded, seconds */
#define NS_PER_MS    1000000

/* Of docs/log-format.md. */
#define FRAME        64
#define FRAME_MAGIC  0x464c5450u
#define KIND_SEGMENT 5

static const struct section LATENCY = { "latency", "trace point to reader of the log, ms", "period of 1 s" };

static double lasts = 4; /* seconds */

struct follower {
	int fd;
	char path[40];
	atomic_bool ends;
	uint64_t seen[SEGMENTS_MAX]; /* by number, ns of CLOCK_REALTIME; 0: never */
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t little(const unsigned char *p, int bytes)
{
	uint64_t n = 0;

	while (bytes--)
		n = n << 8 | p[bytes];
	return n;
}

/* Notes the segments that are complete, from *at on. */
static void look(struct follower *f, off_t *at)
{
	unsigned char frame[FRAME];

	while (pread(f->fd, frame, sizeof frame, *at) == sizeof frame && little(frame, 4) == FRAME_MAGIC) {
		uint64_t number = little(frame + 16, 8), size = (little(frame + 24, 4) + 7) & ~UINT64_C(7);

		if (size_of(f->fd) < *at + FRAME + (off_t)size)
			return;
		if (little(frame + 4, 2) == KIND_SEGMENT && number < SEGMENTS_MAX)
			f->seen[number] = now();
		*at += FRAME + (off_t)size;
	}
}

static void *follow(void *arg)
{
	struct follower *f = arg;
	int changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct pollfd fds = { changes, POLLIN, 0 };
	char ignored[4096];
	off_t at = 0;

	if (changes < 0 || inotify_add_watch(changes, f->path, IN_MODIFY) < 0)
		die("inotify");
	while (!atomic_load(&f->ends)) {
		look(f, &at);
		poll(&fds, 1, 100);
		while (read(changes, ignored, sizeof ignored) > 0)
			;
	}
	look(f, &at);
	close(changes);
	return NULL;
}

static trace_id_t create(int fd, long period_ns)
{
	const struct timespec period = { period_ns / 1000000000, period_ns % 1000000000 };
	trace_attr_t attr;
	trace_id_t trid;

	must(posix_trace_attr_init(&attr), "posix_trace_attr_init");
	must(posix_trace_attr_setstreamsize(&attr, 16 * MIB), "posix_trace_attr_setstreamsize");
	must(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND), "posix_trace_attr_setlogfullpolicy");
	must(posixtrace_attr_setflushperiod(&attr, &period), "posixtrace_attr_setflushperiod");
	must(posix_trace_create_withlog(0, &attr, fd, &trid), "posix_trace_create_withlog");
	must(posix_trace_start(trid), "posix_trace_start");
	return trid;
}

static void record_steadily(double rate)
{
	double start = seconds(CLOCK_MONOTONIC), next = start;
	unsigned n = 0;

	while (next - start < lasts) {
		unsigned until = (unsigned)((next - start) * rate);

		for (; n < until; n++)
			record(n, REQUESTS, EVENTS_LEN);
		next += TICK;
		sleep_until(next);
	}
}

/* Reads the log, and stores the latency at the median and at 99 of 100 events, ms. */
static void evaluate(const struct follower *f, double *median, double *p99)
{
	const struct posixtrace_log_event *e;
	struct posixtrace_log *log;
	double *latency = NULL;
	int events = 0, room = 0;

	lseek(f->fd, 0, SEEK_SET);
	must(posixtrace_log_open(NULL, &log), "posixtrace_log_open");
	must(posixtrace_log_add_fd(log, f->fd, NULL), "posixtrace_log_add_fd");
	for (;;) {
		must(posixtrace_log_next(log, &e), "posixtrace_log_next");
		if (!e)
			break;
		if (!e->type)
			die("events were lost");
		if (e->type->system)
			continue;
		if (e->segment->number >= SEGMENTS_MAX || !f->seen[e->segment->number])
			die("a segment was not seen");
		if (events == room) {
			room = room ? 2 * room : 1024;
			latency = realloc(latency, (size_t)room * sizeof *latency);
			if (!latency)
				die("no memory");
		}
		latency[events++] = ((double)f->seen[e->segment->number] - (double)e->time) / NS_PER_MS;
	}
	posixtrace_log_close(log);
	*median = quantile(latency, events, 0.5);
	*p99 = quantile(latency, events, 0.99);
	free(latency);
}

static void run(double rate, long period_ns, double *median, double *p99)
{
	struct follower *f = calloc(1, sizeof *f);
	pthread_t thread;
	trace_id_t trid;

	if (!f)
		die("no memory");
	f->fd = new_file();
	snprintf(f->path, sizeof f->path, "/proc/self/fd/%d", f->fd);
	trid = create(f->fd, period_ns);
	must(pthread_create(&thread, NULL, follow, f), "pthread_create");
	record_steadily(rate);
	if (lost(trid))
		die("events were lost");
	must(posix_trace_shutdown(trid), "posix_trace_shutdown");
	atomic_store(&f->ends, true);
	pthread_join(thread, NULL);
	evaluate(f, median, p99);
	close(f->fd);
	free(f);
}

static void both(int round, double rate, const char *median_name, const char *p99_name)
{
	double median, p99, floor_median, floor_p99;

	if (!bench_wants(median_name) && !bench_wants(p99_name))
		return;
	run(rate, 50L * NS_PER_MS, &median, &p99);
	run(rate, 1000L * NS_PER_MS, &floor_median, &floor_p99);
	bench_row(&LATENCY, median_name, round, median, floor_median);
	bench_row(&LATENCY, p99_name, round, p99, floor_p99);
}

int main(int argc, char **argv)
{
	bench_begin(argc, argv, 3, "events to a reader of the log, with a flush period of 50 ms");
	if (bench.quick)
		lasts = 1;
	events_begin(true);
	prctl(PR_SET_TIMERSLACK, 1);
	for (int r = 0; r < bench.rounds; r++) {
		both(r, 1e4, "10 000 events/s, median", "10 000 events/s, 99 %");
		both(r, 1e5, "100 000 events/s, median", "100 000 events/s, 99 %");
	}
	return bench_end();
}
