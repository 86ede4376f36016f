/*
 * layout_meaning.c - the attributes of a layout: spans, counters, flows, log messages
 *
 * SPDX-License-Identifier: MIT
 */
#include "model/layout_meaning.h"

#include <string.h>

#include "base/utf8.h"

const char *const layout_levels[LEVELS] = {
	[LEVEL_NONE] = NULL,     [LEVEL_EMERGENCY] = "emergency", [LEVEL_ALERT] = "alert",
	[LEVEL_CRITICAL] = "critical", [LEVEL_ERROR] = "error",   [LEVEL_WARNING] = "warning",
	[LEVEL_NOTICE] = "notice", [LEVEL_INFO] = "info",         [LEVEL_DEBUG] = "debug",
};

enum attribute { PACKED, BEGIN, END, BY, TOOK, COUNTER, SEND, RECEIVE, LEVEL, ATTRIBUTES };

static const char *const words[ATTRIBUTES] = { "packed", "begin",   "end",  "by",   "took",
	                                       "counter", "send", "receive", "level" };

/* A part of the text. */
struct part {
	const char *at;
	size_t length;
};

static bool is(struct part p, const char *word)
{
	return strlen(word) == p.length && memcmp(word, p.at, p.length) == 0;
}

static bool wrong(struct layout_fault *fault, struct part p, const char *why)
{
	*fault = (struct layout_fault){ p.at, p.length, why };
	return false;
}

/* Returns which attribute this is, or ATTRIBUTES. Finds its word and its value, which is empty if it has none. */
static enum attribute split(const char *text, struct part *whole, struct part *value)
{
	struct part word = { text, strcspn(text, "=,;") };
	enum attribute a = 0;

	*whole = (struct part){ text, strcspn(text, ",;") };
	*value = (struct part){ whole->at + whole->length, 0 };
	if (word.length < whole->length)
		*value = (struct part){ text + word.length + 1, whole->length - word.length - 1 };
	while (a < ATTRIBUTES && !is(word, words[a]))
		a++;
	return a;
}

/* -- Values ------------------------------------------------------------------------------------ */

static const struct layout_field *find(const struct layout *l, struct part name, uint8_t *index)
{
	unsigned i = layout_find_field(l, name.at, name.length);

	*index = i < l->count ? (uint8_t)(i + 1) : 0;
	return i < l->count ? &l->field[i] : NULL;
}

static bool integer(const struct layout_field *f)
{
	return f && f->count == 1 && f->kind <= LAYOUT_HEX;
}

static bool duration(const struct layout_field *f)
{
	return integer(f) && (strcmp(f->unit, "ns") == 0 || strcmp(f->unit, "us") == 0 || strcmp(f->unit, "ms") == 0 ||
	                      strcmp(f->unit, "s") == 0);
}

/* Copies the name of a span. */
static bool set_span(char *span, size_t size, struct part name)
{
	if (name.length == 0 || name.length >= size ||
	    !utf8_harmless((const unsigned char *)name.at, name.length, "", NULL))
		return false;
	memset(span, 0, size);
	memcpy(span, name.at, name.length);
	return true;
}

static bool set_level(struct layout *l, struct part value)
{
	const struct layout_field *f = find(l, value, &l->meaning.level_field);

	l->meaning.level = LEVEL_NONE;
	if (f)
		return integer(f) && f->naming == NAMING_VALUES;
	for (unsigned i = LEVEL_NONE + 1; i < LEVELS; i++)
		if (is(value, layout_levels[i]))
			l->meaning.level = (uint8_t)i;
	return l->meaning.level != LEVEL_NONE;
}

/* Returns whether a field other than `by` is a number. */
static bool has_counter(const struct layout *l)
{
	for (unsigned i = 0; i < l->count; i++)
		if (layout_is_number(&l->field[i]) && l->meaning.by != i + 1)
			return true;
	return false;
}

/* Sets one attribute. Returns null, or the reason why it is wrong. */
static const char *set(struct layout *l, enum attribute a, struct part value, bool valued)
{
	static const char no_span[] = "names no span: 1 to 63 bytes of UTF-8, as in begin=shop.order";
	static const char no_id[] = "is not followed by the name of a field that is one integer, as in by=id";
	struct layout_meaning *m = &l->meaning;

	if (!valued && a != PACKED && a != COUNTER)
		return "needs a value: begin=SPAN, end=SPAN, by=FIELD, took=FIELD, send=FIELD, receive=FIELD, "
		       "level=LEVEL";
	switch (a) {
	case BEGIN:
		return set_span(m->begin, sizeof m->begin, value) ? NULL : no_span;
	case END:
		return set_span(m->end, sizeof m->end, value) ? NULL : no_span;
	case BY:
		return integer(find(l, value, &m->by)) ? NULL : no_id;
	case SEND:
		return integer(find(l, value, &m->send)) ? NULL : no_id;
	case RECEIVE:
		return integer(find(l, value, &m->receive)) ? NULL : no_id;
	case TOOK:
		return duration(find(l, value, &m->took)) ? NULL :
		       "is not followed by the name of an integer field with the unit ns, us, ms or s";
	case LEVEL:
		return set_level(l, value) ? NULL :
		       "is not a level: emergency, alert, critical, error, warning, notice, info, debug, "
		       "or an integer field whose labels are levels";
	case COUNTER:
		m->counter = true;
		return valued ? "has no value: the numbers of the event are the counters" : NULL;
	default:
		return valued ? "has no value" : NULL;
	}
}

/* -- Attributes ------------------------------------------------------------------------------------- */

bool meaning_packed(const char *attributes)
{
	struct part whole, value;

	for (const char *p = attributes;; p = whole.at + whole.length + 1) {
		if (split(p, &whole, &value) == PACKED)
			return true;
		if (whole.at[whole.length] != ',')
			return false;
	}
}

bool meaning_parse(struct layout *l, const char *attributes, struct layout_fault *fault)
{
	unsigned seen = 0;
	struct part whole, value, counter = { NULL, 0 }, took = { NULL, 0 };

	for (const char *p = attributes;; p = whole.at + whole.length + 1) {
		enum attribute a = split(p, &whole, &value);
		const char *why;

		if (a == ATTRIBUTES)
			return wrong(fault, whole,
			             "is not an attribute: packed, begin, end, by, took, counter, send, receive, "
			             "level");
		if (seen >> a & 1)
			return wrong(fault, whole, "is the second attribute of this name");
		seen |= 1u << a;
		why = set(l, a, value, memchr(whole.at, '=', whole.length) != NULL);
		if (why)
			return wrong(fault, whole, why);
		if (a == COUNTER)
			counter = whole;
		if (a == TOOK)
			took = whole;
		if (whole.at[whole.length] != ',')
			break;
	}
	if (counter.at && !has_counter(l))
		return wrong(fault, counter, "needs a field that is a number");
	if (took.at && (l->meaning.begin[0] || l->meaning.end[0]))
		return wrong(fault, took, "makes the event a whole span, which has no begin and end");
	return true;
}
