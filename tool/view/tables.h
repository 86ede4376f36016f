/*
 * tables.h - what the events of a page refer to: threads, types, trace points
 *
 * They are one JSON object, the block "tables".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TABLES_H
#define TABLES_H

#include "analysis/span.h"
#include "logs/about.h"
#include "logs/sources.h"

/* The state of a log; source.own. */
struct view_log {
	struct about about;
	uint32_t type[EVENT_ID_END]; /* row + 1; 0: not looked up yet */
};

/*
 * Return the rows of the thread, the type and the trace point of the next event. Rows of trace points begin with 1; 0:
 * unknown.
 */
uint32_t view_thread(const struct source *s);
uint32_t view_type(const struct source *s);
uint32_t view_place(const struct source *s);

/* Facts about the whole page. */
struct view_facts {
	const char *title;
	const struct sources *logs;
	const struct spans *spans;
	uint64_t events; /* selected events; the page may have fewer of them */
	bool last;       /* the page has the last of them, not the first */
};

void view_write_tables(const struct view_facts *facts);

#endif
