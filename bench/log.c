/*
 * log.c - what does a log cost?
 *
 * Four questions, and next to each figure what the machine can do at all, in
 * the same round:
 *
 *  - How many events per second go to a file without loss? One and two threads
 *    record at a steady rate into a stream with the policy FLUSH; the highest
 *    rate at which nothing is lost is found by halving. Before that they record
 *    as fast as they can, and what counts is what is kept. The machine: write()
 *    of the same bytes to another file of that file system.
 *  - How many bytes does an event take? Data that looks like that of real
 *    programs, and random data, which no log can make smaller. Against it, what
 *    LTTng's CTF takes for the same fields.
 *  - How many events per second come out of posix_trace_getnext_event()? The
 *    machine: read() of the same bytes.
 *  - How long does posix_trace_open() take, against the size of the log? The
 *    machine: read() of all of it.
 *
 * Rates of recording are by the clock on the wall: the flusher needs a CPU while
 * the threads record, and has to have it in time. Reading is by CPU time.
 * All runs in rounds; relative is taken inside a round, and the table has
 * medians over the rounds, as with record.c.
 *
 * Files have no name, so nothing stays behind however this ends. They are in
 * the current directory, or where --directory says: a tmpfs shows the work of
 * the library, a disk shows what it is like.
 *
 * In each round each log that was recorded as fast as possible is read back and
 * counted: what is in it is what was recorded, less what __posix_lost_events
 * says. A figure cannot be that of a log which holds nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

#define PIECE       ((size_t)256 << 10) /* one call of write() or read(); as long as a segment of a log */
#define MAX_THREADS 2
#define MAX_LEN     32
#define LARGE_LEN   4096 /* data of the events of large logs */
#define TABLE       1024 /* data of so many events, again and again */
#define TICK        100e-6 /* how often a thread that keeps to a rate records, seconds */
#define STEPS       5      /* of halving */
#define TRIES       2      /* of one rate: a disturbance is not the log's */
#define TYPES       4
#define MAX_ROWS    64

#define GOAL_READ 25.0 /* million events per second */
#define GOAL_SIZE 0.5  /* of CTF's bytes */
#define GOAL_OPEN 5.0  /* ms */

static struct {
	int rounds;
	double trial;       /* seconds that a rate has to be held, at the least */
	long sized;         /* events of a log whose bytes are counted */
	long read;          /* events of a log that is read */
	long largest;       /* MiB of the largest log that is opened */
	const char *directory;
	const char *json;
	bool sustained, size, reading, opening;
} options = {
	.rounds = 3, .trial = 0.1, .sized = 200000, .read = 1000000, .largest = 1024, .directory = ".",
	.sustained = true, .size = true, .reading = true, .opening = true,
};

static trace_event_id_t type[TYPES], large;

/* -- Data ------------------------------------------------------------------------------ */

enum data { COUNTERS, POINTERS, NUMBERS, REQUESTS, RANDOM, DATA };

static const char *const data_name[DATA] = {
	[COUNTERS] = "counters", [POINTERS] = "pointers", [NUMBERS] = "small numbers",
	[REQUESTS] = "a request", [RANDOM] = "random",
};

static unsigned char data[DATA][TABLE][MAX_LEN];
static unsigned char large_data[2 * LARGE_LEN];

static uint64_t random_word(void)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* The first 8 bytes alone are data of that kind, too. */
static void make_data(void)
{
	static const uint32_t steps[4] = { 1, 1, 64, 4096 };
	uint64_t counter[4] = { 1, 1000, 1 << 20, (uint64_t)3 << 33 }, object[64];
	struct { uint64_t serial; uint64_t object; uint32_t length, status; uint64_t duration; } request;

	/* Objects of a program that allocates some, of some sizes. */
	for (int i = 0; i < 64; i++)
		object[i] = 0x5581c3a0b2a0u + (uint64_t)i * 0x1c0 + (random_word() % 8) * 16;
	for (int i = 0; i < TABLE; i++) {
		uint64_t word[4];
		uint32_t small[8];

		for (int w = 0; w < 4; w++) {
			counter[w] += steps[w] == 1 ? 1 : random_word() % steps[w];
			word[w] = counter[w];
		}
		memcpy(data[COUNTERS][i], word, sizeof word);
		for (int w = 0; w < 4; w++)
			word[w] = object[random_word() % 64];
		memcpy(data[POINTERS][i], word, sizeof word);
		for (int n = 0; n < 8; n++)
			small[n] = (uint32_t)(random_word() % 1000);
		memcpy(data[NUMBERS][i], small, sizeof small);
		request.serial = counter[0];
		request.object = object[random_word() % 64];
		request.length = (uint32_t)(random_word() % 16384);
		request.status = random_word() % 16 ? 200 : 404;
		request.duration = 2000 + random_word() % 60000;
		memcpy(data[REQUESTS][i], &request, sizeof request);
		for (int w = 0; w < 4; w++)
			word[w] = random_word();
		memcpy(data[RANDOM][i], word, sizeof word);
	}
	for (size_t i = 0; i < sizeof large_data; i += 8) {
		uint64_t word = random_word();

		memcpy(large_data + i, &word, 8);
	}
}

/*
 * Bytes of an event of LTTng 2.13, CTF 1.8, with the contexts vpid, vtid and ip and a payload of fixed
 * length: compact header of 32 bits (5 for the type, 27 for the time), 4, 4, 8, and the payload. Where
 * unaligned access is cheap, as on x86 and arm64, it aligns nothing; elsewhere it would be 32 and
 * 56. What its packets need besides is left out.
 */
static double ctf_bytes(size_t len)
{
	return (double)(4 + 4 + 4 + 8 + len);
}

/* -- Files and the machine ------------------------------------------------------------------ */

static int new_file(void)
{
	int fd = open(options.directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char name[4096];

	if (fd >= 0)
		return fd;
	snprintf(name, sizeof name, "%s/bench-log-XXXXXX", options.directory);
	fd = mkstemp(name);
	if (fd < 0)
		die("%s: %s", name, strerror(errno));
	unlink(name);
	return fd;
}

static off_t size_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		die("fstat: %s", strerror(errno));
	return st.st_size;
}

static unsigned char piece[PIECE];

/* Seconds on this clock to read() all of a file. */
static double read_all(int fd, clockid_t clock)
{
	double start;
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	start = seconds(clock);
	while ((n = read(fd, piece, sizeof piece)) > 0)
		;
	if (n < 0)
		die("read: %s", strerror(errno));
	return seconds(clock) - start;
}

/* Seconds to write() as much as a file has into a new one. */
static double write_all(int like)
{
	off_t left = size_of(like);
	int fd = new_file();
	double start;

	lseek(like, 0, SEEK_SET);
	if (read(like, piece, sizeof piece) <= 0)
		die("an empty log");
	start = seconds(CLOCK_MONOTONIC);
	while (left > 0) {
		ssize_t n = write(fd, piece, left < (off_t)sizeof piece ? (size_t)left : sizeof piece);

		if (n < 0)
			die("write: %s", strerror(errno));
		left -= n;
	}
	start = seconds(CLOCK_MONOTONIC) - start;
	close(fd);
	return start;
}

/* -- Streams and logs ------------------------------------------------------------------------ */

static trace_id_t new_log(int fd, size_t stream_size)
{
	trace_attr_t attr;
	trace_id_t trid;

	if (ftruncate(fd, 0) < 0)
		die("ftruncate: %s", strerror(errno));
	must(posix_trace_attr_init(&attr), "posix_trace_attr_init");
	must(posix_trace_attr_setstreamsize(&attr, stream_size), "posix_trace_attr_setstreamsize");
	must(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND), "posix_trace_attr_setlogfullpolicy");
	must(posix_trace_attr_setmaxdatasize(&attr, LARGE_LEN), "posix_trace_attr_setmaxdatasize");
	must(posix_trace_create_withlog(0, &attr, fd, &trid), "posix_trace_create_withlog");
	posix_trace_attr_destroy(&attr);
	must(posix_trace_start(trid), "posix_trace_start");
	return trid;
}

static double lost(trace_id_t trid)
{
	struct posix_trace_status_info status;

	must(posix_trace_get_status(trid, &status), "posix_trace_get_status");
	if (status.posix_stream_flush_error)
		die("the log cannot be written: %s", strerror(status.posix_stream_flush_error));
	return (double)status.__posix_lost_events;
}

/* Our events that are still to come. */
static double count_events(trace_id_t trid)
{
	struct posix_trace_event_info info;
	unsigned char buffer[LARGE_LEN];
	int unavailable;
	double n = 0;
	size_t len;

	for (;;) {
		must(posix_trace_getnext_event(trid, &info, buffer, sizeof buffer, &len, &unavailable), "posix_trace_getnext_event");
		if (unavailable)
			return n;
		n += info.posix_event_id >= type[0];
	}
}

static void check_log(int fd, double expected)
{
	trace_id_t trid;
	double n;

	must(posix_trace_open(fd, &trid), "posix_trace_open");
	n = count_events(trid);
	must(posix_trace_close(trid), "posix_trace_close");
	if (n != expected)
		die("a log with %.0f events, not %.0f", n, expected);
}

/* Four trace points, each somewhere else, in no regular order. */
static inline void record(unsigned i, enum data what, size_t len)
{
	const void *bytes = data[what][i % TABLE];

	switch (i * 2654435761u >> 30) {
	case 0:
		posix_trace_event(type[0], bytes, len);
		break;
	case 1:
		posix_trace_event(type[1], bytes, len);
		break;
	case 2:
		posix_trace_event(type[2], bytes, len);
		break;
	default:
		posix_trace_event(type[3], bytes, len);
		break;
	}
}

/* -- Sustained ---------------------------------------------------------------------------------- */

struct load {
	int threads;
	size_t len, stream;
	double rate; /* events per second of all threads together; 0: as fast as they can */
	double time; /* seconds */
};

struct outcome {
	double recorded, lost, seconds;
	double flusher; /* its CPU time, seconds */
};

struct worker {
	pthread_t thread;
	const struct load *load;
	double recorded, cpu;
};

static void sleep_until(double t)
{
	struct timespec until = { (time_t)t, (long)((t - (double)(time_t)t) * 1e9) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

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
			/* Who comes too late does not make up for it: that would be another rate. */
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
	/* What is under way belongs to the time that it takes. */
	must(posix_trace_flush(trid), "posix_trace_flush");
	o.seconds = seconds(CLOCK_MONOTONIC) - o.seconds;
	o.flusher += seconds(CLOCK_PROCESS_CPUTIME_ID) - all - (seconds(CLOCK_THREAD_CPUTIME_ID) - own);
	must(posix_trace_stop(trid), "posix_trace_stop");
	o.lost = lost(trid);
	must(posix_trace_shutdown(trid), "posix_trace_shutdown");
	return o;
}

/* Long enough that even a rate a little too high fills the stream. */
static double trial_time(const struct load *l, double rate)
{
	double needed = 16 * (double)l->stream / ((double)(32 + l->len) * rate);

	return needed < options.trial ? options.trial : needed > 5 * options.trial ? 5 * options.trial : needed;
}

/* Events per second at this rate, or 0 if there are losses. */
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

/* The highest rate without loss, from a first guess on. */
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

/* -- Rows ------------------------------------------------------------------------------------------- */

struct row {
	const char *section; /* heading above it; null: as the row before */
	char name[64];
	const char *machine; /* what stands in the column "the machine" */
	double goal;         /* of the figure or, where goal_relative, of relative; 0: none */
	bool goal_relative, goal_less;
	double *figure, *limit; /* by round */
};

static struct row rows[MAX_ROWS];
static int n_rows;

/* By name; made when it comes for the first time. */
static struct row *row(const char *section, const char *machine, const char *name)
{
	struct row *r;

	for (int i = 0; i < n_rows; i++)
		if (strcmp(rows[i].name, name) == 0 && strcmp(rows[i].section, section) == 0)
			return &rows[i];
	if (n_rows == MAX_ROWS)
		die("too many rows");
	r = &rows[n_rows++];
	r->section = section;
	r->machine = machine;
	snprintf(r->name, sizeof r->name, "%s", name);
	r->figure = new_values(options.rounds);
	r->limit = new_values(options.rounds);
	return r;
}

static void sustain(int round, int threads, size_t len, size_t stream)
{
	struct load l = { .threads = threads, .len = len, .stream = stream, .time = 2 * options.trial };
	char name[64];
	struct outcome o;
	struct row *r;
	double machine, kept;
	int fd = new_file();

	snprintf(name, sizeof name, "%d thread%s, %zu bytes, %zu MiB", threads, threads == 1 ? "" : "s", len, stream / MIB);
	o = run(fd, &l);
	kept = o.recorded - o.lost;
	check_log(fd, kept);
	machine = write_all(fd);

	r = row("as fast as it can: what is kept, million events/s", "write()", name);
	r->figure[round] = kept / o.seconds / 1e6;
	r->limit[round] = kept / machine / 1e6;
	r = row("the flusher's CPU time, ns/event", "write()", name);
	r->figure[round] = o.flusher / kept * 1e9;
	r->limit[round] = machine / kept * 1e9;
	r = row("sustained without loss, million events/s", "write()", name);
	r->figure[round] = sustained(fd, &l, kept / o.seconds) / 1e6;
	r->limit[round] = kept / machine / 1e6;
	close(fd);
}

/* -- Bytes ---------------------------------------------------------------------------------------------- */

/* A log of so many events, none lost: at some distance from each other, or as fast as they can be flushed. */
static void record_log(int fd, long events, enum data what, size_t len, bool apart)
{
	trace_id_t trid = new_log(fd, 8 * MIB);

	for (long i = 0; i < events; i++) {
		if (apart) {
			/* Up to 2 us after the one before. */
			double next = seconds(CLOCK_MONOTONIC) + (double)(random_word() % 2000) * 1e-9;

			while (seconds(CLOCK_MONOTONIC) < next)
				;
		} else if (i % 20000 == 19999) {
			must(posix_trace_flush(trid), "posix_trace_flush");
		}
		record((unsigned)i, what, len);
	}
	must(posix_trace_stop(trid), "posix_trace_stop");
	if (lost(trid) > 0)
		die("%s: %.0f of %ld events lost", data_name[what], lost(trid), events);
	must(posix_trace_shutdown(trid), "posix_trace_shutdown");
}

static void measure_size(int round, size_t len, enum data what)
{
	char name[64];
	struct row *r;
	int fd = new_file();

	record_log(fd, options.sized, what, len, true);
	snprintf(name, sizeof name, "%zu bytes, %s", len, data_name[what]);
	r = row("bytes per event, one in a microsecond", "CTF", name);
	r->figure[round] = (double)size_of(fd) / (double)options.sized;
	r->limit[round] = ctf_bytes(len);
	r->goal = GOAL_SIZE;
	r->goal_relative = r->goal_less = true;
	close(fd);
}

/* -- Reading ----------------------------------------------------------------------------------------------- */

static void measure_reading(int round, size_t len, enum data what)
{
	char name[64];
	struct row *r;
	double start, events, cpu;
	trace_id_t trid;
	int fd = new_file();

	record_log(fd, options.read, what, len, false);
	snprintf(name, sizeof name, "%zu bytes, %s", len, data_name[what]);
	must(posix_trace_open(fd, &trid), "posix_trace_open");
	/* The first time finds everything out of the caches. */
	if (count_events(trid) != (double)options.read)
		die("a log without all of its events");
	must(posix_trace_rewind(trid), "posix_trace_rewind");
	start = seconds(CLOCK_THREAD_CPUTIME_ID);
	events = count_events(trid);
	cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - start;
	must(posix_trace_close(trid), "posix_trace_close");
	r = row("posix_trace_getnext_event(), million events/s", "read()", name);
	r->figure[round] = events / cpu / 1e6;
	r->limit[round] = events / read_all(fd, CLOCK_THREAD_CPUTIME_ID) / 1e6;
	r->goal = GOAL_READ;
	close(fd);
}

/* -- Opening --------------------------------------------------------------------------------------------------- */

static int large_log(long mib)
{
	const size_t each = 64;
	double events = (double)mib * MIB / (LARGE_LEN + 8);
	int fd = new_file();
	trace_id_t trid = new_log(fd, 8 * MIB);

	for (double n = 0; n < events; n += each) {
		for (size_t i = 0; i < each; i++)
			posix_trace_event(large, large_data + random_word() % LARGE_LEN, LARGE_LEN);
		must(posix_trace_flush(trid), "posix_trace_flush");
	}
	if (lost(trid) > 0)
		die("a log of %ld MiB lost events", mib);
	must(posix_trace_shutdown(trid), "posix_trace_shutdown");
	if (size_of(fd) < (off_t)((double)mib * MIB * 0.98))
		die("a log of %.0f MiB, not %ld", (double)size_of(fd) / MIB, mib);
	return fd;
}

/* Milliseconds until its first event is there. */
static double open_log(int fd)
{
	struct posix_trace_event_info info;
	unsigned char buffer[LARGE_LEN];
	int unavailable;
	trace_id_t trid;
	size_t len;
	double start = seconds(CLOCK_MONOTONIC);

	must(posix_trace_open(fd, &trid), "posix_trace_open");
	must(posix_trace_getnext_event(trid, &info, buffer, sizeof buffer, &len, &unavailable), "posix_trace_getnext_event");
	start = seconds(CLOCK_MONOTONIC) - start;
	must(posix_trace_close(trid), "posix_trace_close");
	if (unavailable)
		die("a log without an event");
	return start * 1e3;
}

static void opened(int round, int fd, long mib, const char *how, double goal, double figure)
{
	char name[64];
	struct row *r;

	snprintf(name, sizeof name, "%ld MiB%s", mib, how);
	r = row("posix_trace_open() and the first event, ms", "read()", name);
	r->figure[round] = figure;
	/* Right behind it, so where the log was not in memory, most of it still is not. */
	r->limit[round] = read_all(fd, CLOCK_MONOTONIC) * 1e3;
	r->goal = goal;
	r->goal_less = true;
}

static void measure_opening(int round, int fd, long mib)
{
	const off_t size = size_of(fd), footer = 64;
	unsigned char end[64];

	/* Does nothing on a tmpfs, which has no other place for it. */
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	opened(round, fd, mib, ", not in memory", 0, open_log(fd));
	opened(round, fd, mib, "", GOAL_OPEN, open_log(fd));
	/* Without the footer nobody finds the index: as if the writer had been killed before its end (docs/log-format.md). */
	if (pread(fd, end, (size_t)footer, size - footer) != footer || ftruncate(fd, size - footer) < 0)
		die("the footer of a log: %s", strerror(errno));
	opened(round, fd, mib, ", without index", 0, open_log(fd));
	if (pwrite(fd, end, (size_t)footer, size - footer) != footer)
		die("the footer of a log: %s", strerror(errno));
}

/* -- The table ----------------------------------------------------------------------------------------------------- */

static double relative(const struct row *r)
{
	double *v = new_values(options.rounds), x;

	for (int i = 0; i < options.rounds; i++)
		v[i] = r->figure[i] / r->limit[i];
	x = quantile(v, options.rounds, 0.5);
	free(v);
	return x;
}

static void print_row(const struct row *r)
{
	double figure = quantile(r->figure, options.rounds, 0.5), x = relative(r);
	double against = r->goal_relative ? x : figure;

	printf("  %-30s %9.2f %8.2f %8.2f %11.2f %10.2g", r->name, figure, quantile(r->figure, options.rounds, 0),
	       quantile(r->figure, options.rounds, 1), quantile(r->limit, options.rounds, 0.5), x);
	if (r->goal > 0)
		printf("   %.1f%s", r->goal, (r->goal_less ? against <= r->goal : against >= r->goal) ? "" : ", missed");
	putchar('\n');
}

/* Rows of a section come one after another in each round, but not necessarily in a row. */
static void print_rows(void)
{
	for (int i = 0; i < n_rows; i++) {
		bool first = true;

		for (int j = 0; j < i; j++)
			first &= strcmp(rows[j].section, rows[i].section) != 0;
		if (!first)
			continue;
		printf("\n%s\n%-32s %9s %8s %8s %11s %10s   goal\n", rows[i].section, "", "median", "min", "max",
		       rows[i].machine, "relative");
		for (int j = i; j < n_rows; j++)
			if (strcmp(rows[j].section, rows[i].section) == 0)
				print_row(&rows[j]);
	}
}

static void write_json(void)
{
	FILE *f = strcmp(options.json, "-") == 0 ? stdout : fopen(options.json, "we");

	if (!f)
		die("%s: %s", options.json, strerror(errno));
	fputs("{\n", f);
	machine_json(f);
	fprintf(f, "  \"rounds\": %d,\n  \"rows\": [\n", options.rounds);
	for (int i = 0; i < n_rows; i++) {
		fprintf(f, "    {\"section\": \"%s\", \"row\": \"%s\", \"machine\": \"%s\", \"relative\": %.4f, \"figure\": ",
		        rows[i].section, rows[i].name, rows[i].machine, relative(&rows[i]));
		json_values(f, rows[i].figure, options.rounds);
		fputs(", \"limit\": ", f);
		json_values(f, rows[i].limit, options.rounds);
		fprintf(f, "}%s\n", i == n_rows - 1 ? "" : ",");
	}
	fputs("  ]\n}\n", f);
	if (f == stdout ? fflush(f) != 0 : fclose(f) != 0)
		die("%s: %s", options.json, strerror(errno));
}

/* -- Options --------------------------------------------------------------------------------------------------------- */

static void usage(FILE *to)
{
	fprintf(to,
	        "usage: bench-log [options]\n"
	        "  --rounds N        rounds, default %d\n"
	        "  --directory DIR   where the logs are, default the current directory\n"
	        "  --only WHAT,...   of sustained, size, reading, opening\n"
	        "  --largest MIB     the largest log that is opened, default %ld\n"
	        "  --quick           1 round, short, to 64 MiB: does it run?\n"
	        "  --json FILE       all figures of all rounds; - for stdout\n",
	        options.rounds, options.largest);
}

static void only(const char *what)
{
	static const struct { const char *name; bool *part; } parts[] = {
		{ "sustained", &options.sustained }, { "size", &options.size },
		{ "reading", &options.reading }, { "opening", &options.opening },
	};

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		*parts[i].part = false;
	while (*what) {
		size_t n = strcspn(what, ","), i = 0;

		while (i < sizeof parts / sizeof *parts && (strlen(parts[i].name) != n || strncmp(parts[i].name, what, n) != 0))
			i++;
		if (i == sizeof parts / sizeof *parts)
			die("--only %s: not sustained, size, reading or opening", what);
		*parts[i].part = true;
		what += n + (what[n] == ',');
	}
}

static void parse(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "rounds", required_argument, NULL, 'r' }, { "directory", required_argument, NULL, 'd' },
		{ "only", required_argument, NULL, 'o' }, { "largest", required_argument, NULL, 'l' },
		{ "quick", no_argument, NULL, 'q' }, { "json", required_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	char *end = "";
	int c;

	while ((c = getopt_long(argc, argv, "", longopts, NULL)) != -1) {
		switch (c) {
		case 'r':
			options.rounds = (int)number(optarg, &end, 1, 1000);
			break;
		case 'd':
			options.directory = optarg;
			break;
		case 'o':
			only(optarg);
			break;
		case 'l':
			options.largest = number(optarg, &end, 1, 1 << 20);
			break;
		case 'q':
			options.rounds = 1;
			options.trial = 0.01;
			options.sized = 20000;
			options.read = 50000;
			options.largest = 64;
			break;
		case 'j':
			options.json = optarg;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
		if (*end)
			die("%s: not a number", optarg);
	}
	if (optind < argc) {
		usage(stderr);
		exit(2);
	}
}

/* The sizes of logs that are opened, as far as there is space for them. */
static int open_sizes(long mib[3])
{
	static const long all[3] = { 1, 64, 1024 };
	struct statvfs space;
	int n = 0;

	if (statvfs(options.directory, &space) < 0)
		die("%s: %s", options.directory, strerror(errno));
	for (int i = 0; i < 3; i++) {
		long size = all[i] < options.largest ? all[i] : options.largest;

		if (n > 0 && size <= mib[n - 1])
			break;
		if ((double)space.f_bavail * (double)space.f_frsize < 1.5 * (double)size * MIB) {
			printf("note: no space in %s for a log of %ld MiB\n", options.directory, size);
			break;
		}
		mib[n++] = size;
	}
	return n;
}

int main(int argc, char **argv)
{
	long mib[3];
	int opened[3], n_opened = 0;

	parse(argc, argv);
	find_cpus();
	make_data();
	for (int i = 0; i < TYPES; i++) {
		char name[16];

		snprintf(name, sizeof name, "bench.%d", i);
		must(posix_trace_eventid_open(name, &type[i]), "posix_trace_eventid_open");
	}
	must(posix_trace_eventid_open("bench.large", &large), "posix_trace_eventid_open");
	machine_print();
	printf("%d round%s, logs in %s; relative: the figure to that of the machine; medians over the rounds\n",
	       options.rounds, options.rounds == 1 ? "" : "s", options.directory);
#ifndef __OPTIMIZE__
	puts("NOT OPTIMISED: the figures mean nothing. meson setup --buildtype=release ...");
#endif
	if (n_cpus < 2)
		puts("note: one CPU for those who record and the flusher");
	if (options.opening)
		n_opened = open_sizes(mib);
	fflush(stdout);
	for (int i = 0; i < n_opened; i++)
		opened[i] = large_log(mib[i]);

	for (int r = 0; r < options.rounds; r++) {
		for (int threads = 1; options.sustained && threads <= MAX_THREADS; threads++)
			for (size_t len = 8; len <= MAX_LEN; len *= 4)
				for (size_t stream = MIB; stream <= 8 * MIB; stream *= 8)
					sustain(r, threads, len, stream);
		for (size_t len = 8; len <= MAX_LEN; len *= 4) {
			for (enum data what = 0; what < DATA; what++) {
				/* A request does not go into 8 bytes; of 8 bytes it is the counter. */
				if (len == 8 && what == REQUESTS)
					continue;
				if (options.size)
					measure_size(r, len, what);
				if (options.reading && what != POINTERS && what != NUMBERS)
					measure_reading(r, len, what);
			}
		}
		for (int i = 0; i < n_opened; i++)
			measure_opening(r, opened[i], mib[i]);
	}
	print_rows();
	if (options.json)
		write_json();
	for (int i = 0; i < n_rows; i++) {
		free(rows[i].figure);
		free(rows[i].limit);
	}
	return 0;
}
