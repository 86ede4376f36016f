/*
 * values.c - the values of events in a trace of Perfetto: their data
 *
 * SPDX-License-Identifier: MIT
 */
#include "convert/perfetto/values.h"

#include "event/layout_words.h"
#include "event/system_text.h"

static void put_item(struct proto *p, const struct layout *l, const struct layout_field *f, const unsigned char *at)
{
	char words[LAYOUT_WORDS];
	size_t length = layout_words(words, l, f, at);

	if (f->kind == LAYOUT_BOOL)
		proto_number(p, VALUE_BOOL, *at != 0);
	else if (length > 0)
		proto_text(p, VALUE_TEXT, words, length);
	else if (f->kind == LAYOUT_SIGNED)
		proto_number(p, VALUE_SIGNED, (uint64_t)layout_signed(at, f->size));
	else if (f->kind == LAYOUT_HEX || f->kind == LAYOUT_CODE)
		proto_number(p, VALUE_POINTER, layout_unsigned(at, f->size));
	else if (f->kind == LAYOUT_FLOAT)
		proto_double(p, VALUE_DOUBLE, layout_real(at, f->size));
	else
		proto_number(p, VALUE_UNSIGNED, layout_unsigned(at, f->size));
}

static void put_field(struct proto *p, const struct layout *l, const struct layout_field *f, const unsigned char *at,
                      size_t size)
{
	if (layout_is_text_field(f)) {
		proto_text(p, VALUE_TEXT, (const char *)at, layout_text(f, at, size));
	} else if (f->kind == LAYOUT_BYTES) {
		proto_hex(p, VALUE_TEXT, at, size);
	} else if (!layout_is_array(f)) {
		put_item(p, l, f, at);
	} else if (size == 0) {
		/* A value with no items is no value to Perfetto, which then does not show the field. */
		proto_text(p, VALUE_TEXT, "[]", 2);
	} else {
		for (size_t i = 0; i < size; i += f->size) {
			size_t item = proto_begin(p, VALUE_ITEMS);

			put_item(p, l, f, at + i);
			proto_end(p, item);
		}
	}
}

size_t perfetto_value(struct proto *p, unsigned field, enum label label)
{
	size_t value = proto_begin(p, field);

	proto_number(p, VALUE_NAME, label + 1);
	return value;
}

void perfetto_put_number(struct proto *p, unsigned field, enum label label, enum value_field type, uint64_t n)
{
	size_t value = perfetto_value(p, field, label);

	proto_number(p, type, n);
	proto_end(p, value);
}

void perfetto_put_text(struct proto *p, unsigned field, enum label label, const char *text, size_t length)
{
	size_t value = perfetto_value(p, field, label);

	proto_text(p, VALUE_TEXT, text, length);
	proto_end(p, value);
}

static void put_hex(struct proto *p, unsigned field, enum label label, const unsigned char *data, size_t size)
{
	size_t value = perfetto_value(p, field, label);

	proto_hex(p, VALUE_TEXT, data, size);
	proto_end(p, value);
}

static void put_declared(struct proto *p, unsigned field, const struct source *s, const struct layout *l)
{
	uint32_t name = perfetto_type(s)->field, length = s->event->length;
	struct layout_places places;

	layout_locate(l, s->data, length, &places);
	for (unsigned i = 0; i < places.count; i++) {
		size_t value = proto_begin(p, field);

		proto_number(p, VALUE_NAME, name + i);
		put_field(p, l, &l->field[i], s->data + places.of[i].at, places.of[i].size);
		proto_end(p, value);
	}
	if (places.rest < length)
		put_hex(p, field, LABEL_MORE, s->data + places.rest, length - places.rest);
}

static void put_undeclared(struct proto *p, unsigned field, const struct source *s)
{
	const struct log_event *e = s->event;
	char text[SYSTEM_TEXT];

	if (e->id < POSIX_TRACE_UNNAMED_USEREVENT && system_text(text, s->layouts, e, s->data)) {
		if (text[0])
			perfetto_put_text(p, field, LABEL_TEXT, text, strlen(text));
		return;
	}
	switch (layout_form(NULL, s->data, e->length, NULL)) {
	case FORM_TEXT:
		perfetto_put_text(p, field, LABEL_TEXT, (const char *)s->data, layout_text_length(s->data, e->length));
		break;
	case FORM_BYTES:
		put_hex(p, field, LABEL_DATA, s->data, e->length);
		break;
	default:
		break;
	}
}

void perfetto_put_data(struct proto *p, unsigned field, const struct source *s, const struct layout *l)
{
	if (s->event->length == 0)
		return;
	if (l)
		put_declared(p, field, s, l);
	else
		put_undeclared(p, field, s);
}

void perfetto_put_constant(struct proto *p, unsigned field, const struct log_event *e)
{
	if (e->address)
		perfetto_put_number(p, field, LABEL_ADDRESS, VALUE_POINTER, e->address);
	if (e->truncated)
		perfetto_put_number(p, field, LABEL_TRUNCATED, VALUE_BOOL, true);
}
