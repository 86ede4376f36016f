/*
 * stress.h - events that prove themselves, and the books kept about them
 *
 * A *source* numbers its events from 0 on and fills them with bytes that follow from source and number, so a reader
 * recognizes torn, repeated and misplaced events. A *tally* is the account of one reader of a stream. At the end the
 * books must balance to the last event:
 *
 *     events generated == events read + events that the stream reports as lost
 *
 * OVERFLOW, RESUME and the automatic STOP and START do not count: the system makes them, they belong to no process (pid
 * 0) and are never lost.
 *
 * A test fails only in the thread that calls tally_check(); readers only count.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STRESS_H
#define STRESS_H

#include <trace.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>
#include <time.h>

#include "chance.h"
#include "sanitizer.h"
#include "shm.h"
#include "test.h"

#define STRESS_TYPES   4   /* event types, by the source's number */
#define STRESS_WORDS   16  /* longest event, in words of 8 bytes */
#define STRESS_LEAST   16  /* shortest event, in bytes */
#define STRESS_SOURCES 128 /* in one tally */

/* -- Time ---------------------------------------------------------------- */

static inline uint64_t stress_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline void stress_sleep(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
}

/* Returns a duration for about this many milliseconds: longer where everything is slower, within limits. */
static inline uint64_t stress_ms(unsigned ms)
{
	int slow = test_slow();

	return (uint64_t)ms * 1000000 * (unsigned)(slow > 3 ? 3 : slow);
}

/* Returns a number of repetitions: smaller where everything is slower, but not below least. */
static inline int stress_count(int n, int least)
{
	n /= test_slow();
	return n > least ? n : least;
}

/* -- Sources ------------------------------------------------------------- */

struct stress_source {
	unsigned number;
	unsigned timeline; /* the same for all sources of one thread */
	_Atomic pthread_t thread; /* the recording thread; set before its first event */
	bool threadless;          /* no thread of its own: many threads record for it */
	volatile pid_t pid;       /* the recording process; set before its first event; 0: the tally's */
	volatile uint64_t generated;
} __attribute__((aligned(64)));

static inline trace_event_id_t stress_type(unsigned source)
{
	static _Atomic trace_event_id_t ids[STRESS_TYPES];
	trace_event_id_t id = atomic_load_explicit(&ids[source % STRESS_TYPES], memory_order_acquire);

	if (!id) {
		char name[32];

		snprintf(name, sizeof name, "stress.%u", source % STRESS_TYPES);
		MUST(posix_trace_eventid_open(name, &id) == 0);
		atomic_store_explicit(&ids[source % STRESS_TYPES], id, memory_order_release);
	}
	return id;
}

/* Opens all event types. To be called before any signal handler traces. */
static inline void stress_types(void)
{
	for (unsigned i = 0; i < STRESS_TYPES; i++)
		stress_type(i);
}

static inline size_t stress_fill(uint64_t words[STRESS_WORDS], unsigned source, uint64_t number)
{
	uint64_t key = (uint64_t)source << 40 | number, mix = chance_mix(key);
	size_t len = STRESS_LEAST + mix % (STRESS_WORDS * 8 - STRESS_LEAST + 1);

	words[0] = key;
	for (size_t i = 1; i < (len + 7) / 8; i++)
		words[i] = mix * (2 * i + 1);
	return len;
}

/* Returns whether these bytes come from stress_fill(), and from which source and number. */
static inline bool stress_intact(const void *data, size_t len, unsigned *source, uint64_t *number)
{
	uint64_t words[STRESS_WORDS], key;

	if (len < STRESS_LEAST || len > sizeof words)
		return false;
	memcpy(&key, data, sizeof key);
	*source = (unsigned)(key >> 40);
	*number = key & (((uint64_t)1 << 40) - 1);
	return stress_fill(words, *source, *number) == len && memcmp(words, data, len) == 0;
}

/* Records one event. Called by one thread, and not while the same source is in use. */
static inline void stress_record(struct stress_source *s)
{
	uint64_t words[STRESS_WORDS], number = s->generated;
	size_t len = stress_fill(words, s->number, number);

	__atomic_store_n(&s->generated, number + 1, __ATOMIC_RELAXED); /* other threads may look at the progress */
	posix_trace_event(stress_type(s->number), words, len);
}

/* -- Streams ------------------------------------------------------------- */

/* Returns whether /dev/shm is as small as in a container: streams that end slowly leave no room for others. */
static inline bool stress_little_room(void)
{
	struct statvfs memory;

	return statvfs("/dev/shm", &memory) == 0 && memory.f_blocks * memory.f_frsize <= 256u << 20;
}

/* Creates a stream, waiting if necessary: TRACE_SYS_MAX is for the whole system, and other processes may use it up. */
static inline int stress_create_for(pid_t pid, int policy, size_t size, int inherited, trace_id_t *trid)
{
	uint64_t end = stress_now() + stress_ms(10000);
	trace_attr_t attr;
	int error;

	MUST(posix_trace_attr_init(&attr) == 0);
	MUST(posix_trace_attr_setstreamfullpolicy(&attr, policy) == 0);
	MUST(posix_trace_attr_setstreamsize(&attr, size) == 0);
	MUST(posix_trace_attr_setinherited(&attr, inherited) == 0);
	for (;;) {
		error = posix_trace_create(pid, &attr, trid);
		if ((error != EAGAIN && (error != ENOMEM || !stress_little_room())) || stress_now() >= end)
			break;
		stress_sleep(1000000);
	}
	MUST(posix_trace_attr_destroy(&attr) == 0);
	return error;
}

/* Creates a stream for this process alone. */
static inline int stress_create(int policy, size_t size, trace_id_t *trid)
{
	return stress_create_for(0, policy, size, POSIX_TRACE_CLOSE_FOR_CHILD, trid);
}

/* Prints what has the room in /dev/shm, after an error that says that it is full. */
static inline void stress_show_room(int error)
{
	static bool shown;

	if (shown || (error != ENOMEM && error != ENOSPC))
		return;
	shown = true;
	if (system("df -k /dev/shm; du -ak /dev/shm | sort -n | tail -n 10; grep -c /dev/shm /proc/[0-9]*/maps | "
	           "grep -v ':0$'; ls -l /proc/[0-9]*/fd | grep /dev/shm") != 0)
		printf("  what has the room in /dev/shm cannot be shown\n");
}

static inline trace_id_t stress_stream(int policy, size_t size)
{
	trace_id_t trid;
	int error = stress_create(policy, size, &trid);

	stress_show_room(error);
	errno = error;
	MUST(error == 0);
	return trid;
}

/* Returns how many streams this process has in the directory of shared memory. */
static inline int stress_files(void)
{
	return shm_files_of(getpid(), "stream");
}

/* -- Tallies ------------------------------------------------------------- */

/* The longest time that a reader waits for a thread in the middle of an event. */
#define READER_WAITS_NS 100000000

struct tally {
	pid_t pid; /* the process that records the events */
	int n_sources;
	struct stress_source *sources[STRESS_SOURCES]; /* by number */

	uint64_t read;      /* user events */
	uint64_t called;    /* system events made by calls */
	uint64_t automatic; /* system events of no process */
	uint64_t unordered; /* events with an earlier time than their predecessor: possible while threads record */
	int64_t furthest;   /* largest step backwards, ns */
	uint64_t by_source[STRESS_SOURCES];

	/* Counters of faults. */
	uint64_t torn, foreign, repeated, backwards, wrong_thread, wrong_type, truncated, unpaired, unannounced, error;
	int last_error;
	int64_t back_by; /* largest step backwards within a source, ns */
	uint64_t unpaired_at; /* the number of reports at the last unpaired event */

	uint64_t next[STRESS_SOURCES];
	uint64_t reports;                /* events of all kinds until now */
	uint64_t loss_reported;              /* number of the last report that events were lost */
	uint64_t report[STRESS_SOURCES]; /* number of the last report of each source */
	struct timespec at[STRESS_SOURCES]; /* by timeline */
	struct timespec last;
	trace_event_id_t last_id;
	bool last_automatic;
};

static inline void tally_init(struct tally *t)
{
	memset(t, 0, sizeof *t);
	t->pid = getpid();
}

/* Adds a new source to this tally. timeline: its thread's number, below STRESS_SOURCES. */
static inline void tally_add(struct tally *t, struct stress_source *s, unsigned timeline)
{
	MUST(t->n_sources < STRESS_SOURCES && timeline < STRESS_SOURCES);
	memset(s, 0, sizeof *s);
	s->number = (unsigned)t->n_sources;
	s->timeline = timeline;
	t->sources[t->n_sources++] = s;
}

static inline bool stress_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static inline int64_t stress_behind(const struct timespec *a, const struct timespec *b)
{
	return (int64_t)(b->tv_sec - a->tv_sec) * 1000000000 + b->tv_nsec - a->tv_nsec;
}

static inline void tally_user(struct tally *t, const struct posix_trace_event_info *info, const void *data, size_t len)
{
	struct stress_source *s;
	unsigned source;
	uint64_t number;

	t->read++;
	if (info->posix_truncation_status != POSIX_TRACE_NOT_TRUNCATED)
		t->truncated++;
	if (!stress_intact(data, len, &source, &number)) {
		t->torn++;
		return;
	}
	s = source < (unsigned)t->n_sources ? t->sources[source] : NULL;
	if (!s || info->posix_pid != (s->pid ? s->pid : t->pid)) {
		t->foreign++;
		return;
	}
	t->by_source[source]++;
	if (info->posix_event_id != stress_type(source))
		t->wrong_type++;
	if (s->threadless)
		return;
	if (!pthread_equal(info->posix_thread_id, s->thread))
		t->wrong_thread++;
	if (number < t->next[source])
		t->repeated++;
	if (number > t->next[source] && t->loss_reported <= t->report[source])
		t->unannounced++;
	t->report[source] = t->reports;
	t->next[source] = number + 1;
	if (stress_before(&info->posix_timestamp, &t->at[s->timeline])) {
		int64_t by = stress_behind(&info->posix_timestamp, &t->at[s->timeline]);
		struct timespec now;

		/*
		 * A thread was held up in the middle, in or below a handler, for longer than a reader waits (CH-23):
		 * only on slow machines.
		 */
		clock_gettime(CLOCK_REALTIME, &now);
		if (test_slow() > 1 && stress_behind(&info->posix_timestamp, &now) >= READER_WAITS_NS)
			return;
		t->backwards++;
		if (by > t->back_by)
			t->back_by = by;
	}
	t->at[s->timeline] = info->posix_timestamp;
}

static inline void tally_event(struct tally *t, const struct posix_trace_event_info *info, const void *data, size_t len)
{
	trace_event_id_t id = info->posix_event_id;
	bool automatic = id < POSIX_TRACE_UNNAMED_USEREVENT && info->posix_pid == 0;

	if (stress_before(&info->posix_timestamp, &t->last)) {
		t->unordered++;
		if (stress_behind(&info->posix_timestamp, &t->last) > t->furthest)
			t->furthest = stress_behind(&info->posix_timestamp, &t->last);
	}
	t->last = info->posix_timestamp;
	t->reports++;
	if (automatic && (id == POSIX_TRACE_OVERFLOW || id == POSIX_TRACE_STOP))
		t->loss_reported = t->reports;
	/* OVERFLOW and RESUME, and STOP and START of the system, come in pairs without an event in between. */
	if ((t->last_automatic && t->last_id == POSIX_TRACE_OVERFLOW && id != POSIX_TRACE_RESUME) ||
	    (t->last_automatic && t->last_id == POSIX_TRACE_STOP && id != POSIX_TRACE_START) ||
	    (automatic && id == POSIX_TRACE_RESUME && t->last_id != POSIX_TRACE_OVERFLOW) ||
	    (automatic && id == POSIX_TRACE_START && t->last_id != POSIX_TRACE_STOP)) {
		t->unpaired++;
		t->unpaired_at = t->reports;
	}
	t->last_id = id;
	t->last_automatic = automatic;
	if (automatic)
		t->automatic++;
	else if (id < POSIX_TRACE_UNNAMED_USEREVENT)
		t->called++;
	else
		tally_user(t, info, data, len);
}

enum { TALLY_TRY, TALLY_WAIT };

/*
 * Reads one event and enters it into the tally. Returns 0, ETIMEDOUT if there was no event (TALLY_WAIT: for 20 ms), or
 * the library's error. EINTR does not count as an error where signals arrive.
 */
static inline int tally_next(struct tally *t, trace_id_t trid, int how)
{
	unsigned char data[2048];
	struct posix_trace_event_info info;
	int error, unavailable = -1;
	size_t len = 0;

	if (how == TALLY_TRY) {
		error = posix_trace_trygetnext_event(trid, &info, data, sizeof data, &len, &unavailable);
		if (!error && unavailable)
			return ETIMEDOUT;
	} else {
		struct timespec end;

		clock_gettime(CLOCK_REALTIME, &end);
		end.tv_nsec += 20000000;
		if (end.tv_nsec >= 1000000000) {
			end.tv_nsec -= 1000000000;
			end.tv_sec++;
		}
		error = posix_trace_timedgetnext_event(trid, &info, data, sizeof data, &len, &unavailable, &end);
		if (error == EINTR)
			error = ETIMEDOUT;
	}
	if (!error)
		tally_event(t, &info, data, len);
	return error;
}

/* A thread that reads a stream until the test ends it. */
struct tally_reader {
	struct tally *tally;
	trace_id_t trid;
	_Atomic bool end;
	pthread_t thread;
	struct stress_source *source; /* if its signal handlers trace */
	void (*begin)(struct tally_reader *), (*finish)(struct tally_reader *);
};

static inline void *tally_read(void *arg)
{
	struct tally_reader *r = arg;
	int error;

	if (r->begin)
		r->begin(r);
	while (!atomic_load(&r->end)) {
		error = tally_next(r->tally, r->trid, TALLY_TRY);
		if (error == ETIMEDOUT)
			error = tally_next(r->tally, r->trid, TALLY_WAIT);
		if (error && error != ETIMEDOUT) {
			r->tally->error++;
			r->tally->last_error = error;
			break;
		}
	}
	if (r->finish)
		r->finish(r);
	return NULL;
}

static inline void tally_reader_start(struct tally_reader *r, struct tally *t, trace_id_t trid)
{
	r->tally = t;
	r->trid = trid;
	MUST(pthread_create(&r->thread, NULL, tally_read, r) == 0);
}

static inline void tally_reader_end(struct tally_reader *r)
{
	atomic_store(&r->end, true);
	pthread_join(r->thread, NULL);
}

/* Reads the remaining events after all threads have stopped recording. Now the events are in the order of time. */
static inline void tally_drain(struct tally *t, trace_id_t trid)
{
	uint64_t unordered = t->unordered;
	bool first = true;
	int error;

	t->furthest = 0;
	while ((error = tally_next(t, trid, TALLY_TRY)) == 0) {
		/* The first event may be older than events that were read live. */
		if (first) {
			unordered = t->unordered;
			t->furthest = 0;
		}
		first = false;
	}
	CHECK_EQ("READ-14", error, ETIMEDOUT);
	if (t->unordered != unordered)
		TEST_FAIL("READ-20 READ-21", "%llu events before their predecessors, up to %lld ns",
		          (unsigned long long)(t->unordered - unordered), (long long)t->furthest);
	CHECK("READ-20 READ-21", t->unordered == unordered);
}

static inline void tally_check(const struct tally *t)
{
	CHECK_EQ("EVT-1 EVT-2", t->torn, 0);
	CHECK_EQ("EVT-2", t->truncated, 0);
	CHECK_EQ("EVT-6 INH-3", t->foreign, 0);
	CHECK_EQ("EVT-7", t->wrong_thread, 0);
	CHECK_EQ("EVT-1", t->wrong_type, 0);
	CHECK_EQ("READ-21 READ-22", t->repeated, 0);
	if (t->backwards)
		TEST_FAIL("READ-21 EVT-9", "%llu events before their thread's last one, up to %lld ns",
		          (unsigned long long)t->backwards, (long long)t->back_by);
	CHECK("READ-21 EVT-9", t->backwards == 0);
	CHECK_EQ("SYS-10 START-13 START-17", t->unpaired, 0);
	/* Numbers of a source may be missing only after an OVERFLOW or STOP. */
	CHECK_EQ("SYS-7 SYS-9 SYS-18", t->unannounced, 0);
	if (t->error)
		TEST_FAIL("READ-25", "a reader got error %d", t->last_error);
}

/*
 * Checks the balance, after all threads have stopped recording and everything was read. tallies: those of all readers.
 * called: how many system events calls have recorded.
 */
static inline void tally_balance(const struct tally *tallies, int n, trace_id_t trid, uint64_t called)
{
	struct posix_trace_status_info status;
	uint64_t generated = called, read = 0;

	for (int i = 0; i < tallies[0].n_sources; i++) {
		uint64_t of_source = 0;

		for (int k = 0; k < n; k++)
			of_source += tallies[k].by_source[i];
		generated += tallies[0].sources[i]->generated;
		CHECK_OP("READ-22", of_source, <=, tallies[0].sources[i]->generated);
	}
	for (int k = 0; k < n; k++)
		read += tallies[k].read + tallies[k].called;
	MUST(posix_trace_get_status(trid, &status) == 0);
	if (generated != read + status.__posix_lost_events)
		TEST_FAIL("MODEL-8 EVT-1", "generated %llu, read %llu and lost %llu: %lld unaccounted for",
		          (unsigned long long)generated, (unsigned long long)read,
		          (unsigned long long)status.__posix_lost_events,
		          (long long)(generated - read - status.__posix_lost_events));
	CHECK("MODEL-8 EVT-1", generated == read + status.__posix_lost_events);
}

#endif
