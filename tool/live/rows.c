/*
 * rows.c - makes the table of event types: selects, sorts, and fills in figures
 *
 * SPDX-License-Identifier: MIT
 */
#include "live/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rows_init(struct rows *rows)
{
	rows->count = 0;
	rows->row = calloc(EVENT_ID_END, sizeof *rows->row);
	return rows->row ? 0 : -1;
}

/* -- Order ---------------------------------------------------------------------------------- */

struct by {
	const struct typenames *types;
	enum rows_order order;
};

static int compare(const void *left, const void *right, void *arg)
{
	const struct row *a = left, *b = right;
	const struct by *by = arg;
	int names;

	if (by->order == ROWS_BY_RATE && a->figures.events_per_s != b->figures.events_per_s)
		return a->figures.events_per_s < b->figures.events_per_s ? 1 : -1;
	/* Types without a current rate are sorted by their count. */
	if (by->order != ROWS_BY_NAME && a->figures.sum.events != b->figures.sum.events)
		return a->figures.sum.events < b->figures.sum.events ? 1 : -1;
	names = strcmp(typenames_name(by->types, a->id), typenames_name(by->types, b->id));
	return names ? names : a->id < b->id ? -1 : 1;
}

/* -- Rows ----------------------------------------------------------------------------------- */

/*
 * Returns whether the type is shown. A type without events is shown if it can have some: not a system type, and not a
 * mere declaration of a layout.
 */
static bool wanted(const struct watch *w, const struct match *shown, const struct row *row)
{
	const char *name = typenames_name(w->types, row->id);

	if (!row->figures.sum.events &&
	    (row->id < EVENT_ID_USER || !w->types->known[row->id] || w->types->twice[row->id] ||
	     !match_name(w->only, name)))
		return false;
	return !shown || match_name(shown, name);
}

void rows_make(struct rows *rows, const struct watch *w, const struct match *shown, enum rows_order order)
{
	struct by by = { w->types, order };

	rows->count = 0;
	for (uint32_t id = 1; id < EVENT_ID_END; id++) {
		struct row *row = &rows->row[rows->count];

		row->id = id;
		row->figures = rates_of(w->rates, id);
		if (!wanted(w, shown, row))
			continue;
		rows->second = rates_history(w->rates, id, row->seconds);
		rows->count++;
	}
	qsort_r(rows->row, rows->count, sizeof *rows->row, compare, &by);
}

unsigned rows_cells(const struct rows *rows, const struct row *row, unsigned most, uint64_t cells[RATES_SECONDS],
                    uint64_t *highest)
{
	unsigned each = most >= RATES_SECONDS ? 1 : most ? (RATES_SECONDS + most - 1) / most : RATES_SECONDS;
	unsigned count = RATES_SECONDS / each;
	/* Cells begin at multiples of their length, so a second stays in its cell while time passes. */
	uint64_t first = rows->second / each - (count - 1);

	memset(cells, 0, count * sizeof cells[0]);
	*highest = 0;
	for (unsigned i = 0; i < RATES_SECONDS; i++) {
		uint64_t cell = (rows->second - (RATES_SECONDS - 1) + i) / each;

		if (cell < first)
			continue;
		cells[cell - first] += row->seconds[i];
		if (cells[cell - first] > *highest)
			*highest = cells[cell - first];
	}
	return count;
}

char *rows_short(char *text, double n)
{
	static const char units[] = " kMGTPE";
	unsigned unit = 0;

	/* A number that would be rounded to four digits takes the next unit. */
	for (; n >= 999.5 && units[unit + 1]; unit++)
		n /= 1000;
	if (unit == 0)
		snprintf(text, 24, n < 9.95 && n != (double)(int)n ? "%.1f" : "%.0f", n);
	else
		snprintf(text, 24, "%.*f%c", n < 9.995 ? 2 : n < 99.95 ? 1 : 0, n, units[unit]);
	return text;
}
