/*
 * histogram.h - how values are spread, in little memory
 *
 * Each value below 256 has its own counter. Above, each doubling has 128 steps. A percentile is the middle of its step,
 * so its error is at most 1/256 (0.4 percent). count, sum, least and most are exact.
 *
 * The counters of all steps take 58 KiB. A histogram of few values has a list of the steps that have any, so a log
 * with thousands of fields that occur once takes little memory.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BITS  7
#define HISTOGRAM_STEPS (1u << HISTOGRAM_BITS)
/* Number of steps for all values of 64 bits. */
#define HISTOGRAM_SIZE ((64 - HISTOGRAM_BITS + 1) * HISTOGRAM_STEPS)

struct histogram {
	uint64_t count, least, most;
	uint64_t sum, carry; /* carry * 2^64 + sum */
	uint64_t *step; /* counters of all steps; null: they are in the list */
	struct histogram_entry {
		uint64_t count;
		uint32_t step;
	} *entry; /* the steps with values, ascending */
	unsigned entries, room;
};

/* Counts a value of this step in the list, or replaces the list. Ends the program if there is no memory. */
void histogram_count(struct histogram *h, unsigned step, uint64_t count);
void histogram_free(struct histogram *h);
/* Returns the first step from this one on that has values, with *count of them; HISTOGRAM_SIZE if there is none. */
unsigned histogram_next(const struct histogram *h, unsigned step, uint64_t *count);

static inline unsigned histogram_step(uint64_t value)
{
	unsigned doublings;

	if (value < 2 * HISTOGRAM_STEPS)
		return (unsigned)value;
	doublings = 63 - (unsigned)__builtin_clzll(value) - HISTOGRAM_BITS;
	return doublings * HISTOGRAM_STEPS + (unsigned)(value >> doublings);
}

static inline void histogram_add(struct histogram *h, uint64_t value)
{
	if (h->count++ == 0)
		h->least = h->most = value;
	if (value < h->least)
		h->least = value;
	if (value > h->most)
		h->most = value;
	h->sum += value;
	h->carry += h->sum < value;
	if (__builtin_expect(h->step != NULL, 1))
		h->step[histogram_step(value)]++;
	else
		histogram_count(h, histogram_step(value), 1);
}

/* Returns the middle of a step, which represents all values of the step. */
uint64_t histogram_middle(unsigned step);
/*
 * Returns the value that this percentage of all values does not exceed, within least and most; 0 if the histogram is
 * empty.
 */
uint64_t histogram_percentile(const struct histogram *h, double percent);
double histogram_mean(const struct histogram *h);

#endif
