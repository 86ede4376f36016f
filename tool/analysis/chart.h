/*
 * chart.h - a histogram as a picture of bars, a row for each range of durations
 *
 * Rows are few and have round bounds: equal steps if all values are close to each other, else equal ratios. A bar is
 * made of eighths of a column, or of # if the locale is not UTF-8, and fits into the terminal.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CHART_H
#define CHART_H

#include "analysis/histogram.h"

struct chart_row {
	uint64_t from, to; /* ns, without to itself */
	uint64_t count;
};

#define CHART_ROWS 80

/* Fills the rows. Returns their number, 0 if the histogram is empty. */
unsigned chart_rows(const struct histogram *h, struct chart_row rows[CHART_ROWS]);
void chart_print(const struct histogram *h);
/* Prints values that are no durations. text writes a value into 32 bytes, and returns them. */
void chart_print_as(const struct histogram *h, char *(*text)(char *to, uint64_t value));
/* Prints the rows with values as a JSON array. */
void chart_json(const struct histogram *h);

#endif
