/*
 * chart.c - a histogram as a picture of bars, a row for each range of durations
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis/chart.h"

#include <langinfo.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/display.h"
#include "common/json.h"
#include "common/moment.h"
#include "common/out.h"

/* More consecutive empty rows than this are printed as one row of dots. */
#define EMPTY_MAX 3
#define BAR_LEAST 4
#define BAR_MOST  200

/* -- Rows ---------------------------------------------------------------------------------- */

/* Returns a * b, or the largest number if the product is larger. */
static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Returns the smallest step of the row 1, 2, 5, 10, 20, 50, ... that divides the range into at most this many parts. */
static uint64_t round_step(uint64_t range, unsigned parts)
{
	static const uint64_t rounds[] = { 1, 2, 5 };

	for (uint64_t power = 1;; power = times(power, 10))
		for (unsigned i = 0; i < 3; i++)
			if (range / parts < times(power, rounds[i]) || power == UINT64_MAX)
				return times(power, rounds[i]);
}

static unsigned even_rows(uint64_t least, uint64_t most, struct chart_row *rows)
{
	uint64_t step = round_step(most - least, 16), from = least - least % step;
	unsigned n = 0;

	for (; n < CHART_ROWS; from += step) {
		rows[n++] = (struct chart_row){ .from = from,
		                                .to = from > UINT64_MAX - step ? UINT64_MAX : from + step };
		if (most < rows[n - 1].to || rows[n - 1].to == UINT64_MAX)
			break;
	}
	return n;
}

/* Returns the bounds of rows within a power of ten, in tenths, ended by 0. A wider range has fewer. */
static const unsigned *ratios(uint64_t least, uint64_t most)
{
	static const unsigned ten[] = { 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 0 }, five[] = { 10, 15, 25, 40, 60, 0 },
		three[] = { 10, 20, 50, 0 };
	uint64_t ratio = most / (least ? least : 1);

	return ratio < 100 ? ten : ratio < 10000 ? five : three;
}

static unsigned ratio_rows(uint64_t least, uint64_t most, struct chart_row *rows)
{
	const unsigned *tenths = ratios(least, most);
	uint64_t from = 0, to = 0;
	unsigned n = 0;

	for (uint64_t power = 1; to != UINT64_MAX; power = times(power, 10))
		for (unsigned i = 0; tenths[i] && to != UINT64_MAX; i++, from = to) {
			to = power == 1 ? tenths[i] / 10 : times(power / 10, tenths[i]);
			if (power == UINT64_MAX)
				to = UINT64_MAX;
			if (to <= from || to <= least)
				continue;
			if (n == CHART_ROWS)
				return n;
			rows[n++] = (struct chart_row){ .from = from, .to = to };
			if (most < to)
				return n;
		}
	return n;
}

unsigned chart_rows(const struct histogram *h, struct chart_row rows[CHART_ROWS])
{
	unsigned n, row = 0;
	uint64_t here;

	if (h->count == 0)
		return 0;
	if ((h->most - h->least) / 3 < h->least)
		n = even_rows(h->least, h->most, rows);
	else
		n = ratio_rows(h->least, h->most, rows);
	for (unsigned i = 0; (i = histogram_next(h, i, &here)) < HISTOGRAM_SIZE; i++) {
		uint64_t value = histogram_middle(i);

		value = value < h->least ? h->least : value > h->most ? h->most : value;
		while (row + 1 < n && value >= rows[row].to)
			row++;
		rows[row].count += here;
	}
	return n;
}

/* -- For people ---------------------------------------------------------------------------- */

static void print_bar(uint64_t count, uint64_t most, int columns, bool blocks)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	unsigned units = blocks ? 8 : 1;
	unsigned length = (unsigned)((double)count / (double)most * columns * units + 0.5);
	int used = 0;

	/* A count above 0 is visible. */
	if (count && length == 0)
		length = 1;
	display_colour(CYAN);
	for (; length >= units; length -= units, used++)
		out_text(blocks ? "█" : "#");
	if (length) {
		out_text(eighths[length]);
		used++;
	}
	display_colour(PLAIN);
	for (; used < columns; used++)
		out_char(' ');
}

static void print_share(uint64_t count, uint64_t all)
{
	double percent = 100.0 * (double)count / (double)all;

	out_printf(percent > 0 && percent < 0.05 ? "  <0.1%%\n" : "%6.1f%%\n", percent);
}

static int digits(uint64_t n)
{
	int digits = 1;

	while (n /= 10)
		digits++;
	return digits;
}

void chart_print(const struct histogram *h)
{
	chart_print_as(h, moment_duration);
}

void chart_print_as(const struct histogram *h, char *(*text)(char *to, uint64_t value))
{
	struct chart_row rows[CHART_ROWS];
	unsigned n = chart_rows(h, rows), empty = 0;
	bool blocks = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	char from[CHART_ROWS][32], to[CHART_ROWS][32];
	uint64_t most = 1;
	int label = 0, counts, bar;

	for (unsigned i = 0; i < n; i++) {
		int length = (int)strlen(text(from[i], rows[i].from));
		int other = (int)strlen(text(to[i], rows[i].to));

		label = length > label ? length : label;
		label = other > label ? other : label;
		most = rows[i].count > most ? rows[i].count : most;
	}
	counts = digits(most);
	/* "  from .. to |bar| count  100.0%" */
	bar = display_columns() - 2 - label - 4 - label - 2 - 2 - counts - 8;
	bar = bar < BAR_LEAST ? BAR_LEAST : bar > BAR_MOST ? BAR_MOST : bar;
	for (unsigned i = 0; i < n; i++) {
		unsigned end = i;

		while (end < n && rows[end].count == 0)
			end++;
		empty = end - i;
		if (empty > EMPTY_MAX) {
			out_printf("  %*s\n", label, "...");
			i = end - 1;
			continue;
		}
		out_printf("  %*s .. %*s ", label, from[i], label, to[i]);
		out_text(blocks ? "▕" : "|");
		print_bar(rows[i].count, most, bar, blocks);
		out_text(blocks ? "▏" : "|");
		out_printf(" %*llu ", counts, (unsigned long long)rows[i].count);
		print_share(rows[i].count, h->count);
	}
}

/* -- For programs ----------------------------------------------------------------------------- */

void chart_json(const struct histogram *h)
{
	struct chart_row rows[CHART_ROWS];
	unsigned n = chart_rows(h, rows);

	json_begin('[');
	for (unsigned i = 0; i < n; i++) {
		if (rows[i].count == 0)
			continue;
		json_begin('{');
		json_key("from");
		json_number(rows[i].from);
		json_key("to");
		json_number(rows[i].to);
		json_key("count");
		json_number(rows[i].count);
		json_end('}');
	}
	json_end(']');
}
