/*
 * memstat.c - posixtrace stat --memory: what is not freed, the peak, and who allocates
 *
 * SPDX-License-Identifier: MIT
 */
#include "stat/memstat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/heap.h"
#include "common/bytes.h"
#include "common/display.h"
#include "common/json.h"
#include "common/message.h"
#include "common/out.h"
#include "common/table.h"
#include "logs/missing.h"
#include "logs/tasks.h"

static const struct memstat *options;

/* -- Orders --------------------------------------------------------------------------------------------- */

static int descending(uint64_t x, uint64_t y)
{
	return (x < y) - (x > y);
}

static int in_order(int order)
{
	return options->table.reverse ? -order : order;
}

static int by_left(const void *a, const void *b)
{
	const struct heap_caller *one = *(struct heap_caller *const *)a, *other = *(struct heap_caller *const *)b;
	int order = descending(one->left.bytes, other->left.bytes);

	if (order == 0)
		order = descending(one->left.blocks, other->left.blocks);
	return in_order(order ? order : strcmp(one->text, other->text));
}

static int by_allocated(const void *a, const void *b)
{
	const struct heap_caller *one = *(struct heap_caller *const *)a, *other = *(struct heap_caller *const *)b;
	int order = 0;

	if (options->order == MEMORY_BY_CALLS)
		order = descending(one->allocated.blocks, other->allocated.blocks);
	else if (options->order == MEMORY_BY_BYTES)
		order = descending(one->allocated.bytes, other->allocated.bytes);
	return in_order(order ? order : strcmp(one->text, other->text));
}

static int by_peak(const void *a, const void *b)
{
	const struct heap_share *one = a, *other = b;
	int order = descending(one->peak.bytes, other->peak.bytes);

	if (order == 0)
		order = descending(one->peak.blocks, other->peak.blocks);
	return in_order(order ? order : strcmp(one->caller->text, other->caller->text));
}

/* The process with the highest peak is first, also in reverse order: it is the one whose callers are printed. */
static int by_process_peak(const void *a, const void *b)
{
	const struct heap_process *one = *(struct heap_process *const *)a, *other = *(struct heap_process *const *)b;
	int order = descending(one->peak.bytes, other->peak.bytes);

	return order ? order : (one->first > other->first) - (one->first < other->first);
}

/* -- Tables --------------------------------------------------------------------------------------------- */

static void cell_number(struct table *t, uint64_t n)
{
	table_cell(t, "%llu", (unsigned long long)n);
}

static void cell_bytes(struct table *t, uint64_t bytes)
{
	char text[16];

	table_cell(t, "%s", bytes_text(text, bytes));
}

static void cell_text(struct table *t, const char *text)
{
	table_foreign(t, text, strlen(text));
}

static size_t lines_of(size_t rows)
{
	return options->table.lines && options->table.lines < rows ? options->table.lines : rows;
}

static void print_table(struct table *t, size_t rows, const char *what)
{
	table_print(t, 0);
	table_free(t);
	if (lines_of(rows) < rows)
		out_printf("and %zu other %s: --lines 0 shows all\n", rows - lines_of(rows), what);
}

static bool some_inherit(const struct heap *h)
{
	for (size_t i = 0; i < h->processes; i++)
		if (h->process[i]->inherited.blocks)
			return true;
	return false;
}

static char *process_name(char text[40], const struct heap_process *p)
{
	snprintf(text, 40, "%.*s/%u", (int)sizeof p->name, p->name[0] ? p->name : "?", p->pid);
	return text;
}

static void print_processes(const struct heap *h)
{
	struct table *t = table_new(">allocations", ">bytes", ">temporary", ">frees", ">peak", ">at", ">not freed",
	                            ">blocks", (char *)NULL);
	bool inherit = some_inherit(h);
	char text[40];

	if (inherit)
		table_column(t, ">inherited");
	if (inherit)
		table_column(t, ">of these freed");
	table_column(t, "<process");
	for (size_t i = 0; i < lines_of(h->processes); i++) {
		const struct heap_process *p = h->process[i];

		cell_number(t, p->allocated.blocks);
		cell_bytes(t, p->allocated.bytes);
		cell_number(t, p->temporary);
		cell_number(t, p->freed.blocks);
		cell_bytes(t, p->peak.bytes);
		if (p->peak_time)
			table_seconds(t, p->peak_time, h->logs->begin, 6);
		else
			table_cell(t, "%s", "");
		cell_bytes(t, p->left.bytes);
		cell_number(t, p->left.blocks);
		if (inherit)
			cell_number(t, p->inherited.blocks);
		if (inherit)
			cell_number(t, p->inherited_freed);
		cell_text(t, process_name(text, p));
	}
	print_table(t, h->processes, "processes");
}

static void print_left(const struct heap *h)
{
	struct table *t;
	size_t rows = 0;

	if (h->callers)
		qsort(h->caller, h->callers, sizeof(struct heap_caller *), by_left);
	for (size_t i = 0; i < h->callers; i++)
		rows += h->caller[i]->left.blocks > 0;
	if (rows == 0) {
		out_text("\neverything is freed\n");
		return;
	}
	out_char('\n');
	t = table_new(">not freed", ">blocks", "<caller", (char *)NULL);
	for (size_t i = 0, line = 0; i < h->callers && line < lines_of(rows); i++) {
		const struct heap_caller *c = h->caller[i];

		if (c->left.blocks == 0)
			continue;
		cell_bytes(t, c->left.bytes);
		cell_number(t, c->left.blocks);
		cell_text(t, c->text);
		line++;
	}
	print_table(t, rows, "callers");
}

static void print_peak(const struct heap *h, struct heap_process *p)
{
	struct table *t;
	size_t rows = 0;
	char text[40];

	if (p->shares)
		qsort(p->share, p->shares, sizeof *p->share, by_peak);
	for (unsigned i = 0; i < p->shares; i++)
		rows += p->share[i].peak.blocks > 0;
	if (rows == 0)
		return;
	out_char('\n');
	if (h->processes > 1) {
		process_name(text, p);
		out_text("at the peak of ");
		out_foreign(text, strlen(text), 0);
		out_text(":\n");
	}
	t = table_new(">at peak", ">blocks", "<caller", (char *)NULL);
	for (unsigned i = 0, line = 0; i < p->shares && line < lines_of(rows); i++) {
		const struct heap_share *share = &p->share[i];

		if (share->peak.blocks == 0)
			continue;
		cell_bytes(t, share->peak.bytes);
		cell_number(t, share->peak.blocks);
		cell_text(t, share->caller->text);
		line++;
	}
	print_table(t, rows, "callers");
}

static void print_allocated(const struct heap *h)
{
	struct table *t = table_new(">allocations", ">bytes", ">mean", ">temporary", "<caller", (char *)NULL);

	if (h->callers)
		qsort(h->caller, h->callers, sizeof(struct heap_caller *), by_allocated);
	for (size_t i = 0; i < lines_of(h->callers); i++) {
		const struct heap_caller *c = h->caller[i];

		cell_number(t, c->allocated.blocks);
		cell_bytes(t, c->allocated.bytes);
		cell_bytes(t, c->allocated.bytes / c->allocated.blocks);
		cell_number(t, c->temporary);
		cell_text(t, c->text);
	}
	out_char('\n');
	print_table(t, h->callers, "callers");
}

/* -- What is not known ------------------------------------------------------------------------------------- */

/* What is told of all processes together. */
struct doubts {
	uint64_t failed, unknown, unseen, later, torn;
};

static struct doubts doubts_of(const struct heap *h)
{
	struct doubts d = { 0 };

	for (size_t i = 0; i < h->processes; i++) {
		const struct heap_process *p = h->process[i];

		d.failed += p->failed;
		d.unknown += p->unknown;
		d.unseen += p->unseen;
		d.later += !p->whole;
		d.torn += p->torn;
	}
	return d;
}

static void print_count(uint64_t count, const char *one, const char *many)
{
	if (count)
		out_printf("%llu %s\n", (unsigned long long)count, count == 1 ? one : many);
}

static void print_missing(struct logfile *f)
{
	struct missing_part part[MISSING_PARTS];
	struct missing missing;
	unsigned parts;

	missing_find(&missing, f);
	parts = missing_describe(&missing, part);
	for (unsigned i = 0; i < parts; i++) {
		display_colour(part[i].bad ? RED : YELLOW);
		out_text(part[i].text);
		display_colour(PLAIN);
		out_text(": blocks may be missing above, and some may have been freed\n");
	}
}

static void print_doubts(const struct heap *h)
{
	struct doubts d = doubts_of(h);

	if (d.failed || d.unknown || d.unseen || d.later || d.torn)
		out_char('\n');
	print_count(d.failed, "allocation has failed", "allocations have failed");
	print_count(d.unknown, "free is of a block that was allocated before the recording, or its event is missing",
	            "frees are of blocks that were allocated before the recording, or their events are missing");
	print_count(d.unseen, "block has no free, but its address was allocated again: it does not count as not freed",
	            "blocks have no free, but their addresses were allocated again: they do not count as not freed");
	print_count(d.later, "process was not recorded from its beginning",
	            "processes were not recorded from their beginning");
	print_count(d.torn, "child may have more blocks of its parent than are known",
	            "children may have more blocks of their parents than are known");
}

/* -- For programs ------------------------------------------------------------------------------------------- */

static void put_number(const char *key, uint64_t value)
{
	json_key(key);
	json_number(value);
}

static void put_sum(const char *key, const struct heap_sum *sum)
{
	json_key(key);
	json_begin('{');
	put_number("blocks", sum->blocks);
	put_number("bytes", sum->bytes);
	json_end('}');
}

static void put_place(const struct heap_caller *c)
{
	json_key("caller");
	json_string(c->text);
	if (c->name) {
		json_key("function");
		json_string(c->name);
	}
	if (c->image) {
		json_key("image");
		json_string(c->image);
	}
	if (c->source) {
		json_key("source");
		json_string(c->source);
		put_number("line", c->line);
	}
}

static void put_caller(const struct heap_caller *c)
{
	json_begin('{');
	put_place(c);
	put_sum("allocated", &c->allocated);
	put_number("temporary", c->temporary);
	put_sum("not_freed", &c->left);
	json_end('}');
}

static void put_process(struct heap_process *p)
{
	json_begin('{');
	put_number("pid", p->pid);
	json_key("name");
	json_text(p->name, strnlen(p->name, sizeof p->name));
	json_key("from_beginning");
	json_bool(p->whole);
	json_key("calls");
	json_begin('{');
	for (unsigned i = 0; i < HEAP_CALLS; i++)
		put_number(heap_calls[i], p->calls[i]);
	json_end('}');
	put_number("failed", p->failed);
	put_sum("allocated", &p->allocated);
	put_number("temporary", p->temporary);
	put_sum("freed", &p->freed);
	put_sum("not_freed", &p->left);
	put_sum("inherited", &p->inherited);
	put_number("inherited_freed", p->inherited_freed);
	put_number("unknown_frees", p->unknown);
	put_number("unseen_frees", p->unseen);
	put_sum("peak", &p->peak);
	put_number("peak_time", p->peak_time);
	json_key("at_peak");
	json_begin('[');
	if (p->shares)
		qsort(p->share, p->shares, sizeof *p->share, by_peak);
	for (unsigned i = 0; i < p->shares; i++) {
		if (p->share[i].peak.blocks == 0)
			continue;
		json_begin('{');
		put_place(p->share[i].caller);
		put_number("blocks", p->share[i].peak.blocks);
		put_number("bytes", p->share[i].peak.bytes);
		json_end('}');
	}
	json_end(']');
	json_end('}');
}

static void print_json(const struct heap *h)
{
	uint64_t missing = 0;

	json_begin('{');
	json_key("processes");
	json_begin('[');
	for (size_t i = 0; i < h->processes; i++)
		put_process(h->process[i]);
	json_end(']');
	json_key("callers");
	json_begin('[');
	if (h->callers)
		qsort(h->caller, h->callers, sizeof(struct heap_caller *), by_left);
	for (size_t i = 0; i < h->callers; i++)
		put_caller(h->caller[i]);
	json_end(']');
	for (unsigned i = 0; i < h->logs->count; i++) {
		struct missing m;

		missing_find(&m, h->logs->source[i].file);
		missing = missing_add(missing, missing_add(missing_sum(&m), m.overwritten));
	}
	put_number("missing", missing);
	json_end('}');
	json_done();
}

/* -- All --------------------------------------------------------------------------------------------------- */

static void read_all(struct heap *h, struct sources *logs)
{
	struct source *s;

	sources_rewind(logs);
	heap_begin(h, logs);
	while ((s = sources_oldest(logs)) != NULL) {
		if (source_tells_of_loss(s)) {
			source_take_loss(s);
			continue;
		}
		/* What is freed later is not freed at the end of the selected time. */
		if (s->event->time <= match_last(s->match))
			heap_event(h, s, source_wanted(s));
		source_advance(s);
	}
	heap_finish(h);
}

static void print(const struct heap *h)
{
	print_processes(h);
	print_left(h);
	if (h->callers) {
		print_peak(h, h->process[0]);
		print_allocated(h);
	}
	print_doubts(h);
	for (unsigned i = 0; i < h->logs->count; i++)
		print_missing(h->logs->source[i].file);
}

/* Leaves out processes of which nothing is selected: they come behind the others. */
static void drop_others(struct heap *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->processes; i++) {
		struct heap_process *p = h->process[i];
		uint64_t calls = 0;

		for (unsigned k = 0; k < HEAP_CALLS; k++)
			calls += p->calls[k];
		if (calls == 0)
			continue;
		h->process[i] = h->process[kept];
		h->process[kept++] = p;
	}
	h->processes = kept;
}

bool memstat(const struct memstat *given, int number, char **paths)
{
	static struct heap heap;
	struct sources logs;

	options = given;
	sources_open(&logs, given->table.match, true, number, paths);
	sources_declared(&logs);
	read_all(&heap, &logs);
	drop_others(&heap);
	if (heap.processes == 0) {
		sources_close(&logs);
		complain(heap.events ? "no allocations that are selected" :
		                       "no allocations: record the program with --libc memory");
		return false;
	}
	if (heap.processes)
		qsort(heap.process, heap.processes, sizeof(struct heap_process *), by_process_peak);
	given->table.json ? print_json(&heap) : print(&heap);
	sources_close(&logs);
	return true;
}
