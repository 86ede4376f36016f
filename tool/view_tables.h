/*
 * view_tables.h - what the events of a page refer to: threads, types, trace points
 *
 * Written as one object of JSON, the block "tables".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef VIEW_TABLES_H
#define VIEW_TABLES_H

#include "about.h"
#include "layout.h"
#include "logfile.h"
#include "span.h"
#include "symbols.h"

/* A log of which events are in the page. */
struct view_log {
	struct logfile *file;
	struct layouts *layouts;
	struct symbols *symbols; /* null: not asked for */
	struct about about;
	uint32_t number;
	uint32_t type[EVENT_ID_END]; /* its row, from 1 on; 0: not looked for yet */
};

/* The row of the thread of an event, of its type, and, from 1 on, of its trace point; 0: it is not known. */
uint32_t view_thread(const struct view_log *log, const struct log_event *e);
uint32_t view_type(struct view_log *log, const struct log_event *e);
uint32_t view_place(const struct view_log *log, const struct log_event *e);

/* What is true of the whole page. */
struct view_facts {
	const char *title;
	uint64_t begin;      /* what times count from */
	uint64_t events;     /* that were asked for; those in the page may be fewer */
	bool last;           /* then they are the last ones */
	const struct spans *spans;
	struct view_log *log;
	uint32_t logs;
};

void view_write_tables(const struct view_facts *facts);

#endif
