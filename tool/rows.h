/*
 * rows.h - the table of event types: which are shown, in which order, with which figures
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ROWS_H
#define ROWS_H

#include "watch.h"

enum rows_order { ROWS_BY_NAME, ROWS_BY_RATE, ROWS_BY_COUNT, ROWS_ORDERS };

struct row {
	uint32_t id;
	struct rates_figures figures;
	uint64_t seconds[RATES_SECONDS]; /* the last minute */
};

struct rows {
	unsigned count;
	uint64_t second; /* number of the last one */
	struct row *row; /* room for all that there can be */
};

/* 0 or -1: no memory. For as long as the command runs. */
int rows_init(struct rows *rows);
/* As of the last look. shown, null: all. */
void rows_make(struct rows *rows, const struct watch *w, const struct match *shown, enum rows_order order);
/*
 * The last minute in so many cells at the most, oldest first: each has the same number of seconds. Returns how many there are, and
 * the most events in one of them.
 */
unsigned rows_cells(const struct rows *rows, const struct row *row, unsigned most, uint64_t cells[RATES_SECONDS], uint64_t *highest);

/* At most five characters: 999, 12.3k, 4.56M; in text of at least 24 bytes. Returns text. */
char *rows_short(char *text, double n);

#endif
