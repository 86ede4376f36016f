/*
 * stands.c - a thread stops at a test point of a trace point, for longer than a reader waits for it
 *
 * As a thread that is stopped by a debugger, or does not get a processor. The other threads continue to record, and
 * overwrite; readers continue after 0.1 s (READ-21, CH-23). Still each event is reported once, in its thread's order;
 * if some events of a thread are missing, an OVERFLOW in between reports it; and in the end all events are read or
 * lost.
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

#include <errno.h>
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
/* A test point that is not passed within this time is assumed not to be passed at all. */
#define PASS_NS 150000000l
#define REST_NS 60000000l
/* A thread without a processor for a while, and the least time that readers wait for it (docs/reading.md). */
#define WITHOUT_PROCESSOR_NS 40000000l
#define ORDER_NS             90000000l

struct number {
	uint64_t source, number;
};

static trace_event_id_t id;
static _Atomic(const char *) armed;
static _Atomic bool stood, over, released, stands_until_released;
static _Atomic int64_t stand_ns = STAND_NS;
static _Atomic int64_t stood_for; /* duration in ns of the trace point in which a thread stopped */
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
	if (!stands_until_released) {
		atomic_store(&armed, NULL);
		sleep_ns(stand_ns);
		stood = true;
		return;
	}
	stood = true;
	atomic_store(&armed, NULL);
	while (!released)
		sleep_ns(100000);
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

/* -- The reader ------------------------------------------------------------------- */

static struct books {
	trace_id_t trid;
	uint64_t last[THREADS], report[THREADS];
	uint64_t reports, reported, read, missing;
	int64_t newest, late_by; /* ns; `late_by`: how much older an event was than one before it */
} b;

static uint64_t lost(void)
{
	struct posix_trace_status_info status;

	MUST(posix_trace_get_status(b.trid, &status) == 0);
	return status.__posix_lost_events;
}

static void note(const struct posix_trace_event_info *e, const struct number *n, const char *name)
{
	int64_t at = e->posix_timestamp.tv_sec * 1000000000ll + e->posix_timestamp.tv_nsec;

	MUST(n->source < THREADS);
	if (b.newest - at > b.late_by)
		b.late_by = b.newest - at;
	if (at > b.newest)
		b.newest = at;
	if (n->number <= b.last[n->source])
		TEST_FAIL("READ-20", "%s, source %d: %llu behind %llu", name, (int)n->source,
		          (unsigned long long)n->number, (unsigned long long)b.last[n->source]);
	if (n->number > b.last[n->source] + 1) {
		if (b.reported <= b.report[n->source])
			TEST_FAIL("SYS-7",
			          "%s, source %d: nothing has said that some are missing between %llu and %llu", name,
			          (int)n->source, (unsigned long long)b.last[n->source], (unsigned long long)n->number);
		b.missing += n->number - b.last[n->source] - 1;
		CHECK_OP("-", lost(), >=, b.missing);
	}
	b.last[n->source] = n->number;
	b.report[n->source] = b.reports;
	b.read++;
}

/* Reads one event. Returns false if there is none for now. */
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
		note(&e, &n, name);
	else if (e.posix_event_id == POSIX_TRACE_OVERFLOW)
		b.reported = b.reports;
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

/* Reads everything, and checks that the books balance. */
static void end(const char *name, uint64_t all)
{
	while (read_one(name))
		;
	if (b.read + lost() != all)
		TEST_FAIL("-", "%s: %llu read and %llu lost, but there were %llu", name, (unsigned long long)b.read,
		          (unsigned long long)lost(), (unsigned long long)all);
	MUST(posix_trace_shutdown(b.trid) == 0);
}

/* -- Many recording threads ----------------------------------------------------------- */

/* Lets thread 0 stop at the point. Returns true if it did. */
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
	/* The reader is too slow: most overwritten events have not been read. */
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

/* -- One thread that overwrites ----------------------------------------------------- */

#define SMALL   65536
#define FILLING (SMALL / 40) /* events of 16 bytes: a little more than fit */

static _Atomic int turn;

static void *fill(void *arg)
{
	struct number n = { .source = 1 };

	(void)arg;
	send(&n, FILLING / 2);
	turn = 1;
	/* Record into a chunk with room, so that the stream has newer events than the overwritten ones. */
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
 * Lets a thread stop while it overwrites a partly read chunk of a full stream. Returns true if it did. Nothing else is
 * lost then, so no other loss reports the gap.
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

/* -- One thread stops after another has recorded --------------------------------------- */

#define OTHERS 5 /* events */

static void *stand(void *arg)
{
	struct number n = { .source = 0 };

	(void)arg;
	mine = true;
	/* Also overwrite: some points are passed only then. */
	for (int i = 0; i < 2 * FILLING && atomic_load(&armed); i++) {
		int64_t begun = now_ns();

		send(&n, 1);
		stood_for = now_ns() - begun;
	}
	over = true;
	atomic_store(&armed, NULL);
	return NULL;
}

static void *record_others(void *arg)
{
	struct number n = { .source = 1 };

	(void)arg;
	send(&n, OTHERS);
	return NULL;
}

enum how { TRY, UNTIL_PAST, HOWS_WHILE_RUNNING, AFTER_STOP = HOWS_WHILE_RUNNING, HOWS };

/* Reads the next event by a call that does not wait. Returns false if the call finds none. */
static bool read_at_once(const char *name, enum how how)
{
	static const struct timespec past = { 1, 0 };
	struct posix_trace_event_info e;
	struct number n;
	size_t length;
	int none, error;

	if (how != UNTIL_PAST)
		return read_one(name);
	error = posix_trace_timedgetnext_event(b.trid, &e, &n, sizeof n, &length, &none, &past);
	if (error == ETIMEDOUT)
		return false;
	MUST(error == 0 && !none);
	b.reports++;
	if (e.posix_event_id == id)
		note(&e, &n, name);
	else if (e.posix_event_id == POSIX_TRACE_OVERFLOW)
		b.reported = b.reports;
	return true;
}

/*
 * Checks that a call reports all events that were complete before it, although a thread has stopped in the middle of an
 * event: if the caller does not wait, at the end of a timeout, and after a stop. The stopped thread's events are
 * reported later, and none twice. Returns true if the thread did stop.
 */
static bool complete_at(const char *name)
{
	static unsigned turns;
	enum how how = turns++ % HOWS;
	pthread_t stander, other;
	uint64_t all;

	begin(SMALL);
	stands_until_released = true;
	over = stood = released = false;
	atomic_store(&armed, name);
	MUST(pthread_create(&stander, NULL, stand, NULL) == 0);
	while (atomic_load(&armed))
		sleep_ns(100000);
	if (stood) {
		MUST(pthread_create(&other, NULL, record_others, NULL) == 0);
		pthread_join(other, NULL);
		if (how == AFTER_STOP)
			MUST(posix_trace_stop(b.trid) == 0);
		while (read_at_once(name, how))
			;
		if (b.last[1] != OTHERS)
			TEST_FAIL("READ-11 READ-14 READ-32", "%s, way %d: %d of %d complete events were there", name,
			          how, (int)b.last[1], OTHERS);
	}
	released = true;
	pthread_join(stander, NULL);
	stands_until_released = false;
	all = sent[0] + sent[1];
	/* A stopped stream may have rejected the last event. */
	while (read_one(name))
		;
	if (how == AFTER_STOP && stood && b.read + lost() + 1 == all)
		all--;
	end(name, all);
	return stood;
}

/*
 * Checks that the events of a thread without a processor come in order if it waits for less time than readers do. This
 * is also true for calls that do not wait: readers hold younger events back. A thread that stopped for longer may be
 * late, so it is not checked. Returns true if the thread did stop.
 */
static bool ordered_at(const char *name)
{
	static unsigned turns;
	enum how how = turns++ % HOWS_WHILE_RUNNING;
	pthread_t stander, other;

	begin(SMALL);
	stand_ns = WITHOUT_PROCESSOR_NS;
	over = stood = false;
	atomic_store(&armed, name);
	MUST(pthread_create(&stander, NULL, stand, NULL) == 0);
	while (atomic_load(&armed))
		sleep_ns(100000);
	if (!over) {
		MUST(pthread_create(&other, NULL, record_others, NULL) == 0);
		pthread_join(other, NULL);
		while (read_at_once(name, how) || !over)
			;
	}
	pthread_join(stander, NULL);
	stand_ns = STAND_NS;
	end(name, sent[0] + sent[1]);
	if (b.late_by > 0 && stood_for < ORDER_NS)
		TEST_FAIL("READ-20 READ-21",
		          "%s, way %d: an event is %lld ns older than one before it, and its thread stood for %lld ns",
		          name, how, (long long)b.late_by, (long long)stood_for);
	return stood;
}

/* -- All points --------------------------------------------------------------------- */

/* Returns true for a point that recording threads pass. */
static bool of_recording(const char *name)
{
	static const char *const prefixes[] = { "revoke_", "recycle_", "chunk_", "take_", "acquire_", "writer_",
	    "record_",
		                                "alone_",  "lost_",    "wake_",  "slow_", "event_" };

	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

#define ONE SIZE_MAX       /* one thread overwrites */
#define COMPLETE (ONE - 1) /* one thread stops, another records */
#define ORDERED  (ONE - 2) /* the same, for a shorter time */

static void at_all(size_t size, int least)
{
	int places = 0;

	shm_private("");
	MUST(posix_trace_eventid_open("stands", &id) == 0);
	for (int i = 0; i < POINTS && !test_failures; i++)
		if (of_recording(kills_points[i]))
			places += size == ONE      ? overwrite_at(kills_points[i])
			          : size == COMPLETE ? complete_at(kills_points[i])
			          : size == ORDERED  ? ordered_at(kills_points[i])
			                             : stand_at(kills_points[i], size);
	CHECK_OP("-", places, >=, least);
}

/* Four threads share three chunks, so they keep taking chunks from each other. */
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

TEST(complete_events)
{
	at_all(COMPLETE, 8);
}

TEST(order_is_kept)
{
	at_all(ORDERED, 8);
}

TEST_MAIN(TEST_ENTRY(little_room), TEST_ENTRY(some_room), TEST_ENTRY(overwriting), TEST_ENTRY(complete_events),
          TEST_ENTRY(order_is_kept))
