/*
 * group.c - stat --group-by and --of: events grouped by values, and the values of an expression in each group
 *
 * SPDX-License-Identifier: MIT
 */
#include "stat/group.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/options.h"
#include "common/out.h"
#include "common/table.h"
#include "event/layout_words.h"
#include "log/crc.h"

/* Memory has a limit: a histogram takes up to 58 KiB, a group without one half of a KiB. */
#define GROUPS_MAX        200000
#define GROUPS_MAX_SPREAD 10000

/* -- Options ------------------------------------------------------------------------------------- */

static void add_key(struct groups *g, const char *text, size_t length)
{
	char *one = strndup(text, length);

	if (!one)
		fail("no memory");
	if (g->keys == GROUP_KEYS)
		wrong_usage("--group-by %s: there may be %d expressions", one, GROUP_KEYS);
	g->by[g->keys++] = question_new("--group-by", one, false);
	free(one);
}

void group_by(struct groups *g, const char *text)
{
	/* Names in backquotes may contain commas. */
	while (!strpbrk(text, "`\"'") && strchr(text, ',')) {
		add_key(g, text, strcspn(text, ","));
		text = strchr(text, ',') + 1;
	}
	add_key(g, text, strlen(text));
}

void group_of(struct groups *g, const char *text)
{
	if (g->of)
		wrong_usage("--of: only once");
	g->of = question_new("--of", text, false);
}

bool group_given(const struct groups *g)
{
	return g->keys > 0 || g->of;
}

/* -- Logs ---------------------------------------------------------------------------------------- */

void group_begin(struct groups *g, struct logfile *f, uint64_t begin, const struct match *m)
{
	bool wanted[EVENT_ID_END];

	for (uint32_t id = 0; id < EVENT_ID_END; id++)
		wanted[id] = match_type(m, id);
	for (unsigned i = 0; i < g->keys; i++)
		question_log(g->by[i], f, begin, wanted);
	if (g->of)
		question_log(g->of, f, begin, wanted);
}

bool group_say(const struct groups *g)
{
	bool wrong = g->of && question_say(g->of);

	for (unsigned i = 0; i < g->keys; i++)
		wrong |= question_say(g->by[i]);
	return wrong;
}

/* -- Groups -------------------------------------------------------------------------------------- */

static uint64_t hash_value(uint64_t hash, const struct value *v)
{
	uint64_t number = v->kind == TEXT_VALUE ? crc32c((const unsigned char *)v->text, v->length) : v->magnitude;

	return (hash ^ (number + v->kind + v->negative)) * UINT64_C(0x9e3779b97f4a7c15) >> 7;
}

static bool same_value(const struct value *a, const struct value *b)
{
	return a->kind == b->kind && a->negative == b->negative && a->magnitude == b->magnitude &&
	       (a->kind != TEXT_VALUE || memcmp(a->text, b->text, a->length) == 0);
}

static struct group **find(const struct groups *g, uint64_t hash, const struct value *values)
{
	unsigned i = (unsigned)hash & (g->slots - 1);

	for (; g->slot[i]; i = (i + 1) & (g->slots - 1)) {
		unsigned k = 0;

		while (k < g->keys && g->slot[i]->hash == hash && same_value(&g->slot[i]->key[k].value, &values[k]))
			k++;
		if (k == g->keys && g->slot[i]->hash == hash)
			break;
	}
	return &g->slot[i];
}

/* Doubles the slots before more than half of them are used. */
static void grow(struct groups *g)
{
	unsigned slots = g->slots ? 2 * g->slots : 64;

	free(g->slot);
	g->slots = slots;
	g->slot = calloc(slots, sizeof(struct group *));
	g->list = realloc(g->list, slots * sizeof(struct group *));
	if (!g->slot || !g->list)
		fail("no memory");
	for (unsigned i = 0; i < g->count; i++) {
		unsigned at = (unsigned)g->list[i]->hash & (slots - 1);

		while (g->slot[at])
			at = (at + 1) & (slots - 1);
		g->slot[at] = g->list[i];
	}
}

/* Writes an integer as a field of the layout has it. */
static void as_bytes(const struct layout_field *f, const struct value *v, unsigned char bytes[8])
{
	uint64_t n = v->negative ? 0 - v->magnitude : v->magnitude;
	uint32_t four = (uint32_t)n;
	uint16_t two = (uint16_t)n;

	switch (f->size) {
	case 8:
		memcpy(bytes, &n, 8);
		break;
	case 4:
		memcpy(bytes, &four, 4);
		break;
	case 2:
		memcpy(bytes, &two, 2);
		break;
	default:
		bytes[0] = (unsigned char)n;
		break;
	}
}

/* Returns a number as text: as report shows the field, if the expression is one. */
static char *number_text(const struct formula *f, const struct value *v, bool *words)
{
	char text[LAYOUT_WORDS] = "", duration[32];
	unsigned char bytes[8];
	uint64_t ns;
	size_t length = 0;

	if (f->field && v->kind == INTEGER_VALUE) {
		as_bytes(f->field, v, bytes);
		length = layout_words(text, f->layout, f->field, bytes);
		text[length] = 0;
		*words = length > 0;
	}
	if (length > 0)
		return strdup(text);
	if (v->kind == REAL_VALUE)
		snprintf(text, sizeof text, "%.15g", v->real);
	else if (f->unit.dimension == DIMENSION_TIME && !v->negative &&
	         !__builtin_mul_overflow(v->magnitude, f->unit.scale, &ns))
		return strdup(moment_duration(duration, ns));
	else if (f->field && (f->field->kind == LAYOUT_HEX || f->field->kind == LAYOUT_CODE))
		snprintf(text, sizeof text, "0x%" PRIx64, v->magnitude);
	else
		snprintf(text, sizeof text, "%s%" PRIu64, v->negative ? "-" : "", v->magnitude);
	return strdup(text);
}

static struct group *new_group(struct groups *g, uint64_t hash, const struct value *values, uint32_t id)
{
	struct group *group = calloc(1, sizeof *group);
	unsigned most = g->of ? GROUPS_MAX_SPREAD : GROUPS_MAX;

	if (g->count == most)
		fail("--group-by: there are more than %u groups; use --where, or ranges such as 'size / 1000'", most);
	if (!group)
		fail("no memory");
	group->hash = hash;
	for (unsigned i = 0; i < g->keys; i++) {
		struct group_key *key = &group->key[i];

		key->value = values[i];
		key->text = values[i].kind == TEXT_VALUE ? strndup(values[i].text, values[i].length) :
		            number_text(question_formula(g->by[i], id), &values[i], &key->words);
		if (values[i].kind == TEXT_VALUE) {
			/* A text with a null inside is compared as a whole. */
			char *copy = malloc(values[i].length + 1);

			if (!copy)
				fail("no memory");
			memcpy(copy, values[i].text, values[i].length);
			key->value.text = copy;
		}
		if (!key->text)
			fail("no memory");
	}
	g->list[g->count++] = group;
	return group;
}

void group_event(struct groups *g, const struct log_event *e, const unsigned char *data)
{
	struct value values[GROUP_KEYS] = { 0 }, of;
	uint64_t hash = 0;
	struct group **slot;
	bool all = true;

	for (unsigned i = 0; i < g->keys && all; i++) {
		values[i] = question_value(g->by[i], e, data);
		all = values[i].kind != NO_VALUE;
		hash = all ? hash_value(hash, &values[i]) : 0;
	}
	if (all && g->of) {
		of = question_value(g->of, e, data);
		all = spread_add(&g->all, &of, question_formula(g->of, e->id)->unit);
	}
	if (!all) {
		g->without++;
		return;
	}
	if (2 * (g->count + 1) > g->slots)
		grow(g);
	slot = find(g, hash, values);
	if (!*slot)
		*slot = new_group(g, hash, values, e->id);
	(*slot)->events++;
	if (g->of)
		spread_add(&(*slot)->spread, &of, question_formula(g->of, e->id)->unit);
}

/* -- Order --------------------------------------------------------------------------------------- */

static struct {
	const struct groups *groups;
	enum group_order order;
	bool reverse;
} sorted_by;

static int compare_reals(double a, double b)
{
	return (a > b) - (a < b);
}

static int compare_keys(const struct group *a, const struct group *b)
{
	int c = 0;

	for (unsigned i = 0; i < sorted_by.groups->keys && c == 0; i++)
		if (a->key[i].words || !value_compare(&a->key[i].value, 1, &b->key[i].value, 1, &c))
			c = strcmp(a->key[i].text, b->key[i].text);
	return c;
}

/* Compares two groups: numbers in descending order, names in ascending order. */
static int compare(const void *left, const void *right)
{
	const struct group *a = *(struct group *const *)left, *b = *(struct group *const *)right;
	struct value sum_a = spread_sum(&a->spread), sum_b = spread_sum(&b->spread);
	int c = 0, order = 0;

	switch (sorted_by.order) {
	case GROUP_EVENTS:
		c = (a->events < b->events) - (a->events > b->events);
		break;
	case GROUP_SUM:
		value_compare(&sum_b, 1, &sum_a, 1, &c);
		break;
	case GROUP_MEAN:
		c = compare_reals(spread_mean(&b->spread), spread_mean(&a->spread));
		break;
	case GROUP_MAX:
		if (value_compare(&b->spread.most, 1, &a->spread.most, 1, &order))
			c = order;
		break;
	default:
		break;
	}
	if (c == 0)
		c = compare_keys(a, b);
	return sorted_by.reverse ? -c : c;
}

static void sort(const struct groups *g, enum group_order order, bool reverse)
{
	sorted_by.groups = g;
	sorted_by.order = order;
	sorted_by.reverse = reverse;
	if (g->count)
		qsort(g->list, g->count, sizeof *g->list, compare);
}

/* -- For people ---------------------------------------------------------------------------------- */

static void cells_of(struct table *t, const struct spread *s)
{
	static const double percents[] = { 50, 90, 99, 99.9 };
	struct value sum = spread_sum(s);
	char text[SPREAD_TEXT];

	table_cell(t, "%s", spread_value(text, s, &sum));
	table_cell(t, "%s", spread_value(text, s, &s->least));
	table_cell(t, "%s", spread_text(text, s, spread_mean(s)));
	for (unsigned i = 0; i < sizeof percents / sizeof percents[0]; i++)
		table_cell(t, "%s", spread_text(text, s, spread_percentile(s, percents[i])));
	table_cell(t, "%s", spread_value(text, s, &s->most));
}

void group_print(const struct groups *g, enum group_order order, bool reverse, size_t lines)
{
	struct table *t = !g->of ? table_new(">events", ">share", NULL) :
	                  table_new(">events", ">sum", ">min", ">mean", ">50%", ">90%", ">99%", ">99.9%", ">max", NULL);
	size_t shown = lines && lines < g->count ? lines : g->count;
	char *heads[GROUP_KEYS] = { 0 };
	uint64_t all = 0;

	sort(g, order, reverse);
	for (unsigned i = 0; i < g->keys; i++) {
		if (asprintf(&heads[i], "<%s", g->by[i]->x->source) < 0)
			fail("no memory");
		table_column(t, heads[i]);
	}
	for (unsigned i = 0; i < g->count; i++)
		all += g->list[i]->events;
	for (size_t i = 0; i < shown; i++) {
		const struct group *group = g->list[i];

		table_cell(t, "%" PRIu64, group->events);
		if (g->of)
			cells_of(t, &group->spread);
		else
			table_cell(t, "%.1f%%", 100.0 * (double)group->events / (double)all);
		for (unsigned k = 0; k < g->keys; k++)
			table_foreign(t, group->key[k].text, strlen(group->key[k].text));
	}
	table_print(t, 0);
	if (shown < g->count)
		out_printf("... and %zu more, with --lines 0\n", g->count - shown);
	if (g->without)
		out_printf("%" PRIu64 " other events do not have %s\n", g->without,
		           g->keys + (g->of != NULL) > 1 ? "all of these values" : "this value");
	table_free(t);
	for (unsigned i = 0; i < g->keys; i++)
		free(heads[i]);
}

/* -- For programs -------------------------------------------------------------------------------- */

static void json_key_value(const struct group_key *key)
{
	if (key->value.kind == TEXT_VALUE)
		json_text(key->value.text, key->value.length);
	else if (key->words)
		json_string(key->text);
	else if (key->value.kind == REAL_VALUE)
		json_real(key->value.real);
	else if (key->value.magnitude <= UINT64_C(1) << 53)
		json_signed(key->value.negative ? -(int64_t)key->value.magnitude : (int64_t)key->value.magnitude);
	else
		json_string(key->text);
}

void group_json(const struct groups *g, enum group_order order, bool reverse)
{
	sort(g, order, reverse);
	json_begin('[');
	for (unsigned i = 0; i < g->count; i++) {
		const struct group *group = g->list[i];

		json_begin('{');
		json_key("by");
		json_begin('{');
		for (unsigned k = 0; k < g->keys; k++) {
			json_key(g->by[k]->x->source);
			json_key_value(&group->key[k]);
		}
		json_end('}');
		json_key("events");
		json_number(group->events);
		if (g->of) {
			json_key("of");
			json_begin('{');
			spread_json(&group->spread);
			json_end('}');
		}
		json_end('}');
	}
	json_end(']');
}
