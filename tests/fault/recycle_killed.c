/*
 * recycle_killed.c - a writer that overwrites a chunk is killed at each step: losses are counted, and reported in place
 *
 * tests/proof/model/ found that a second acquirer, coming before the reader, discarded the gap that the first one had
 * recorded, or was about to record.
 *
 * SPDX-License-Identifier: MIT
 */
#include "read/merge.h"

#include <signal.h>
#include <sys/wait.h>

#include "../unit/unit.h"
#include "base/wait.h"

static const char *die_at;

void test_point(const char *name);

void test_point(const char *name)
{
	if (die_at && strcmp(name, die_at) == 0)
		kill(getpid(), SIGKILL);
}

static struct stream s;
static struct merge m;
static uint64_t start;

static void killed_at(const char *name, struct chunk *c)
{
	pid_t child = fork();
	int status;

	MUST(child >= 0);
	if (child == 0) {
		die_at = name;
		unit_recycle(&s, c);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	CHECK("-", WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Returns the ticks of the next event, relative to start, or 0 if there is none. */
static uint64_t next(void)
{
	uint32_t chunk;
	uint64_t ticks = unit_next(&m, &chunk);

	return ticks ? ticks - start : 0;
}

static void overwritten_by_two(const char *name, bool after_another)
{
	struct chunk *c;

	unit_stream(&s, 16384, 64, POSIX_TRACE_LOOP);
	barrier_register();
	start = anchor_now(s.clock_kind).ticks;
	unit_sleep_ms(2);
	MUST(merge_init(&m, &s, anchor_now(s.clock_kind)) == 0);
	c = &s.chunks[0];
	unit_record(&s, &s.chunks[1], start + 1, 70, NULL, 0);
	if (after_another) {
		/* This gap is reported, so the chunk's note of the gap is outdated. */
		unit_record(&s, c, start + 2, 70, NULL, 0);
		unit_recycle(&s, c);
		unit_record(&s, c, start + 3, 70, NULL, 0);
		CHECK_EQ("-", next(), 3);
		CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), start + 1);
	} else {
		CHECK_EQ("-", next(), 1);
	}
	/* The cursor has not read this event yet. The event is older than the loss, so it is dropped as well. */
	unit_record(&s, &s.chunks[1], start + 15, 70, NULL, 0);
	unit_record(&s, c, start + 20, 70, NULL, 0);
	unit_record(&s, c, start + 21, 70, NULL, 0);
	killed_at(name, c);
	unit_recycle(&s, c);
	unit_record(&s, c, start + 30, 70, NULL, 0);
	CHECK_EQ("-", merge_lost(&m), after_another ? 4 : 2);
	CHECK_EQ("-", next(), 30);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), start + 15);
	CHECK_EQ("-", merge_lost(&m), after_another ? 5 : 3);
	CHECK_EQ("-", next(), 0);
	merge_free(&m);
}

TEST(gap)
{
	overwritten_by_two("recycle_gap", false);
}

TEST(read)
{
	overwritten_by_two("recycle_read", false);
}

TEST(first)
{
	overwritten_by_two("recycle_first", false);
}

TEST(done)
{
	overwritten_by_two("recycle_done", false);
}

TEST(gap_after_a_gap)
{
	overwritten_by_two("recycle_gap", true);
}

TEST(read_after_a_gap)
{
	overwritten_by_two("recycle_read", true);
}

TEST(first_after_a_gap)
{
	overwritten_by_two("recycle_first", true);
}

/* The reader comes before the next acquirer: nothing is lost. */
TEST(put_back)
{
	struct chunk *c;

	unit_stream(&s, 16384, 64, POSIX_TRACE_LOOP);
	barrier_register();
	start = anchor_now(s.clock_kind).ticks;
	unit_sleep_ms(2);
	MUST(merge_init(&m, &s, anchor_now(s.clock_kind)) == 0);
	c = &s.chunks[0];
	unit_record(&s, c, start + 20, 70, NULL, 0);
	unit_record(&s, c, start + 21, 70, NULL, 0);
	killed_at("recycle_read", c);
	CHECK_EQ("-", next(), 20);
	CHECK_EQ("-", next(), 21);
	unit_recycle(&s, c);
	unit_record(&s, c, start + 30, 70, NULL, 0);
	CHECK_EQ("-", next(), 30);
	CHECK_EQ("-", gaps_report(&m.gaps, UINT64_MAX), 0);
	CHECK_EQ("-", merge_lost(&m), 0);
}

TEST_MAIN(TEST_ENTRY(gap), TEST_ENTRY(read), TEST_ENTRY(first), TEST_ENTRY(done), TEST_ENTRY(gap_after_a_gap),
          TEST_ENTRY(read_after_a_gap), TEST_ENTRY(first_after_a_gap), TEST_ENTRY(put_back))
