/*
 * values.c - the values of an event's fields
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "reader.h"

/* -- Where a value is ---------------------------------------------------------------------------- */

static const struct current *current_of(const struct posixtrace_log_event *event)
{
	struct current *c = (struct current *)(uintptr_t)event;

	if (!c->located && c->layout) {
		layout_locate(c->layout, event->data, event->length, &c->places);
		c->located = true;
	}
	return c;
}

static const struct layout_field *find_anywhere(const struct posixtrace_log_event *event, unsigned field,
                                                struct layout_place *place)
{
	const struct current *c = current_of(event);

	if (!c->layout || field >= c->layout->count || field >= c->places.count)
		return NULL;
	*place = c->places.of[field];
	return &c->layout->field[field];
}

/*
 * Finds a field in the data of an event. Returns null if the event lacks the field, or has only a part of its first
 * item.
 */
static inline const struct layout_field *find(const struct posixtrace_log_event *event, unsigned field,
                                              struct layout_place *place)
{
	const struct layout *l = ((const struct current *)event)->layout;

	/* Nearly always in the same place. A field that takes all the rest has no size there. */
	if (l && field < l->fixed && l->place[field].size &&
	    event->length >= l->place[field].at + l->place[field].size) {
		*place = l->place[field];
		return &l->field[field];
	}
	return find_anywhere(event, field, place);
}

static int no_field(const struct posixtrace_log_event *event, unsigned field)
{
	if (event->type && field < event->type->fields)
		return error_say(ENOENT, "the event ends before the field %s of %s",
		                 posixtrace_log_field_at(event->type, field)->name, event->type->name);
	return error_say(ENOENT, "%s has no field number %u", event->type ? event->type->name : "a loss", field);
}

static int no_item(const struct posixtrace_log_event *event, unsigned field, size_t item)
{
	return error_say(ENOENT, "the field %s of this event of %s has no item %zu",
	                 posixtrace_log_field_at(event->type, field)->name, event->type->name, item);
}

static int wrong_kind(const struct posixtrace_log_event *event, unsigned field, const char *kind)
{
	return error_say(EINVAL, "the field %s of %s is no %s", posixtrace_log_field_at(event->type, field)->name,
	                 event->type->name, kind);
}

static bool is_number(const struct layout_field *f)
{
	return f->kind < LAYOUT_CHARS;
}

/* Finds an item that is a number. Returns 0 or an error number. */
static inline __attribute__((always_inline)) int
find_number(const struct posixtrace_log_event *event, unsigned field, size_t item, const struct layout_field **f,
            const unsigned char **p)
{
	struct layout_place place;

	*f = find(event, field, &place);
	if (!*f)
		return no_field(event, field);
	if (!is_number(*f))
		return wrong_kind(event, field, "number");
	/* A division takes as long as all the rest. */
	if (item ? item >= place.size / (*f)->size : place.size < (*f)->size)
		return no_item(event, field, item);
	*p = event->data + place.at + item * (*f)->size;
	return 0;
}

/* Finds an item that is an integer. Returns 0 or an error number. */
static int find_integer(const struct posixtrace_log_event *event, unsigned field, size_t item, const void *value,
                        const struct layout_field **f, const unsigned char **p)
{
	int error = !event || !value ? error_null() : find_number(event, field, item, f, p);

	return !error && (*f)->kind == LAYOUT_FLOAT ? wrong_kind(event, field, "integer") : error;
}

/* -- Numbers ----------------------------------------------------------------------------------------- */

static int out_of_range(const struct posixtrace_log_event *event, unsigned field)
{
	return error_say(ERANGE, "the value of the field %s of %s does not fit",
	                 posixtrace_log_field_at(event->type, field)->name, event->type->name);
}

int posixtrace_log_get_unsigned(const struct posixtrace_log_event *event, unsigned field, size_t item, uint64_t *value)
{
	const struct layout_field *f;
	const unsigned char *p;
	int error = find_integer(event, field, item, value, &f, &p);

	if (error)
		return error;
	if (f->kind == LAYOUT_SIGNED && layout_signed(p, f->size) < 0)
		return out_of_range(event, field);
	*value = layout_unsigned(p, f->size);
	return 0;
}

int posixtrace_log_get_signed(const struct posixtrace_log_event *event, unsigned field, size_t item, int64_t *value)
{
	const struct layout_field *f;
	const unsigned char *p;
	int error = find_integer(event, field, item, value, &f, &p);

	if (error)
		return error;
	if (f->kind != LAYOUT_SIGNED && layout_unsigned(p, f->size) > INT64_MAX)
		return out_of_range(event, field);
	*value = f->kind == LAYOUT_SIGNED ? layout_signed(p, f->size) : (int64_t)layout_unsigned(p, f->size);
	return 0;
}

int posixtrace_log_get_double(const struct posixtrace_log_event *event, unsigned field, size_t item, double *value)
{
	const struct layout_field *f;
	const unsigned char *p;
	int error;

	if (!event || !value)
		return error_null();
	error = find_number(event, field, item, &f, &p);
	if (error)
		return error;
	if (f->kind == LAYOUT_FLOAT)
		*value = layout_real(p, f->size);
	else if (f->kind == LAYOUT_SIGNED)
		*value = (double)layout_signed(p, f->size);
	else
		*value = (double)layout_unsigned(p, f->size);
	return 0;
}

/* -- Texts and bytes ------------------------------------------------------------------------------------ */

int posixtrace_log_get_text(const struct posixtrace_log_event *event, unsigned field, const char **text, size_t *length)
{
	const struct layout_field *f;
	struct layout_place place;

	if (!event || !text || !length)
		return error_null();
	f = find(event, field, &place);
	if (!f)
		return no_field(event, field);
	if (!layout_is_text_field(f))
		return wrong_kind(event, field, "text");
	*text = (const char *)event->data + place.at;
	*length = layout_text(f, event->data + place.at, place.size);
	return 0;
}

int posixtrace_log_get_bytes(const struct posixtrace_log_event *event, unsigned field, const unsigned char **bytes,
                             size_t *length)
{
	struct layout_place place;

	if (!event || !bytes || !length)
		return error_null();
	if (!find(event, field, &place))
		return no_field(event, field);
	*bytes = event->data + place.at;
	*length = place.size;
	return 0;
}

int posixtrace_log_get_count(const struct posixtrace_log_event *event, unsigned field, size_t *count)
{
	const struct layout_field *f;
	struct layout_place place;

	if (!event || !count)
		return error_null();
	f = find(event, field, &place);
	if (!f)
		return no_field(event, field);
	*count = layout_is_array(f) ? place.size / f->size : 1;
	return 0;
}

int posixtrace_log_get_rest(const struct posixtrace_log_event *event, const unsigned char **bytes, size_t *length)
{
	const struct current *c;
	size_t rest;

	if (!event || !bytes || !length)
		return error_null();
	c = current_of(event);
	rest = c->layout ? c->places.rest : 0;
	if (rest >= event->length)
		return error_say(ENOENT, "all bytes of the event belong to fields");
	*bytes = event->data + rest;
	*length = event->length - rest;
	return 0;
}

int posixtrace_log_get_form(const struct posixtrace_log_event *event, uint32_t *form)
{
	struct current *c = (struct current *)(uintptr_t)event;
	const struct layout *l;

	_Static_assert((int)FORM_FIELDS == POSIXTRACE_LOG_FORM_FIELDS && (int)FORM_MORE == POSIXTRACE_LOG_FORM_MORE &&
	               (int)FORM_TEXT == POSIXTRACE_LOG_FORM_TEXT && (int)FORM_BYTES == POSIXTRACE_LOG_FORM_BYTES,
	               "the same numbers");
	if (!event || !form)
		return error_null();
	l = c->layout;
	/* Nearly always all fields, in the same places. */
	if (l && l->fixed == l->count && event->length == l->end && l->place[l->count - 1].size) {
		*form = POSIXTRACE_LOG_FORM_FIELDS;
		return 0;
	}
	*form = layout_form(l, event->data, event->length, &c->places);
	c->located = l && event->length;
	return 0;
}

/* -- Labels ---------------------------------------------------------------------------------------------- */

/* A text that is written into memory of a fixed size. */
struct label {
	char *at;
	size_t left;
	bool full;
};

static void append(struct label *to, const char *text, size_t length)
{
	to->full |= length >= to->left;
	if (to->full)
		return;
	memcpy(to->at, text, length);
	to->at += length;
	to->left -= length;
	*to->at = 0;
}

static bool value_label(struct label *to, const struct layout *l, const struct layout_field *f, int64_t value)
{
	for (unsigned i = f->first_label; i < f->first_label + f->labels; i++)
		if (l->label[i].value == value) {
			append(to, l->text + l->label[i].at, l->label[i].length);
			return true;
		}
	return false;
}

/* Writes the labels of bits, each bit once, and in hexadecimal the bits without a label. */
static bool bit_labels(struct label *to, const struct layout *l, const struct layout_field *f, uint64_t value)
{
	uint64_t left = value;
	bool any = false;
	char hex[24];

	if (value == 0)
		return value_label(to, l, f, 0);
	for (unsigned i = f->first_label; i < f->first_label + f->labels; i++) {
		uint64_t bits = (uint64_t)l->label[i].value;

		if (!bits || (value & bits) != bits || !(left & bits))
			continue;
		if (any)
			append(to, "|", 1);
		append(to, l->text + l->label[i].at, l->label[i].length);
		left &= ~bits;
		any = true;
	}
	if (any && left)
		append(to, hex, (size_t)snprintf(hex, sizeof hex, "|0x%" PRIx64, left));
	return any;
}

int posixtrace_log_get_label(const struct posixtrace_log_event *event, unsigned field, size_t item, char *text,
                             size_t size)
{
	struct label to = { .at = text, .left = size };
	const struct layout_field *f;
	const unsigned char *p;
	const struct layout *l;
	bool labelled = false;
	int error;

	if (!event || !text || !size)
		return error_null();
	*text = 0;
	error = find_number(event, field, item, &f, &p);
	if (error == EINVAL)
		return error_say(ENOENT, "the field has no labels");
	if (error)
		return error;
	l = ((const struct current *)event)->layout;
	if (f->naming == NAMING_BITS)
		labelled = bit_labels(&to, l, f, layout_unsigned(p, f->size));
	else if (f->naming == NAMING_VALUES)
		labelled = value_label(&to, l, f, f->kind == LAYOUT_SIGNED ? layout_signed(p, f->size) :
		                       (int64_t)layout_unsigned(p, f->size));
	if (!labelled)
		return error_say(ENOENT, "the value has no label");
	return to.full ? error_say(ERANGE, "the label needs more than %zu bytes", size) : 0;
}
