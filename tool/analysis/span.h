/*
 * span.h - how long it takes from one event to another
 *
 * A span is the time from an event whose name matches one pattern to the next event, in the same thread, whose name
 * matches another pattern. Event types may also declare which span they begin or end, by which id a begin and its end
 * belong together in their process, or that each event is a whole span (docs/layouts.md, "Meanings"). A begin that is
 * followed by another begin or has no end, and an end without a begin, are counted separately. After lost events, or
 * after the recording was stopped and started again, it is unknown to which begin the next end belongs: spans that are
 * open at that point are cut.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SPAN_H
#define SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/histogram.h"
#include "analysis/keyed.h"
#include "logs/match.h"
#include "model/data_layout.h"

/* Rows for tables of options. what: how --help begins the description, which continues "from an event ...". */
enum { SPAN_PAIR = MATCH_OPTIONS_END, SPAN_BY, SPAN_NESTED, SPAN_OPTIONS_END };
#define SPAN_ROWS(what) \
	OPTION(SPAN_PAIR, "span", "BEGIN,END", \
	       what " from an event that matches BEGIN to the next event that matches END; may be repeated, " \
	            "up to 32 times"), \
	OPTION(SPAN_BY, "by", "SCOPE", "look for the next event in the same thread (default), process, or all", \
	       "thread process all", "stat --group-by groups events by a field"), \
	OPTION(SPAN_NESTED, "nested", NULL, "for recursion: END belongs to the latest BEGIN that has none yet")

#define SPANS_MAX 64 /* bits of struct span_role */

/* In the order of the choices of --by. */
enum span_scope { SPAN_THREAD, SPAN_PROCESS, SPAN_ALL };

/* Open begins in one scope: a thread, a process, or all. */
struct span_open {
	uint64_t cuts; /* span.cuts at the time of these begins; if span.cuts is higher now, they are cut */
	uint32_t depth, room;
	uint32_t top; /* index after the latest begin: depth, plus the number of dropped older begins */
	uint64_t *time;
};

struct span {
	char *begin, *end; /* patterns; null: event types declare the span by its name, or are the whole span */
	char *name;        /* null: given by patterns */
	bool whole;        /* each event of the type `name` is a span */
	bool calls;        /* of functions: always nested, whatever the option is */
	struct histogram durations;
	uint64_t begins, ends; /* begins without an end, ends without a begin */
	uint64_t impossible;   /* events whose duration is negative or does not fit */
	uint64_t cut, cuts;    /* number of spans that were cut, and number of cuts */
	uint64_t open_count;
	struct span_open *open;
	unsigned room;
	struct keyed keyed; /* times of the open begins that have an id */
};

struct spans {
	enum span_scope scope;
	bool nested; /* an end belongs to the latest open begin; else a begin replaces the previous one */
	unsigned count;
	struct span *span[SPANS_MAX];
	bool silent; /* no message if there are more than SPANS_MAX */
};

/* The spans that an event type begins and ends: a bit for each. */
struct span_role {
	uint64_t begins, ends;
	const struct layout *by; /* the layout with the field that is the id of a begin or end; null: none */
	const struct layout *took; /* the layout with the field that says how long the span took; null: none */
	unsigned whole;            /* the number of the span that the event is, if took is not null */
};

/* Returns whether the event type takes part in no span. */
static inline bool span_role_none(const struct span_role *role)
{
	return !(role->begins | role->ends) && !role->took;
}

/* An event that may begin or end spans. */
struct span_event {
	const struct span_role *role;
	uint64_t time;
	unsigned thread, process; /* numbers */
	const unsigned char *data;
	size_t length;
	bool cuts; /* spans that are open after the event has ended one are cut */
};

/*
 * Adds the span BEGIN,END; a backslash precedes a comma in a pattern. Ends the program if the text is invalid, or the
 * table is full.
 */
void span_add(struct spans *spans, const char *text);
/*
 * Adds the span between two event types. name: length of the common prefix, which becomes its name. Does nothing if the
 * spans have it already. Prints a message and does nothing if the table is full.
 */
void span_add_pair(struct spans *spans, const char *begin, const char *end, size_t name);
/*
 * Adds a span that event types declare. whole: each event of the type with this name is one. Does nothing if the spans
 * have it already. Prints a message and does nothing if the table is full.
 */
void span_add_declared(struct spans *spans, const char *name, bool whole);
/* Handles an option of SPAN_ROWS. Returns false if it is another option. */
bool span_option(struct spans *spans, int option, const char *argument);
/* Returns the role of event types with this name and layout, which may be null. */
struct span_role span_role(const struct spans *spans, const char *name, const struct layout *layout);
#define SPAN_NONE UINT64_MAX
/* Records an event. Returns how long the span took that it ends, or SPAN_NONE. Of several spans the last one counts. */
uint64_t span_event(struct spans *spans, const struct span_event *e);
/* Cuts all open spans, without an event. */
void span_cut(struct spans *spans);
/* Ends a log: open begins stay without an end. */
void span_finish(struct spans *spans);
/* Returns whether an event has begun or ended the span, or was one. */
static inline bool span_occurred(const struct span *s)
{
	return s->durations.count + s->begins + s->ends + s->cut + s->impossible > 0;
}

/* Fills text with the title of a span: its name, or both patterns. Returns its length, which is less than size. */
size_t span_title(const struct span *s, char *text, size_t size);

/* Prints a table of the spans. Those with a name, which were not given, are left out unless they have occurred. */
void span_print(const struct spans *spans);
/* Prints the histogram of a span with durations. */
void span_chart(const struct span *s);
/* Prints all spans as a JSON array. */
void span_json(const struct spans *spans);

#endif
