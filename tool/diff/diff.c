/*
 * diff.c - posixtrace diff: what is new, gone, or different in a second log
 *
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/nothing.h"
#include "analysis/pairs.h"
#include "common/command.h"
#include "common/display.h"
#include "common/json.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/options.h"
#include "common/out.h"
#include "common/table.h"
#include "diff/side.h"

#define LINES_DEFAULT     20
#define THRESHOLD_DEFAULT 10 /* percent */
/* A rate of fewer events says little. */
#define EVENTS_LEAST 10
/* The size of a change from 0, or to 0, as a logarithm: larger than any other but new and gone. */
#define SIZE_ZERO 100.0

enum { OPTION_THRESHOLD = SPAN_OPTIONS_END };

/* What is compared, and in which order --json and tables name it. */
enum what { TYPE, SPAN, FIELD };

static const char *const what_names[] = { [TYPE] = "type", [SPAN] = "span", [FIELD] = "field" };

/* What of it differs most. */
struct change {
	enum what what;
	char *name;
	const char *measure;
	double a, b;    /* ns, if durations */
	bool durations;
	double size;    /* absolute logarithm of b / a; infinite: new or gone */
};

static struct {
	struct match *match;
	struct spans spans; /* of the options */
	double threshold;
	size_t lines;
	bool json, no_pager;
	const char *colour;
} options = { .threshold = THRESHOLD_DEFAULT, .lines = LINES_DEFAULT, .colour = "auto" };

static struct side sides[2];
static struct change *changes;
static size_t count, room;

static const struct option_row option_rows[] = {
	OPTION(OPTION_THRESHOLD, "threshold", "PERCENT", "do not show changes of less than PERCENT (default 10)"),
	OPTION('n', "lines", "N", "at most N lines (default 20); 0: all"),
	OPTION_FLAG(OPTION_JSON, "json", &options.json, "print all changes as one JSON object"),
	OPTION_ROW_COLOR,
	OPTION_ROW_NO_PAGER,
	SPAN_ROWS("also compare the time"),
	OPTION_HEADING("Which events:"),
	MATCH_ROWS,
	{ 0 },
};

/* -- Arguments ----------------------------------------------------------------------------------- */

static void take(int option, const char *argument)
{
	switch (option) {
	case OPTION_THRESHOLD:
		options.threshold = argument_decimal("--threshold", argument);
		break;
	case 'n':
		options.lines = (size_t)argument_number("--lines", argument, 0, INT_MAX);
		break;
	case OPTION_COLOR:
		options.colour = argument;
		break;
	case OPTION_NO_PAGER:
		options.no_pager = true;
		break;
	default:
		if (!span_option(&options.spans, option, argument))
			match_option(options.match, option, argument);
		break;
	}
}

static void take_all(int argc, char **argv)
{
	int c;

	options.match = match_new();
	while ((c = next_option(argc, argv)) != -1)
		take(c, optarg);
	match_hide_system(options.match);
	display_colours(options.colour);
	if (argc - optind != 2)
		wrong_usage("two logs are compared: A, and then B");
	if (strcmp(argv[optind], "-") == 0 && strcmp(argv[optind + 1], "-") == 0)
		wrong_usage("standard input is one log only");
}

/* Gives both sides the same spans, in the same order: those of the options, and the pairs of any log. */
static void share_spans(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct spans *spans = &sides[i].spans;

		spans->scope = options.spans.scope;
		spans->nested = options.spans.nested;
		for (unsigned k = 0; k < options.spans.count; k++) {
			char text[2 * TRACE_EVENT_NAME_MAX * 2 + 2], *to = text;
			const char *both[] = { options.spans.span[k]->begin, options.spans.span[k]->end };

			for (unsigned end = 0; end < 2; end++) {
				for (const char *p = both[end]; *p && to < text + sizeof text - 4; p++) {
					if (*p == ',')
						*to++ = '\\';
					*to++ = *p;
				}
				*to++ = end ? 0 : ',';
			}
			span_add(spans, text);
		}
		pairs_add(spans, &sides[0].logs, false);
		pairs_add(spans, &sides[1].logs, false);
	}
}

/* -- Changes ------------------------------------------------------------------------------------- */

/* Returns how large a change is, or -1 if it is below the threshold. */
static double size_of(double a, double b)
{
	if (a == b || isnan(a) || isnan(b))
		return -1;
	if (a == 0 || b == 0 || (a < 0) != (b < 0))
		return INFINITY;
	return 100 * fabs(b - a) / fabs(a) < options.threshold ? -1 : fabs(log(b / a));
}

static void add(struct change change)
{
	if (count == room) {
		room = room ? 2 * room : 64;
		changes = realloc(changes, room * sizeof *changes);
		if (!changes)
			fail("no memory");
	}
	changes[count++] = change;
}

static char *copy(const char *name)
{
	char *text = strdup(name);

	if (!text)
		fail("no memory");
	return text;
}

/* Adds an event type of side a, or b, or both. */
static void compare_type(const char *name, const struct side_type *a, const struct side_type *b)
{
	struct change c = { .what = TYPE, .measure = "events", .a = a ? (double)a->events : 0,
	                    .b = b ? (double)b->events : 0 };

	if (c.a > 0 && c.b > 0) {
		if (c.a < EVENTS_LEAST && c.b < EVENTS_LEAST)
			return;
		if (sides[0].seconds > 0 && sides[1].seconds > 0) {
			c.measure = "per second";
			c.a /= sides[0].seconds;
			c.b /= sides[1].seconds;
		}
	}
	c.size = size_of(c.a, c.b);
	if (c.size < 0)
		return;
	c.name = copy(name);
	add(c);
}

/* The percentiles that are compared, each with the number of values that make it more than chance. */
static const struct percent {
	double percent;
	uint64_t least;
	const char *name;
} percents[] = { { 50, 10, "50%" }, { 90, 50, "90%" }, { 99, 500, "99%" } };

/* Takes the measure if it differs more than the one before. */
static void largest(struct change *most, const char *measure, double a, double b)
{
	double size = size_of(a, b);

	/* A value that becomes 0 is neither new nor gone. */
	if (most->what != TYPE && isinf(size) && strchr(measure, '%'))
		size = SIZE_ZERO;
	if (size <= most->size)
		return;
	most->measure = measure;
	most->a = a;
	most->b = b;
	most->size = size;
}

static void compare_spans(const struct span *a, const struct span *b)
{
	const struct histogram *before = &a->durations, *after = &b->durations;
	struct change c = { .what = SPAN, .size = -1, .durations = true };

	if ((before->count == 0) != (after->count == 0)) {
		c.durations = false;
		largest(&c, "number", (double)before->count, (double)after->count);
	}
	for (unsigned i = 0; i < sizeof percents / sizeof percents[0]; i++)
		if (before->count >= percents[i].least && after->count >= percents[i].least)
			largest(&c, percents[i].name, (double)histogram_percentile(before, percents[i].percent),
			        (double)histogram_percentile(after, percents[i].percent));
	if (c.size < 0)
		return;
	if ((a->begin ? asprintf(&c.name, "%s, %s", a->begin, a->end) : asprintf(&c.name, "%s", a->name)) < 0)
		fail("no memory");
	add(c);
}

static void compare_spreads(const char *type, const char *field, const struct spread *a, const struct spread *b)
{
	struct change c = { .what = FIELD, .size = -1 };

	for (unsigned i = 0; i < sizeof percents / sizeof percents[0]; i++)
		if (a->count >= percents[i].least && b->count >= percents[i].least)
			largest(&c, percents[i].name, spread_percentile(a, percents[i].percent),
			        spread_percentile(b, percents[i].percent));
	if (c.size < 0)
		return;
	c.durations = a->dimension == DIMENSION_TIME && b->dimension == DIMENSION_TIME;
	if (asprintf(&c.name, "%s %s", type, field) < 0)
		fail("no memory");
	add(c);
}

/* Adds a field that only one side has declared, in events that both have. */
static void add_field(const char *type, const char *field, bool is_new, uint64_t values)
{
	struct change c = { .what = FIELD, .measure = "values", .size = INFINITY };

	c.a = is_new ? 0 : (double)values;
	c.b = is_new ? (double)values : 0;
	if (asprintf(&c.name, "%s %s", type, field) < 0)
		fail("no memory");
	add(c);
}

/* Returns how the field of this name is spread in a type, or null. */
static const struct spread *spread_of(const struct side_type *t, const char *field)
{
	for (unsigned i = 0; t->field && i < t->layout->count; i++)
		if (side_is_number(&t->layout->field[i]) && strcmp(t->layout->field[i].name, field) == 0)
			return &t->field[i];
	return NULL;
}

/* Compares the fields of a type that have numbers. */
static void compare_fields(const struct side_type *a, const struct side_type *b)
{
	for (unsigned i = 0; a->field && i < a->layout->count; i++) {
		const char *name = a->layout->field[i].name;
		const struct spread *other = spread_of(b, name);

		if (!side_is_number(&a->layout->field[i]))
			continue;
		if (other)
			compare_spreads(a->name, name, &a->field[i], other);
		else if (a->field[i].count)
			add_field(a->name, name, false, a->field[i].count);
	}
	for (unsigned i = 0; b->field && i < b->layout->count; i++)
		if (side_is_number(&b->layout->field[i]) && b->field[i].count &&
		    !spread_of(a, b->layout->field[i].name))
			add_field(b->name, b->layout->field[i].name, true, b->field[i].count);
}

static int by_size(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	int c = (a->size < b->size) - (a->size > b->size);

	if (c == 0)
		c = (int)a->what - (int)b->what;
	return c ? c : strcmp(a->name, b->name);
}

static void compare(void)
{
	for (unsigned i = 0; i < sides[0].types; i++) {
		const struct side_type *a = &sides[0].type[i], *b = side_find(&sides[1], a->name);

		compare_type(a->name, a, b);
		if (b && a->events && b->events)
			compare_fields(a, b);
	}
	for (unsigned i = 0; i < sides[1].types; i++)
		if (!side_find(&sides[0], sides[1].type[i].name))
			compare_type(sides[1].type[i].name, NULL, &sides[1].type[i]);
	for (unsigned i = 0; i < sides[0].spans.count && i < sides[1].spans.count; i++)
		compare_spans(sides[0].spans.span[i], sides[1].spans.span[i]);
	if (count)
		qsort(changes, count, sizeof *changes, by_size);
}

/* -- Results ------------------------------------------------------------------------------------- */

static const char *kind(const struct change *c)
{
	if (isinf(c->size))
		return c->a == 0 ? "new" : "gone";
	return c->b > c->a ? "more" : "less";
}

static void cell_number(struct table *t, const struct change *c, double value)
{
	struct spread s = { .dimension = c->durations ? DIMENSION_TIME : DIMENSION_NONE };
	char text[SPREAD_TEXT];

	table_cell(t, "%s", spread_text(text, &s, value));
}

static void cell_change(struct table *t, const struct change *c)
{
	double percent = 100 * (c->b - c->a) / fabs(c->a);

	if (c->a == 0 || isinf(c->size))
		table_cell(t, "%s", kind(c));
	else if (percent >= 1000)
		table_cell(t, "x %.0f", c->b / c->a);
	else
		table_cell(t, fabs(percent) < 9.95 ? "%+.1f%%" : "%+.0f%%", percent);
}

static void print_side(char name, const struct side *side)
{
	const struct source *s = &side->logs.source[0];
	struct missing_part part[MISSING_PARTS];
	char text[32];
	unsigned n;

	out_printf("%c  ", name);
	out_foreign(s->path, strlen(s->path), 0);
	out_printf(": %llu events in %s", (unsigned long long)side->events,
	           moment_duration(text, side->last - side->first));
	n = missing_describe(&side->about.missing, part);
	for (unsigned i = 0; i < n; i++) {
		display_colour(part[i].bad ? RED : PLAIN);
		out_printf(", %s", part[i].text);
		display_colour(PLAIN);
	}
	out_char('\n');
}

static void print(void)
{
	size_t shown = options.lines && options.lines < count ? options.lines : count;
	struct table *t = table_new(">change", ">A", ">B", "<measure", "<of", "<name", NULL);

	if (!options.no_pager)
		display_pager();
	print_side('A', &sides[0]);
	print_side('B', &sides[1]);
	if (count == 0) {
		out_printf("no change of %.10g%% or more\n", options.threshold);
		return;
	}
	out_char('\n');
	for (size_t i = 0; i < shown; i++) {
		const struct change *c = &changes[i];

		cell_change(t, c);
		cell_number(t, c, c->a);
		cell_number(t, c, c->b);
		table_cell(t, "%s", c->measure);
		table_cell(t, "%s", what_names[c->what]);
		table_foreign(t, c->name, strlen(c->name));
	}
	table_print(t, 0);
	if (shown < count)
		out_printf("... and %zu more, with --lines 0\n", count - shown);
	table_free(t);
}

static void json_side(const char *key, const struct side *side)
{
	json_key(key);
	json_begin('{');
	json_key("file");
	json_string(side->logs.source[0].path);
	json_key("events");
	json_number(side->events);
	json_key("seconds");
	json_real(side->seconds);
	json_key("lost");
	json_number(side->about.missing.lost);
	json_key("unwritten");
	json_number(side->about.missing.unwritten);
	json_key("damaged");
	json_number(side->about.missing.damaged);
	json_key("discarded");
	json_number(side->about.missing.discarded);
	json_key("overwritten");
	json_number(side->about.missing.overwritten);
	json_end('}');
}

static void print_json(void)
{
	json_begin('{');
	json_side("a", &sides[0]);
	json_side("b", &sides[1]);
	json_key("changes");
	json_begin('[');
	for (size_t i = 0; i < count; i++) {
		const struct change *c = &changes[i];

		json_begin('{');
		json_key("of");
		json_string(what_names[c->what]);
		json_key("name");
		json_string(c->name);
		json_key("change");
		json_string(kind(c));
		json_key("measure");
		json_string(c->measure);
		json_key("a");
		json_real(c->a);
		json_key("b");
		json_real(c->b);
		json_key("percent");
		if (c->a == 0)
			json_null();
		else
			json_real(100 * (c->b - c->a) / fabs(c->a));
		json_end('}');
	}
	json_end(']');
	json_end('}');
	json_done();
}

static int diff(int argc, char **argv)
{
	struct sources both;

	take_all(argc, argv);
	side_open(&sides[0], options.match, argv[optind]);
	side_open(&sides[1], options.match, argv[optind + 1]);
	/* A name that only one of the logs has is a difference. */
	both = (struct sources){ .count = 2, .begin = sides[0].logs.begin,
	                         .source = calloc(2, sizeof *both.source) };
	if (!both.source)
		fail("no memory");
	both.source[0] = sides[0].logs.source[0];
	both.source[1] = sides[1].logs.source[0];
	sources_declared(&both);
	if (nothing_matches(&both, options.match, &options.spans))
		return STATUS_USAGE;
	share_spans();
	side_read(&sides[0]);
	side_read(&sides[1]);
	if (match_given(options.match) && sides[0].events + sides[1].events == 0) {
		nothing_wanted(&both);
		return STATUS_USAGE;
	}
	compare();
	if (options.json)
		print_json();
	else
		print();
	out_flush();
	sources_close(&both);
	return count ? STATUS_FAILED : STATUS_DONE;
}

const struct command command_diff = {
	.name = "diff",
	.summary = "compare two logs: what is new, gone, or slower",
	.synopsis = "[options] A B",
	.about = "Compares the log B with the log A: the rates of event types, the percentiles of spans, which are "
	         "found by the names of event types, and those of fields that are numbers. - is standard input.",
	.options = option_rows,
	.ending = "The exit status is 0 if nothing has changed by the threshold or more, 1 if something has, 2 after "
	          "an error.",
	.operand = "FILE",
	.run = diff,
	.failed = STATUS_USAGE,
};
