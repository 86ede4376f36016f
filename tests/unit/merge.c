/*
 * merge.c - src/read/merge.c: the records of all chunks in order of their times
 *
 * SPDX-License-Identifier: MIT
 */
#include "read/merge.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/wait.h"
#include "unit.h"

static struct stream s;
static struct merge m;
static struct anchor creation;
static uint64_t start; /* ticks far enough in the past for the records of all tests */

static void begin(void)
{
	unit_stream(&s, 65536, 100, POSIX_TRACE_LOOP);
	barrier_register();
	creation = anchor_now(s.clock_kind);
	unit_sleep_ms(2);
	MUST(merge_init(&m, &s, creation) == 0);
	start = creation.ticks + 1;
}

/* Returns the ticks of the next event after start, or 0 if there is none. */
static uint64_t next(void)
{
	uint32_t chunk;
	uint64_t ticks = unit_next(&m, &chunk);

	return ticks ? ticks - start : 0;
}

/* A clock that stands still, as a coarse clock does between two looks. If still is 0, the system's clock counts. */
static int64_t still;

int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (clock != CLOCK_MONOTONIC || !still)
		return (int)syscall(SYS_clock_gettime, clock, t);
	*t = (struct timespec){ still / NS_PER_S, still % NS_PER_S };
	return 0;
}

TEST(empty)
{
	uint32_t chunk;

	begin();
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
	CHECK("-", merge_empty(&m));
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), 0);
	CHECK_EQ("-", merge_lost(&m), 0);
	unit_owner(&s, &s.chunks[0], 1); /* not an event */
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
	CHECK("-", merge_empty(&m));
}

TEST(order)
{
	enum { COUNT = 500 };
	unsigned seed = 7;
	uint64_t last = 0, t;
	int n = 0;

	begin();
	for (uint32_t i = 0; i < s.chunk_count; i++)
		unit_owner(&s, &s.chunks[i], i + 1);
	/* Increasing times, in random chunks. */
	for (unsigned i = 1; i <= COUNT; i++)
		unit_record(&s, &s.chunks[(unsigned)rand_r(&seed) % s.chunk_count], start + i * 2 / 3 + 1, 70, &i,
		            sizeof i);
	CHECK("-", !merge_empty(&m));
	while ((t = next())) {
		CHECK("-", t >= last);
		last = t;
		n++;
	}
	CHECK_EQ("-", n, COUNT);
	CHECK("-", merge_empty(&m));
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), 0);
	CHECK_EQ("-", merge_lost(&m), 0);
}

TEST(contents)
{
	uint32_t chunk = 99;
	char data[8];

	begin();
	unit_owner(&s, &s.chunks[4], 77);
	unit_record(&s, &s.chunks[4], start + 5, 80, "abc", 3);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_RECORD);
	CHECK_EQ("-", chunk, 4);
	CHECK_EQ("-", m.cursor[4].head.type, 80);
	CHECK_EQ("-", m.cursor[4].owner.tid, 77);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_RECORD); /* the same record again */
	CHECK("-", merge_read(&m, chunk, data, sizeof data));
	CHECK("-", memcmp(data, "abc", 3) == 0);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
}

/* An event that is recorded and read within the same tick is found. */
TEST(same_tick)
{
	uint32_t chunk;

	begin();
	s.clock_kind = CLOCK_KIND_MONOTONIC;
	still = clock_ns(CLOCK_MONOTONIC);
	merge_reset(&m, anchor_now(s.clock_kind));
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
	for (uint32_t i = 0; i < 3; i++) {
		unit_record(&s, &s.chunks[i % 2], (uint64_t)still, 70, NULL, 0);
		CHECK_EQ("READ-14", merge_next(&m, &chunk), MERGE_RECORD);
		CHECK_EQ("-", chunk, i % 2);
		CHECK("-", merge_read(&m, chunk, NULL, 0));
		CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
	}
	still = 0;
}

/* Older events that are recorded later, in a chunk that was empty, are not skipped. */
TEST(seen_later)
{
	begin();
	unit_record(&s, &s.chunks[0], start + 10, 70, NULL, 0);
	CHECK_EQ("-", next(), 10);
	CHECK_EQ("-", next(), 0);
	unit_record(&s, &s.chunks[0], start + 30, 70, NULL, 0);
	unit_record(&s, &s.chunks[1], start + 20, 70, NULL, 0);
	CHECK_EQ("-", next(), 20);
	CHECK_EQ("-", next(), 30);
	CHECK_EQ("-", next(), 0);
}

/* -- Overwritten ------------------------------------------------------------------------ */

TEST(gap)
{
	begin();
	for (unsigned i = 0; i < 10; i++)
		unit_record(&s, &s.chunks[0], start + 10 + i, 70, NULL, 0);
	for (unsigned i = 0; i < 4; i++)
		unit_record(&s, &s.chunks[1], start + 5 + 10 * i, 70, NULL, 0); /* 5 15 25 35 */
	unit_recycle(&s, &s.chunks[0]);
	unit_record(&s, &s.chunks[0], start + 40, 70, NULL, 0);
	CHECK_EQ("-", merge_lost(&m), 10); /* the loss is known before the reader reaches the gap */
	/* Events older than the newest overwritten one are dropped: 5 and 15. */
	CHECK_EQ("-", next(), 25);
	CHECK_EQ("-", m.gaps.dropped, 2);
	CHECK_EQ("-", merge_lost(&m), 12);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), start + 5); /* the first lost event */
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), 0); /* reported once */
	CHECK_EQ("-", next(), 35);
	CHECK_EQ("-", next(), 40);
	CHECK_EQ("-", next(), 0);
	CHECK_EQ("-", merge_lost(&m), 12);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), 0);

	/* A second gap. */
	unit_record(&s, &s.chunks[1], start + 50, 70, NULL, 0);
	unit_recycle(&s, &s.chunks[1]);
	unit_record(&s, &s.chunks[1], start + 60, 70, NULL, 0);
	CHECK_EQ("-", next(), 60);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), start + 50);
	CHECK_EQ("-", merge_lost(&m), 13);
}

/* The record is overwritten between the look and its consumption. */
TEST(overwritten_in_hand)
{
	uint32_t chunk;

	begin();
	unit_record(&s, &s.chunks[0], start + 10, 70, NULL, 0);
	unit_record(&s, &s.chunks[1], start + 20, 70, NULL, 0);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_RECORD);
	CHECK_EQ("-", chunk, 0);
	unit_recycle(&s, &s.chunks[0]);
	CHECK("-", !merge_read(&m, chunk, NULL, 0));
	CHECK_EQ("-", next(), 20);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), start + 10);
	CHECK_EQ("-", merge_lost(&m), 1);
}

TEST(reset)
{
	begin();
	for (unsigned i = 0; i < 10; i++)
		unit_record(&s, &s.chunks[i % 3], start + 10 + i, 70, NULL, 0);
	CHECK_EQ("-", next(), 10);
	unit_recycle(&s, &s.chunks[1]);
	merge_reset(&m, anchor_now(s.clock_kind));
	CHECK("-", merge_empty(&m));
	CHECK_EQ("-", next(), 0);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), 0);
	CHECK_EQ("-", merge_lost(&m), 0);
	unit_record(&s, &s.chunks[1], start + 100, 70, NULL, 0);
	unit_record(&s, &s.chunks[2], start + 90, 70, NULL, 0);
	CHECK_EQ("-", next(), 90);
	CHECK_EQ("-", next(), 100);
	CHECK_EQ("-", merge_lost(&m), 0);
}

/*
 * A thread in the middle of a record keeps its chunk at a reset. Records that follow in the chunk still have their
 * owner.
 */
TEST(reset_keeps_owner)
{
	uint32_t chunk;

	begin();
	unit_owner(&s, &s.chunks[0], 77);
	unit_record(&s, &s.chunks[0], start + 10, 70, NULL, 0);
	unit_record(&s, &s.chunks[0], start + 20, 70, NULL, 0);
	CHECK_EQ("-", next(), 10);
	merge_reset(&m, anchor_now(s.clock_kind));
	CHECK_EQ("-", next(), 0);
	unit_record(&s, &s.chunks[0], start + 30, 70, NULL, 0);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_RECORD);
	CHECK_EQ("-", m.cursor[0].owner.tid, 77);
	CHECK_EQ("-", next(), 30);
	CHECK_EQ("-", merge_lost(&m), 0);
}

/* H18: a position so far beyond the end that the end of the next record wraps in 32 bits to the chunk's beginning. */
TEST(reset_far_behind)
{
	struct record forged = { .length = 0, .type = 70, .ticks = 1 };

	begin();
	forged.ticks = start + 10;
	for (uint32_t before = RECORD_ALIGN; before <= 2 * sizeof forged; before += RECORD_ALIGN) {
		struct chunk *c = &s.chunks[1];

		/* The forged record would be found in the previous chunk. */
		memcpy(stream_chunk_memory(&s, c) - before, &forged, sizeof forged);
		store_release(&c->progress, progress_make(5, 0 - before));
		merge_reset(&m, anchor_now(s.clock_kind));
		store_release(&c->progress, progress_make(6, 4096 - 64));
		CHECK_EQ("-", next(), 0);
	}
}

/* -- Writers in the middle of a record ---------------------------------------------------- */

/*
 * Records with timestamps far in the future are corrupt. They are skipped, counted and reported as lost, and records
 * of the present are returned.
 */
TEST(to_come)
{
	static const uint64_t far[] = { UINT64_C(1) << 40, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX / 4 * 3 };
	uint64_t now;

	begin();
	unit_record(&s, &s.chunks[0], start + 10, 70, NULL, 0);
	CHECK_EQ("-", next(), 10);
	for (unsigned i = 0; i < sizeof far / sizeof *far; i++) {
		now = ticks_read(s.clock_kind);
		unit_record(&s, &s.chunks[0], now + far[i], 70, NULL, 0);
		unit_record(&s, &s.chunks[0], now, 70, NULL, 0);
		unit_record(&s, &s.chunks[1], start + 20 + i, 70, NULL, 0);
		CHECK_EQ("READ-14", next(), 20 + i);
		CHECK_EQ("-", next(), now - start);
		CHECK_EQ("-", merge_lost(&m), i + 1);
		CHECK_OP("-", gaps_report(&m.gaps, UINT64_MAX), <=, now);
		CHECK_EQ("-", next(), 0);
		CHECK("-", merge_empty(&m));
	}
	/* A record slightly in the future is waited for. */
	now = ticks_read(s.clock_kind);
	unit_record(&s, &s.chunks[2], now + 2000000, 70, NULL, 0);
	for (uint64_t t = 0; t == 0;)
		t = next();
	CHECK_OP("-", ticks_read(s.clock_kind), >=, now + 2000000);
	CHECK_EQ("-", merge_lost(&m), sizeof far / sizeof *far);
}

static void check_held_up(void)
{
	int64_t before = unit_now();
	uint32_t chunk;

	/* The last record of chunk 0 is at 10, and its writer may still record any time after that. */
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_RECORD);
	CHECK_EQ("-", next(), 5);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_HELD_UP);
	while (merge_next(&m, &chunk) == MERGE_HELD_UP && unit_now() - before < 20 * HELD_UP_PATIENCE_NS)
		unit_sleep_ms(5);
	CHECK("-", unit_now() - before >= HELD_UP_PATIENCE_NS);
	CHECK_OP("-", unit_now() - before, <, 10 * HELD_UP_PATIENCE_NS * (int64_t)test_slow());
	/* The wait has a limit. */
	CHECK_EQ("-", next(), 10);
	CHECK_EQ("-", next(), 20);
}

static void put_three(void)
{
	unit_record(&s, &s.chunks[0], start + 10, 70, NULL, 0);
	unit_record(&s, &s.chunks[1], start + 5, 70, NULL, 0);
	unit_record(&s, &s.chunks[1], start + 20, 70, NULL, 0);
	s.header->seats_used = 3;
}

TEST(held_up_by_a_busy_thread)
{
	begin();
	put_three();
	s.seats[2].ref = unit_living_thread();
	s.seats[2].busy = 1;
	check_held_up();
}

TEST(held_up_by_a_lock)
{
	begin();
	put_three();
	s.chunks[0].lock = unit_living_thread();
	check_held_up();
}

TEST(not_held_up_by_the_dead)
{
	begin();
	put_three();
	s.seats[2].ref = unit_dead_thread();
	s.seats[2].busy = 1;
	s.chunks[1].lock = unit_dead_thread();
	CHECK_EQ("-", next(), 5);
	CHECK_EQ("-", next(), 10);
	CHECK_EQ("-", next(), 20);
	CHECK_EQ("-", next(), 0);
}

/* The reader notices at once that the writer has finished, and returns its record in order. */
TEST(held_up_no_longer)
{
	uint32_t chunk;

	begin();
	put_three();
	s.seats[2].ref = unit_living_thread();
	s.seats[2].busy = 1;
	CHECK_EQ("-", next(), 5);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_HELD_UP);
	unit_record(&s, &s.chunks[0], start + 15, 70, NULL, 0);
	s.seats[2].busy = 0;
	CHECK_EQ("-", next(), 10);
	CHECK_EQ("-", next(), 15);
	CHECK_EQ("-", next(), 20);
	CHECK_EQ("-", next(), 0);
}

/*
 * A writer does not hold up events that were complete before it began, even while the reader waits for other
 * writers. A writer that begins later records later events. So a reader only has to wait for the writers that it
 * found first.
 */
TEST(held_up_by_none_that_came_later)
{
	uint32_t chunk;
	uint64_t now;

	begin();
	put_three();
	s.seats[2].ref = s.seats[1].ref = unit_living_thread();
	s.seats[2].busy = 1;
	CHECK_EQ("-", next(), 5);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_HELD_UP);
	s.seats[1].busy = 3; /* a chunk without records */
	s.chunks[1].lock = s.seats[1].ref;
	s.seats[2].busy = 0;
	CHECK_EQ("-", next(), 10);
	CHECK_EQ("-", next(), 20);
	/* The event is younger than the writer's record. */
	now = ticks_read(s.clock_kind) - start;
	s.chunks[1].lock = 0;
	unit_record(&s, &s.chunks[1], start + now + 1, 70, NULL, 0);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_HELD_UP);
	unit_record(&s, &s.chunks[2], start + now, 70, NULL, 0);
	s.seats[1].busy = 0;
	CHECK_EQ("-", next(), now);
	CHECK_EQ("-", next(), now + 1);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
}

/*
 * The machine, or the reader, stands still for longer than a reader waits. The pause does not count, as the writer
 * could not run either.
 */
TEST(pause_is_no_wait)
{
	uint32_t chunk;

	begin();
	put_three();
	s.seats[2].ref = unit_living_thread();
	s.seats[2].busy = 1;
	CHECK_EQ("-", next(), 5);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_HELD_UP);
	unit_sleep_ms(3 * HELD_UP_PATIENCE_NS / 1000000);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_HELD_UP);
	unit_record(&s, &s.chunks[0], start + 15, 70, NULL, 0);
	s.seats[2].busy = 0;
	CHECK_EQ("-", next(), 10);
	CHECK_EQ("-", next(), 15);
	CHECK_EQ("-", next(), 20);
}

/* Returns for how many ns the writer holds up the event. */
static int64_t kept_back_by(uint32_t ref, bool hurry)
{
	int64_t begun;

	begin();
	put_three();
	m.held_up.hurry = hurry;
	s.seats[2].ref = ref;
	s.seats[2].busy = 1;
	begun = unit_now();
	CHECK_EQ("-", next(), 5);
	while (next() != 10 && unit_now() - begun < 20 * HELD_UP_PATIENCE_NS)
		unit_sleep_ms(1);
	CHECK_EQ("-", next(), 20);
	return unit_now() - begun;
}

/*
 * A non-blocking reader waits for a writer that can run, but hardly for one that is stopped. A blocking reader
 * cannot know when a stopped writer goes on.
 */
TEST(stopped_writer)
{
	int64_t shortest = INT64_MAX, took;
	int status;
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid == 0)
		for (;;)
			pause();
	MUST(kill(pid, SIGSTOP) == 0 && waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	/* The best of several attempts, as the machine may be busy. */
	for (int i = 0; i < 5; i++) {
		took = kept_back_by((uint32_t)pid, true);
		shortest = took < shortest ? took : shortest;
		CHECK_OP("-", took, >=, HELD_UP_STOPPED_NS / 2);
	}
	CHECK_OP("-", shortest, <, HELD_UP_PATIENCE_NS);
	CHECK_OP("-", kept_back_by((uint32_t)pid, false), >=, HELD_UP_PATIENCE_NS);
	MUST(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
	CHECK_OP("READ-21", kept_back_by(unit_living_thread(), true), >=, HELD_UP_PATIENCE_NS);
}

TEST(nothing_but_a_busy_thread)
{
	uint32_t chunk;

	begin();
	s.header->seats_used = 3;
	s.seats[2].ref = unit_living_thread();
	s.seats[2].busy = 1;
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_HELD_UP);
	s.seats[2].busy = s.chunk_count + 1; /* no such chunk */
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
	s.seats[2].busy = 0;
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
}

/*
 * A writer was stopped, for example by a debugger, just before overwriting a chunk. Events of other chunks are
 * returned, after a gap.
 */
static void give_up(void)
{
	int64_t before = unit_now();
	uint64_t got;
	uint32_t chunk;

	begin();
	put_three();
	unit_record(&s, &s.chunks[0], start + 12, 70, NULL, 0);
	unit_record(&s, &s.chunks[2], start + 11, 70, NULL, 0);
	CHECK_EQ("-", next(), 5);
	s.chunks[0].lock = unit_living_thread();
	s.chunks[0].gap_from = start + 10;
	s.chunks[0].gap_until = start + 12;
	s.chunks[0].read = 2; /* as chunk_recycle() does */
	CHECK_EQ("-", merge_lost(&m), 0);
	while ((got = next()) == 0 && unit_now() - before < 20 * HELD_UP_PATIENCE_NS) {
		CHECK_EQ("-", m.gaps.from, 0);
		unit_sleep_ms(5);
	}
	CHECK_OP("-", unit_now() - before, >=, HELD_UP_PATIENCE_NS);
	CHECK_OP("-", unit_now() - before, <, 10 * HELD_UP_PATIENCE_NS * (int64_t)test_slow());
	/* As if the chunk had been overwritten: events older than its last one are dropped. */
	CHECK_EQ("-", got, 20);
	CHECK_EQ("-", merge_lost(&m), 3);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), start + 10);
	/* The gap is reported once. */
	unit_record(&s, &s.chunks[2], start + 30, 70, NULL, 0);
	CHECK_EQ("-", next(), 30);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), 0);
	CHECK_EQ("-", merge_lost(&m), 3);
}

TEST(stopped_acquirer_is_killed)
{
	uint32_t chunk;

	give_up();
	s.chunks[0].lock = unit_dead_thread();
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), 0);
	CHECK_EQ("-", merge_lost(&m), 3);
	/* The chunk has room for more records. */
	unit_record(&s, &s.chunks[0], start + 40, 70, NULL, 0);
	CHECK_EQ("-", next(), 40);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), 0);
	CHECK_EQ("-", merge_lost(&m), 3);
	/* A later loss in the chunk is reported separately. */
	unit_record(&s, &s.chunks[0], start + 50, 70, NULL, 0);
	unit_recycle(&s, &s.chunks[0]);
	unit_record(&s, &s.chunks[0], start + 60, 70, NULL, 0);
	CHECK_EQ("-", next(), 60);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), start + 50);
	CHECK_EQ("-", merge_lost(&m), 4);
}

TEST(stopped_acquirer_goes_on)
{
	give_up();
	s.chunks[0].first = 2;
	s.chunks[0].progress = progress_make(2, 0);
	s.chunks[0].lock = 0;
	CHECK_EQ("-", merge_lost(&m), 3);
	unit_record(&s, &s.chunks[0], start + 40, 70, NULL, 0);
	CHECK_EQ("-", next(), 40);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), 0);
	CHECK_EQ("-", merge_lost(&m), 3);
}

/* The chunk is used again before the reader looks. */
TEST(stopped_acquirer_goes_far)
{
	give_up();
	s.chunks[0].first = 2;
	s.chunks[0].progress = progress_make(2, 0);
	s.chunks[0].lock = 0;
	unit_record(&s, &s.chunks[0], start + 40, 70, NULL, 0);
	unit_recycle(&s, &s.chunks[0]);
	unit_record(&s, &s.chunks[0], start + 50, 70, NULL, 0);
	CHECK_EQ("-", next(), 50);
	CHECK_NE("-", gaps_report(&m.gaps, UINT64_MAX), 0);
	CHECK_EQ("-", merge_lost(&m), 4);
}

/* -- Times ------------------------------------------------------------------------------------ */

TEST(times)
{
	enum { COUNT = 400 };
	uint64_t ticks[COUNT];
	int64_t real[COUNT], last = INT64_MIN, worst = 0;
	uint32_t chunk;

	begin();
	for (int i = 0; i < COUNT; i++) {
		int64_t ns;

		real[i] = unit_now();
		ticks[i] = ticks_read(s.clock_kind);
		if (i % 4 == 0)
			merge_next(&m, &chunk); /* adds an anchor; more of them than are kept */
		if (i % 40 == 0)
			unit_sleep_ms(1);
		if (i < 4)
			continue;
		ns = times_convert(&m.times, ticks[i - 4]);
		/* Increasing ticks give increasing times, whatever anchors are added in between. */
		if (ns < last)
			TEST_FAIL("-", "number %d: %lld after %lld", i - 4, (long long)ns, (long long)last);
		last = ns;
		if (llabs(ns - real[i - 4]) > worst)
			worst = llabs(ns - real[i - 4]);
	}
	CHECK_OP("-", worst, <, 500000ll * test_slow());
	CHECK("-", times_convert(&m.times, creation.ticks) <= times_convert(&m.times, ticks[0]));
	CHECK("-", llabs(times_convert(&m.times, creation.ticks) - creation.monotonic) <= 1000);
}

/* Checks that times stay monotonic when newer anchors change the conversion. */
static void check_moved(uint64_t first, uint64_t second, int64_t by)
{
	int64_t reported = times_convert(&m.times, first), then;
	uint32_t chunk;

	/* As if the clock had been slewed since the creation. */
	m.times.creation.monotonic -= by;
	for (int i = 0; i < TIMES_ANCHORS; i++)
		merge_next(&m, &chunk);
	then = times_convert(&m.times, second);
	CHECK_OP("-", then, >=, reported);
	CHECK_OP("-", times_convert(&m.times, second + 1000), >=, then);
	/* Ticks before the last reported event are still converted to an earlier time. */
	CHECK_OP("-", times_convert(&m.times, creation.ticks), <=, reported);
}

/* Events are held up by a writer while the reader looks more often than there are anchors. */
TEST(times_after_waiting)
{
	uint32_t chunk;
	uint64_t ticks;

	begin();
	merge_next(&m, &chunk);
	ticks = m.times.anchor[1].ticks - 1000;
	check_moved(ticks, ticks + 1, 1000000);
}

/* System events may be newer than all anchors. */
TEST(times_of_now)
{
	uint32_t chunk;
	uint64_t ticks;

	begin();
	merge_next(&m, &chunk);
	m.times.slope[1] *= 2;
	unit_sleep_ms(1);
	ticks = ticks_read(s.clock_kind);
	check_moved(ticks, ticks + 1, 0);
}

/* -- Where another reader has left off ------------------------------------------------------------ */

/* Wherever the first reader stopped, the next one reads the rest, in order. */
TEST(resumed)
{
	enum { COUNT = 60 };

	for (unsigned read = 0; read <= COUNT; read += 7) {
		unsigned seed = read + 1;
		uint64_t t = 0;

		begin();
		for (uint32_t i = 0; i < s.chunk_count; i++)
			unit_owner(&s, &s.chunks[i], i + 1);
		for (unsigned i = 1; i <= COUNT; i++)
			unit_record(&s, &s.chunks[(unsigned)rand_r(&seed) % s.chunk_count], start + i, 70, &i,
			            sizeof i);
		for (unsigned i = 1; i <= read; i++)
			CHECK_EQ("-", next(), i);
		merge_free(&m);
		MUST(merge_init(&m, &s, creation) == 0);
		merge_resume(&m, &(struct gaps){ 0 });
		for (unsigned i = read + 1; i <= COUNT; i++) {
			uint32_t chunk;

			CHECK_EQ("-", merge_next(&m, &chunk), MERGE_RECORD);
			CHECK_EQ("-", m.cursor[chunk].owner.tid, chunk + 1);
			t = next();
			CHECK_EQ("-", t, i);
		}
		CHECK_EQ("-", next(), 0);
		CHECK("-", merge_empty(&m) && gaps_report(&m.gaps, UINT64_MAX) == 0 && merge_lost(&m) == 0);
		merge_free(&m);
	}
}

/* The first reader knew of overwritten events: older events are still dropped, and the gap is reported. */
TEST(resumed_behind_a_gap)
{
	begin();
	for (unsigned i = 0; i < 4; i++)
		unit_record(&s, &s.chunks[1], start + 5 + 10 * i, 70, NULL, 0); /* 5 15 25 35 */
	merge_resume(&m, &(struct gaps){ .from = start + 2, .until = start + 20 });
	CHECK_EQ("-", next(), 25);
	CHECK_EQ("-", m.gaps.dropped, 2);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), start + 2);
	CHECK_EQ("-", next(), 35);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), 0);
	CHECK_EQ("-", merge_lost(&m), 2);
	merge_resume(&m, &(struct gaps){ .unsure_until = start + 100 });
	CHECK_EQ("-", m.gaps.unsure_until, start + 100);
}

static void another_reader(void)
{
	merge_free(&m);
	MUST(merge_init(&m, &s, creation) == 0);
	merge_resume(&m, &(struct gaps){ 0 });
}

/* Overwritten since the first reader looked, or acknowledged a gap: the chunks know about the loss. */
TEST(resumed_after_overwriting)
{
	struct chunk *c;

	begin();
	c = &s.chunks[1];
	unit_record(&s, c, start + 10, 70, NULL, 0);
	unit_record(&s, c, start + 20, 70, NULL, 0);
	CHECK_EQ("-", next(), 10);
	CHECK_EQ("-", unit_recycle(&s, c), 1);
	unit_record(&s, c, start + 30, 70, NULL, 0);
	another_reader();
	CHECK_EQ("-", next(), 30);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), start + 20);
	CHECK_EQ("-", next(), 0);
	/* Without a log, the gap is acknowledged to the writers at once. */
	CHECK_EQ("-", c->seen, c->first);
	another_reader();
	CHECK_EQ("-", next(), 0);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), 0);
}

/* With a log, the gap is not acknowledged until it is stored where it outlives the reader. */
TEST(gap_is_kept)
{
	static struct log_state log;
	struct chunk *c;

	begin();
	s.log = &log;
	c = &s.chunks[1];
	unit_record(&s, c, start + 10, 70, NULL, 0);
	CHECK_EQ("-", unit_recycle(&s, c), 1);
	unit_record(&s, c, start + 30, 70, NULL, 0);
	CHECK_EQ("-", next(), 30);
	CHECK_EQ("-", m.gaps.from, start + 10);
	CHECK("-", c->seen != c->first && m.gaps.unacknowledged);
	merge_acknowledge(&m);
	CHECK("-", c->seen == c->first && !m.gaps.unacknowledged);
	s.log = NULL;
}

/* -- Length of a run of one chunk -------------------------------------------------------------------- */

TEST(limits)
{
	struct cursor before;
	uint32_t chunk;

	begin();
	CHECK_EQ("-", merge_limit(&m), 0); /* nothing is known yet */
	for (unsigned i = 0; i < 5; i++) {
		unit_record(&s, &s.chunks[3], start + 10 + i, 70, NULL, 0);
		unit_record(&s, &s.chunks[5], start + 30 + i, 70, NULL, 0);
		unit_record(&s, &s.chunks[7], start + 20 + i, 70, NULL, 0);
	}
	for (unsigned i = 0; i < 3; i++) {
		static const uint32_t order[] = { 3, 7, 5 };
		uint64_t limit, last = 0, n = 0;

		CHECK_EQ("-", merge_next(&m, &chunk), MERGE_RECORD);
		CHECK_EQ("-", chunk, order[i]);
		limit = merge_limit(&m);
		if (i < 2)
			CHECK_EQ("-", limit, start + 20 + 10 * i - 1);
		else
			CHECK("-", limit >= start + 34 && limit < m.watermark);
		before = m.cursor[chunk];
		do {
			last = m.cursor[chunk].head.ticks;
			n++;
		} while (cursor_step(&m.cursor[chunk], &s, &s.chunks[chunk]) && m.cursor[chunk].head.ticks <= limit);
		CHECK("-", n == 5 && last == start + 14 + 10 * i);
		CHECK("-", merge_consume(&m, chunk, &before, last));
		CHECK_EQ("-", m.taken, last);
	}
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
	CHECK("-", merge_empty(&m));
	/* After a loss the limit is unknown. */
	unit_record(&s, &s.chunks[3], start + 50, 70, NULL, 0);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_RECORD);
	m.gaps.from = start + 1;
	CHECK_EQ("-", merge_limit(&m), 0);
	m.gaps.from = 0;
	m.gaps.unsure_until = start + 1;
	CHECK_EQ("-", merge_limit(&m), 0);
}

TEST_MAIN(TEST_ENTRY(empty), TEST_ENTRY(order), TEST_ENTRY(contents), TEST_ENTRY(same_tick), TEST_ENTRY(seen_later),
          TEST_ENTRY(gap), TEST_ENTRY(to_come), TEST_ENTRY(overwritten_in_hand), TEST_ENTRY(reset),
          TEST_ENTRY(reset_keeps_owner), TEST_ENTRY(reset_far_behind), TEST_ENTRY(held_up_by_a_busy_thread),
          TEST_ENTRY(held_up_by_a_lock), TEST_ENTRY(not_held_up_by_the_dead), TEST_ENTRY(held_up_no_longer),
          TEST_ENTRY(held_up_by_none_that_came_later), TEST_ENTRY(pause_is_no_wait), TEST_ENTRY(stopped_writer),
          TEST_ENTRY(nothing_but_a_busy_thread), TEST_ENTRY(stopped_acquirer_is_killed),
          TEST_ENTRY(stopped_acquirer_goes_on), TEST_ENTRY(stopped_acquirer_goes_far), TEST_ENTRY(resumed),
          TEST_ENTRY(resumed_behind_a_gap), TEST_ENTRY(resumed_after_overwriting), TEST_ENTRY(gap_is_kept),
          TEST_ENTRY(limits), TEST_ENTRY(times), TEST_ENTRY(times_after_waiting), TEST_ENTRY(times_of_now))
