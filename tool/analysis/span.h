/*
 * span.h - how long it takes from one event to another
 *
 * From an event whose name matches the one pattern to the next event, of the same thread, whose name matches the
 * other. A begin whose thread begins once more, or never ends, and an end without a begin are counted as that. Where
 * events were lost, or recording stopped and started again, nobody knows what the next end belongs to: spans that
 * are open then are cut.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SPAN_H
#define SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/histogram.h"
#include "logs/match.h"

/* Rows for the tables of options; what: what is done with the time "from an event ...". */
enum { SPAN_PAIR = MATCH_OPTIONS_END, SPAN_BY, SPAN_NESTED, SPAN_OPTIONS_END };
#define SPAN_ROWS(what) \
	OPTION(SPAN_PAIR, "span", "BEGIN,END", what " from an event that matches BEGIN to the next event that matches END; may be repeated, up to 32 times"), \
	OPTION(SPAN_BY, "by", "SCOPE", "look for the next event in the same thread (default), process, or all", "thread process all"), \
	OPTION(SPAN_NESTED, "nested", NULL, "for recursion: END belongs to the latest BEGIN that has none yet")

#define SPANS_MAX 32 /* bits of the masks below */

/* In the order of the choices of --by. */
enum span_scope { SPAN_THREAD, SPAN_PROCESS, SPAN_ALL };

/* The begins of a thread, or of whatever spans are looked for in, that have no end yet. */
struct span_open {
	uint64_t cuts; /* as span.cuts when they began; later they are cut */
	uint32_t depth, room;
	uint32_t top; /* behind the latest: depth, and how many older ones were given up */
	uint64_t *time;
};

struct span {
	char *begin, *end; /* patterns */
	char *name;        /* of both together; null: they were asked for by patterns */
	struct histogram durations;
	uint64_t begins, ends; /* that have no other */
	uint64_t cut, cuts;    /* spans that were cut, and how often everything was */
	uint64_t open_count;
	struct span_open *open;
	unsigned room;
};

struct spans {
	enum span_scope scope;
	bool nested; /* an end belongs to the latest begin that has none; else a begin replaces the one before */
	unsigned count;
	struct span *span[SPANS_MAX];
};

/* What an event type does, a bit for each span. */
struct span_role {
	uint32_t begins, ends;
};

/* A,B; a comma in a pattern has a backslash in front. Ends the program if that is none, or one too many. */
void span_add(struct spans *spans, const char *text);
/* Of event types with these names, name is the first so many bytes of both. Not if they are one already, or there are too many. */
void span_add_pair(struct spans *spans, const char *begin, const char *end, size_t name);
/* Takes one of the options above; returns false if it is none of them. */
bool span_option(struct spans *spans, int option, const char *argument);
struct span_role span_role(const struct spans *spans, const char *name);
/* An event with such a role, in the scope of this number. cuts: nothing goes on beyond it. */
void span_event(struct spans *spans, struct span_role role, bool cuts, unsigned scope, uint64_t time);
/* The end of a log: what is open stays without an end. */
void span_finish(struct spans *spans);

void span_print(const struct spans *spans);
/* Of a span that has been measured. */
void span_chart(const struct span *s);
/* An array. */
void span_json(const struct spans *spans);

#endif
