/*
 * profile.c - posixtrace stat --profile: in which functions threads run, or wait
 *
 * SPDX-License-Identifier: MIT
 */
#include "stat/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/samples.h"
#include "common/display.h"
#include "common/json.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/out.h"
#include "common/table.h"

static const struct profile *options;

/* -- Order --------------------------------------------------------------------------------------- */

static uint64_t rank(const struct samples_function *f, unsigned level)
{
	bool self = (options->order == PROFILE_BY_SELF) == (level == 0);

	return self ? f->self : f->total;
}

static int compare(const void *a, const void *b)
{
	const struct samples_function *one = *(struct samples_function *const *)a;
	const struct samples_function *other = *(struct samples_function *const *)b;
	int order = 0;

	for (unsigned level = 0; level < 2 && order == 0 && options->order != PROFILE_BY_NAME; level++)
		order = (rank(one, level) < rank(other, level)) - (rank(one, level) > rank(other, level));
	if (order == 0)
		order = strcmp(one->name, other->name);
	return options->table.reverse ? -order : order;
}

/* A thread that has stacks, and their weight. */
struct row {
	const struct task *thread;
	const char *name;
	uint64_t weight;
};

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->weight != y->weight ? (x->weight < y->weight) - (x->weight > y->weight) :
	       x->thread->number < y->thread->number ? -1 : 1;
}

/* Returns the threads, the one with the greatest weight first; to be freed. */
static struct row *threads_of(struct samples *s, size_t *count)
{
	struct row *rows = calloc(s->nodes + 1, sizeof *rows);

	if (!rows)
		fail("no memory");
	*count = 0;
	for (size_t i = 0; i < s->nodes; i++) {
		const struct samples_node *n = s->node[i];
		size_t k = 0;

		if (n->parent)
			continue;
		while (k < *count && rows[k].thread != n->thread)
			k++;
		*count += k == *count;
		rows[k].thread = n->thread;
		rows[k].name = n->name;
		rows[k].weight += n->total;
	}
	if (*count)
		qsort(rows, *count, sizeof *rows, compare_rows);
	return rows;
}

/* -- Tables ----------------------------------------------------------------------------------------- */

static void cell(struct table *t, uint64_t weight)
{
	char text[32];

	if (options->off_cpu)
		table_cell(t, "%s", moment_duration(text, weight));
	else
		table_cell(t, "%llu", (unsigned long long)weight);
}

static void cell_percent(struct table *t, uint64_t weight, uint64_t all)
{
	table_cell(t, "%.1f", all ? 100.0 * (double)weight / (double)all : 0.0);
}

static bool has_weight(const struct samples_function *f)
{
	return f->self || f->total || f->ready;
}

static void print_functions(const struct samples *s, uint64_t all)
{
	struct table *t = options->off_cpu ?
		table_new(">self", ">%", ">total", ">%", ">ready", "<function", "<file", (char *)NULL) :
		table_new(">self", ">%", ">total", ">%", "<function", "<file", (char *)NULL);
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < s->functions; i++) {
		const struct samples_function *f = s->function[i];
		const char *image = f->in_kernel ? *f->name == '[' ? "" : "[kernel]" : f->image ? f->image : "";

		if (!has_weight(f))
			continue;
		if (options->table.lines && shown == options->table.lines) {
			more++;
			continue;
		}
		shown++;
		cell(t, f->self);
		cell_percent(t, f->self, all);
		cell(t, f->total);
		cell_percent(t, f->total, all);
		if (options->off_cpu)
			cell(t, f->ready);
		table_foreign(t, f->name, strlen(f->name));
		table_foreign(t, image, strlen(image));
	}
	table_print(t, 0);
	table_free(t);
	if (more)
		out_printf("and %zu other functions: --lines 0 shows all\n", more);
}

static void print_head(const struct samples *s, uint64_t weight, const struct row *thread)
{
	char text[32];

	display_colour(BOLD);
	if (options->off_cpu)
		out_printf("%s off the processor", moment_duration(text, weight));
	else
		out_printf("%llu sample%s", (unsigned long long)weight, weight == 1 ? "" : "s");
	if (thread) {
		out_printf(" of ");
		out_foreign(thread->name, strlen(thread->name), 0);
		out_printf("/%u", thread->thread->tid);
	} else if (options->off_cpu && s->ready) {
		out_printf(", and %s ready to run", moment_duration(text, s->ready));
	}
	display_colour(PLAIN);
	if (!thread && s->cut)
		out_printf("; of %llu stack%s the outermost functions are missing", (unsigned long long)s->cut,
		           s->cut == 1 ? "" : "s");
	out_char('\n');
}

static void print(struct samples *s)
{
	struct row *rows;
	size_t count;

	if (!options->per_thread) {
		uint64_t all = samples_sum(s, NULL);

		if (s->functions)
			qsort(s->function, s->functions, sizeof(struct samples_function *), compare);
		print_head(s, all, NULL);
		print_functions(s, all);
		return;
	}
	rows = threads_of(s, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t all = samples_sum(s, rows[i].thread);

		if (s->functions)
			qsort(s->function, s->functions, sizeof(struct samples_function *), compare);
		if (i > 0)
			out_char('\n');
		print_head(s, all, &rows[i]);
		print_functions(s, all);
	}
	free(rows);
}

/* -- For programs ------------------------------------------------------------------------------------- */

static void put_number(const char *key, uint64_t value)
{
	json_key(key);
	json_number(value);
}

static void put_functions(struct samples *s)
{
	if (s->functions)
		qsort(s->function, s->functions, sizeof(struct samples_function *), compare);
	json_key("functions");
	json_begin('[');
	for (size_t i = 0; i < s->functions; i++) {
		const struct samples_function *f = s->function[i];

		if (!has_weight(f))
			continue;
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
		}
		json_key("kernel");
		json_bool(f->in_kernel);
		put_number("self", f->self);
		put_number("total", f->total);
		if (options->off_cpu)
			put_number("ready", f->ready);
		json_end('}');
	}
	json_end(']');
}

static void print_json(struct samples *s)
{
	size_t count;
	struct row *rows = threads_of(s, &count);

	json_begin('{');
	json_key("unit");
	json_string(options->off_cpu ? "ns" : "samples");
	put_number("stacks", s->stacks);
	put_number("cut", s->cut);
	put_number("weight", s->weight);
	if (options->off_cpu)
		put_number("ready", s->ready);
	samples_sum(s, NULL);
	put_functions(s);
	json_key("threads");
	json_begin('[');
	for (size_t i = 0; i < count; i++) {
		json_begin('{');
		put_number("pid", rows[i].thread->pid);
		put_number("tid", rows[i].thread->tid);
		json_key("name");
		json_string(rows[i].name);
		put_number("weight", rows[i].weight);
		if (options->per_thread) {
			samples_sum(s, rows[i].thread);
			put_functions(s);
		}
		json_end('}');
	}
	json_end(']');
	json_end('}');
	json_done();
	free(rows);
}

/* -- All --------------------------------------------------------------------------------------------- */

bool profile(const struct profile *given, int number, char **paths)
{
	static struct samples samples;
	struct sources logs;
	struct source *source;

	options = given;
	sources_open(&logs, given->table.match, false, number, paths);
	sources_declared(&logs);
	samples_symbols(&logs);
	sources_rewind(&logs);
	samples_begin(&samples, &logs, given->off_cpu ? SAMPLES_OFF : SAMPLES_ON);
	while ((source = sources_oldest(&logs)) != NULL) {
		if (source_wanted(source))
			samples_event(&samples, source);
		source_advance(source);
	}
	samples_finish(&samples);
	sources_close(&logs);
	if (!samples.stacks) {
		complain("no %s: record with %s, or select more events",
		         given->off_cpu ? "stacks of threads that wait" : "samples",
		         given->off_cpu ? "--off-cpu, as root" : "--sample 999");
		return false;
	}
	given->table.json ? print_json(&samples) : print(&samples);
	return true;
}
