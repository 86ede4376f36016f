/*
 * layout_json.c - the data of an event, as JSON
 *
 * SPDX-License-Identifier: MIT
 */
#include "layout_json.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "json.h"

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

static void json_item(const struct layout_field *f, const unsigned char *p)
{
	switch (f->kind) {
	case LAYOUT_SIGNED:
		json_signed(layout_signed(p, f->size));
		break;
	case LAYOUT_FLOAT:
		json_real(layout_real(p, f->size));
		break;
	default:
		json_number(layout_unsigned(p, f->size));
		break;
	}
}

void layout_json_field(const struct layout_field *f, const unsigned char *p, size_t size)
{
	switch (f->kind) {
	case LAYOUT_CHARS:
		json_text((const char *)p, layout_text(f, p, size));
		break;
	case LAYOUT_TEXT:
		json_text((const char *)p, layout_text(f, p, size));
		break;
	case LAYOUT_BYTES:
		hex_string(p, size);
		break;
	default:
		if (f->count == 1) {
			json_item(f, p);
			break;
		}
		json_begin('[');
		for (size_t i = 0; i < size; i += f->size)
			json_item(f, p + i);
		json_end(']');
	}
}

void layout_json(const struct layout *l, const unsigned char *data, size_t length)
{
	if (!l) {
		hex_string(data, length);
		return;
	}
	json_begin('{');
	for (unsigned i = 0; i < l->count; i++) {
		const struct layout_field *f = &l->field[i];
		size_t size = layout_there(f, length);

		if (size == 0 && !layout_rest(f))
			break;
		json_key(f->name);
		layout_json_field(f, data + (size > 0 ? f->offset : 0), size);
	}
	json_end('}');
}
