/*
 * thousand.c - a thousand threads that live at the same time record into one stream
 *
 * The size of a stream is a promise about events, whichever threads record them: events whose maximum sizes add up to
 * no more are not lost. Beyond the promise all losses are counted. The stream takes the configured memory, however many
 * threads there are.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/stat.h>

#include "stress.h"

#define THREADS 1000
#define SIZE    ((size_t)4 << 20)
#define STACK   ((size_t)256 << 10)

struct event {
	uint32_t thread, number;
};

static trace_event_id_t type;
static pthread_barrier_t gate;

struct thread {
	pthread_t thread;
	uint32_t number, events;
};

static void *record(void *arg)
{
	const struct thread *t = arg;
	struct event e = { .thread = t->number };

	pthread_barrier_wait(&gate);
	for (; e.number < t->events; e.number++)
		posix_trace_event(type, &e, sizeof e);
	/* No thread ends early, which would make room for other threads. */
	pthread_barrier_wait(&gate);
	return NULL;
}

/* Records this many events, shared among n threads. */
static void record_all(int n, long events)
{
	static struct thread threads[THREADS];
	pthread_attr_t attr;

	MUST(pthread_barrier_init(&gate, NULL, (unsigned)n) == 0);
	MUST(pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, STACK) == 0);
	for (int i = 0; i < n; i++) {
		threads[i] = (struct thread){ .number = (uint32_t)i,
		                             .events = (uint32_t)(events / n + (i < events % n)) };
		MUST(pthread_create(&threads[i].thread, &attr, record, &threads[i]) == 0);
	}
	pthread_attr_destroy(&attr);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i].thread, NULL);
	pthread_barrier_destroy(&gate);
}

/* Returns how many events of ours, besides all possible system events, the size of the stream has room for. */
static long promised(trace_id_t trid, size_t *size)
{
	size_t most, most_system;
	trace_attr_t attr;

	MUST(posix_trace_get_attr(trid, &attr) == 0);
	MUST(posix_trace_attr_getstreamsize(&attr, size) == 0);
	MUST(posix_trace_attr_getmaxusereventsize(&attr, sizeof(struct event), &most) == 0);
	MUST(posix_trace_attr_getmaxsystemeventsize(&attr, &most_system) == 0);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	CHECK_OP("-", *size, >=, SIZE);
	/* minus the START */
	return (long)((*size - most_system) / most);
}

/* Returns the size of our stream's file and the memory that it takes. */
static struct stat stream_file(void)
{
	char path[64], begin[32];
	struct dirent *entry;
	struct stat st = { .st_size = 0 };
	DIR *dir;
	int n = 0;

	snprintf(path, sizeof path, "/dev/shm/posixtrace-%u", (unsigned)geteuid());
	snprintf(begin, sizeof begin, "stream-%d-", (int)getpid());
	dir = opendir(path);
	MUST(dir);
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, begin, strlen(begin)) != 0)
			continue;
		MUST(fstatat(dirfd(dir), entry->d_name, &st, 0) == 0);
		n++;
	}
	closedir(dir);
	CHECK_EQ("-", n, 1);
	return st;
}

/* Reads all events of a stream that is no longer recorded into: those of each thread begin with the first. */
static long read_all(trace_id_t trid)
{
	static uint32_t next[THREADS];
	struct posix_trace_event_info info;
	int unavailable;
	struct event e;
	long n = 0, wrong = 0;
	size_t len;

	memset(next, 0, sizeof next);
	for (;;) {
		MUST(posix_trace_trygetnext_event(trid, &info, &e, sizeof e, &len, &unavailable) == 0);
		if (unavailable)
			break;
		if (info.posix_event_id != type)
			continue;
		n++;
		MUST(len == sizeof e && e.thread < THREADS);
		wrong += e.number != next[e.thread]++;
	}
	CHECK_EQ("READ-21 READ-22", wrong, 0);
	return n;
}

static long lost(trace_id_t trid)
{
	struct posix_trace_status_info status;

	MUST(posix_trace_get_status(trid, &status) == 0);
	return (long)status.__posix_lost_events;
}

/* Runs a thousand threads, fewer on a slow machine, each with this many events; 0: as many as are promised. */
static void run(long each)
{
	int n = stress_count(THREADS, 100);
	trace_id_t trid = stress_stream(POSIX_TRACE_UNTIL_FULL, SIZE);
	struct stat before = stream_file(), after;
	size_t size;
	long most = promised(trid, &size), events = each ? each * n : most, read, gone;

	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	record_all(n, events);
	after = stream_file();
	gone = lost(trid);
	CHECK_EQ("-", after.st_size, before.st_size);
	/* Two more chunks than sixteen, and the seats of up to a thousand threads: docs/memory-layout.md. */
	CHECK_OP("ATTR-49", after.st_size, <=, size / 4 * 5);
	CHECK_OP("-", (long long)after.st_blocks * 512, <=, after.st_size + 4096);
	if (events <= most)
		CHECK_EQ("ATTR-49", gone, 0);
	/* Each event also has a process, thread, time, type and address, so they cannot all be in the stream. */
	if ((size_t)events * 4 * sizeof(struct event) > (size_t)after.st_size)
		CHECK_NE("-", gone, 0);
	read = read_all(trid);
	CHECK_EQ("EVT-1", read + gone, events);
	/*
	 * On a slow machine many threads are held up in the middle of a record, and keep chunks with room from threads
	 * that find the stream full.
	 */
	if (events <= most || test_slow() == 1)
		CHECK_OP("ATTR-49", read, >=, events < most ? events : most);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-2", stress_files(), 0);
}

TEST(as_promised)
{
	MUST(posix_trace_eventid_open("thousand", &type) == 0);
	run(0);
	/* Once more, with new threads after a thousand others. */
	run(0);
}

TEST(hundred_each)
{
	MUST(posix_trace_eventid_open("thousand", &type) == 0);
	run(100);
}

/* More events than the stream has room for. */
TEST(too_many)
{
	MUST(posix_trace_eventid_open("thousand", &type) == 0);
	run(test_slow() > 1 ? 2000 : 300);
}

TEST_MAIN(TEST_ENTRY(as_promised), TEST_ENTRY(hundred_each), TEST_ENTRY(too_many))
