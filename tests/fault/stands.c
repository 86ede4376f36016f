/*
 * stands.c - a thread stands still at a named place of a trace point, for longer than a reader waits for it
 *
 * As one that is stopped by a debugger, or not scheduled where many want to run. The others record on, and overwrite; whoever reads
 * goes on after 0.1 s (READ-21, CH-23). Still each event is reported once, in its thread's order, where some of a thread are missing an OVERFLOW
 * has said so in between, and in the end all are read or lost.
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "kills_points.h"
#include "shm.h"
#include "test.h"

#define THREADS  4
#define STAND_NS 150000000l
/* A place that is not passed in this time is not on the way. */
#define PASS_NS 150000000l
#define REST_NS 60000000l

struct number {
	uint64_t source, number;
};

static trace_event_id_t id;
static _Atomic(const char *) armed;
static _Atomic bool stood, over;
static __thread bool mine;
static uint64_t sent[THREADS];

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void sleep_ns(long ns)
{
	struct timespec t = { 0, ns };

	nanosleep(&t, NULL);
}

void test_point(const char *name);

void test_point(const char *name)
{
	const char *at = mine ? atomic_load(&armed) : NULL;

	if (!at || strcmp(name, at) != 0)
		return;
	atomic_store(&armed, NULL);
	sleep_ns(STAND_NS);
	stood = true;
}

static void send(struct number *n, uint64_t count)
{
	for (uint64_t i = 0; i < count && !over; i++) {
		n->number = ++sent[n->source];
		posix_trace_event(id, n, sizeof *n);
	}
}

static void *record(void *arg)
{
	struct number n = { .source = (uint64_t)(uintptr_t)arg };

	mine = n.source == 0;
	while (!over) {
		send(&n, 30);
		sleep_ns(50000);
	}
	return NULL;
}

/* -- Who reads -------------------------------------------------------------------- */

static struct books {
	trace_id_t trid;
	uint64_t last[THREADS], report[THREADS];
	uint64_t reports, told, read, missing;
} b;

static uint64_t lost(void)
{
	struct posix_trace_status_info status;

	MUST(posix_trace_get_status(b.trid, &status) == 0);
	return status.__posix_lost_events;
}

static void note(const struct number *n, const char *name)
{
	MUST(n->source < THREADS);
	if (n->number <= b.last[n->source])
		TEST_FAIL("READ-20", "%s, source %d: %llu behind %llu", name, (int)n->source, (unsigned long long)n->number,
		          (unsigned long long)b.last[n->source]);
	if (n->number > b.last[n->source] + 1) {
		if (b.told <= b.report[n->source])
			TEST_FAIL("SYS-7", "%s, source %d: nothing has said that some are missing between %llu and %llu", name, (int)n->source,
			          (unsigned long long)b.last[n->source], (unsigned long long)n->number);
		b.missing += n->number - b.last[n->source] - 1;
		CHECK_OP("-", lost(), >=, b.missing);
	}
	b.last[n->source] = n->number;
	b.report[n->source] = b.reports;
	b.read++;
}

/* False: there is none for now. */
static bool read_one(const char *name)
{
	struct posix_trace_event_info e;
	struct number n;
	size_t length;
	int none;

	MUST(posix_trace_trygetnext_event(b.trid, &e, &n, sizeof n, &length, &none) == 0);
	if (none)
		return false;
	b.reports++;
	if (e.posix_event_id == id)
		note(&n, name);
	else if (e.posix_event_id == POSIX_TRACE_OVERFLOW)
		b.told = b.reports;
	return true;
}

static void begin(size_t size)
{
	trace_event_set_t set;
	trace_attr_t attr;

	memset(&b, 0, sizeof b);
	memset(sent, 0, sizeof sent);
	MUST(posix_trace_attr_init(&attr) == 0);
	MUST(posix_trace_attr_setstreamsize(&attr, size) == 0);
	MUST(posix_trace_attr_setmaxdatasize(&attr, sizeof(struct number)) == 0);
	MUST(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP) == 0);
	MUST(posix_trace_create(0, &attr, &b.trid) == 0);
	posix_trace_attr_destroy(&attr);
	MUST(posix_trace_eventset_empty(&set) == 0 && posix_trace_eventset_add(POSIX_TRACE_START, &set) == 0);
	MUST(posix_trace_set_filter(b.trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
	MUST(posix_trace_start(b.trid) == 0);
}

/* Everything is read, and the books balance. */
static void end(const char *name, uint64_t all)
{
	while (read_one(name))
		;
	if (b.read + lost() != all)
		TEST_FAIL("-", "%s: %llu read and %llu lost, but there were %llu", name, (unsigned long long)b.read,
		          (unsigned long long)lost(), (unsigned long long)all);
	MUST(posix_trace_shutdown(b.trid) == 0);
}

/* -- Many who record ------------------------------------------------------------------ */

/* True if thread 0 has stood there. */
static bool stand_at(const char *name, size_t size)
{
	uint64_t all = 0;
	pthread_t thread[THREADS];
	int64_t begun;

	begin(size);
	over = stood = false;
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&thread[i], NULL, record, (void *)(uintptr_t)i) == 0);
	begun = now_ns();
	atomic_store(&armed, name);
	/* A reader that is too slow: what is overwritten has mostly not been read. */
	for (int64_t end = begun + PASS_NS; now_ns() < end;) {
		for (int i = 0; i < 60 && read_one(name); i++)
			;
		if (stood)
			end = end < now_ns() + REST_NS ? end : now_ns() + REST_NS;
		else if (!atomic_load(&armed))
			end = now_ns() + STAND_NS + REST_NS;
		sleep_ns(300000);
	}
	atomic_store(&armed, NULL);
	over = true;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		all += sent[i];
	}
	end(name, all);
	return stood;
}

/* -- One who overwrites ------------------------------------------------------------- */

#define SMALL   65536
#define FILLING (SMALL / 40) /* events, with 16 bytes each: a little more than have room */

static _Atomic int turn;

static void *fill(void *arg)
{
	struct number n = { .source = 1 };

	(void)arg;
	send(&n, FILLING / 2);
	turn = 1;
	/* Into a chunk that has room: what comes behind what is about to be overwritten. */
	while (!over) {
		sleep_ns(1000000);
		if (turn == 3 && !atomic_load(&armed))
			send(&n, 1);
	}
	return NULL;
}

static void *overwrite(void *arg)
{
	struct number n = { .source = 0 };

	(void)arg;
	mine = true;
	while (turn < 1)
		sleep_ns(100000);
	while (!lost())
		send(&n, 1);
	turn = 2;
	while (turn < 3)
		sleep_ns(100000);
	for (int i = 0; i < FILLING && atomic_load(&armed); i++)
		send(&n, 1);
	turn = 4;
	return NULL;
}

/*
 * A stream that is full, of which some events have been read, and then a chunk is overwritten that was read in part, by a thread
 * that stands there. Nothing else is lost then, so nobody else tells a gap.
 */
static bool overwrite_at(const char *name)
{
	uint64_t all = 0;
	pthread_t thread[2];

	begin(SMALL);
	over = stood = false;
	turn = 0;
	MUST(pthread_create(&thread[0], NULL, overwrite, NULL) == 0);
	MUST(pthread_create(&thread[1], NULL, fill, NULL) == 0);
	while (turn < 2)
		sleep_ns(100000);
	while (!b.last[1])
		MUST(read_one(name));
	atomic_store(&armed, name);
	turn = 3;
	while (atomic_load(&armed) && turn < 4)
		sleep_ns(100000);
	for (int64_t end = now_ns() + (turn < 4 ? STAND_NS + REST_NS : 0); now_ns() < end; sleep_ns(300000))
		while (read_one(name))
			;
	atomic_store(&armed, NULL);
	over = true;
	for (int i = 0; i < 2; i++) {
		pthread_join(thread[i], NULL);
		all += sent[i];
	}
	end(name, all);
	return stood;
}

/* -- All places --------------------------------------------------------------------- */

/* Is it passed by those who record? */
static bool of_recording(const char *name)
{
	static const char *const prefixes[] = { "revoke_", "recycle_", "chunk_", "take_", "lane_", "record_", "alone_", "lost_",
		                                "wake_", "slow_", "event_" };

	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

#define ONE SIZE_MAX /* who overwrites */

static void at_all(size_t size, int least)
{
	int places = 0;

	shm_private("");
	MUST(posix_trace_eventid_open("stands", &id) == 0);
	for (int i = 0; i < POINTS && !test_failures; i++)
		if (of_recording(kills_points[i]))
			places += size == ONE ? overwrite_at(kills_points[i]) : stand_at(kills_points[i], size);
	CHECK_OP("-", places, >=, least);
}

/* Three chunks for four threads: they take them from one another all the time. */
TEST(little_room)
{
	at_all(0, 12);
}

TEST(some_room)
{
	at_all(65536, 8);
}

TEST(overwriting)
{
	at_all(ONE, 8);
}

TEST_MAIN(TEST_ENTRY(little_room), TEST_ENTRY(some_room), TEST_ENTRY(overwriting))
