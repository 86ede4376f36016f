/*
 * report.h - what the parts of posixtrace report share
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REPORT_H
#define REPORT_H

#include "logs/sources.h"

enum column { COLUMN_TIME, COLUMN_PID, COLUMN_TID, COLUMN_THREAD, COLUMN_EVENT, COLUMN_DATA, COLUMN_SYMBOL, COLUMN_FILE, COLUMNS };

enum time_kind { TIME_RELATIVE, TIME_ABSOLUTE, TIME_DELTA };

struct report {
	/* Options. */
	enum time_kind time;
	bool json, symbols, full;
	enum column column[COLUMNS];
	unsigned columns;
	struct sources logs;
	int event_width, file_width;
	uint64_t before; /* time of the line before */
};

/* A line with the next event of a log, to out.h. */
void report_line(struct report *r, struct source *s);
/* Events were lost. */
void report_lost(struct report *r, const struct source *s, const struct loss *loss);
/* Once for each source, before the first line. */
void report_names(struct report *r, struct source *s);

#endif
