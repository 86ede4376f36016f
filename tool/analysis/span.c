/*
 * span.c - how long it takes from one event to another
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis/span.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/chart.h"
#include "common/display.h"
#include "common/json.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/out.h"
#include "common/table.h"
#include "event/meaning.h"

/* Deeper recursion is assumed to be an error: the oldest begins are dropped. A power of two. */
#define DEPTH_MAX 65536

static const double percents[] = { 50, 90, 99, 99.9 };

#define PERCENTS (sizeof percents / sizeof percents[0])

/* -- Definition ----------------------------------------------------------------------------- */

/*
 * Returns the comma after the first pattern, or the null. Skips commas after a backslash and in the braces of a layout.
 */
static const char *end_of_first(const char *text)
{
	while (*text && *text != ',') {
		const char *brace = *text == '{' ? strchr(text, '}') : NULL;

		if (brace && (brace[1] == ',' || !brace[1]))
			text = brace + 1;
		else
			text += text[0] == '\\' && text[1] ? 2 : 1;
	}
	return text;
}

void span_add(struct spans *spans, const char *text)
{
	const char *comma = end_of_first(text);
	char *begin;
	struct span *s;

	if (comma == text || !*comma || !comma[1])
		wrong_usage("--span %s: not two event names, such as begin,end", text);
	if (spans->count == SPANS_MAX)
		wrong_usage("--span %s: more than %u", text, SPANS_MAX);
	s = calloc(1, sizeof *s);
	begin = strndup(text, (size_t)(comma - text));
	if (!s || !begin)
		fail("no memory");
	s->begin = match_pattern(begin);
	s->end = match_pattern(comma + 1);
	free(begin);
	spans->span[spans->count++] = s;
}

/* Returns a pattern for this name only. */
static char *pattern_of(const char *name)
{
	char *pattern = malloc(2 * strlen(name) + 1), *at = pattern;

	if (!pattern)
		fail("no memory");
	for (; *name; name++) {
		if (strchr("*?[\\", *name))
			*at++ = '\\';
		*at++ = *name;
	}
	*at = 0;
	return pattern;
}

/* Returns a new span of this name, the last one of the table; null if the table is full. */
static struct span *add(struct spans *spans, const char *name, size_t length)
{
	static bool reported;
	struct span *s;

	if (spans->count == SPANS_MAX) {
		if (!reported && !spans->silent)
			complain("more than %u spans: %.*s and others are left out; choose with -e or --span",
			         SPANS_MAX, (int)length, name);
		reported |= !spans->silent;
		return NULL;
	}
	s = calloc(1, sizeof *s);
	if (!s || !(s->name = strndup(name, length)))
		fail("no memory");
	spans->span[spans->count++] = s;
	return s;
}

void span_add_pair(struct spans *spans, const char *begin, const char *end, size_t name)
{
	struct span *s;

	for (unsigned i = 0; i < spans->count; i++)
		if (spans->span[i]->begin && fnmatch(spans->span[i]->begin, begin, 0) == 0 &&
		    fnmatch(spans->span[i]->end, end, 0) == 0)
			return;
	s = add(spans, begin, name);
	if (!s)
		return;
	s->begin = pattern_of(begin);
	s->end = pattern_of(end);
	s->calls = s->name && strcmp(s->name, "function") == 0;
}

/* Returns the number of a span that event types declare, or spans->count. */
static unsigned find_declared(const struct spans *spans, const char *name, bool whole)
{
	unsigned i = 0;

	while (i < spans->count && (spans->span[i]->begin || spans->span[i]->whole != whole ||
	                            strcmp(spans->span[i]->name, name) != 0))
		i++;
	return i;
}

void span_add_declared(struct spans *spans, const char *name, bool whole)
{
	struct span *s = find_declared(spans, name, whole) == spans->count ? add(spans, name, strlen(name)) : NULL;

	if (s)
		s->whole = whole;
}

size_t span_title(const struct span *s, char *text, size_t size)
{
	int n = s->name ? snprintf(text, size, "%s", s->name) : snprintf(text, size, "%s to %s", s->begin, s->end);

	return n > 0 && (size_t)n < size ? (size_t)n : size - 1;
}

bool span_option(struct spans *spans, int option, const char *argument)
{
	if (option == SPAN_PAIR)
		span_add(spans, argument);
	else if (option == SPAN_BY)
		spans->scope = (enum span_scope)option_choice();
	else if (option == SPAN_NESTED)
		spans->nested = true;
	else
		return false;
	return true;
}

struct span_role span_role(const struct spans *spans, const char *name, const struct layout *layout)
{
	const struct layout_meaning *m = layout ? &layout->meaning : NULL;
	struct span_role role = { 0 };
	unsigned declared;

	for (unsigned i = 0; i < spans->count; i++) {
		const struct span *s = spans->span[i];

		if (s->begin) {
			role.begins |= (uint64_t)(fnmatch(s->begin, name, 0) == 0) << i;
			role.ends |= (uint64_t)(fnmatch(s->end, name, 0) == 0) << i;
		} else if (m && !s->whole) {
			role.begins |= (uint64_t)(strcmp(s->name, m->begin) == 0) << i;
			role.ends |= (uint64_t)(strcmp(s->name, m->end) == 0) << i;
		}
	}
	role.by = m && m->by && (role.begins | role.ends) ? layout : NULL;
	declared = m && m->took ? find_declared(spans, name, true) : spans->count;
	if (declared < spans->count) {
		role.took = layout;
		role.whole = declared;
	}
	return role;
}

/* -- Events ----------------------------------------------------------------------------------- */

static struct span_open *open_of(struct span *s, unsigned scope)
{
	struct span_open *o;

	if (scope >= s->room) {
		unsigned room = scope < 32 ? 64 : 2 * scope;

		s->open = realloc(s->open, room * sizeof *s->open);
		if (!s->open)
			fail("no memory");
		memset(s->open + s->room, 0, (room - s->room) * sizeof *s->open);
		s->room = room;
	}
	o = &s->open[scope];
	if (o->cuts != s->cuts) {
		o->cuts = s->cuts;
		o->depth = o->top = 0;
	}
	return o;
}

static void cut(struct span *s)
{
	s->cut += s->open_count;
	s->open_count = 0;
	s->cuts++;
	keyed_clear(&s->keyed);
}

static void begin(struct span *s, unsigned scope, uint64_t time, bool nested)
{
	struct span_open *o = open_of(s, scope);

	if (o->depth > 0 && !nested) {
		s->begins++;
		o->time[o->top - 1] = time;
		return;
	}
	if (o->depth == DEPTH_MAX) {
		s->begins++;
		o->time[o->top++ % DEPTH_MAX] = time;
		return;
	}
	if (o->depth == o->room) {
		o->room = o->room ? 2 * o->room : 1;
		o->time = realloc(o->time, o->room * sizeof *o->time);
		if (!o->time)
			fail("no memory");
	}
	o->time[o->top++ % DEPTH_MAX] = time;
	o->depth++;
	s->open_count++;
}

/* Records a complete span. The order of events of several threads is as exact as their clocks. Returns its duration. */
static uint64_t complete(struct span *s, uint64_t since, uint64_t time)
{
	uint64_t took = time > since ? time - since : 0;

	histogram_add(&s->durations, took);
	s->open_count--;
	return took;
}

/* Ends the latest open span. again: the same event also begins a span. Returns its duration, or SPAN_NONE. */
static uint64_t end(struct span *s, unsigned scope, uint64_t time, bool again)
{
	struct span_open *o = open_of(s, scope);

	if (o->depth == 0) {
		s->ends += !again;
		return SPAN_NONE;
	}
	o->depth--;
	return complete(s, o->time[--o->top % DEPTH_MAX], time);
}

/* Begins a span with an id. */
static void begin_keyed(struct span *s, uint64_t scope, uint64_t id, uint64_t time)
{
	struct keyed_entry *e = keyed_find(&s->keyed, scope, id);

	if (e) {
		s->begins++;
		e->value = time;
	} else {
		keyed_add(&s->keyed, scope, id, time);
		s->open_count++;
	}
}

/* Ends a span with an id. again: the same event also begins a span. Returns its duration, or SPAN_NONE. */
static uint64_t end_keyed(struct span *s, uint64_t scope, uint64_t id, uint64_t time, bool again)
{
	struct keyed_entry *e = keyed_find(&s->keyed, scope, id);
	uint64_t since;

	if (!e) {
		s->ends += !again;
		return SPAN_NONE;
	}
	since = e->value;
	keyed_remove(&s->keyed, e);
	return complete(s, since, time);
}

void span_cut(struct spans *spans)
{
	for (unsigned i = 0; i < spans->count; i++)
		cut(spans->span[i]);
}

uint64_t span_event(struct spans *spans, const struct span_event *e)
{
	const struct span_role *role = e->role;
	unsigned scope = spans->scope == SPAN_ALL                  ? 0 :
	                 spans->scope == SPAN_PROCESS || role->by ? e->process :
	                                                            e->thread;
	struct meaning_id id = { .value = 0 };
	uint64_t took = SPAN_NONE, keys;
	enum meaning_took has = role->took ? meaning_took(role->took, e->data, e->length, &took) : TOOK_NONE;

	if (has == TOOK)
		histogram_add(&spans->span[role->whole]->durations, took);
	else
		took = SPAN_NONE;
	if (has == TOOK_IMPOSSIBLE)
		spans->span[role->whole]->impossible++;
	if (role->by && !meaning_id(role->by, role->by->meaning.by, e->data, e->length, &id))
		return took;
	keys = (uint64_t)scope << 1 | id.negative;
	for (uint64_t ends = role->ends; ends; ends &= ends - 1) {
		unsigned i = (unsigned)__builtin_ctzll(ends);
		bool again = role->begins >> i & 1;
		uint64_t ended = role->by ? end_keyed(spans->span[i], keys, id.value, e->time, again) :
		                            end(spans->span[i], scope, e->time, again);

		if (ended != SPAN_NONE)
			took = ended;
	}
	if (e->cuts)
		span_cut(spans);
	for (uint64_t begins = role->begins; begins; begins &= begins - 1) {
		struct span *s = spans->span[__builtin_ctzll(begins)];

		if (role->by)
			begin_keyed(s, keys, id.value, e->time);
		else
			begin(s, scope, e->time, spans->nested || s->calls);
	}
	return took;
}

void span_finish(struct spans *spans)
{
	for (unsigned i = 0; i < spans->count; i++) {
		struct span *s = spans->span[i];

		s->begins += s->open_count;
		s->open_count = 0;
		s->cuts++;
		keyed_clear(&s->keyed);
	}
}

/* -- For people --------------------------------------------------------------------------------- */

static void cell_duration(struct table *table, const struct span *s, uint64_t ns)
{
	char text[32];

	table_cell(table, "%s", s->durations.count ? moment_duration(text, ns) : "-");
}

/* Prints what to try where events have nothing that belongs to them. */
static void print_hints(const struct spans *spans)
{
	bool nested = false, all = false;

	for (unsigned i = 0; i < spans->count; i++) {
		const struct span *s = spans->span[i];
		bool apart = s->begins && s->ends && !s->calls;

		/* Spans with ids are not nested. */
		nested |= apart && !s->keyed.slots && !spans->nested;
		all |= apart && s->keyed.slots && spans->scope != SPAN_ALL;
	}
	if (nested)
		out_text("where begins have no end and ends no begin, a span may be recursive: see --nested\n");
	if (all)
		out_text("where begins have no end and ends no begin, both may be in different processes: see "
		         "--by all\n");
}

void span_print(const struct spans *spans)
{
	struct table *table = table_new(">spans", ">min", ">mean", ">50%", ">90%", ">99%", ">99.9%", ">max",
		">no end", ">no begin", ">cut", "<from, to", NULL);

	for (unsigned i = 0; i < spans->count; i++) {
		const struct span *s = spans->span[i];
		char name[256];
		size_t length;

		if (s->name && !span_occurred(s))
			continue;
		table_cell(table, "%llu", (unsigned long long)s->durations.count);
		cell_duration(table, s, s->durations.least);
		cell_duration(table, s, (uint64_t)(histogram_mean(&s->durations) + 0.5));
		for (unsigned k = 0; k < PERCENTS; k++)
			cell_duration(table, s, histogram_percentile(&s->durations, percents[k]));
		cell_duration(table, s, s->durations.most);
		table_cell(table, "%llu", (unsigned long long)s->begins);
		table_cell(table, "%llu", (unsigned long long)s->ends);
		table_cell(table, "%llu", (unsigned long long)s->cut);
		length = s->begin ? (size_t)snprintf(name, sizeof name, "%s, %s", s->begin, s->end) :
		                    span_title(s, name, sizeof name);
		table_foreign(table, name, length < sizeof name ? length : sizeof name - 1);
	}
	table_print(table, 0);
	table_free(table);
	for (unsigned i = 0; i < spans->count; i++)
		if (spans->span[i]->impossible) {
			out_printf("%llu event%s ", (unsigned long long)spans->span[i]->impossible,
			           spans->span[i]->impossible == 1 ? "" : "s");
			out_foreign(spans->span[i]->name, strlen(spans->span[i]->name), 0);
			out_text(" left out: no such duration, negative or too long\n");
		}
	print_hints(spans);
}

void span_chart(const struct span *s)
{
	display_colour(BOLD);
	if (s->begin) {
		out_foreign(s->begin, strlen(s->begin), 0);
		out_text(" to ");
		out_foreign(s->end, strlen(s->end), 0);
	} else {
		out_foreign(s->name, strlen(s->name), 0);
	}
	display_colour(PLAIN);
	out_char('\n');
	chart_print(&s->durations);
}

/* -- For programs ------------------------------------------------------------------------------- */

static void json_durations(const struct histogram *h)
{
	json_key("min");
	json_number(h->least);
	json_key("mean");
	json_real(histogram_mean(h));
	json_key("max");
	json_number(h->most);
	json_key("percentiles");
	json_begin('{');
	for (unsigned k = 0; k < PERCENTS; k++) {
		char key[16];

		snprintf(key, sizeof key, "%g", percents[k]);
		json_key(key);
		json_number(histogram_percentile(h, percents[k]));
	}
	json_end('}');
	json_key("histogram");
	chart_json(h);
}

void span_json(const struct spans *spans)
{
	json_begin('[');
	for (unsigned i = 0; i < spans->count; i++) {
		const struct span *s = spans->span[i];
		const struct {
			const char *key;
			uint64_t value;
		} numbers[] = { { "count", s->durations.count }, { "no_end", s->begins }, { "no_begin", s->ends },
			{ "cut", s->cut }, { "impossible", s->impossible } };

		json_begin('{');
		if (s->name) {
			json_key("name");
			json_string(s->name);
		}
		if (s->begin) {
			json_key("begin");
			json_string(s->begin);
			json_key("end");
			json_string(s->end);
		}
		for (unsigned k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
			json_key(numbers[k].key);
			json_number(numbers[k].value);
		}
		if (s->durations.count)
			json_durations(&s->durations);
		json_end('}');
	}
	json_end(']');
}
