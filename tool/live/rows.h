/*
 * rows.h - makes the table of event types: selects, sorts, and fills in figures
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ROWS_H
#define ROWS_H

#include "live/watch.h"

enum rows_order { ROWS_BY_NAME, ROWS_BY_RATE, ROWS_BY_COUNT, ROWS_ORDERS };

struct row {
	uint32_t id;
	struct rates_figures figures;
	uint64_t seconds[RATES_SECONDS]; /* the last minute */
};

struct rows {
	unsigned count;
	uint64_t second; /* number of the last second in `seconds` */
	struct row *row; /* has room for all event types */
};

/* Returns 0, or -1 if there is no memory. Never freed. */
int rows_init(struct rows *rows);
/* Makes the table as of the last look. shown: selects types; null selects all. */
void rows_make(struct rows *rows, const struct watch *w, const struct match *shown, enum rows_order order);
/*
 * Divides the last minute into at most `most` cells of equal length, oldest first. Returns the number of cells, and in
 * *highest the most events in a cell.
 */
unsigned rows_cells(const struct rows *rows, const struct row *row, unsigned most, uint64_t cells[RATES_SECONDS],
                    uint64_t *highest);

/* Formats a number in at most five characters: 999, 12.3k, 4.56M. text has at least 24 bytes. Returns text. */
char *rows_short(char *text, double n);

#endif
