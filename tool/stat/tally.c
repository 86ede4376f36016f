/*
 * tally.c - how often something happened, with how much data, when, and how long not
 *
 * SPDX-License-Identifier: MIT
 */
#include "stat/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/out.h"
#include "common/table.h"
#include "log/crc.h"

/* In the order of the choices of --sort. */
const char *const tally_orders[TALLY_ORDERS] = {
	[BY_EVENTS] = "events", [BY_BYTES] = "bytes", [BY_FIRST] = "first", [BY_LAST] = "last", [BY_PAUSE] = "pause",
	[BY_NAME] = "name",
};

/* -- Counting ---------------------------------------------------------------------------- */

static struct tally **slot_of(const struct tally_set *set, const struct tally_key *key)
{
	unsigned i = crc32c((const unsigned char *)key, sizeof *key) & (set->slots - 1);

	while (set->slot[i] && memcmp(&set->slot[i]->key, key, sizeof *key) != 0)
		i = (i + 1) & (set->slots - 1);
	return &set->slot[i];
}

/* Grows the set before more than half of the slots are used. */
static void grow(struct tally_set *set)
{
	set->room = set->room ? 2 * set->room : 64;
	set->slots = 2 * set->room;
	free(set->slot);
	set->list = realloc(set->list, set->room * sizeof *set->list);
	set->slot = calloc(set->slots, sizeof *set->slot);
	if (!set->list || !set->slot)
		fail("no memory");
	for (unsigned i = 0; i < set->count; i++)
		*slot_of(set, &set->list[i]->key) = set->list[i];
}

struct tally *tally_find(struct tally_set *set, const struct tally_key *key)
{
	struct tally **slot;

	if (set->count == set->room)
		grow(set);
	slot = slot_of(set, key);
	if (!*slot) {
		*slot = calloc(1, sizeof **slot);
		if (!*slot)
			fail("no memory");
		(*slot)->key = *key;
		(*slot)->index = set->count;
		set->list[set->count++] = *slot;
	}
	return *slot;
}

void tally_label(struct tally *t, const char *label, size_t size)
{
	if (size == 0 || (t->label && strlen(t->label) == size && memcmp(t->label, label, size) == 0))
		return;
	free(t->label);
	t->label = strndup(label, size);
	if (!t->label)
		fail("no memory");
}

void tally_begin(struct tally *t, uint64_t time)
{
	if (!t->begun)
		t->first = t->last = time;
	t->begun = true;
}

/* -- Order ------------------------------------------------------------------------------ */

static const struct tally_view *sorted_by;

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_keys(const struct tally_key *a, const struct tally_key *b)
{
	int c = strcmp(a->name, b->name);

	if (c == 0)
		c = compare_numbers(a->machine, b->machine);
	if (c == 0)
		c = compare_numbers(a->pid, b->pid);
	return c ? c : compare_numbers(a->tid, b->tid);
}

/* Compares two tallies: numbers in descending order, names and times in ascending order. */
static int compare(const void *left, const void *right)
{
	const struct tally *a = *(struct tally *const *)left, *b = *(struct tally *const *)right;
	int c = 0;

	switch (sorted_by->order) {
	case BY_EVENTS:
		c = compare_numbers(b->events, a->events);
		break;
	case BY_BYTES:
		c = compare_numbers(b->bytes, a->bytes);
		break;
	case BY_FIRST:
		c = compare_numbers(a->first, b->first);
		break;
	case BY_LAST:
		c = compare_numbers(a->last, b->last);
		break;
	case BY_PAUSE:
		c = compare_numbers(b->pause, a->pause);
		break;
	default:
		c = strcmp(a->label ? a->label : "", b->label ? b->label : "");
		break;
	}
	if (c == 0)
		c = compare_keys(&a->key, &b->key);
	return sorted_by->reverse ? -c : c;
}

/* Returns the tallies that have events, in order, to be freed by the caller. *count: their number. */
static struct tally **sort(const struct tally_set *set, const struct tally_view *view, size_t *count)
{
	struct tally **list = malloc((set->count + 1) * sizeof *list);

	if (!list)
		fail("no memory");
	*count = 0;
	for (unsigned i = 0; i < set->count; i++)
		if (set->list[i]->events)
			list[(*count)++] = set->list[i];
	sorted_by = view;
	qsort(list, *count, sizeof *list, compare);
	return list;
}

/* -- For people --------------------------------------------------------------------------- */

static struct table *new_table(enum tally_kind kind)
{
#define NUMBERS ">events", ">per second", ">bytes", ">first", ">last", ">longest pause", ">from"
	switch (kind) {
	case TALLY_TYPES:
		return table_new(NUMBERS, "<event type", NULL);
	case TALLY_PROCESSES:
		return table_new(NUMBERS, ">process", "<executable", NULL);
	default:
		return table_new(NUMBERS, ">process", ">thread", "<name", NULL);
	}
#undef NUMBERS
}

static void cell_label(struct table *t, const struct tally *tally, const struct tally_view *view)
{
	const char *label = tally->label ? tally->label : tally->key.pid ? "" : "(the system)";
	char text[4096];

	if (view->host) {
		snprintf(text, sizeof text, "%s: %s", view->host(tally->key.machine), label);
		label = text;
	}
	table_foreign(t, label, strlen(label));
}

static void cell_rate(struct table *t, uint64_t events, double seconds)
{
	double rate = seconds > 0 ? (double)events / seconds : 0;

	if (seconds > 0)
		table_cell(t, rate < 100 ? "%.2f" : "%.0f", rate);
	else
		table_cell(t, "-");
}

void tally_print(const struct tally_set *set, enum tally_kind kind, const struct tally_view *view)
{
	struct table *table = new_table(kind);
	size_t count, shown;
	struct tally **list = sort(set, view, &count);
	char duration[32];

	shown = view->lines && view->lines < count ? view->lines : count;
	for (size_t i = 0; i < shown; i++) {
		const struct tally *t = list[i];

		table_cell(table, "%llu", (unsigned long long)t->events);
		cell_rate(table, t->events, view->seconds);
		table_cell(table, "%llu", (unsigned long long)t->bytes);
		table_seconds(table, t->first, view->begin, 6);
		table_seconds(table, t->last, view->begin, 6);
		table_cell(table, "%s", t->pause ? moment_duration(duration, t->pause) : "-");
		if (t->pause)
			table_seconds(table, t->pause_from, view->begin, 6);
		else
			table_cell(table, "-");
		if (kind == TALLY_TYPES) {
			table_foreign(table, t->key.name, strlen(t->key.name));
			continue;
		}
		table_cell(table, "%u", t->key.pid);
		if (kind == TALLY_THREADS)
			table_cell(table, "%u", t->key.tid);
		cell_label(table, t, view);
	}
	table_print(table, 0);
	if (shown < count)
		out_printf("... and %zu more, with --lines 0\n", count - shown);
	table_free(table);
	free(list);
}

/* -- For programs --------------------------------------------------------------------------- */

static void json_names(const struct tally *t, enum tally_kind kind, const struct tally_view *view)
{
	if (kind == TALLY_TYPES) {
		json_key("name");
		json_string(t->key.name);
		return;
	}
	if (view->host) {
		json_key("host");
		json_string(view->host(t->key.machine));
	}
	json_key("pid");
	json_number(t->key.pid);
	if (kind == TALLY_THREADS) {
		json_key("tid");
		json_number(t->key.tid);
	}
	json_key(kind == TALLY_THREADS ? "name" : "executable");
	if (t->label)
		json_string(t->label);
	else
		json_null();
}

void tally_json(const struct tally_set *set, enum tally_kind kind, const struct tally_view *view)
{
	size_t count;
	struct tally **list = sort(set, view, &count);

	json_begin('[');
	for (size_t i = 0; i < count; i++) {
		const struct tally *t = list[i];
		const struct {
			const char *key;
			uint64_t value;
		} numbers[] = { { "events", t->events }, { "bytes", t->bytes }, { "truncated", t->truncated },
		                { "first", t->first },
			{ "last", t->last }, { "longest_pause", t->pause }, { "longest_pause_from", t->pause_from } };

		json_begin('{');
		json_names(t, kind, view);
		for (unsigned k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
			json_key(numbers[k].key);
			json_number(numbers[k].value);
		}
		json_key("per_second");
		if (view->seconds > 0)
			json_real((double)t->events / view->seconds);
		else
			json_null();
		json_end('}');
	}
	json_end(']');
	free(list);
}
