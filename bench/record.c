/*
 * record.c - what does a trace point cost?
 *
 * Measures nanoseconds for each event and thread, for several lengths of data and numbers of threads: of a trace point
 * in a process that is not traced, of an event that is not recorded (the stream is suspended, or filters it out), and
 * of an event that is recorded. Next to them stands the floor (floor.h), the same work without anything that makes it
 * useful. A figure without its floor says nothing on another machine.
 *
 * - The cases run in turns: a round runs each case once for a slice of time, beginning with a different case each time,
 *   so that a temporary slowdown of the machine affects all. Ratio and difference are calculated within a round; the
 *   table has their medians over the rounds.
 * - A slice has a new stream of its own. The clock starts after the stream has wrapped: the figure is the cost of a
 *   stream in use, not of the first touch of its pages. The threads begin together, each on a CPU of its own if there
 *   are enough.
 * - The time is the thread's CPU time, because other processes may use the machine. A trace point does not sleep; if
 *   one did, it would show in the line "not on a CPU", which is the rest of the slice.
 * - The floor has a ring for each thread, as large as the stream says it is, because each thread of a stream uses all
 *   of the stream's memory in the end. The ring is shared memory, so that its pages have the same size.
 * - 1 MiB is a stream's default size, so the goals are for 1 MiB. 8 MiB shows the cost when the stream leaves the
 *   nearest caches.
 * - The data is a different part of a table of random bytes for each event. It is not written before each event: a copy
 *   right after smaller stores waits for them, and would hide the cost of the trace point.
 *
 * Each case checks what its stream holds at the end, so that a figure cannot be that of a trace point which does
 * nothing. Which events a stream loses, and that it loses no others, is tested in tests/stress/: here no reader runs,
 * and a stream in LOOP loses nearly everything, as it should.
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "floor.h"
#if PEERS
# include "lttng.h"
#endif

#define BATCH       10000 /* events between two looks at the clock */
#define MAX_LEN     4096
#define MAX_LENS    8
#define MAX_THREADS 16
#define MAX_COUNTS  4

/* Limits for --check, which has to pass on a busy machine. The goals are in table.py. */
#define CHECK_RECORD   1.5
#define CHECK_OFF      1.0
#define CHECK_FILTERED 2.0
#define CHECK_OFF_CALL 4.0
#define CHECK_LEN      32

enum { LOOP_ONLY, CALL_ONLY, OFF, OFF_CALL, OFF_GONE, OFF_CHILD, SUSPENDED, FILTERED, FLOOR_1, RECORD_1, TWO_1,
       FLOOR_8, RECORD_8,
#if PEERS
       LTTNG,
#endif
       CASES };

static const struct {
	const char *name;
	const char *key;
	size_t size; /* of the ring or of each stream */
	int streams;
	bool events; /* calls posix_trace_event() */
	int per;     /* the case of which this is a multiple; a floor has itself */
	const char *unit;
	int base;    /* the case to which this adds; -1: none */
} cases[CASES] = {
	[LOOP_ONLY] = { "empty loop",               "loop",      0,       0, false, -1,       NULL, -1 },
	[CALL_ONLY] = { "call of an empty function", "call",     0,       0, false, -1,       NULL, LOOP_ONLY },
	[OFF]       = { "off, no stream",           "off",       0,       0, true,  -1,       NULL, LOOP_ONLY },
	[OFF_CALL]  = { "off, function",            "off-call",  0,       0, true,  -1,       NULL, LOOP_ONLY },
	[OFF_GONE]  = { "off, function, stream gone", "off-gone", 0,     0, true,  -1,       NULL, LOOP_ONLY },
	[OFF_CHILD] = { "off, function, forked child", "off-child", 0,   0, true,  -1,       NULL, LOOP_ONLY },
	[SUSPENDED] = { "stream suspended",         "suspended", MIB,     1, true,  -1,       NULL, LOOP_ONLY },
	[FILTERED]  = { "filtered out",             "filtered",  MIB,     1, true,  -1,       NULL, LOOP_ONLY },
	[FLOOR_1]   = { "floor, 1 MiB",             "floor",     MIB,     0, false, FLOOR_1,  NULL, -1 },
	[RECORD_1]  = { "recording, 1 MiB",         "record",    MIB,     1, true,  FLOOR_1,  "x floor", -1 },
	[TWO_1]     = { "two streams, 1 MiB each",  "two",       MIB,     2, true,  RECORD_1, "x one", -1 },
	[FLOOR_8]   = { "floor, 8 MiB",             "floor8",    8 * MIB, 0, false, FLOOR_8,  NULL, -1 },
	[RECORD_8]  = { "recording, 8 MiB",         "record8",   8 * MIB, 1, true,  FLOOR_8,  "x floor", -1 },
#if PEERS
	[LTTNG]     = { "LTTng-UST, flight recorder", "lttng",   MIB,     0, false, RECORD_1, "x ours", -1 },
#endif
};

static struct {
	int rounds;
	double slice; /* seconds */
	size_t lens[MAX_LENS];
	int n_lens;
	int threads[MAX_COUNTS];
	int n_threads;
	const char *json;
	bool check;
} options = {
	.rounds = 11, .slice = 0.020,
	.lens = { 0, 8, CHECK_LEN, 256 }, .n_lens = 4,
	.threads = { 1, 2 }, .n_threads = 2,
};

static trace_event_id_t event_id;
static unsigned char table[4096 + MAX_LEN];

/* -- One slice ----------------------------------------------------------- */

struct worker {
	pthread_t thread;
	int number;
	int what; /* the case */
	size_t len;
	pthread_barrier_t *start;
	struct floor_ring ring;
	double cpu, wall; /* seconds */
	double events;
};

/* Makes the compiler assume that the data is used here. */
#define USED(p, len) __asm__ __volatile__("" : : "r"(p), "r"(len) : "memory")
#define DATA(i)      (table + ((i) & 511) * 8)

static __attribute__((noinline)) void batch_loop(struct worker *w)
{
	size_t len = w->len;

	for (unsigned i = 0; i < BATCH; i++)
		USED(DATA(i), len);
}

static __attribute__((noinline)) void batch_floor(struct worker *w)
{
	struct floor_ring *ring = &w->ring;
	size_t len = w->len;

	for (unsigned i = 0; i < BATCH; i++) {
		floor_event(ring, event_id, DATA(i), len);
		USED(DATA(i), len);
	}
}

static __attribute__((noinline)) void batch_event(struct worker *w)
{
	size_t len = w->len;

	for (unsigned i = 0; i < BATCH; i++) {
		posix_trace_event(event_id, DATA(i), len);
		USED(DATA(i), len);
	}
}

static __attribute__((always_inline)) inline void calls(const struct worker *w,
                                                       void (*to)(trace_event_id_t, const void *, size_t))
{
	void (*volatile function)(trace_event_id_t, const void *, size_t) = to;
	size_t len = w->len;

	for (unsigned i = 0; i < BATCH; i++) {
		function(event_id, DATA(i), len);
		USED(DATA(i), len);
	}
}

/* Calls the function itself, as other languages and pointers do. */
static __attribute__((noinline)) void batch_call(struct worker *w)
{
	calls(w, (posix_trace_event));
}

static void nothing(trace_event_id_t id, const void *data, size_t len)
{
	(void)id, (void)data, (void)len;
}

/* The floor of such calls. */
static __attribute__((noinline)) void batch_call_only(struct worker *w)
{
	calls(w, nothing);
}

#if PEERS
static __attribute__((noinline)) void batch_lttng(struct worker *w)
{
	lttng_events(BATCH, table, w->len);
}
#endif

static trace_id_t new_stream(size_t size, int policy)
{
	trace_attr_t attr;
	trace_id_t trid;

	must(posix_trace_attr_init(&attr), "posix_trace_attr_init");
	must(posix_trace_attr_setstreamsize(&attr, size), "posix_trace_attr_setstreamsize");
	must(posix_trace_attr_setstreamfullpolicy(&attr, policy), "posix_trace_attr_setstreamfullpolicy");
	must(posix_trace_attr_setmaxdatasize(&attr, MAX_LEN), "posix_trace_attr_setmaxdatasize");
	must(posix_trace_create(0, &attr, &trid), "posix_trace_create");
	posix_trace_attr_destroy(&attr);
	return trid;
}

/* Records once and shuts the stream down. */
static void trace_once(struct worker *w)
{
	trace_id_t trid = new_stream(MIB, POSIX_TRACE_LOOP);

	must(posix_trace_start(trid), "posix_trace_start");
	batch_call(w);
	must(posix_trace_shutdown(trid), "posix_trace_shutdown");
}

static void measure(struct worker *w, void (*batch)(struct worker *), double begun)
{
	double cpu = seconds(CLOCK_THREAD_CPUTIME_ID), now;

	w->events = 0;
	do {
		batch(w);
		w->events += BATCH;
		now = seconds(CLOCK_MONOTONIC);
	} while (now - begun < options.slice);
	w->wall = now - begun;
	w->cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

/* Measures in a child, which reports through a pipe. */
static void measure_child(struct worker *w)
{
	struct worker found = *w;
	int ends[2], status;
	pid_t pid;

	if (pipe(ends) < 0 || (pid = fork()) < 0)
		die("a child: %s", strerror(errno));
	if (pid == 0) {
		batch_call(&found);
		measure(&found, batch_call, seconds(CLOCK_MONOTONIC));
		_exit(write(ends[1], &found, sizeof found) != sizeof found);
	}
	if (read(ends[0], &found, sizeof found) != sizeof found || waitpid(pid, &status, 0) < 0 || status)
		die("a child has failed");
	close(ends[0]);
	close(ends[1]);
	w->events = found.events;
	w->cpu = found.cpu;
	w->wall = found.wall;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	void (*batch)(struct worker *) = cases[w->what].events ? batch_event : batch_loop;
	size_t warm = BATCH;

	if (w->what == CALL_ONLY)
		batch = batch_call_only;
	if (w->what == OFF_CALL || w->what == OFF_GONE || w->what == OFF_CHILD)
		batch = batch_call;
	if (cases[w->what].per == w->what)
		batch = batch_floor;
#if PEERS
	if (w->what == LTTNG)
		batch = batch_lttng;
#endif
	if (cases[w->what].per >= 0)
		warm += 2 * cases[w->what].size / (FLOOR_HEADER + w->len);
	pin(w->number);
	if (w->what == OFF_GONE)
		trace_once(w);
	for (size_t n = 0; n < warm; n += BATCH)
		batch(w);
	pthread_barrier_wait(w->start);
	if (w->what == OFF_CHILD)
		measure_child(w);
	else
		measure(w, batch, seconds(CLOCK_MONOTONIC));
	return NULL;
}

static trace_id_t set_up_stream(int what)
{
	trace_id_t trid = new_stream(cases[what].size, POSIX_TRACE_LOOP);

	if (what == FILTERED) {
		trace_event_set_t set;

		posix_trace_eventset_empty(&set);
		posix_trace_eventset_add(event_id, &set);
		must(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), "posix_trace_set_filter");
	}
	if (what != SUSPENDED)
		must(posix_trace_start(trid), "posix_trace_start");
	return trid;
}

/* Dies if the trace points did not do what the case is about. */
static void check_stream(trace_id_t trid, int what, size_t len)
{
	bool wanted = what != SUSPENDED && what != FILTERED;
	struct posix_trace_event_info info;
	unsigned char data[MAX_LEN];
	int found = 0, unavailable = 0;
	size_t got;

	must(posix_trace_stop(trid), "posix_trace_stop");
	for (int i = 0; i < 16; i++) {
		must(posix_trace_trygetnext_event(trid, &info, data, sizeof data, &got, &unavailable),
		     "posix_trace_trygetnext_event");
		if (unavailable)
			break;
		if (info.posix_event_id != event_id)
			continue;
		if (got != len || info.posix_truncation_status != POSIX_TRACE_NOT_TRUNCATED)
			die("%s: an event with %zu bytes of data, not %zu", cases[what].name, got, len);
		found++;
	}
	if ((found > 0) != wanted)
		die("%s: the stream has %s events", cases[what].name, found ? "recorded" : "no");
}

struct result {
	double ns, wall_ns;
};

static struct result slice(int what, size_t len, int n_threads)
{
	static struct worker workers[MAX_THREADS];
	pthread_barrier_t start;
	trace_id_t trids[2];
	struct result r = { 0, 0 };

	for (int i = 0; i < cases[what].streams; i++)
		trids[i] = set_up_stream(what);
	must(pthread_barrier_init(&start, NULL, (unsigned)n_threads), "pthread_barrier_init");
	for (int i = 0; i < n_threads; i++) {
		struct worker *w = &workers[i];

		*w = (struct worker){ .number = i, .what = what, .len = len, .start = &start };
		if (cases[what].per == what) {
			w->ring.size = cases[what].size;
			w->ring.base = mmap(NULL, w->ring.size, PROT_READ | PROT_WRITE,
			                    MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
			if (w->ring.base == MAP_FAILED)
				die("no memory for the floor's ring");
		}
		must(pthread_create(&w->thread, NULL, work, w), "pthread_create");
	}
	for (int i = 0; i < n_threads; i++) {
		struct worker *w = &workers[i];

		pthread_join(w->thread, NULL);
		r.ns += w->cpu / w->events * 1e9 / n_threads;
		r.wall_ns += w->wall / w->events * 1e9 / n_threads;
		if (w->ring.base)
			munmap(w->ring.base, w->ring.size);
	}
	pthread_barrier_destroy(&start);
	for (int i = 0; i < cases[what].streams; i++) {
		check_stream(trids[i], what, len);
		must(posix_trace_shutdown(trids[i]), "posix_trace_shutdown");
	}
	return r;
}

/* -- All rounds, and the table ------------------------------------------- */

struct block { /* one length of data, one number of threads */
	size_t len;
	int threads;
	double *ns[CASES];    /* by round */
	double *off_cpu[CASES];
};

/* Returns whether there are figures for this case: LTTng-UST does not have all lengths. */
static bool has(const struct block *b, int what)
{
#if PEERS
	if (what == LTTNG)
		return lttng_has(b->len);
#endif
	return b && what < CASES;
}

/* Returns the multiple of another case, or the difference from the empty loop: the median over the rounds. */
static double relative(const struct block *b, int what)
{
	int per = cases[what].per, base = cases[what].base;
	double *v = new_values(options.rounds), x;

	for (int r = 0; r < options.rounds; r++)
		v[r] = per >= 0 ? b->ns[what][r] / b->ns[per][r] : b->ns[what][r] - b->ns[base][r];
	x = quantile(v, options.rounds, 0.5);
	free(v);
	return x;
}

static void print_block(const struct block *b)
{
	char title[64];

	snprintf(title, sizeof title, "%d thread%s, %zu bytes of data", b->threads, b->threads == 1 ? "" : "s", b->len);
	printf("\n%-32s %9s %8s %8s %16s\n", title, "ns/event", "min", "max", "relative   ");
	for (int c = 0; c < CASES; c++) {
		const char *unit = cases[c].unit ? cases[c].unit : "ns";

		if (!has(b, c))
			continue;
		printf("  %-30s %9.2f %8.2f %8.2f", cases[c].name, quantile(b->ns[c], options.rounds, 0.5),
		       quantile(b->ns[c], options.rounds, 0), quantile(b->ns[c], options.rounds, 1));
		if (cases[c].per != c && (cases[c].per >= 0 || cases[c].base >= 0))
			printf(cases[c].per >= 0 ? " %8.2f %-7s" : " %+8.2f %-7s", relative(b, c), unit);
		putchar('\n');
	}
}

/* Returns the ratio of several recording threads to one, by time for each event and thread. */
static double *against_one_thread(const struct block *blocks, int n, const struct block *b)
{
	double *v;

	for (int i = 0; i < n; i++) {
		if (blocks[i].threads != 1 || blocks[i].len != b->len || b->threads == 1)
			continue;
		v = new_values(options.rounds);
		for (int r = 0; r < options.rounds; r++)
			v[r] = b->ns[RECORD_1][r] / blocks[i].ns[RECORD_1][r];
		return v;
	}
	return NULL;
}

static void print_threads(const struct block *blocks, int n)
{
	bool titled = false;

	for (int i = 0; i < n; i++) {
		double *v = against_one_thread(blocks, n, &blocks[i]);
		char name[64];

		if (!v)
			continue;
		if (!titled)
			printf("\n%-32s %9s %8s %8s\n", "recording, 1 MiB", "x one thread", "min", "max");
		titled = true;
		snprintf(name, sizeof name, "%d threads, %zu bytes of data", blocks[i].threads, blocks[i].len);
		printf("  %-30s %9.2f %8.2f %8.2f\n", name, quantile(v, options.rounds, 0.5),
		       quantile(v, options.rounds, 0), quantile(v, options.rounds, 1));
		free(v);
	}
}

static void write_json(const struct block *blocks, int n)
{
	FILE *f = strcmp(options.json, "-") == 0 ? stdout : fopen(options.json, "we");

	if (!f)
		die("%s: %s", options.json, strerror(errno));
	fputs("{\n", f);
	machine_json(f);
	fprintf(f, "  \"rounds\": %d,\n  \"slice_ms\": %.3f,\n", options.rounds, options.slice * 1e3);
	fputs("  \"cases\": [\n", f);
	for (int i = 0; i < n; i++) {
		for (int c = 0; c < CASES; c++) {
			const struct block *b = &blocks[i];

			if (!has(b, c))
				continue;
			fprintf(f, "%s    {\"case\": \"%s\", \"payload\": %zu, \"threads\": %d, \"median_ns\": %.4f",
			        i || c ? ",\n" : "", cases[c].key, b->len, b->threads,
			        quantile(b->ns[c], options.rounds, 0.5));
			if (cases[c].per >= 0)
				fprintf(f, ", \"per\": \"%s\", \"ratio\": %.4f", cases[cases[c].per].key,
				        relative(b, c));
			else if (cases[c].base >= 0)
				fprintf(f, ", \"over_loop_ns\": %.4f", relative(b, c));
			fputs(", \"ns\": ", f);
			json_values(f, b->ns[c], options.rounds);
			fputc('}', f);
		}
	}
	fputs("\n  ]\n}\n", f);
	if (f != stdout && fclose(f) != 0)
		die("%s: %s", options.json, strerror(errno));
}

static int check(const struct block *blocks, int n)
{
	const struct block *b = NULL;
	int failed = 0;
	static const struct {
		int what;
		double most;
		const char *unit;
	} bounds[] = {
		{ RECORD_1, CHECK_RECORD, "times the floor" },
		{ OFF, CHECK_OFF, "ns over an empty loop" },
		{ FILTERED, CHECK_FILTERED, "ns over an empty loop" },
		{ OFF_CALL, CHECK_OFF_CALL, "ns over an empty loop" },
		{ OFF_GONE, CHECK_OFF_CALL, "ns over an empty loop" },
		{ OFF_CHILD, CHECK_OFF_CALL, "ns over an empty loop" },
	};

	for (int i = 0; i < n; i++)
		if (blocks[i].len == CHECK_LEN && blocks[i].threads == 1)
			b = &blocks[i];
	if (!b)
		die("--check needs --payload %d and --threads 1", CHECK_LEN);
	for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
		double x = relative(b, bounds[i].what);

		if (x <= bounds[i].most)
			continue;
		printf("check: %s: %.2f %s, more than %.2f\n", cases[bounds[i].what].name, x, bounds[i].unit,
		       bounds[i].most);
		failed = 1;
	}
	if (!failed)
		puts("check: within the bounds");
	return failed;
}

static void print_rest(const struct block *blocks, int n)
{
	double off_floor = 0, off_record = 0;

	for (int i = 0; i < n; i++) {
		off_floor += quantile(blocks[i].off_cpu[FLOOR_1], options.rounds, 0.5) / n;
		off_record += quantile(blocks[i].off_cpu[RECORD_1], options.rounds, 0.5) / n;
	}
	printf("\nnot on a CPU %.1f%% of the time of a slice (floor: %.1f%%)\n", off_record * 100, off_floor * 100);
}

/* -- Options ------------------------------------------------------------- */

static void usage(FILE *to)
{
	fprintf(to,
	        "usage: bench-record [options]\n"
	        "  --rounds N       rounds, default %d\n"
	        "  --payload N,...  bytes of data, up to %d; default 0,8,32,256\n"
	        "  --threads N,...  threads, up to %d; default 1,2\n"
	        "  --quick          3 rounds of 5 ms: does it run?\n"
	        "  --json FILE      all figures of all rounds; - for stdout\n"
	        "  --check          exit status 1 if recording %d bytes in one thread takes more than\n"
	        "                   %.1f times the floor, off more than %.1f ns over an empty loop,\n"
	        "                   filtered out more than %.1f ns, or the function, off, more than %.1f ns\n",
	        options.rounds, MAX_LEN, MAX_THREADS, CHECK_LEN, CHECK_RECORD, CHECK_OFF, CHECK_FILTERED,
	        CHECK_OFF_CALL);
}

static void parse(int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "rounds", required_argument, NULL, 'r' }, { "payload", required_argument, NULL, 'p' },
		{ "threads", required_argument, NULL, 't' }, { "quick", no_argument, NULL, 'q' },
		{ "json", required_argument, NULL, 'j' }, { "check", no_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	char *s, *end;
	int c;

	while ((c = getopt_long(argc, argv, "", longopts, NULL)) != -1) {
		switch (c) {
		case 'r':
			options.rounds = (int)number(optarg, &end, 1, 10000);
			if (*end)
				die("--rounds %s: not a number", optarg);
			break;
		case 'p':
			options.n_lens = 0;
			for (s = optarg; *s; s = *end == ',' ? end + 1 : end) {
				if (options.n_lens == MAX_LENS)
					die("--payload: at most %d", MAX_LENS);
				options.lens[options.n_lens++] = (size_t)number(s, &end, 0, MAX_LEN);
			}
			break;
		case 't':
			options.n_threads = 0;
			for (s = optarg; *s; s = *end == ',' ? end + 1 : end) {
				if (options.n_threads == MAX_COUNTS)
					die("--threads: at most %d", MAX_COUNTS);
				options.threads[options.n_threads++] = (int)number(s, &end, 1, MAX_THREADS);
			}
			break;
		case 'q':
			options.rounds = 3;
			options.slice = 0.005;
			break;
		case 'j':
			options.json = optarg;
			break;
		case 'c':
			options.check = true;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	}
	if (optind < argc || !options.n_lens || !options.n_threads) {
		usage(stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct block blocks[MAX_LENS * MAX_COUNTS];
	uint64_t random = 88172645463325252u;
	int n = 0, status = 0;

	parse(argc, argv);
	find_cpus();
	for (size_t i = 0; i < sizeof table; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		table[i] = (unsigned char)random;
	}
	must(posix_trace_eventid_open("bench.event", &event_id), "posix_trace_eventid_open");
#if PEERS
	for (int l = 0; l < options.n_lens; l++)
		if (lttng_has(options.lens[l]) && !lttng_records(options.lens[l]))
			die("no session of LTTng records these events; script/bench --peers makes one");
#endif
	for (int t = 0; t < options.n_threads; t++) {
		for (int l = 0; l < options.n_lens; l++) {
			struct block *b = &blocks[n++];

			b->threads = options.threads[t];
			b->len = options.lens[l];
			for (int c = 0; c < CASES; c++) {
				b->ns[c] = new_values(options.rounds);
				b->off_cpu[c] = new_values(options.rounds);
			}
		}
	}

	machine_print();
	printf("%d rounds, slices of %.0f ms; ns of CPU time for each event and thread: median, least, most\n",
	       options.rounds, options.slice * 1e3);
	puts("relative: times the floor of the same size (x), or more than the empty loop (ns); "
	     "medians over the rounds");
#ifndef __OPTIMIZE__
	puts("NOT OPTIMISED: the figures mean nothing. meson setup --buildtype=release ...");
#endif
	for (int i = 0; i < n; i++)
		if (blocks[i].threads > n_cpus)
			printf("note: %d threads on %d CPU%s\n", blocks[i].threads, n_cpus, n_cpus == 1 ? "" : "s");
	fflush(stdout);

	for (int r = 0; r < options.rounds; r++) {
		for (int i = 0; i < n; i++) {
			for (int k = 0; k < CASES; k++) {
				int c = (k + r) % CASES;
				struct result result;

				if (!has(&blocks[i], c))
					continue;
				result = slice(c, blocks[i].len, blocks[i].threads);
				blocks[i].ns[c][r] = result.ns;
				blocks[i].off_cpu[c][r] = 1 - result.ns / result.wall_ns;
			}
		}
	}

	for (int i = 0; i < n; i++)
		print_block(&blocks[i]);
	print_threads(blocks, n);
	print_rest(blocks, n);
	if (options.json)
		write_json(blocks, n);
	if (options.check)
		status = check(blocks, n);
	for (int i = 0; i < n; i++) {
		for (int c = 0; c < CASES; c++) {
			free(blocks[i].ns[c]);
			free(blocks[i].off_cpu[c]);
		}
	}
	return status;
}
