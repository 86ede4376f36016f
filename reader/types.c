/*
 * types.c - the event types of all logs of a reader
 *
 * SPDX-License-Identifier: MIT
 */
#include "types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "meaning.h"
#include "model/eventtype.h"
#include "table.h"

/* -- Which types are the same --------------------------------------------------------------------- */

static uint64_t hash_of(const char *name)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
	return hash;
}

static bool same_field(const struct layout_field *a, const struct layout_field *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->unit, b->unit) == 0 && a->count == b->count &&
	       a->counter == b->counter && a->kind == b->kind && a->size == b->size && a->align == b->align &&
	       a->naming == b->naming && a->first_label == b->first_label && a->labels == b->labels;
}

static bool same_meaning(const struct layout_meaning *a, const struct layout_meaning *b)
{
	return strcmp(a->begin, b->begin) == 0 && strcmp(a->end, b->end) == 0 && a->by == b->by && a->took == b->took &&
	       a->send == b->send && a->receive == b->receive && a->level == b->level &&
	       a->level_field == b->level_field && a->counter == b->counter;
}

static bool same_layout(const struct layout *a, const struct layout *b)
{
	if (!a || !b)
		return a == b;
	if (a->count != b->count || a->align != b->align || a->labels != b->labels || a->label_text != b->label_text ||
	    memcmp(a->text, b->text, a->label_text) != 0 || !same_meaning(&a->meaning, &b->meaning))
		return false;
	for (unsigned i = 0; i < a->count; i++)
		if (!same_field(&a->field[i], &b->field[i]))
			return false;
	for (unsigned i = 0; i < a->labels; i++)
		if (a->label[i].value != b->label[i].value || a->label[i].at != b->label[i].at ||
		    a->label[i].length != b->label[i].length)
			return false;
	return true;
}

/* -- Making one -------------------------------------------------------------------------------------- */

static const char *time_unit(const struct layout_field *f)
{
	return f->unit[0] ? f->unit : f->size == 4 ? "s" : "ns";
}

static void describe(struct posixtrace_log_field *to, const struct layout_field *f)
{
	static const uint32_t kinds[] = {
		[LAYOUT_UNSIGNED] = POSIXTRACE_LOG_UNSIGNED, [LAYOUT_SIGNED] = POSIXTRACE_LOG_SIGNED,
		[LAYOUT_HEX] = POSIXTRACE_LOG_HEX,           [LAYOUT_FLOAT] = POSIXTRACE_LOG_FLOAT,
		[LAYOUT_BOOL] = POSIXTRACE_LOG_BOOL,         [LAYOUT_CODE] = POSIXTRACE_LOG_CODE,
		[LAYOUT_TIME] = POSIXTRACE_LOG_WHEN,         [LAYOUT_CHARS] = POSIXTRACE_LOG_TEXT,
		[LAYOUT_STRING] = POSIXTRACE_LOG_TEXT,       [LAYOUT_TEXT] = POSIXTRACE_LOG_TEXT,
		[LAYOUT_BYTES] = POSIXTRACE_LOG_BYTES,
	};
	bool text = layout_is_text_field(f);

	*to = (struct posixtrace_log_field){
		.name = f->name,
		.unit = f->kind == LAYOUT_TIME ? time_unit(f) : f->unit,
		.kind = kinds[f->kind],
		.size = text || f->kind == LAYOUT_BYTES ? 1 : f->size,
		.array = layout_is_array(f),
		.count = f->counter || layout_rest(f) || f->kind == LAYOUT_STRING ? 0 : f->count,
		.labels = f->labels,
		.bits = f->naming == NAMING_BITS,
	};
}

/* Copies fields and labels. Returns false if there is no memory. */
static bool add_fields(struct type *t, const struct layout *l)
{
	t->field = calloc(l->count, sizeof *t->field);
	t->label = calloc(l->labels + 1u, sizeof *t->label);
	if (!t->field || !t->label)
		return false;
	for (unsigned i = 0; i < l->labels; i++) {
		t->label[i] = strndup(l->text + l->label[i].at, l->label[i].length);
		if (!t->label[i])
			return false;
	}
	for (unsigned i = 0; i < l->count; i++)
		describe(&t->field[i], &l->field[i]);
	t->about.fields = l->count;
	return true;
}

/*
 * Appends the fields of a part of a layout to a layout. Returns null if there is no memory; frees the text. A part with
 * attributes can only be the first.
 */
static char *append(char *text, const char *part)
{
	size_t length = text ? strlen(text) - 1 : 0, more = strlen(part);
	char *all;

	if (text && part[strcspn(part, ";}")] == ';')
		return text;
	all = realloc(text, length + more + 1);
	if (!all) {
		free(text);
		return NULL;
	}
	memcpy(all + length, part, more + 1);
	/* The brace that begins the part becomes the comma after the last field. */
	if (length)
		all[length] = ',';
	return all;
}

/*
 * Stores a copy of the layout as its parts were declared, for this type and for others of the same name. Returns false
 * if there is no memory.
 */
static bool copy_text(struct type *t, const struct source *s, const struct layout *layout)
{
	char *text = NULL;

	for (uint32_t id = 1; layout && id < EVENT_ID_END; id++) {
		const char *part = layouts_text(s->layouts, id);

		if (!*part || layouts_find(s->layouts, id) != layout || layouts_wrong(s->layouts, id))
			continue;
		text = append(text, part);
		if (!text)
			return false;
	}
	t->text = text;
	t->about.layout = text ? text : "";
	return true;
}

/*
 * Returns the type of this name and layout, a new one if there is none, or null if there is no memory. The name and
 * the layout belong to the source.
 */
static struct type *type_of(struct posixtrace_log *log, const struct source *s, uint32_t id, const char *name)
{
	const struct layout *layout = layouts_find(s->layouts, id);
	uint64_t hash = hash_of(name), number = 0;
	struct type *t;

	for (; (t = table_find(&log->types, hash, number)) != NULL; number++)
		if (strcmp(t->about.name, name) == 0 && same_layout(t->layout, layout))
			return t;
	t = table_add(&log->types, hash, number, sizeof *t);
	if (!t)
		return NULL;
	t->about = (struct posixtrace_log_type){
		.name = name,
		.layout = "",
		.wrong = layouts_wrong(s->layouts, id),
		.index = (uint32_t)log->types.count - 1,
		.system = eventtype_system(id),
		.id = id,
	};
	t->wanted = filter_name(&log->filter.events, name);
	t->layout = layout;
	if (layout && s->live) {
		t->layout = t->own_layout = malloc(sizeof *layout);
		if (!t->own_layout)
			return NULL;
		*t->own_layout = *layout;
	}
	if (layout && (!add_fields(t, t->layout) || !copy_text(t, s, layout)))
		return NULL;
	t->log = log;
	meaning_describe(t);
	return t;
}

bool types_add(struct posixtrace_log *log, struct source *s)
{
	for (uint32_t id = 1; id < EVENT_ID_END; id++) {
		const char *name = layouts_name(s->layouts, id);

		if (!name)
			continue;
		s->type[id] = type_of(log, s, id, name);
		if (!s->type[id])
			return false;
	}
	return true;
}

bool types_renew(struct posixtrace_log *log, struct source *s)
{
	for (uint32_t id = 1; id < EVENT_ID_END; id++) {
		const char *name = layouts_name(s->layouts, id);
		const struct type *t = s->type[id];

		if (!name || (t && strcmp(t->about.name, name) == 0 &&
		              same_layout(t->layout, layouts_find(s->layouts, id))))
			continue;
		s->type[id] = type_of(log, s, id, name);
		if (!s->type[id])
			return false;
	}
	return true;
}

/* Makes the type of a running process, which may name it later. */
static struct type *unnamed_yet(struct posixtrace_log *log, struct source *s, uint32_t id, const char *name)
{
	char *copy = strdup(name);
	struct type *t = copy ? type_of(log, s, id, copy) : NULL;

	s->type[id] = t;
	if (t && t->about.name == copy)
		t->own_name = copy;
	else if (t)
		free(copy); /* if there was no memory, the table of types may refer to it */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): see above */
	return t;
}

struct type *types_unnamed(struct posixtrace_log *log, struct source *s, uint32_t id)
{
	char name[16];

	snprintf(name, sizeof name, "?%u", id);
	if (s->live)
		return unnamed_yet(log, s, id, name);
	if (!layouts_add(s->layouts, id, name))
		return NULL;
	s->type[id] = type_of(log, s, id, layouts_name(s->layouts, id));
	return s->type[id];
}

void types_free(struct posixtrace_log *log)
{
	for (size_t i = 0; i < log->types.count; i++) {
		struct type *t = log->types.item[i];

		for (unsigned label = 0; t->label && label < t->layout->labels; label++)
			free(t->label[label]);
		free(t->label);
		free(t->field);
		free(t->text);
		free(t->own_layout);
		free(t->own_name);
		free(t->span);
	}
	table_free(&log->types);
}

/* -- The interface -------------------------------------------------------------------------------------- */

size_t posixtrace_log_types(const struct posixtrace_log *log)
{
	return log ? log->types.count : 0;
}

const struct posixtrace_log_type *posixtrace_log_type_at(const struct posixtrace_log *log, size_t index)
{
	return log && index < log->types.count ? log->types.item[index] : NULL;
}

const struct posixtrace_log_type *posixtrace_log_find_type(const struct posixtrace_log *log, const char *name)
{
	uint64_t hash = name ? hash_of(name) : 0;
	struct type *t;

	if (!log || !name)
		return NULL;
	for (uint64_t number = 0; (t = table_find(&log->types, hash, number)) != NULL; number++)
		if (strcmp(t->about.name, name) == 0)
			return &t->about;
	return NULL;
}

const struct posixtrace_log_field *posixtrace_log_field_at(const struct posixtrace_log_type *type, unsigned index)
{
	return type && index < type->fields ? &((const struct type *)type)->field[index] : NULL;
}

int posixtrace_log_find_field(const struct posixtrace_log_type *type, const char *name)
{
	for (unsigned i = 0; type && name && i < type->fields; i++)
		if (strcmp(((const struct type *)type)->field[i].name, name) == 0)
			return (int)i;
	return -1;
}

const char *posixtrace_log_label_at(const struct posixtrace_log_type *type, unsigned field, unsigned index,
                                    int64_t *value)
{
	const struct posixtrace_log_field *f = posixtrace_log_field_at(type, field);
	const struct type *t = (const struct type *)type;
	unsigned label;

	if (!f || index >= f->labels)
		return NULL;
	label = t->layout->field[field].first_label + index;
	if (value)
		*value = t->layout->label[label].value;
	return t->label[label];
}
