/*
 * callstat.c - posixtrace stat --calls and --call-tree: what functions cost
 *
 * SPDX-License-Identifier: MIT
 */
#include "stat/callstat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls.h"
#include "common/display.h"
#include "common/json.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/out.h"
#include "common/table.h"

#define DURATION 32

static const double percents[] = { 50, 90, 99 };

#define PERCENTS (sizeof percents / sizeof percents[0])

static const struct callstat *options;

/* -- Orders --------------------------------------------------------------------------------------------- */

static double rank(const struct calls_function *f)
{
	switch (options->order) {
	case CALLS_BY_TOTAL:
		return (double)f->total;
	case CALLS_BY_CALLS:
		return (double)f->calls;
	case CALLS_BY_MEAN:
		return histogram_mean(&f->durations);
	case CALLS_BY_MAX:
		return (double)f->durations.most;
	default:
		return (double)f->self;
	}
}

static int compare(const void *a, const void *b)
{
	const struct calls_function *one = *(struct calls_function *const *)a;
	const struct calls_function *other = *(struct calls_function *const *)b;
	double x = rank(one), y = rank(other);
	int order = options->order == CALLS_BY_NAME || x == y ? strcmp(one->name, other->name) : (x < y) - (x > y);

	return options->table.reverse ? -order : order;
}

/* -- The table of functions -------------------------------------------------------------------------------- */

static void cell(struct table *t, uint64_t ns)
{
	char text[DURATION];

	table_cell(t, "%s", moment_duration(text, ns));
}

static void print_functions(const struct calls *c)
{
	struct table *t = table_new(">calls", ">total", ">self", ">mean", ">50%", ">90%", ">99%", ">max", "<function",
	                            (char *)NULL);
	size_t most = options->table.lines, lines = most && most < c->functions ? most : c->functions;

	for (size_t i = 0; i < lines; i++) {
		const struct calls_function *f = c->function[i];

		table_cell(t, "%llu", (unsigned long long)f->calls);
		cell(t, f->total);
		cell(t, f->self);
		cell(t, (uint64_t)(histogram_mean(&f->durations) + 0.5));
		for (unsigned k = 0; k < PERCENTS; k++)
			cell(t, histogram_percentile(&f->durations, percents[k]));
		cell(t, f->durations.most);
		table_foreign(t, f->name, strlen(f->name));
	}
	table_print(t, 0);
	table_free(t);
	if (lines < c->functions)
		out_printf("and %zu other functions: --lines 0 shows all\n", c->functions - lines);
}

/* -- The tree ------------------------------------------------------------------------------------------------ */

static uint64_t tree_total(const struct calls_node *n)
{
	uint64_t total = n->total;

	if (!n->function)
		for (const struct calls_node *k = n->child; k; k = k->next)
			total += tree_total(k);
	return total;
}

static int compare_nodes(const void *a, const void *b)
{
	const struct calls_node *one = *(struct calls_node *const *)a, *other = *(struct calls_node *const *)b;
	uint64_t x = tree_total(one), y = tree_total(other);

	return x == y ? (one->number > other->number) - (one->number < other->number) : (x < y) - (x > y);
}

/* Returns the nodes below a node, those with the most time first; the caller frees the list. */
static struct calls_node **children(const struct calls_node *n, size_t *count)
{
	struct calls_node **list;
	size_t i = 0;

	*count = 0;
	for (const struct calls_node *k = n->child; k; k = k->next)
		++*count;
	list = malloc((*count + 1) * sizeof(struct calls_node *));
	if (!list)
		fail("no memory");
	for (struct calls_node *k = n->child; k; k = k->next)
		list[i++] = k;
	qsort(list, *count, sizeof(struct calls_node *), compare_nodes);
	return list;
}

/* A list of nodes that is being gone through. */
struct level {
	struct calls_node **list;
	size_t count, at;
};

/*
 * Calls enter for each node before those below it, and leave after them. Recursion of the traced program may be deeper
 * than the stack of this one, so this function does not call itself.
 */
static void walk(const struct calls *c, void (*enter)(const struct calls_node *n, size_t depth, void *arg),
                 void (*leave)(void *arg), void *arg)
{
	size_t depth = 0, room = 64;
	struct level *level = malloc(room * sizeof *level);

	if (!level)
		fail("no memory");
	level[0].at = 0;
	level[0].list = children(&c->root, &level[0].count);
	for (;;) {
		struct level *l = &level[depth];
		const struct calls_node *n;

		if (l->at == l->count) {
			free(l->list);
			if (depth-- == 0)
				break;
			leave(arg);
			continue;
		}
		n = l->list[l->at++];
		enter(n, depth, arg);
		if (++depth == room) {
			room *= 2;
			level = realloc(level, room * sizeof *level);
			if (!level)
				fail("no memory");
		}
		level[depth].at = 0;
		level[depth].list = children(n, &level[depth].count);
	}
	free(level);
}

struct printed {
	struct table *table;
	size_t lines, left_out;
};

/* Deeper functions are all indented like this one: the lines would be longer than any screen. */
#define INDENT_MAX 60

static void print_node(const struct calls_node *n, size_t depth, void *arg)
{
	struct printed *p = arg;
	char *text;

	if (options->table.lines && p->lines == options->table.lines) {
		p->left_out++;
		return;
	}
	p->lines++;
	cell(p->table, n->total);
	cell(p->table, n->self);
	table_cell(p->table, "%llu", (unsigned long long)n->calls);
	if (asprintf(&text, "%*s%s", (int)(2 * (depth < INDENT_MAX ? depth : INDENT_MAX)), "", n->function->name) < 0)
		fail("no memory");
	table_foreign(p->table, text, strlen(text));
	free(text);
}

static void after_node(void *arg)
{
	(void)arg;
}

static void print_tree(const struct calls *c)
{
	struct printed p = { .table = table_new(">total", ">self", ">calls", "<function", (char *)NULL) };

	walk(c, print_node, after_node, &p);
	table_print(p.table, 0);
	table_free(p.table);
	if (p.left_out)
		out_printf("and %zu other lines: --lines 0 shows all\n", p.left_out);
}

/* -- For programs ------------------------------------------------------------------------------------------- */

static void put_number(const char *key, uint64_t value)
{
	json_key(key);
	json_number(value);
}

static void put_function(const struct calls_function *f)
{
	json_begin('{');
	json_key("name");
	json_string(f->name);
	if (f->image) {
		json_key("image");
		json_string(f->image);
	}
	if (f->source) {
		json_key("source");
		json_string(f->source);
		put_number("line", f->line);
	}
	put_number("calls", f->calls);
	put_number("total", f->total);
	put_number("self", f->self);
	put_number("min", f->durations.least);
	json_key("mean");
	json_real(histogram_mean(&f->durations));
	put_number("max", f->durations.most);
	json_key("percentiles");
	json_begin('{');
	for (unsigned k = 0; k < PERCENTS; k++) {
		char key[16];

		snprintf(key, sizeof key, "%g", percents[k]);
		put_number(key, histogram_percentile(&f->durations, percents[k]));
	}
	json_end('}');
	json_end('}');
}

/* A list of nodes, because readers of JSON limit how deep objects may be in others. */
static void put_node(const struct calls_node *n, size_t depth, void *arg)
{
	(void)arg;
	json_begin('{');
	put_number("id", n->number);
	if (n->parent && n->parent->number)
		put_number("parent", n->parent->number);
	put_number("depth", depth);
	json_key("name");
	json_string(n->function->name);
	put_number("calls", n->calls);
	put_number("total", n->total);
	put_number("self", n->self);
	json_end('}');
}

static void print_json(const struct calls *c)
{
	json_begin('{');
	if (options->calls) {
		json_key("functions");
		json_begin('[');
		for (size_t i = 0; i < c->functions; i++)
			put_function(c->function[i]);
		json_end(']');
	}
	if (options->tree) {
		json_key("tree");
		json_begin('[');
		walk(c, put_node, after_node, NULL);
		json_end(']');
	}
	put_number("open", c->open);
	put_number("no_begin", c->no_begin);
	json_end('}');
	json_done();
}

/* -- All --------------------------------------------------------------------------------------------------- */

static void read_all(struct calls *c, struct sources *logs)
{
	struct source *s;

	sources_rewind(logs);
	calls_begin(c, logs, false);
	while ((s = sources_oldest(logs)) != NULL) {
		if (source_tells_of_loss(s)) {
			struct loss loss = source_take_loss(s);

			calls_cut(c, s, loss.from);
			continue;
		}
		if (s->event->id == POSIX_TRACE_START)
			calls_cut(c, s, s->event->time);
		else if (source_wanted(s))
			calls_event(c, s);
		source_advance(s);
	}
	calls_finish(c);
}

static void print(const struct calls *c)
{
	if (options->calls)
		print_functions(c);
	if (options->calls && options->tree)
		out_char('\n');
	if (options->tree)
		print_tree(c);
	if (c->open)
		out_printf("%llu calls have no end: the log ends, or events are missing\n",
		           (unsigned long long)c->open);
	if (c->no_begin)
		out_printf("%llu ends have no call: it was before the recording, or events are missing\n",
		           (unsigned long long)c->no_begin);
}

bool callstat(const struct callstat *given, int number, char **paths)
{
	static struct calls calls;
	struct sources logs;

	options = given;
	sources_open(&logs, given->table.match, true, number, paths);
	sources_declared(&logs);
	read_all(&calls, &logs);
	sources_close(&logs);
	if (calls.events == 0) {
		complain(calls.recorded ?
		         "no calls of functions: recorded with --functions, but its patterns, -e or --where select "
		         "none, or the program was not built with -finstrument-functions" :
		         "no calls of functions: build the program with -finstrument-functions, and record it with "
		         "--functions");
		return false;
	}
	/* There may be only ends. */
	if (calls.functions)
		qsort(calls.function, calls.functions, sizeof(struct calls_function *), compare);
	given->table.json ? print_json(&calls) : print(&calls);
	return true;
}
