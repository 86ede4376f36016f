/*
 * line.h - a line of a report, as text
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LINE_H
#define LINE_H

#include "analysis/lasted.h"
#include "logs/sources.h"

enum column {
	COLUMN_TIME, COLUMN_PID, COLUMN_TID, COLUMN_THREAD, COLUMN_EVENT, COLUMN_DATA, COLUMN_SYMBOL, COLUMN_FILE,
	COLUMNS,
};

enum time_kind { TIME_RELATIVE, TIME_ABSOLUTE, TIME_DELTA };

struct report {
	/* Options. */
	enum time_kind time;
	bool json, symbols, full;
	enum column column[COLUMNS];
	unsigned columns;
	struct sources logs;
	int event_width, file_width;
	uint64_t before; /* time of the previous line */
	struct lasted lasted;
};

/* Prints a line with the next event of a log. took: how long the span took that it ends; SPAN_NONE: it ends none. */
void report_line(struct report *r, struct source *s, uint64_t took);
/* Prints a line about lost events. */
void report_lost(struct report *r, const struct source *s, const struct loss *loss);
/* Prepares the names of a log. Call it once for each source, before the first line. */
void report_names(struct report *r, struct source *s);

#endif
