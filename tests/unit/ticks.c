/*
 * ticks.c - src/base/ticks.c: the clock of events, and conversion
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/ticks.h"

#include "unit.h"

/* How far two clocks may be apart that are read one after the other on a busy machine. */
#define SLACK_NS 200000

TEST(rises)
{
	static const uint32_t kind[] = { CLOCK_KIND_MONOTONIC, CLOCK_KIND_COUNTER };
	uint32_t ours = ticks_kind();

	CHECK("-", ours == CLOCK_KIND_MONOTONIC || ours == CLOCK_KIND_COUNTER);
	CHECK_EQ("-", ticks_kind(), ours);
	for (int k = 0; k < 2; k++) {
		uint64_t last = 0;

		if (kind[k] == CLOCK_KIND_COUNTER && ours != CLOCK_KIND_COUNTER)
			continue;
		for (int i = 0; i < 10000; i++) {
			uint64_t t = ticks_read(kind[k]);

			if (t < last || t == 0)
				TEST_FAIL("-", "kind %u: %llu after %llu", kind[k], (unsigned long long)t,
				          (unsigned long long)last);
			last = t;
		}
	}
}

TEST(anchors)
{
	struct anchor a = anchor_now(CLOCK_KIND_MONOTONIC);
	int64_t before, after;

	CHECK("-", (int64_t)a.ticks == a.monotonic);
	before = clock_ns(CLOCK_MONOTONIC);
	a = anchor_now(ticks_kind());
	after = clock_ns(CLOCK_MONOTONIC);
	CHECK("-", before <= a.monotonic && a.monotonic <= after);
}

TEST(slope)
{
	struct anchor a = { 1000, 500 }, b = { 3000, 1500 }, later = { 3000, 400 };

	CHECK("-", anchor_slope(&a, &b) == 0.5);
	/*
	 * Two equal anchors, or two in the wrong order, give no slope: time stands still, and does not run
	 * backwards.
	 */
	CHECK("-", anchor_slope(&a, &a) == 0);
	CHECK("-", anchor_slope(&b, &a) == 0);
	CHECK("-", anchor_slope(&a, &later) == 0);
	CHECK_EQ("-", anchor_convert(&a, 0.5, 1000), 500);
	CHECK_EQ("-", anchor_convert(&a, 0.5, 2000), 1000);
	CHECK_EQ("-", anchor_convert(&a, 0.5, 0), 0); /* before the anchor */
	CHECK_EQ("-", anchor_convert(&a, 0, 1u << 30), 500);
}

/*
 * Ticks read between two anchors are converted to a time between them, and later ticks to a time that is not
 * earlier.
 */
TEST(conversion)
{
	enum { COUNT = 2000 };
	static uint64_t ticks[COUNT];
	static int64_t before[COUNT], after[COUNT];
	uint32_t kind = ticks_kind();
	struct anchor a = anchor_now(kind), b;
	int64_t last = INT64_MIN, worst = 0;
	double slope;

	for (int i = 0; i < COUNT; i++) {
		before[i] = clock_ns(CLOCK_MONOTONIC);
		ticks[i] = ticks_read(kind);
		after[i] = clock_ns(CLOCK_MONOTONIC);
		if (i % 100 == 0)
			unit_sleep_ms(1);
	}
	b = anchor_now(kind);
	slope = anchor_slope(&a, &b);
	CHECK("-", slope > 0);
	for (int i = 0; i < COUNT; i++) {
		int64_t ns = anchor_convert(&a, slope, ticks[i]);

		CHECK("-", ns >= last);
		last = ns;
		if (before[i] - ns > worst)
			worst = before[i] - ns;
		if (ns - after[i] > worst)
			worst = ns - after[i];
	}
	CHECK_OP("-", worst, <, (int64_t)SLACK_NS * test_slow());
	CHECK("-", llabs(anchor_convert(&a, slope, b.ticks) - b.monotonic) <= 1);
}

/* Large numbers, as on a machine that has been running for years: neighbouring ticks keep their order. */
TEST(large)
{
	struct anchor a = { UINT64_C(3) << 58, INT64_C(300000000000000000) };
	struct anchor b = { a.ticks + 3000000, a.monotonic + 1000000 };
	double slope = anchor_slope(&a, &b);
	int64_t last = a.monotonic;

	for (uint64_t t = a.ticks; t <= b.ticks; t += 7) {
		int64_t ns = anchor_convert(&a, slope, t);

		if (ns < last || ns > b.monotonic) {
			TEST_FAIL("-", "at %llu: %lld after %lld", (unsigned long long)(t - a.ticks), (long long)ns,
			          (long long)last);
			break;
		}
		last = ns;
	}
	CHECK("-", b.monotonic - last < 10);
}

/*
 * Forged ticks of a hostile stream are converted to a time that is far away in the right direction, and to which a
 * day can be added.
 */
TEST(far)
{
	struct anchor a = { 1000, INT64_C(3000000000000000000) };
	const int64_t day = INT64_C(86400000000000);

	CHECK_EQ("-", anchor_convert(&a, 2, a.ticks + INT64_MAX), INT64_C(6000000000000000000));
	CHECK_EQ("-", anchor_convert(&a, 2, a.ticks - INT64_MAX), 0);
	CHECK_EQ("-", anchor_convert(&a, 1e300, a.ticks + 1000000), INT64_C(6000000000000000000));
	CHECK_OP("-", anchor_convert(&a, 2, a.ticks + INT64_MAX) + day, >, 0);
}

/* A line is near only where it applies, and where each time between the first and the last ticks is. */
TEST(near)
{
	struct ticks_line line = { 1000, 5000, { 2000, 0 }, 0.5 };

	CHECK("-", ticks_line_near(&line, 1000, 4999) && ticks_line_near(&line, 3000, 3000));
	CHECK("-", !ticks_line_near(&line, 999, 3000));
	CHECK("-", !ticks_line_near(&line, 3000, 5000));
	CHECK("-", !ticks_line_near(&line, 3000, 2999));
	line.end = UINT64_MAX;
	CHECK("-", ticks_line_near(&line, 1000, INT64_MAX / 2));
	/* The difference to the anchor overflows. */
	CHECK("-", !ticks_line_near(&line, 1000, 2000 + (UINT64_C(1) << 63)));
	line.slope = 1e10;
	CHECK("-", ticks_line_near(&line, 2000, 2000 + 100000000));
	CHECK("-", !ticks_line_near(&line, 2000, 2000 + 1000000000));
}

TEST_MAIN(TEST_ENTRY(rises), TEST_ENTRY(anchors), TEST_ENTRY(slope), TEST_ENTRY(conversion), TEST_ENTRY(large),
          TEST_ENTRY(far), TEST_ENTRY(near))
