/*
 * merge.c - src/read/merge.c: the records of all chunks, in the order of their times
 *
 * SPDX-License-Identifier: MIT
 */
#include "read/merge.h"

#include "base/wait.h"
#include "unit.h"

static struct stream s;
static struct merge m;
static struct anchor creation;
static uint64_t start; /* ticks; well in the past, so that all of the tests' records are */

static void begin(void)
{
	unit_stream(&s, 65536, 100, POSIX_TRACE_LOOP);
	barrier_register();
	creation = anchor_now(s.clock_kind);
	unit_sleep_ms(2);
	MUST(merge_init(&m, &s, creation) == 0);
	start = creation.ticks + 1;
}

/* The next event's ticks, from start on; 0: none. */
static uint64_t next(void)
{
	uint32_t chunk;
	uint64_t ticks = unit_next(&m, &chunk);

	return ticks ? ticks - start : 0;
}

/* A clock that stands still, as one of few ticks does between two looks; 0: the system's. */
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
	CHECK_EQ("-", merge_gap(&m), 0);
	CHECK_EQ("-", merge_lost(&m), 0);
	unit_owner(&s, &s.chunks[0], 1); /* is no event */
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
	/* Times rise, chunks come as they like. */
	for (unsigned i = 1; i <= COUNT; i++)
		unit_record(&s, &s.chunks[(unsigned)rand_r(&seed) % s.chunk_count], start + i * 2 / 3 + 1, 70, &i, sizeof i);
	CHECK("-", !merge_empty(&m));
	while ((t = next())) {
		CHECK("-", t >= last);
		last = t;
		n++;
	}
	CHECK_EQ("-", n, COUNT);
	CHECK("-", merge_empty(&m));
	CHECK_EQ("-", merge_gap(&m), 0);
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
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_RECORD); /* still the same */
	CHECK("-", merge_take(&m, chunk, data, sizeof data));
	CHECK("-", memcmp(data, "abc", 3) == 0);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
}

/* Recorded and read within one tick: it has been recorded, so it is there. */
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
		CHECK("-", merge_take(&m, chunk, NULL, 0));
		CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
	}
	still = 0;
}

/* Older ones that come later, in a chunk that was empty before, are not passed by. */
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
	CHECK_EQ("-", merge_lost(&m), 10); /* also before anybody has come across it */
	/* What is older than the newest that was overwritten is dropped: 5 and 15. */
	CHECK_EQ("-", next(), 25);
	CHECK_EQ("-", m.dropped, 2);
	CHECK_EQ("-", merge_lost(&m), 12);
	CHECK_EQ("-", merge_gap(&m), start + 5); /* the first that is missing */
	CHECK_EQ("-", merge_gap(&m), 0); /* is told once */
	CHECK_EQ("-", next(), 35);
	CHECK_EQ("-", next(), 40);
	CHECK_EQ("-", next(), 0);
	CHECK_EQ("-", merge_lost(&m), 12);
	CHECK_EQ("-", merge_gap(&m), 0);

	/* A second one. */
	unit_record(&s, &s.chunks[1], start + 50, 70, NULL, 0);
	unit_recycle(&s, &s.chunks[1]);
	unit_record(&s, &s.chunks[1], start + 60, 70, NULL, 0);
	CHECK_EQ("-", next(), 60);
	CHECK_EQ("-", merge_gap(&m), start + 50);
	CHECK_EQ("-", merge_lost(&m), 13);
}

/* Between the look and the taking. */
TEST(overwritten_in_hand)
{
	uint32_t chunk;

	begin();
	unit_record(&s, &s.chunks[0], start + 10, 70, NULL, 0);
	unit_record(&s, &s.chunks[1], start + 20, 70, NULL, 0);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_RECORD);
	CHECK_EQ("-", chunk, 0);
	unit_recycle(&s, &s.chunks[0]);
	CHECK("-", !merge_take(&m, chunk, NULL, 0));
	CHECK_EQ("-", next(), 20);
	CHECK_EQ("-", merge_gap(&m), start + 10);
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
	CHECK_EQ("-", merge_gap(&m), 0);
	CHECK_EQ("-", merge_lost(&m), 0);
	unit_record(&s, &s.chunks[1], start + 100, 70, NULL, 0);
	unit_record(&s, &s.chunks[2], start + 90, 70, NULL, 0);
	CHECK_EQ("-", next(), 90);
	CHECK_EQ("-", next(), 100);
	CHECK_EQ("-", merge_lost(&m), 0);
}

/* A chunk that could not be emptied, because a thread is in the middle of a record: what comes behind that is still its own. */
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

/* Somebody writes nonsense (H18): a position so far behind the end that the next record's end, in 32 bits, is at the beginning. */
TEST(reset_far_behind)
{
	struct record forged = { .length = 0, .type = 70, .ticks = 1 };

	begin();
	forged.ticks = start + 10;
	for (uint32_t before = RECORD_ALIGN; before <= 2 * sizeof forged; before += RECORD_ALIGN) {
		struct chunk *c = &s.chunks[1];

		/* It would be found there, in another chunk. */
		memcpy(stream_chunk_memory(&s, c) - before, &forged, sizeof forged);
		store_release(&c->progress, progress_make(5, 0 - before));
		merge_reset(&m, anchor_now(s.clock_kind));
		store_release(&c->progress, progress_make(6, 4096 - 64));
		CHECK_EQ("-", next(), 0);
	}
}

/* -- Somebody in the middle of a record --------------------------------------------------- */

/* Records from times to come, which somebody has written over: gone past, counted and told, and what is of our time is reported. */
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
		CHECK_OP("-", merge_gap(&m), <=, now);
		CHECK_EQ("-", next(), 0);
		CHECK("-", merge_empty(&m));
	}
	/* A little ahead it may be: it is waited for. */
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

	/* Chunk 0 has its last one at 10; whoever writes there may come with anything after that. */
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_RECORD);
	CHECK_EQ("-", next(), 5);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_HELD_UP);
	while (merge_next(&m, &chunk) == MERGE_HELD_UP && unit_now() - before < 20 * MERGE_PATIENCE_NS)
		unit_sleep_ms(5);
	CHECK("-", unit_now() - before >= MERGE_PATIENCE_NS);
	CHECK_OP("-", unit_now() - before, <, 10 * MERGE_PATIENCE_NS * (int64_t)test_slow());
	/* Not for ever. */
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
	s.seats[2].who = unit_living_thread();
	s.seats[2].busy = 1;
	check_held_up();
}

TEST(held_up_by_a_claim)
{
	begin();
	put_three();
	s.chunks[0].claim = unit_living_thread();
	check_held_up();
}

TEST(not_held_up_by_the_dead)
{
	begin();
	put_three();
	s.seats[2].who = unit_dead_thread();
	s.seats[2].busy = 1;
	s.chunks[1].claim = unit_dead_thread();
	CHECK_EQ("-", next(), 5);
	CHECK_EQ("-", next(), 10);
	CHECK_EQ("-", next(), 20);
	CHECK_EQ("-", next(), 0);
}

/* Its end is noticed at once, and what it wrote comes in its place. */
TEST(held_up_no_longer)
{
	uint32_t chunk;

	begin();
	put_three();
	s.seats[2].who = unit_living_thread();
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

TEST(nothing_but_a_busy_thread)
{
	uint32_t chunk;

	begin();
	s.header->seats_used = 3;
	s.seats[2].who = unit_living_thread();
	s.seats[2].busy = 1;
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_HELD_UP);
	s.seats[2].busy = s.chunk_count + 1; /* no such chunk */
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
	s.seats[2].busy = 0;
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
}

/* Stopped, by a debugger for example, when it was about to overwrite a chunk: the others' events come all the same, behind a gap. */
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
	s.chunks[0].claim = unit_living_thread();
	s.chunks[0].gap_from = start + 10;
	s.chunks[0].gap_until = start + 12;
	s.chunks[0].read = 2; /* as chunk_recycle() */
	CHECK_EQ("-", merge_lost(&m), 0);
	while ((got = next()) == 0 && unit_now() - before < 20 * MERGE_PATIENCE_NS) {
		CHECK_EQ("-", m.gap_from, 0);
		unit_sleep_ms(5);
	}
	CHECK_OP("-", unit_now() - before, >=, MERGE_PATIENCE_NS);
	CHECK_OP("-", unit_now() - before, <, 10 * MERGE_PATIENCE_NS * (int64_t)test_slow());
	/* As if it were overwritten: what is older than the last one is dropped. */
	CHECK_EQ("-", got, 20);
	CHECK_EQ("-", merge_lost(&m), 3);
	CHECK_EQ("-", merge_gap(&m), start + 10);
	/* That is told once. */
	unit_record(&s, &s.chunks[2], start + 30, 70, NULL, 0);
	CHECK_EQ("-", next(), 30);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
	CHECK_EQ("-", merge_gap(&m), 0);
	CHECK_EQ("-", merge_lost(&m), 3);
}

TEST(stopped_taker_is_killed)
{
	uint32_t chunk;

	give_up();
	s.chunks[0].claim = unit_dead_thread();
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
	CHECK_EQ("-", merge_gap(&m), 0);
	CHECK_EQ("-", merge_lost(&m), 3);
	/* There is room behind them. */
	unit_record(&s, &s.chunks[0], start + 40, 70, NULL, 0);
	CHECK_EQ("-", next(), 40);
	CHECK_EQ("-", merge_gap(&m), 0);
	CHECK_EQ("-", merge_lost(&m), 3);
	/* And what is lost there another time is told another time. */
	unit_record(&s, &s.chunks[0], start + 50, 70, NULL, 0);
	unit_recycle(&s, &s.chunks[0]);
	unit_record(&s, &s.chunks[0], start + 60, 70, NULL, 0);
	CHECK_EQ("-", next(), 60);
	CHECK_EQ("-", merge_gap(&m), start + 50);
	CHECK_EQ("-", merge_lost(&m), 4);
}

TEST(stopped_taker_goes_on)
{
	give_up();
	s.chunks[0].first = 2;
	s.chunks[0].progress = progress_make(2, 0);
	s.chunks[0].claim = 0;
	CHECK_EQ("-", merge_lost(&m), 3);
	unit_record(&s, &s.chunks[0], start + 40, 70, NULL, 0);
	CHECK_EQ("-", next(), 40);
	CHECK_EQ("-", merge_gap(&m), 0);
	CHECK_EQ("-", merge_lost(&m), 3);
}

/* The chunk is used again before anybody looks. */
TEST(stopped_taker_goes_far)
{
	give_up();
	s.chunks[0].first = 2;
	s.chunks[0].progress = progress_make(2, 0);
	s.chunks[0].claim = 0;
	unit_record(&s, &s.chunks[0], start + 40, 70, NULL, 0);
	unit_recycle(&s, &s.chunks[0]);
	unit_record(&s, &s.chunks[0], start + 50, 70, NULL, 0);
	CHECK_EQ("-", next(), 50);
	CHECK_NE("-", merge_gap(&m), 0);
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
			merge_next(&m, &chunk); /* takes an anchor, more of them than are kept */
		if (i % 40 == 0)
			unit_sleep_ms(1);
		if (i < 4)
			continue;
		ns = merge_time(&m, ticks[i - 4]);
		/* Rising ticks, rising times, whatever anchors have come in between. */
		if (ns < last)
			TEST_FAIL("-", "number %d: %lld after %lld", i - 4, (long long)ns, (long long)last);
		last = ns;
		if (llabs(ns - real[i - 4]) > worst)
			worst = llabs(ns - real[i - 4]);
	}
	CHECK_OP("-", worst, <, 500000ll * test_slow());
	CHECK("-", merge_time(&m, creation.ticks) <= merge_time(&m, ticks[0]));
	CHECK("-", llabs(merge_time(&m, creation.ticks) - creation.monotonic) <= 1000);
}

/* The lines by which they are converted move, by what is known now and was not then. */
static void check_moved(uint64_t first, uint64_t second, int64_t by)
{
	int64_t told = merge_time(&m, first), then;
	uint32_t chunk;

	/* As if the clock had been slewed since the creation. */
	m.creation.monotonic -= by;
	for (int i = 0; i < MERGE_ANCHORS; i++)
		merge_next(&m, &chunk);
	then = merge_time(&m, second);
	CHECK_OP("-", then, >=, told);
	CHECK_OP("-", merge_time(&m, second + 1000), >=, then);
	/* What is older than what was told last keeps its place. */
	CHECK_OP("-", merge_time(&m, creation.ticks), <=, told);
}

/* Events wait for a writer while the reader looks more often than there are anchors. */
TEST(times_after_waiting)
{
	uint32_t chunk;
	uint64_t ticks;

	begin();
	merge_next(&m, &chunk);
	ticks = m.anchor[1].ticks - 1000;
	check_moved(ticks, ticks + 1, 1000000);
}

/* The system's own events may be of now, behind all anchors. */
TEST(times_of_now)
{
	uint32_t chunk;
	uint64_t ticks;

	begin();
	merge_next(&m, &chunk);
	m.slope[1] *= 2;
	unit_sleep_ms(1);
	ticks = ticks_read(s.clock_kind);
	check_moved(ticks, ticks + 1, 0);
}

/* -- From where another reader has left off ---------------------------------------------------- */

/* Whatever one has read, the next one reads the rest, in order. */
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
			unit_record(&s, &s.chunks[(unsigned)rand_r(&seed) % s.chunk_count], start + i, 70, &i, sizeof i);
		for (unsigned i = 1; i <= read; i++)
			CHECK_EQ("-", next(), i);
		merge_free(&m);
		MUST(merge_init(&m, &s, creation) == 0);
		merge_resume(&m, 0, 0, 0);
		for (unsigned i = read + 1; i <= COUNT; i++) {
			uint32_t chunk;

			CHECK_EQ("-", merge_next(&m, &chunk), MERGE_RECORD);
			CHECK_EQ("-", m.cursor[chunk].owner.tid, chunk + 1);
			t = next();
			CHECK_EQ("-", t, i);
		}
		CHECK_EQ("-", next(), 0);
		CHECK("-", merge_empty(&m) && merge_gap(&m) == 0 && merge_lost(&m) == 0);
		merge_free(&m);
	}
}

/* It knew of events that were overwritten: what is older than those is dropped still, and that there is a gap is told. */
TEST(resumed_behind_a_gap)
{
	begin();
	for (unsigned i = 0; i < 4; i++)
		unit_record(&s, &s.chunks[1], start + 5 + 10 * i, 70, NULL, 0); /* 5 15 25 35 */
	merge_resume(&m, start + 2, start + 20, 0);
	CHECK_EQ("-", next(), 25);
	CHECK_EQ("-", m.dropped, 2);
	CHECK_EQ("-", merge_gap(&m), start + 2);
	CHECK_EQ("-", next(), 35);
	CHECK_EQ("-", merge_gap(&m), 0);
	CHECK_EQ("-", merge_lost(&m), 2);
	merge_resume(&m, 0, 0, start + 100);
	CHECK_EQ("-", m.unsure_until, start + 100);
}

static void another_reader(void)
{
	merge_free(&m);
	MUST(merge_init(&m, &s, creation) == 0);
	merge_resume(&m, 0, 0, 0);
}

/* What was overwritten since it looked last, or since it had come to saying so, is in the chunks. */
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
	CHECK_EQ("-", merge_gap(&m), start + 20);
	CHECK_EQ("-", next(), 0);
	/* And told it is, if nobody has to keep it. */
	CHECK_EQ("-", c->seen, c->first);
	another_reader();
	CHECK_EQ("-", next(), 0);
	CHECK_EQ("-", merge_gap(&m), 0);
}

/* With a log the takers keep a gap until it is where it outlives the reader. */
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
	CHECK_EQ("-", m.gap_from, start + 10);
	CHECK("-", c->seen != c->first && m.unsaid);
	merge_said(&m);
	CHECK("-", c->seen == c->first && !m.unsaid);
	s.log = NULL;
}

/* -- How far one chunk goes ------------------------------------------------------------------------- */

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
			CHECK("-", limit >= start + 34 && limit < m.horizon);
		before = m.cursor[chunk];
		do {
			last = m.cursor[chunk].head.ticks;
			n++;
		} while (cursor_step(&m.cursor[chunk], &s, &s.chunks[chunk]) && m.cursor[chunk].head.ticks <= limit);
		CHECK("-", n == 5 && last == start + 14 + 10 * i);
		CHECK("-", merge_claim(&m, chunk, &before, last));
		CHECK_EQ("-", m.taken, last);
	}
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_NONE);
	CHECK("-", merge_empty(&m));
	/* Where something was lost, nobody can tell. */
	unit_record(&s, &s.chunks[3], start + 50, 70, NULL, 0);
	CHECK_EQ("-", merge_next(&m, &chunk), MERGE_RECORD);
	m.gap_from = start + 1;
	CHECK_EQ("-", merge_limit(&m), 0);
	m.gap_from = 0;
	m.unsure_until = start + 1;
	CHECK_EQ("-", merge_limit(&m), 0);
}

TEST_MAIN(TEST_ENTRY(empty), TEST_ENTRY(order), TEST_ENTRY(contents), TEST_ENTRY(same_tick), TEST_ENTRY(seen_later), TEST_ENTRY(gap), TEST_ENTRY(to_come),
          TEST_ENTRY(overwritten_in_hand), TEST_ENTRY(reset), TEST_ENTRY(reset_keeps_owner), TEST_ENTRY(reset_far_behind), TEST_ENTRY(held_up_by_a_busy_thread),
          TEST_ENTRY(held_up_by_a_claim), TEST_ENTRY(not_held_up_by_the_dead), TEST_ENTRY(held_up_no_longer),
          TEST_ENTRY(nothing_but_a_busy_thread), TEST_ENTRY(stopped_taker_is_killed),
          TEST_ENTRY(stopped_taker_goes_on), TEST_ENTRY(stopped_taker_goes_far), TEST_ENTRY(resumed), TEST_ENTRY(resumed_behind_a_gap), TEST_ENTRY(resumed_after_overwriting), TEST_ENTRY(gap_is_kept), TEST_ENTRY(limits), TEST_ENTRY(times),
          TEST_ENTRY(times_after_waiting), TEST_ENTRY(times_of_now))
