/*
 * layout_json.c - the data of an event, as JSON
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/layout_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/message.h"
#include "event/layout_words.h"

static void hex_string(const unsigned char *data, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	char *text = malloc(2 * length + 1);

	if (!text)
		fail("no memory");
	for (size_t i = 0; i < length; i++) {
		text[2 * i] = digits[data[i] >> 4];
		text[2 * i + 1] = digits[data[i] & 15];
	}
	json_text(text, 2 * length);
	free(text);
}

/* Many readers, among them JavaScript and jq 1.6, keep numbers as double, which is exact up to here only. */
#define EXACT (INT64_C(1) << 53)

/* Writes a number in decimal, as a text where a double would lose digits. */
static void exact_unsigned(uint64_t n)
{
	char text[24];

	if (n <= (uint64_t)EXACT) {
		json_number(n);
		return;
	}
	snprintf(text, sizeof text, "%" PRIu64, n);
	json_string(text);
}

static void exact_signed(int64_t n)
{
	char text[24];

	if (n >= -EXACT && n <= EXACT) {
		json_signed(n);
		return;
	}
	snprintf(text, sizeof text, "%" PRId64, n);
	json_string(text);
}

static void json_item(const struct layout *l, const struct layout_field *f, const unsigned char *p)
{
	char words[LAYOUT_WORDS];
	size_t length = layout_words(words, l, f, p);

	if (length > 0) {
		if (f->kind == LAYOUT_BOOL)
			json_bool(*p != 0);
		else
			json_text(words, length);
		return;
	}
	switch (f->kind) {
	case LAYOUT_SIGNED:
		exact_signed(layout_signed(p, f->size));
		break;
	case LAYOUT_FLOAT:
		json_real(layout_real(p, f->size));
		break;
	case LAYOUT_CODE:
		json_hex(layout_unsigned(p, f->size));
		break;
	default:
		exact_unsigned(layout_unsigned(p, f->size));
		break;
	}
}

void layout_json_field(const struct layout *l, const struct layout_field *f, const unsigned char *p, size_t size)
{
	if (layout_is_text_field(f)) {
		json_text((const char *)p, layout_text(f, p, size));
	} else if (f->kind == LAYOUT_BYTES) {
		hex_string(p, size);
	} else if (!layout_is_array(f)) {
		json_item(l, f, p);
	} else {
		json_begin('[');
		for (size_t i = 0; i < size; i += f->size)
			json_item(l, f, p + i);
		json_end(']');
	}
}

size_t layout_json(const struct layout *l, const unsigned char *data, size_t length)
{
	struct layout_places places;

	if (!l) {
		hex_string(data, length);
		return length;
	}
	layout_locate(l, data, length, &places);
	json_begin('{');
	for (unsigned i = 0; i < places.count; i++) {
		json_key(l->field[i].name);
		layout_json_field(l, &l->field[i], data + places.of[i].at, places.of[i].size);
	}
	json_end('}');
	return places.rest;
}
