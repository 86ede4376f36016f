/*
 * histogram.c - how values are spread, in a memory that does not grow
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis/histogram.h"

#include <math.h>

uint64_t histogram_middle(unsigned step)
{
	unsigned doublings;

	if (step < 2 * HISTOGRAM_STEPS)
		return step;
	doublings = step / HISTOGRAM_STEPS - 1;
	return ((uint64_t)(step - doublings * HISTOGRAM_STEPS) << doublings) + (UINT64_C(1) << (doublings - 1));
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
	uint64_t rank = (uint64_t)ceil((double)h->count * percent / 100), below = 0, value;

	if (h->count == 0)
		return 0;
	for (unsigned i = 0; i < HISTOGRAM_SIZE; i++) {
		below += h->step[i];
		if (below == 0 || below < rank)
			continue;
		value = histogram_middle(i);
		return value < h->least ? h->least : value > h->most ? h->most : value;
	}
	return h->most;
}

double histogram_mean(const struct histogram *h)
{
	return h->count ? (double)(((long double)h->carry * 0x1p64L + (long double)h->sum) / (long double)h->count) : 0;
}
