/*
 * chart.h - a histogram as a picture of bars, a row for each range of durations
 *
 * Rows are few, with round bounds: even ones where all values are close to each other, else of a ratio.
 * A bar has blocks of an eighth of a column, or # where the locale is not UTF-8, and fits into the terminal.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CHART_H
#define CHART_H

#include "analysis/histogram.h"

struct chart_row {
	uint64_t from, to; /* ns, to is not in it */
	uint64_t count;
};

#define CHART_ROWS 80

/* Returns how many; none if nothing is counted. */
unsigned chart_rows(const struct histogram *h, struct chart_row rows[CHART_ROWS]);
void chart_print(const struct histogram *h);
/* An array of the rows that are not empty. */
void chart_json(const struct histogram *h);

#endif
