/*
 * ticks.h - the clock of trace events
 *
 * Records hold ticks: the processor's counter where it runs evenly, is the
 * same on all processors and the kernel itself keeps time by it; otherwise
 * nanoseconds of CLOCK_MONOTONIC. A stream says which in its header, because
 * all of its writers must use the same. Readers convert, see anchor below.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_TICKS_H
#define BASE_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

enum clock_kind {
	CLOCK_KIND_MONOTONIC = 1,
	CLOCK_KIND_COUNTER = 2,
};

static inline uint64_t ticks_counter(void)
{
#if defined __x86_64__ || defined __i386__
	return __builtin_ia32_rdtsc();
#elif defined __aarch64__
	uint64_t t;

	__asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#else
	return 0;
#endif
}

static inline uint64_t ticks_read(uint32_t kind)
{
	if (__builtin_expect(kind == CLOCK_KIND_COUNTER, 1))
		return ticks_counter();
	return (uint64_t)clock_ns(CLOCK_MONOTONIC);
}

/*
 * Reads the clock after everything that was done before. Otherwise a processor may read its counter before an earlier
 * locked instruction has ended, some dozens of nanoseconds too early.
 */
static inline uint64_t ticks_read_in_order(uint32_t kind)
{
#if defined __x86_64__ || defined __i386__
	/* Only where the counter is the clock: an old 32-bit processor has neither an even counter nor lfence. */
	if (__builtin_expect(kind == CLOCK_KIND_COUNTER, 1))
		__asm__ __volatile__("lfence" ::: "memory");
#elif defined __aarch64__
	__asm__ __volatile__("isb" ::: "memory");
#endif
	return ticks_read(kind);
}

/* Which kind this machine can use. Reads a file of the system. */
uint32_t ticks_kind(void);

/*
 * One moment on both clocks. Ticks between two anchors are interpolated; with
 * one after the other, rising ticks give times that never fall.
 */
struct anchor {
	uint64_t ticks;
	int64_t monotonic; /* ns */
};

struct anchor anchor_now(uint32_t kind);
/* Nanoseconds per tick between two anchors, a before b. */
double anchor_slope(const struct anchor *a, const struct anchor *b);
/* Returns ns since an anchor. */
static inline double anchor_since(const struct anchor *a, double slope, uint64_t ticks)
{
	return (double)(int64_t)(ticks - a->ticks) * slope;
}

#define ANCHOR_FAR 3e18 /* ns, a century: sums with less cannot overflow */

/* ns of CLOCK_MONOTONIC. */
static inline int64_t anchor_convert(const struct anchor *a, double slope, uint64_t ticks)
{
	double ns = anchor_since(a, slope, ticks);

	if (ns > ANCHOR_FAR || ns < -ANCHOR_FAR)
		ns = ns > 0 ? ANCHOR_FAR : -ANCHOR_FAR;
	return a->monotonic + (int64_t)ns;
}

/* The line from ticks to ns of CLOCK_MONOTONIC. It applies from begin to before end. */
struct ticks_line {
	uint64_t begin, end;
	struct anchor anchor;
	double slope;
};

/* Returns whether the line applies to all ticks between these two, and no time is far from its anchor. */
static inline bool ticks_line_near(const struct ticks_line *l, uint64_t first, uint64_t last)
{
	return first >= l->begin && last >= first && last < l->end &&
	       (int64_t)(last - l->anchor.ticks) >= (int64_t)(first - l->anchor.ticks) &&
	       anchor_since(&l->anchor, l->slope, first) >= -ANCHOR_FAR &&
	       anchor_since(&l->anchor, l->slope, last) <= ANCHOR_FAR;
}

#endif
