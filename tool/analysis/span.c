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

void span_add_pair(struct spans *spans, const char *begin, const char *end, size_t name)
{
	struct span *s;

	for (unsigned i = 0; i < spans->count; i++)
		if (fnmatch(spans->span[i]->begin, begin, 0) == 0 && fnmatch(spans->span[i]->end, end, 0) == 0)
			return;
	if (spans->count == SPANS_MAX)
		return;
	s = calloc(1, sizeof *s);
	if (!s || !(s->name = strndup(begin, name)))
		fail("no memory");
	s->begin = pattern_of(begin);
	s->end = pattern_of(end);
	spans->span[spans->count++] = s;
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

struct span_role span_role(const struct spans *spans, const char *name)
{
	struct span_role role = { 0, 0 };

	for (unsigned i = 0; i < spans->count; i++) {
		role.begins |= (uint32_t)(fnmatch(spans->span[i]->begin, name, 0) == 0) << i;
		role.ends |= (uint32_t)(fnmatch(spans->span[i]->end, name, 0) == 0) << i;
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

/* Ends the latest open span. again: the same event also begins a span. */
static void end(struct span *s, unsigned scope, uint64_t time, bool again)
{
	struct span_open *o = open_of(s, scope);
	uint64_t since;

	if (o->depth == 0) {
		s->ends += !again;
		return;
	}
	since = o->time[--o->top % DEPTH_MAX];
	o->depth--;
	s->open_count--;
	/* The order of events of several threads is as exact as their clocks. */
	histogram_add(&s->durations, time > since ? time - since : 0);
}

void span_event(struct spans *spans, struct span_role role, bool cuts, unsigned scope, uint64_t time)
{
	for (uint32_t ends = role.ends; ends; ends &= ends - 1) {
		unsigned i = (unsigned)__builtin_ctz(ends);

		end(spans->span[i], scope, time, role.begins >> i & 1);
	}
	for (unsigned i = 0; cuts && i < spans->count; i++)
		cut(spans->span[i]);
	for (uint32_t begins = role.begins; begins; begins &= begins - 1)
		begin(spans->span[__builtin_ctz(begins)], scope, time, spans->nested);
}

void span_finish(struct spans *spans)
{
	for (unsigned i = 0; i < spans->count; i++) {
		struct span *s = spans->span[i];

		s->begins += s->open_count;
		s->open_count = 0;
		s->cuts++;
	}
}

/* -- For people --------------------------------------------------------------------------------- */

static void cell_duration(struct table *table, const struct span *s, uint64_t ns)
{
	char text[32];

	table_cell(table, "%s", s->durations.count ? moment_duration(text, ns) : "-");
}

void span_print(const struct spans *spans)
{
	struct table *table = table_new(">spans", ">min", ">mean", ">50%", ">90%", ">99%", ">99.9%", ">max",
		">no end", ">no begin", ">cut", "<from, to", NULL);

	for (unsigned i = 0; i < spans->count; i++) {
		const struct span *s = spans->span[i];
		char name[256];

		table_cell(table, "%llu", (unsigned long long)s->durations.count);
		cell_duration(table, s, s->durations.least);
		cell_duration(table, s, (uint64_t)(histogram_mean(&s->durations) + 0.5));
		for (unsigned k = 0; k < PERCENTS; k++)
			cell_duration(table, s, histogram_percentile(&s->durations, percents[k]));
		cell_duration(table, s, s->durations.most);
		table_cell(table, "%llu", (unsigned long long)s->begins);
		table_cell(table, "%llu", (unsigned long long)s->ends);
		table_cell(table, "%llu", (unsigned long long)s->cut);
		snprintf(name, sizeof name, "%s, %s", s->begin, s->end);
		table_foreign(table, name, strlen(name));
	}
	table_print(table, 0);
	table_free(table);
}

void span_chart(const struct span *s)
{
	display_colour(BOLD);
	out_foreign(s->begin, strlen(s->begin), 0);
	out_text(" to ");
	out_foreign(s->end, strlen(s->end), 0);
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
			{ "cut", s->cut } };

		json_begin('{');
		json_key("begin");
		json_string(s->begin);
		json_key("end");
		json_string(s->end);
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
