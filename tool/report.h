/*
 * report.h - what the parts of posixtrace report share
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REPORT_H
#define REPORT_H

#include "layouts.h"
#include "logfile.h"
#include "match.h"
#include "symbols.h"

enum column { COLUMN_TIME, COLUMN_PID, COLUMN_TID, COLUMN_THREAD, COLUMN_EVENT, COLUMN_DATA, COLUMN_SYMBOL, COLUMN_FILE, COLUMNS };

enum time_kind { TIME_RELATIVE, TIME_ABSOLUTE, TIME_DELTA };

/* A name as it is printed. */
struct label {
	const char *text; /* null: not known yet */
	int length, width; /* bytes, columns */
};

/* A log that is reported, and its next event. */
struct source {
	const char *path;
	struct logfile *file;
	struct layouts *layouts;
	struct match *match;
	struct symbols *symbols; /* null: not asked for */
	struct label label[EVENT_ID_END];
	const struct log_event *event; /* null: there is no more */
	const unsigned char *data;
};

struct report {
	/* Options. */
	enum time_kind time;
	bool json, symbols, full;
	enum column column[COLUMNS];
	unsigned columns;
	/* The logs. */
	struct source *source;
	unsigned sources;
	int event_width, file_width;
	uint64_t begin; /* what relative times count from */
	uint64_t before; /* time of the line before */
};

/* A line with an event, to out.h. */
void report_line(struct report *r, struct source *s, const struct log_event *e, const unsigned char *data);
void report_json(const struct report *r, const struct source *s, const struct log_event *e, const unsigned char *data);
/* Events were lost; none of the ends is before the other. until 0: they are not told of again. */
void report_lost(struct report *r, const struct source *s, uint64_t from, uint64_t until);
/* Once for each source, before the first line. */
void report_names(struct report *r, struct source *s);

#endif
