/*
 * group.c - stat --group-by and --of: events grouped by values, and the values of an expression in each group
 *
 * SPDX-License-Identifier: MIT
 */
#include "stat/group.h"

#include <inttypes.h>
#include <math.h>
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

/* Memory has a limit: a histogram of many values takes 58 KiB, a group without one half of a KiB. */
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
	for (unsigned i = 0; i < g->keys; i++) {
		question_log(g->by[i], f, begin, wanted);
		/* The formulas are others now, perhaps at the same addresses. */
		for (unsigned k = 0; k < GROUP_WORDS; k++)
			g->words[i][k].formula = NULL;
	}
	if (g->of)
		question_log(g->of, f, begin, wanted);
}

bool group_say(const struct groups *g)
{
	bool wrong = g->of && (question_say(g->of) || question_say_text(g->of));

	for (unsigned i = 0; i < g->keys; i++)
		wrong |= question_say(g->by[i]);
	return wrong;
}

/* -- Groups -------------------------------------------------------------------------------------- */

static uint64_t hash_key(uint64_t hash, const struct group_key *key)
{
	const struct value *v = &key->value;
	uint64_t number = v->kind == TEXT_VALUE ? crc32c((const unsigned char *)v->text, v->length) : v->magnitude;

	return (hash ^ (number + v->kind + v->negative + key->dimension)) * UINT64_C(0x9e3779b97f4a7c15) >> 7;
}

static bool same_key(const struct group_key *x, const struct group_key *y)
{
	const struct value *a = &x->value, *b = &y->value;

	return a->kind == b->kind && x->dimension == y->dimension && a->negative == b->negative &&
	       a->magnitude == b->magnitude &&
	       (a->kind != TEXT_VALUE || memcmp(a->text, b->text, a->length) == 0);
}

static struct group **find(const struct groups *g, uint64_t hash, const struct group_key *keys)
{
	unsigned i = (unsigned)hash & (g->slots - 1);

	for (; g->slot[i]; i = (i + 1) & (g->slots - 1)) {
		unsigned k = 0;

		while (k < g->keys && g->slot[i]->hash == hash && same_key(&g->slot[i]->key[k], &keys[k]))
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

/* Finds the words for a number of a field, and keeps them. Returns false if there are none. */
static bool find_words(struct group_words *kept, const struct formula *f, const struct value *number,
                       struct value *text)
{
	struct group_words *w = &kept[(number->magnitude ^ (uintptr_t)f >> 4) & (GROUP_WORDS - 1)];
	char words[LAYOUT_WORDS];
	unsigned char bytes[8];

	if (w->formula != f || w->number.magnitude != number->magnitude || w->number.negative != number->negative) {
		as_bytes(f->field, number, bytes);
		free(w->text);
		w->formula = f;
		w->number = *number;
		w->length = layout_words(words, f->layout, f->field, bytes);
		w->text = w->length ? strndup(words, w->length) : NULL;
		if (w->length && !w->text)
			fail("no memory");
	}
	if (!w->text)
		return false;
	*text = (struct value){ .kind = TEXT_VALUE, .length = w->length, .text = w->text };
	return true;
}

/* Finds the key of an event. A text is valid until the next event. Returns false if the event does not have it. */
static bool key_of(struct groups *g, unsigned i, const struct log_event *e, const unsigned char *data,
                   struct group_key *key)
{
	const struct formula *f = question_formula(g->by[i], e->id);
	struct value v = question_value(g->by[i], e, data);
	bool has_words = f->field && layout_has_words(f->field) && v.kind == INTEGER_VALUE;

	*key = (struct group_key){ .value = v };
	if (v.kind == TEXT_VALUE || v.kind == NO_VALUE || (has_words && find_words(g->words[i], f, &v, &key->value)))
		return v.kind != NO_VALUE;
	key->dimension = f->unit.dimension;
	if (v.kind == INTEGER_VALUE && !__builtin_mul_overflow(v.magnitude, f->unit.scale, &key->value.magnitude))
		return true;
	key->value = value_of_real(value_real(&v) * (double)f->unit.scale);
	return true;
}

/* Returns a number as text. hexadecimal: as report shows the field. */
static char *number_text(const struct group_key *key, bool hexadecimal)
{
	const struct value *v = &key->value;
	double real = value_real(v);
	char text[40] = "-";

	if (key->dimension == DIMENSION_TIME && fabs(real) < 1.8e19 && (v->kind == INTEGER_VALUE || fabs(real) >= 1))
		moment_duration(text + (real < 0), v->kind == INTEGER_VALUE ? v->magnitude :
		                                   (uint64_t)(fabs(real) + 0.5));
	else if (v->kind == REAL_VALUE)
		snprintf(text, sizeof text, "%.15g%s", real, key->dimension == DIMENSION_TIME ? " ns" : "");
	else
		snprintf(text, sizeof text, hexadecimal ? "%s0x%" PRIx64 : "%s%" PRIu64, v->negative ? "-" : "",
		         v->magnitude);
	return strdup(text);
}

static struct group *new_group(struct groups *g, uint64_t hash, const struct group_key *keys, uint32_t id)
{
	struct group *group = calloc(1, sizeof *group);
	unsigned most = g->of ? GROUPS_MAX_SPREAD : GROUPS_MAX;

	if (g->count == most)
		fail("--group-by: there are more than %u groups; use --where, or ranges such as 'size / 1000'", most);
	if (!group)
		fail("no memory");
	group->hash = hash;
	for (unsigned i = 0; i < g->keys; i++) {
		const struct layout_field *f = question_formula(g->by[i], id)->field;
		bool hexadecimal = f && (f->kind == LAYOUT_HEX || f->kind == LAYOUT_CODE);
		struct group_key *key = &group->key[i];

		*key = keys[i];
		key->text = key->value.kind == TEXT_VALUE ? strndup(key->value.text, key->value.length) :
		                                            number_text(key, hexadecimal);
		if (key->value.kind == TEXT_VALUE) {
			/* A text with a null inside is compared as a whole. */
			char *copy = malloc(key->value.length + 1);

			if (!copy)
				fail("no memory");
			memcpy(copy, key->value.text, key->value.length);
			key->value.text = copy;
		}
		if (!key->text)
			fail("no memory");
	}
	g->list[g->count++] = group;
	return group;
}

/* Adds the value of --of. Returns false if there is none. */
static bool add_of(struct groups *g, struct spread *s, const struct value *of, uint32_t id)
{
	return spread_add(s, of, question_formula(g->of, id)->unit);
}

void group_event(struct groups *g, const struct log_event *e, const unsigned char *data)
{
	struct group_key keys[GROUP_KEYS] = { 0 };
	struct value of = value_none();
	uint64_t hash = 0;
	struct group **slot;
	bool all = true;

	if (g->of)
		of = question_value(g->of, e, data);
	for (unsigned i = 0; i < g->keys && all; i++) {
		all = key_of(g, i, e, data, &keys[i]);
		hash = all ? hash_key(hash, &keys[i]) : 0;
	}
	if (!all || (g->of && of.kind == NO_VALUE)) {
		g->without++;
		return;
	}
	if (g->of && !add_of(g, &g->all, &of, e->id)) {
		g->unusable++;
		return;
	}
	if (2 * (g->count + 1) > g->slots)
		grow(g);
	slot = find(g, hash, keys);
	if (!*slot)
		*slot = new_group(g, hash, keys, e->id);
	(*slot)->events++;
	if (g->of)
		add_of(g, &(*slot)->spread, &of, e->id);
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
		if (!value_compare(&a->key[i].value, 1, &b->key[i].value, 1, &c))
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
	if (g->unusable)
		out_printf("%" PRIu64 " other events have a value of --of that is a text, infinite, not a number, or "
		           "has more than 64 bits\n", g->unusable);
	table_free(t);
	for (unsigned i = 0; i < g->keys; i++)
		free(heads[i]);
}

/* -- For programs -------------------------------------------------------------------------------- */

static void json_key_value(const struct group_key *key)
{
	if (key->value.kind == TEXT_VALUE)
		json_text(key->value.text, key->value.length);
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
