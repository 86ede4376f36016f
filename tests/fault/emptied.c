/*
 * emptied.c - a reader begins again, and at each step an acquirer empties the chunk that it looks at
 *
 * This happens when a stream is cleared while a thread that had stopped in the middle of a record continues, or when a
 * dead controller's stream is read. Events recorded later are read, and overwritten events are counted once at most.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "../unit/unit.h"
#include "base/wait.h"
#include "read/merge.h"

static struct stream s;
static struct merge m;
static uint64_t start;
static const char *stop_at;
static void (*then)(void);

void test_point(const char *name);

void test_point(const char *name)
{
	if (!stop_at || strcmp(name, stop_at) != 0)
		return;
	stop_at = NULL;
	then();
}

static void begin(void)
{
	unit_stream(&s, 16384, 64, POSIX_TRACE_LOOP);
	barrier_register();
	start = anchor_now(s.clock_kind).ticks;
	unit_sleep_ms(2);
	MUST(merge_init(&m, &s, anchor_now(s.clock_kind)) == 0);
	unit_owner(&s, &s.chunks[0], 77);
	unit_record(&s, &s.chunks[0], start + 10, 70, NULL, 0);
	unit_record(&s, &s.chunks[0], start + 20, 70, NULL, 0);
}

/* Returns the ticks of the next event, relative to start, or 0 if there is none. */
static uint64_t next(void)
{
	uint32_t chunk;
	uint64_t ticks = unit_next(&m, &chunk);

	if (!ticks)
		return 0;
	CHECK_EQ("-", m.cursor[chunk].owner.tid, 78);
	return ticks - start;
}

static void use_again(void)
{
	struct chunk *c = &s.chunks[0];

	unit_recycle(&s, c);
	unit_owner(&s, c, 78);
	unit_record(&s, c, start + 40, 70, NULL, 0);
}

static void end_and_use_again(void)
{
	unit_record(&s, &s.chunks[0], start + 30, 70, NULL, 0);
	use_again();
}

/* Checks that nothing after the step is lost, and before it no more than was recorded since the beginning. */
static void check_rest(uint64_t lost)
{
	MUST(!stop_at);
	CHECK_EQ("-", merge_unread(&m), 1);
	CHECK_EQ("-", next(), 40);
	CHECK_EQ("-", next(), 0);
	CHECK("-", merge_empty(&m));
	CHECK_OP("-", merge_lost(&m), <=, lost);
	lost = merge_lost(&m);
	unit_record(&s, &s.chunks[0], start + 50, 70, NULL, 0);
	CHECK_EQ("-", next(), 50);
	use_again();
	CHECK_EQ("-", next(), 40);
	CHECK_EQ("-", merge_lost(&m), lost);
	merge_free(&m);
}

static void reset_at(const char *place, void (*what)(void), uint64_t lost)
{
	begin();
	stop_at = place;
	then = what;
	merge_reset(&m, anchor_now(s.clock_kind));
	check_rest(lost);
}

TEST(reset)
{
	static const char *const places[] = { "reset_progress", "reset_past", "resume_first" };

	for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
		reset_at(places[i], use_again, 0);
		reset_at(places[i], end_and_use_again, 1);
	}
}

TEST(resumed)
{
	begin();
	stop_at = "resume_first";
	then = use_again;
	merge_resume(&m, &(struct gaps){ 0 });
	check_rest(2);
}

TEST_MAIN(TEST_ENTRY(reset), TEST_ENTRY(resumed))
