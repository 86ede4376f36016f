/*
 * live.c - src/read/live.c: the events that are not stored, in their places
 *
 * SPDX-License-Identifier: MIT
 */
#include "read/live.h"

#include "base/wait.h"
#include "model/eventset.h"
#include "unit.h"

static struct stream s;
static struct live l;
static uint64_t start;
static struct event e;
static unsigned char data[sizeof(trace_event_set_t) + 100];

static void begin(void)
{
	struct anchor creation;

	unit_stream(&s, 65536, 100, POSIX_TRACE_LOOP);
	barrier_register();
	creation = anchor_now(s.clock_kind);
	unit_sleep_ms(2);
	MUST(live_init(&l, &s, creation) == 0);
	start = creation.ticks + 1;
}

/* Returns the id of the next event and sets *ticks to its ticks after start. Returns 0 if there is no event. */
static trace_event_id_t next(int64_t *ticks)
{
	memset(&e, 0xee, sizeof e);
	memset(data, '#', sizeof data);
	if (live_next(&l, &e, data, sizeof data) != MERGE_RECORD)
		return 0;
	*ticks = (int64_t)(e.ticks - start);
	return e.id;
}

static void check_next(trace_event_id_t want, int64_t at)
{
	int64_t ticks = -1;
	trace_event_id_t id = next(&ticks);

	if (id != want || (want && ticks != at))
		TEST_FAIL("-", "event %u at %lld, not %u at %lld", id, (long long)ticks, want, (long long)at);
	/* System events have no process, thread or address. */
	if (id && eventtype_system(id))
		CHECK("-", e.pid == 0 && e.tid == 0 && e.pthread == 0 && e.address == 0 && !e.truncated);
}

TEST(stored)
{
	begin();
	CHECK("-", live_empty(&l));
	unit_owner(&s, &s.chunks[0], 55);
	unit_record(&s, &s.chunks[0], start + 10, 80 | RECORD_TRUNCATED, "abcdef", 6);
	unit_record(&s, &s.chunks[0], start + 11, 81, "ghi", 3);
	CHECK("-", !live_empty(&l));
	check_next(80, 10);
	CHECK("-", e.truncated);
	CHECK("-", e.pid == 1 && e.tid == 55 && e.pthread == 7 && e.address == 5);
	CHECK_EQ("-", e.length, 6);
	CHECK("-", memcmp(data, "abcdef#", 7) == 0);
	/* A short buffer gets the first part of the data. The event has the full length. */
	memset(data, '#', sizeof data);
	CHECK_EQ("-", live_next(&l, &e, data, 2), MERGE_RECORD);
	CHECK("-", e.id == 81 && e.length == 3 && !e.truncated);
	CHECK("-", memcmp(data, "gh#", 3) == 0);
	check_next(0, 0);
	CHECK("-", live_empty(&l));
	live_free(&l);
}

/*
 * OVERFLOW has the time of the first lost event. RESUME has that of the first event that is not lost, which follows
 * it.
 */
TEST(overflow)
{
	begin();
	unit_record(&s, &s.chunks[0], start + 10, 70, NULL, 0);
	check_next(70, 10);
	unit_record(&s, &s.chunks[0], start + 20, 71, NULL, 0);
	unit_recycle(&s, &s.chunks[0]);
	unit_record(&s, &s.chunks[0], start + 30, 72, "after", 5);
	unit_record(&s, &s.chunks[0], start + 40, 73, NULL, 0);
	check_next(POSIX_TRACE_OVERFLOW, 20);
	CHECK_EQ("-", e.length, 0);
	CHECK("-", !live_empty(&l));
	check_next(POSIX_TRACE_RESUME, 30);
	CHECK_EQ("-", e.length, 0);
	check_next(72, 30);
	CHECK("-", e.length == 5 && memcmp(data, "after#", 6) == 0);
	check_next(73, 40);
	check_next(0, 0);
}

TEST(overflow_filtered)
{
	begin();
	s.header->filter[0] = 1u << POSIX_TRACE_OVERFLOW;
	unit_record(&s, &s.chunks[0], start + 10, 70, NULL, 0);
	unit_recycle(&s, &s.chunks[0]);
	unit_record(&s, &s.chunks[0], start + 20, 71, NULL, 0);
	check_next(POSIX_TRACE_RESUME, 20);
	check_next(71, 20);

	s.header->filter[0] |= 1u << POSIX_TRACE_RESUME;
	unit_record(&s, &s.chunks[0], start + 30, 72, NULL, 0);
	unit_recycle(&s, &s.chunks[0]);
	unit_record(&s, &s.chunks[0], start + 40, 73, NULL, 0);
	check_next(73, 40);
	check_next(0, 0);
}

/* A loss in several chunks is reported once. Events older than the last lost one are dropped. */
TEST(overflow_of_several)
{
	begin();
	for (unsigned i = 0; i < 6; i++)
		unit_record(&s, &s.chunks[i], start + 10 + i, 70 + i, NULL, 0);
	unit_recycle(&s, &s.chunks[4]);
	unit_recycle(&s, &s.chunks[1]);
	unit_record(&s, &s.chunks[1], start + 30, 80, NULL, 0);
	check_next(POSIX_TRACE_OVERFLOW, 10); /* number 0 is dropped, as are 1 to 4 */
	check_next(POSIX_TRACE_RESUME, 15);
	check_next(75, 15);
	check_next(80, 30);
	check_next(0, 0);
	CHECK_EQ("-", merge_lost(&l.merge), 5);
}

/* A writer was held up between reading the clock and reporting the loss. */
TEST(overflow_reported_late)
{
	begin();
	unit_record(&s, &s.chunks[0], start + 50, 70, NULL, 0);
	check_next(70, 50);
	s.header->lost_last = start + 40;
	s.header->lost_ticks = start + 30;
	unit_record(&s, &s.chunks[0], start + 60, 71, NULL, 0);
	unit_record(&s, &s.chunks[0], start + 61, 72, NULL, 0);
	check_next(POSIX_TRACE_OVERFLOW, 50); /* times never decrease */
	check_next(POSIX_TRACE_RESUME, 60);
	check_next(71, 60);
	check_next(72, 61);
	check_next(0, 0);
	/* The first event of all may be older than the loss. */
	live_reset(&l, anchor_now(s.clock_kind));
	s.header->lost_last = start + 80;
	s.header->lost_ticks = start + 75;
	unit_record(&s, &s.chunks[0], start + 70, 73, NULL, 0);
	unit_record(&s, &s.chunks[0], start + 90, 74, NULL, 0);
	check_next(73, 70);
	check_next(POSIX_TRACE_OVERFLOW, 75);
	check_next(POSIX_TRACE_RESUME, 90);
	check_next(74, 90);
	check_next(0, 0);
}

/* The reader learns of later losses before it has come to the end of the earlier ones. */
TEST(losses_in_two_batches)
{
	begin();
	s.header->lost_last = start + 40;
	s.header->lost_ticks = start + 12;
	for (int i = 0; i < 3; i++)
		unit_record(&s, &s.chunks[i], start + 10 + 10 * (unsigned)i, 70 + (unsigned)i, NULL, 0);
	check_next(70, 10); /* before the losses */
	check_next(POSIX_TRACE_OVERFLOW, 12);
	check_next(POSIX_TRACE_RESUME, 20);
	check_next(71, 20);
	s.header->lost_last = start + 70;
	s.header->lost_ticks = start + 60;
	l.merge.watermark = 0; /* as when an acquirer is about to overwrite a chunk */
	check_next(POSIX_TRACE_OVERFLOW, 20);
	check_next(POSIX_TRACE_RESUME, 30);
	check_next(72, 30);
	unit_record(&s, &s.chunks[0], start + 50, 73, NULL, 0);
	unit_record(&s, &s.chunks[0], start + 80, 74, NULL, 0);
	unit_record(&s, &s.chunks[0], start + 90, 75, NULL, 0);
	check_next(POSIX_TRACE_OVERFLOW, 30);
	check_next(POSIX_TRACE_RESUME, 50);
	check_next(73, 50);
	check_next(POSIX_TRACE_OVERFLOW, 60);
	check_next(POSIX_TRACE_RESUME, 80);
	check_next(74, 80);
	check_next(75, 90);
	check_next(0, 0);
}

static void check_stop_data(int value)
{
	int got;

	MUST(e.length == sizeof got);
	memcpy(&got, data, sizeof got);
	CHECK_EQ("-", got, value);
}

TEST(stop_and_start)
{
	trace_event_set_t filter;
	int64_t ticks;

	begin();
	eventset_empty(&filter);
	eventset_add(&filter, 100);
	unit_record(&s, &s.chunks[0], start + 50, 70, NULL, 0);
	check_next(70, 50);
	/* A thread may finish its event just after another one found the stream full: times never decrease. */
	live_stop(&l, start + 40);
	live_start(&l, &filter, start + 60);
	CHECK("-", !live_empty(&l));
	unit_record(&s, &s.chunks[0], start + 70, 71, NULL, 0);
	check_next(POSIX_TRACE_STOP, 50);
	check_stop_data(1);
	check_next(POSIX_TRACE_START, 60);
	CHECK("-", e.length == sizeof filter && memcmp(data, &filter, sizeof filter) == 0);
	check_next(71, 70);
	check_next(0, 0);

	/* Stopped by a call whose STOP found no room in the stream: the caller is known. */
	l.stop_call = (struct event){ .id = POSIX_TRACE_STOP, .pid = 3, .tid = 4, .pthread = 5, .address = 6 };
	live_stop(&l, start + 80);
	CHECK_EQ("-", next(&ticks), POSIX_TRACE_STOP);
	CHECK_EQ("-", ticks, 80);
	CHECK("-", e.pid == 3 && e.tid == 4 && e.pthread == 5 && e.address == 6);
	check_stop_data(0);
	/* The caller's identity is used for one STOP only. */
	live_stop(&l, start + 85);
	check_next(POSIX_TRACE_STOP, 85);
	check_stop_data(1);

	s.header->filter[0] = 1u << POSIX_TRACE_STOP | 1u << POSIX_TRACE_START;
	live_stop(&l, start + 90);
	live_start(&l, &filter, start + 91);
	CHECK("-", live_empty(&l));
	check_next(0, 0);
}

TEST(reset)
{
	begin();
	unit_record(&s, &s.chunks[0], start + 50, 70, NULL, 0);
	check_next(70, 50);
	live_stop(&l, start + 60);
	unit_record(&s, &s.chunks[0], start + 70, 71, NULL, 0);
	unit_recycle(&s, &s.chunks[0]);
	live_reset(&l, anchor_now(s.clock_kind));
	CHECK("-", live_empty(&l));
	check_next(0, 0);
	/* An event older than those before the reset: times before the reset no longer count. */
	unit_record(&s, &s.chunks[1], start + 20, 72, NULL, 0);
	check_next(72, 20);
	check_next(0, 0);
}

/* Consecutive records of a chunk are consumed as a run, and returned before events that are queued later. */
TEST(run)
{
	static const char large[LIVE_RUN_DATA + 1] = { 1 };

	begin();
	for (unsigned i = 0; i < 3; i++)
		unit_record(&s, &s.chunks[0], start + 10 + i, 70 + i, "abcdef", i);
	unit_record(&s, &s.chunks[1], start + 13, 80, NULL, 0);
	unit_record(&s, &s.chunks[0], start + 14, 73, NULL, 0);
	check_next(70, 10);
	CHECK("-", e.length == 0 && data[0] == '#');
	CHECK_EQ("-", s.chunks[0].read, 3); /* up to the event in chunk 1 */
	unit_recycle(&s, &s.chunks[0]);
	CHECK_EQ("-", merge_lost(&l.merge), 1);
	live_stop(&l, start + 11);
	check_next(71, 11);
	CHECK("-", e.length == 1 && memcmp(data, "a#", 2) == 0);
	check_next(72, 12);
	CHECK("-", e.length == 2 && memcmp(data, "ab#", 3) == 0);
	check_next(POSIX_TRACE_STOP, 12); /* times never decrease */
	check_next(80, 13);
	unit_record(&s, &s.chunks[0], start + 20, 74, NULL, 0);
	check_next(POSIX_TRACE_OVERFLOW, 14);
	check_next(POSIX_TRACE_RESUME, 20);
	check_next(74, 20);
	check_next(0, 0);
	CHECK_EQ("-", merge_lost(&l.merge), 1);

	/*
	 * A run has at most LIVE_RUN events. live_empty() is false while some of them are left. A large event is not
	 * part of a run.
	 */
	for (unsigned i = 0; i < LIVE_RUN + 2; i++)
		unit_record(&s, &s.chunks[0], start + 30 + i, 81, NULL, 0);
	unit_record(&s, &s.chunks[0], start + 60, 82, large, sizeof large);
	unit_record(&s, &s.chunks[0], start + 61, 83, large, sizeof large - 1);
	check_next(81, 30);
	CHECK_EQ("-", s.chunks[0].read, 5 + LIVE_RUN);
	for (unsigned i = 1; i < LIVE_RUN + 2; i++)
		check_next(81, 30 + i);
	CHECK_EQ("-", s.chunks[0].read, 5 + LIVE_RUN + 2);
	check_next(82, 60);
	CHECK("-", e.length == sizeof large && memcmp(data, large, sizeof large) == 0);
	CHECK_EQ("-", s.chunks[0].read, 5 + LIVE_RUN + 3);
	check_next(83, 61);
	CHECK("-", e.length == sizeof large - 1 && memcmp(data, large, sizeof large - 1) == 0);
	CHECK("-", live_empty(&l));

	unit_record(&s, &s.chunks[0], start + 70, 84, NULL, 0);
	unit_record(&s, &s.chunks[0], start + 71, 85, NULL, 0);
	check_next(84, 70);
	CHECK("-", merge_empty(&l.merge) && !live_empty(&l));
	live_reset(&l, anchor_now(s.clock_kind));
	CHECK("-", live_empty(&l));
	check_next(0, 0);
}

/* -- In steps, for a log ------------------------------------------------------------------------ */

static struct live_turn turn;

static void check_turn(trace_event_id_t id, int64_t at, bool gap)
{
	CHECK_EQ("-", live_peek(&l, &turn), MERGE_RECORD);
	CHECK_EQ("-", turn.event.id, id);
	CHECK_EQ("-", turn.event.ticks - start, at);
	CHECK_EQ("-", turn.gap, gap);
	CHECK_EQ("-", turn.befores, gap ? 2 : 0);
}

TEST(queue_front)
{
	const void *waits = &l;

	begin();
	CHECK("-", live_front(&l, &waits) == NULL);
	live_stop(&l, start + 5);
	live_start(&l, &(trace_event_set_t){ .__mark = 9 }, start + 6);
	for (int twice = 0; twice < 2; twice++)
		CHECK("-", live_front(&l, &waits) && live_front(&l, &waits)->id == POSIX_TRACE_STOP &&
		      *(const int *)waits == 1);
	live_pop(&l);
	CHECK("-", live_front(&l, &waits) && live_front(&l, &waits)->id == POSIX_TRACE_START);
	CHECK_EQ("-", ((const trace_event_set_t *)waits)->__mark, 9);
	live_pop(&l);
	CHECK("-", live_front(&l, &waits) == NULL);
	/* The queue wraps several times. */
	for (int i = 0; i < 3 * LIVE_QUEUE; i++) {
		live_stop(&l, start + 10 + (uint64_t)i);
		CHECK("-", live_front(&l, &waits) && live_front(&l, &waits)->ticks == start + 10 + (uint64_t)i);
		live_pop(&l);
	}
	CHECK("-", live_empty(&l));
}

/* The event stays until it is consumed. */
TEST(peeked)
{
	begin();
	CHECK_EQ("-", live_peek(&l, &turn), MERGE_NONE);
	unit_owner(&s, &s.chunks[2], 55);
	unit_record(&s, &s.chunks[2], start + 10, 80 | RECORD_TRUNCATED, "abcdef", 6);
	unit_record(&s, &s.chunks[1], start + 11, 81, NULL, 0);
	for (int i = 0; i < 3; i++) {
		check_turn(80, 10, false);
		CHECK("-", turn.chunk == 2 && turn.event.truncated && turn.event.tid == 55 && turn.event.length == 6 &&
		      turn.event.address == 5);
		live_leave(&l, &turn);
	}
	CHECK("-", !live_empty(&l));
	memset(data, '#', sizeof data);
	CHECK("-", live_read(&l, &turn, data, 4) && memcmp(data, "abcd#", 5) == 0);
	check_turn(81, 11, false);
	CHECK("-", live_read(&l, &turn, NULL, 0));
	CHECK_EQ("-", live_peek(&l, &turn), MERGE_NONE);
	CHECK("-", live_empty(&l));
}

/* OVERFLOW and RESUME come with the event after the gap: each time the event is left, and once when it is consumed. */
TEST(peeked_behind_a_gap)
{
	begin();
	unit_record(&s, &s.chunks[0], start + 10, 70, NULL, 0);
	unit_recycle(&s, &s.chunks[0]);
	unit_record(&s, &s.chunks[0], start + 20, 71, NULL, 0);
	unit_record(&s, &s.chunks[0], start + 30, 72, NULL, 0);
	for (int i = 0; i < 3; i++) {
		check_turn(71, 20, true);
		CHECK("-", turn.before[0].id == POSIX_TRACE_OVERFLOW && turn.before[0].ticks == start + 10);
		CHECK("-", turn.before[1].id == POSIX_TRACE_RESUME && turn.before[1].ticks == start + 20);
		CHECK_EQ("-", live_limit(&l, &turn), 0); /* not in a run */
		live_leave(&l, &turn);
	}
	check_turn(71, 20, true);
	/* Overwritten before it is consumed: the next event comes after a gap that has grown. */
	unit_recycle(&s, &s.chunks[0]);
	unit_record(&s, &s.chunks[0], start + 40, 73, NULL, 0);
	CHECK("-", !live_read(&l, &turn, NULL, 0));
	check_turn(73, 40, true);
	CHECK_EQ("-", turn.before[0].ticks - start, 10);
	CHECK("-", live_read(&l, &turn, NULL, 0));
	unit_record(&s, &s.chunks[0], start + 50, 74, NULL, 0);
	check_turn(74, 50, false);
	CHECK("-", live_read(&l, &turn, NULL, 0));
	CHECK_EQ("-", merge_lost(&l.merge), 3);
}

TEST(peeked_with_a_filter)
{
	begin();
	s.header->filter[0] = 1u << POSIX_TRACE_OVERFLOW;
	unit_record(&s, &s.chunks[0], start + 10, 70, NULL, 0);
	unit_recycle(&s, &s.chunks[0]);
	unit_record(&s, &s.chunks[0], start + 20, 71, NULL, 0);
	CHECK_EQ("-", live_peek(&l, &turn), MERGE_RECORD);
	CHECK("-", turn.gap && turn.befores == 1 && turn.before[0].id == POSIX_TRACE_RESUME);
	live_leave(&l, &turn);
	s.header->filter[0] |= 1u << POSIX_TRACE_RESUME;
	CHECK_EQ("-", live_peek(&l, &turn), MERGE_RECORD);
	CHECK("-", turn.gap && turn.befores == 0);
	CHECK("-", live_read(&l, &turn, NULL, 0));
}

/* An automatic STOP that has not been reported comes before the events of the next start: it is queued first. */
TEST(peeked_behind_a_stop)
{
	const void *waits;

	begin();
	unit_record(&s, &s.chunks[0], start + 10, 70, NULL, 0);
	unit_record(&s, &s.chunks[0], start + 30, 71, NULL, 0);
	l.stop_before = start + 30;
	s.header->stopped_ticks = start + 20;
	check_turn(70, 10, false);
	CHECK_EQ("-", live_limit(&l, &turn), 0);
	CHECK("-", live_read(&l, &turn, NULL, 0));
	CHECK_EQ("-", live_peek(&l, &turn), MERGE_RECORD);
	CHECK_EQ("-", turn.event.id, 0); /* the event has to wait */
	CHECK("-", live_front(&l, &waits) && live_front(&l, &waits)->id == POSIX_TRACE_STOP &&
	      live_front(&l, &waits)->ticks == start + 20);
	live_pop(&l);
	CHECK_EQ("-", s.header->stopped_ticks, 0);
	check_turn(71, 30, false);
	CHECK("-", live_read(&l, &turn, NULL, 0));
	CHECK_EQ("-", live_peek(&l, &turn), MERGE_NONE);
}

/* A run of one chunk ends where events of a different chunk come next. */
TEST(run_ends)
{
	struct cursor *cur, before;
	uint64_t limit;

	begin();
	for (unsigned i = 0; i < 10; i++)
		unit_record(&s, &s.chunks[1], start + 10 + i, 70 + i, NULL, 0);
	unit_record(&s, &s.chunks[2], start + 15, 90, NULL, 0);
	check_turn(70, 10, false);
	limit = live_limit(&l, &turn);
	CHECK_EQ("-", limit - start, 14);
	cur = &l.merge.cursor[turn.chunk];
	before = *cur;
	while (cursor_step(cur, &s, &s.chunks[1]) && cur->head.ticks <= limit)
		;
	CHECK_EQ("-", cur->head.ticks - start, 15);
	CHECK("-", live_consume(&l, &turn, &before, start + 14));
	CHECK_EQ("-", s.chunks[1].read, 5);
	CHECK_EQ("-", l.last_ticks - start, 14);
	/* Two events of the same time come in any order, followed by the rest. */
	CHECK_EQ("-", live_peek(&l, &turn), MERGE_RECORD);
	CHECK("-", turn.event.ticks == start + 15 && live_read(&l, &turn, NULL, 0));
	CHECK_EQ("-", live_peek(&l, &turn), MERGE_RECORD);
	CHECK("-", turn.event.ticks == start + 15 && live_read(&l, &turn, NULL, 0));
	check_turn(76, 16, false);
	CHECK("-", live_limit(&l, &turn) >= start + 19); /* no other chunk has events */

	/* The run was overwritten: it is not consumed, and the loss is reported. */
	cur = &l.merge.cursor[turn.chunk];
	before = *cur;
	cursor_step(cur, &s, &s.chunks[1]);
	unit_recycle(&s, &s.chunks[1]);
	CHECK("-", !live_consume(&l, &turn, &before, start + 16));
	CHECK_EQ("-", l.last_ticks - start, 15);
	CHECK_EQ("-", live_peek(&l, &turn), MERGE_NONE);
	unit_record(&s, &s.chunks[1], start + 30, 95, NULL, 0);
	check_turn(95, 30, true);
	CHECK_EQ("-", turn.before[0].ticks - start, 16);
	CHECK_EQ("-", merge_lost(&l.merge), 4);
}

TEST_MAIN(TEST_ENTRY(stored), TEST_ENTRY(overflow), TEST_ENTRY(overflow_filtered), TEST_ENTRY(overflow_of_several),
          TEST_ENTRY(overflow_reported_late), TEST_ENTRY(losses_in_two_batches), TEST_ENTRY(stop_and_start),
          TEST_ENTRY(reset), TEST_ENTRY(run), TEST_ENTRY(queue_front), TEST_ENTRY(peeked),
          TEST_ENTRY(peeked_behind_a_gap), TEST_ENTRY(peeked_with_a_filter), TEST_ENTRY(peeked_behind_a_stop),
          TEST_ENTRY(run_ends))
