/*
 * meaning.c - what events mean beyond their values: spans, counters, flows, levels
 *
 * SPDX-License-Identifier: MIT
 */
#include "meaning.h"

#include <errno.h>
#include <string.h>

#include "error.h"
#include "event/wordpair.h"
#include "model/layout_meaning.h"

_Static_assert(POSIXTRACE_LOG_NO_LEVEL == (int)LEVEL_NONE && POSIXTRACE_LOG_EMERGENCY == (int)LEVEL_EMERGENCY &&
               POSIXTRACE_LOG_DEBUG == (int)LEVEL_DEBUG && (int)LEVELS == 9, "the levels of the interface");

/* Returns the index of a field from struct layout_meaning; -1: none. */
static int32_t index_of(uint8_t field)
{
	return (int32_t)field - 1;
}

void meaning_describe(struct type *t)
{
	static const struct layout_meaning none;
	const struct layout_meaning *m = t->layout ? &t->layout->meaning : &none;

	t->meaning = (struct posixtrace_log_meaning){
		.begin = m->begin,
		.end = m->end,
		.span = m->took ? t->about.name : "",
		.by = index_of(m->by),
		.took = index_of(m->took),
		.send = index_of(m->send),
		.receive = index_of(m->receive),
		.level_field = index_of(m->level_field),
		.level = m->level_field ? POSIXTRACE_LOG_NO_LEVEL : m->level,
		.counter = m->counter,
	};
	t->last = wordpair_last(t->about.name);
	for (size_t i = 0; i < t->last; i++)
		t->common = (t->common ^ (unsigned char)t->about.name[i]) * UINT64_C(1099511628211);
	for (unsigned i = 0; t->layout && m->counter && i < t->about.fields; i++)
		t->field[i].counter = layout_is_number(&t->layout->field[i]) && m->by != i + 1;
}

/* -- Names ------------------------------------------------------------------------------------------ */

/* Returns the span that a type's name tells without its last word; "" if there is no memory. */
static const char *span_of(struct type *t)
{
	if (!t->span)
		t->span = strndup(t->about.name, t->last - 1);
	return t->span ? t->span : "";
}

/* Returns how well another type is the end for a begin. */
static unsigned rank_of(const struct type *begin, const struct type *end)
{
	if (end->last != begin->last || end->common != begin->common || end->about.system ||
	    strncmp(end->about.name, begin->about.name, begin->last) != 0)
		return WORDPAIR_NONE;
	return wordpair_rank(begin->about.name + begin->last, end->about.name + begin->last);
}

static void pair(struct posixtrace_log *log, struct type *begin)
{
	unsigned least = WORDPAIR_NONE;

	for (size_t i = 0; i < log->types.count; i++) {
		unsigned rank = rank_of(begin, log->types.item[i]);

		least = rank < least ? rank : least;
	}
	/* Several types may have the name of the end, with different layouts. */
	for (size_t i = 0; i < log->types.count && least != WORDPAIR_NONE; i++) {
		struct type *end = log->types.item[i];

		if (rank_of(begin, end) != least || (end->meaning.end[0] && !end->meaning.named))
			continue;
		begin->meaning.begin = span_of(begin);
		end->meaning.end = span_of(end);
		begin->meaning.named = end->meaning.named = 1;
	}
}

/* Pairs the names of new types. A type with declared spans is not paired by its name. */
static void pair_all(struct posixtrace_log *log)
{
	log->paired = log->types.count;
	for (size_t i = 0; i < log->types.count; i++) {
		struct posixtrace_log_meaning *m = &((struct type *)log->types.item[i])->meaning;

		if (m->named)
			m->begin = m->end = "";
		m->named = 0;
	}
	for (size_t i = 0; i < log->types.count; i++) {
		struct type *t = log->types.item[i];

		if (t->last && wordpair_begins(t->about.name + t->last) && !t->about.system &&
		    !t->meaning.begin[0] && !t->meaning.span[0])
			pair(log, t);
	}
}

/* -- Levels ----------------------------------------------------------------------------------------- */

/* Returns the level with this word. */
static uint32_t level_of(const char *word, size_t length)
{
	for (uint32_t i = LEVEL_NONE + 1; i < LEVELS; i++)
		if (strlen(layout_levels[i]) == length && memcmp(layout_levels[i], word, length) == 0)
			return i;
	return POSIXTRACE_LOG_NO_LEVEL;
}

/* Returns the number in an integer field of an event, as the labels of the layout have it. */
static int get_integer(const struct posixtrace_log_event *event, int32_t field, int64_t *value)
{
	const struct posixtrace_log_field *f = posixtrace_log_field_at(event->type, (unsigned)field);
	uint64_t positive = 0;
	int error;

	if (f->kind == POSIXTRACE_LOG_SIGNED)
		return posixtrace_log_get_signed(event, (unsigned)field, 0, value);
	error = posixtrace_log_get_unsigned(event, (unsigned)field, 0, &positive);
	*value = (int64_t)positive;
	return error;
}

/* -- The interface --------------------------------------------------------------------------------- */

const struct posixtrace_log_meaning *posixtrace_log_meaning_of(const struct posixtrace_log_type *type)
{
	const struct type *t = (const struct type *)type;

	if (t && t->log->paired != t->log->types.count)
		pair_all(t->log);
	return t ? &t->meaning : NULL;
}

const char *posixtrace_log_level_name(uint32_t level)
{
	return level < LEVELS ? layout_levels[level] : NULL;
}

int posixtrace_log_get_level(const struct posixtrace_log_event *event, uint32_t *level)
{
	const struct posixtrace_log_meaning *m;
	const struct layout *l;
	const struct layout_field *f;
	int64_t value;
	int error;

	if (!event || !level)
		return error_null();
	m = posixtrace_log_meaning_of(event->type);
	if (!m || (m->level == POSIXTRACE_LOG_NO_LEVEL && m->level_field < 0))
		return error_say(ENOENT, "%s has no level", event->type ? event->type->name : "a loss");
	if (m->level_field < 0) {
		*level = m->level;
		return 0;
	}
	error = get_integer(event, m->level_field, &value);
	if (error)
		return error;
	l = ((const struct type *)event->type)->layout;
	f = &l->field[m->level_field];
	for (unsigned i = f->first_label; i < f->first_label + f->labels; i++) {
		uint32_t found = l->label[i].value != value ? POSIXTRACE_LOG_NO_LEVEL :
		                 level_of(l->text + l->label[i].at, l->label[i].length);

		if (found != POSIXTRACE_LOG_NO_LEVEL) {
			*level = found;
			return 0;
		}
		if (l->label[i].value == value)
			break;
	}
	return error_say(ENOENT, "the field %s of this event of %s has no label that is a level", f->name,
	                 event->type->name);
}

int posixtrace_log_get_took(const struct posixtrace_log_event *event, uint64_t *ns)
{
	const struct posixtrace_log_meaning *m;
	const struct posixtrace_log_field *f;
	uint64_t scale, value;
	int64_t number;
	int error;

	if (!event || !ns)
		return error_null();
	m = posixtrace_log_meaning_of(event->type);
	if (!m || m->took < 0)
		return error_say(ENOENT, "%s is no whole span", event->type ? event->type->name : "a loss");
	error = get_integer(event, m->took, &number);
	if (error)
		return error;
	f = posixtrace_log_field_at(event->type, (unsigned)m->took);
	/* A layout can have no other unit here. */
	scale = strcmp(f->unit, "ns") == 0 ? 1 : strcmp(f->unit, "us") == 0 ? 1000 :
	        strcmp(f->unit, "ms") == 0 ? 1000000 : 1000000000;
	value = f->kind == POSIXTRACE_LOG_SIGNED && number < 0 ? 0 : (uint64_t)number;
	if (__builtin_mul_overflow(value, scale, ns))
		*ns = UINT64_MAX;
	return 0;
}
