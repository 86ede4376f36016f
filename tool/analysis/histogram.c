/*
 * histogram.c - how values are spread, in little memory
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"

/*
 * The list is replaced when it has many steps, or many values: then the counters of all steps are faster, and take no
 * more than 15 bytes for each value.
 */
#define ENTRIES_MAX 1024
#define LISTED_MAX  4096

static unsigned find(const struct histogram *h, unsigned step)
{
	unsigned low = 0, high = h->entries;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (h->entry[middle].step < step)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Replaces the list by the counters of all steps. */
static void spread_out(struct histogram *h)
{
	h->step = calloc(HISTOGRAM_SIZE, sizeof *h->step);
	if (!h->step)
		fail("no memory");
	for (unsigned i = 0; i < h->entries; i++)
		h->step[h->entry[i].step] = h->entry[i].count;
	free(h->entry);
	h->entry = NULL;
	h->entries = h->room = 0;
}

void histogram_count(struct histogram *h, unsigned step, uint64_t count)
{
	unsigned i;

	if (!h->step && h->count > LISTED_MAX)
		spread_out(h);
	i = h->step ? 0 : find(h, step);
	if (!h->step && i < h->entries && h->entry[i].step == step) {
		h->entry[i].count += count;
		return;
	}
	if (!h->step && h->entries == ENTRIES_MAX)
		spread_out(h);
	if (h->step) {
		h->step[step] += count;
		return;
	}
	if (h->entries == h->room) {
		h->room = h->room ? 2 * h->room : 2;
		h->entry = realloc(h->entry, h->room * sizeof *h->entry);
		if (!h->entry)
			fail("no memory");
	}
	memmove(h->entry + i + 1, h->entry + i, (h->entries - i) * sizeof *h->entry);
	h->entry[i] = (struct histogram_entry){ count, step };
	h->entries++;
}

void histogram_free(struct histogram *h)
{
	free(h->step);
	free(h->entry);
}

unsigned histogram_next(const struct histogram *h, unsigned step, uint64_t *count)
{
	unsigned i;

	for (; h->step && step < HISTOGRAM_SIZE; step++)
		if (h->step[step]) {
			*count = h->step[step];
			return step;
		}
	i = h->step ? 0 : find(h, step);
	if (i == h->entries)
		return HISTOGRAM_SIZE;
	*count = h->entry[i].count;
	return h->entry[i].step;
}

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
	uint64_t rank = (uint64_t)ceil((double)h->count * percent / 100), below = 0, value, here;

	if (h->count == 0)
		return 0;
	for (unsigned i = 0; (i = histogram_next(h, i, &here)) < HISTOGRAM_SIZE; i++) {
		below += here;
		if (below < rank)
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
