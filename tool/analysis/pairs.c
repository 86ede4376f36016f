/*
 * pairs.c - finds spans by the layouts and the names of event types
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis/pairs.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "event/wordpair.h"

/*
 * Returns the event type that is the end for this begin, whose last word is at `common`: of those that exist, the one
 * with the lowest rank. Returns 0 if there is none.
 */
static uint32_t find(const struct layouts *l, const char *name, size_t common)
{
	unsigned least = WORDPAIR_NONE;
	uint32_t found = 0;

	for (uint32_t id = EVENT_ID_USER; id < EVENT_ID_END; id++) {
		const char *other = layouts_name(l, id);
		unsigned rank = other && strncmp(other, name, common) == 0 ?
		                wordpair_rank(name + common, other + common) : WORDPAIR_NONE;

		if (rank < least) {
			least = rank;
			found = id;
		}
	}
	return found;
}

/* Adds a span that has not ended yet, because the type of its end is opened by its first end. */
static void add_without_end(struct spans *spans, const char *name, size_t common)
{
	char end[TRACE_EVENT_NAME_MAX + 1];

	snprintf(end, sizeof end, "%.*send", (int)common, name);
	span_add_pair(spans, name, end, common - 1);
}

static void add(struct spans *spans, const struct layouts *l, const char *name)
{
	size_t common = wordpair_last(name);
	uint32_t end = common && wordpair_begins(name + common) ? find(l, name, common) : 0;

	if (end)
		span_add_pair(spans, name, layouts_name(l, end), common - 1);
	else if (common && strcasecmp(name + common, "begin") == 0)
		add_without_end(spans, name, common);
}

static const struct layout_meaning *meaning_of(const struct layouts *l, uint32_t id)
{
	static const struct layout_meaning none;
	const struct layout *layout = layouts_find(l, id);

	return layout ? &layout->meaning : &none;
}

static void add_declared(struct spans *spans, const struct layouts *l, uint32_t id)
{
	const struct layout_meaning *m = meaning_of(l, id);

	if (m->begin[0])
		span_add_declared(spans, m->begin, false);
	if (m->end[0])
		span_add_declared(spans, m->end, false);
	if (m->took)
		span_add_declared(spans, layouts_name(l, id), true);
}

/* Adds what types of Linux's events, or all others, declare. */
static void add_all_declared(struct spans *spans, const struct layouts *l, bool of_linux)
{
	for (uint32_t id = EVENT_ID_USER; id < EVENT_ID_END; id++)
		if (layouts_name(l, id) && (strncmp(layouts_name(l, id), "linux_", 6) == 0) == of_linux)
			add_declared(spans, l, id);
}

/* Adds pairs of names. What declares its spans is not paired by its name too, but ids alone are for pairs. */
static void add_names(struct spans *spans, const struct layouts *l, bool no_names)
{
	for (uint32_t id = EVENT_ID_USER; id < EVENT_ID_END; id++)
		if (layouts_name(l, id) && !meaning_of(l, id)->begin[0] && (!no_names || meaning_of(l, id)->by))
			add(spans, l, layouts_name(l, id));
}

/* The many kinds of system calls come last, so that there is room for the spans of the program. */
void pairs_add_types(struct spans *spans, const struct layouts *l, bool no_names)
{
	add_all_declared(spans, l, false);
	add_names(spans, l, no_names);
	add_all_declared(spans, l, true);
}

void pairs_add(struct spans *spans, const struct sources *logs, bool no_names)
{
	for (unsigned i = 0; i < logs->count; i++) {
		add_all_declared(spans, logs->source[i].layouts, false);
		add_names(spans, logs->source[i].layouts, true);
	}
	for (unsigned i = 0; i < logs->count && !no_names; i++)
		add_names(spans, logs->source[i].layouts, false);
	for (unsigned i = 0; i < logs->count; i++)
		add_all_declared(spans, logs->source[i].layouts, true);
}
