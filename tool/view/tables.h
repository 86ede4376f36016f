/*
 * tables.h - what the events of a page refer to: threads, types, trace points
 *
 * Written as one object of JSON, the block "tables".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TABLES_H
#define TABLES_H

#include "analysis/span.h"
#include "logs/about.h"
#include "logs/sources.h"

/* Of each log that is read; source.own. */
struct view_log {
	struct about about;
	uint32_t type[EVENT_ID_END]; /* its row, from 1 on; 0: not looked for yet */
};

/* The row of the thread of the event of a log, of its type, and, from 1 on, of its trace point; 0: it is not known. */
uint32_t view_thread(const struct source *s);
uint32_t view_type(const struct source *s);
uint32_t view_place(const struct source *s);

/* What is true of the whole page. */
struct view_facts {
	const char *title;
	const struct sources *logs;
	const struct spans *spans;
	uint64_t events; /* that were asked for; those in the page may be fewer */
	bool last;       /* then they are the last ones */
};

void view_write_tables(const struct view_facts *facts);

#endif
