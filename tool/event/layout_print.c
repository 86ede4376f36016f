/*
 * layout_print.c - the data of an event, for people
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/layout_print.h"

#include <string.h>
#include <wchar.h>

#include "common/out.h"
#include "event/layout_words.h"

void layout_print_hex(const unsigned char *data, size_t length, unsigned group)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < length; i++) {
		out_room();
		if (group && i > 0 && i % group == 0)
			*out_at++ = ' ';
		*out_at++ = digits[data[i] >> 4];
		*out_at++ = digits[data[i] & 15];
	}
}

static bool plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void layout_print_text(const unsigned char *data, size_t length)
{
	out_char('"');
	for (size_t i = 0, n; i < length; i += n) {
		const char *p = (const char *)data + i;

		for (n = 0; i + n < length && plain(data[i + n]);)
			n++;
		if (n > 0) {
			out_bytes(p, n);
			continue;
		}
		n = 1;
		if (*p == '"' || *p == '\\') {
			out_char('\\');
			out_char(*p);
		} else if (*p == '\n') {
			out_text("\\n");
		} else if (*p == '\t') {
			out_text("\\t");
		} else {
			/* Print the whole run at once, because multibyte characters must not be split. */
			while (i + n < length && data[i + n] >= 0x80 && data[i] >= 0x80)
				n++;
			out_foreign(p, n, 0);
		}
	}
	out_char('"');
}

void layout_print_number(const struct layout_field *f, const unsigned char *p, bool exact)
{
	switch (f->kind) {
	case LAYOUT_SIGNED:
		out_signed(layout_signed(p, f->size), 0);
		break;
	case LAYOUT_HEX:
	case LAYOUT_CODE:
		out_hex(layout_unsigned(p, f->size));
		break;
	case LAYOUT_FLOAT:
		out_printf("%.*g", f->size == 8 ? (exact ? 17 : 15) : (exact ? 9 : 7), layout_real(p, f->size));
		break;
	default:
		out_number(layout_unsigned(p, f->size), 0);
		break;
	}
}

/* Prints text that consists of names from the layout. */
static void print_names(const struct layout_field *f, const char *text, size_t length)
{
	if (f->ascii)
		out_bytes(text, length);
	else
		/* Not every locale can show all of UTF-8. */
		out_foreign(text, length, 0);
}

static void print_item(const struct layout *l, const struct layout_field *f, const unsigned char *p,
                       const struct layout_symbols *symbols)
{
	const char *symbol = NULL;
	char words[LAYOUT_WORDS];
	size_t length;

	if (f->kind == LAYOUT_CODE && symbols)
		symbol = symbols->find(symbols->arg, layout_unsigned(p, f->size));
	length = layout_words(words, l, f, p);
	if (symbol)
		/* The name is from a file that may contain any bytes, escape sequences included. */
		out_foreign(symbol, strlen(symbol), 0);
	else if (length > 0)
		print_names(f, words, length);
	else
		layout_print_number(f, p, false);
}

static void print_items(const struct layout *l, const struct layout_field *f, const unsigned char *p, size_t size,
                        const struct layout_symbols *symbols)
{
	if (!layout_is_array(f)) {
		print_item(l, f, p, symbols);
		return;
	}
	out_char('[');
	for (size_t i = 0; i < size; i += f->size) {
		if (i > 0)
			out_char(' ');
		print_item(l, f, p + i, symbols);
	}
	out_char(']');
}

static void print_value(const struct layout *l, const struct layout_field *f, const unsigned char *p, size_t size,
                        const struct layout_symbols *symbols)
{
	if (layout_is_text_field(f))
		layout_print_text(p, layout_text(f, p, size));
	else if (f->kind == LAYOUT_BYTES)
		layout_print_hex(p, size, 4);
	else
		print_items(l, f, p, size, symbols);
	/* The words for a time contain the unit. */
	if (f->unit_length && f->kind != LAYOUT_TIME)
		print_names(f, f->unit, f->unit_length);
}

void layout_print(const struct layout *l, const unsigned char *data, size_t length,
                  const struct layout_symbols *symbols)
{
	struct layout_places places;

	layout_locate(l, data, length, &places);
	out_char('{');
	for (unsigned i = 0; i < places.count; i++) {
		const struct layout_field *f = &l->field[i];

		out_room();
		if (i > 0)
			*out_at++ = ' ';
		if (f->ascii) {
			/* Copying the maximum length is faster than copying the actual length. */
			memcpy(out_at, f->name, sizeof f->name);
			out_at += f->name_length;
		} else {
			out_foreign(f->name, f->name_length, 0);
		}
		out_char('=');
		print_value(l, f, data + places.of[i].at, places.of[i].size, symbols);
	}
	if (places.count < l->count)
		out_text(places.count > 0 ? " ..." : "...");
	if (places.rest < length) {
		out_text(" +");
		layout_print_hex(data + places.rest, length - places.rest, 4);
	}
	out_char('}');
}

bool layout_is_text(const unsigned char *data, size_t length)
{
	mbstate_t state = { 0 };

	/* A small number of two bytes looks like a string of one character. */
	if (length > 2 && !data[length - 1])
		length--;
	for (size_t i = 0; i < length;) {
		wchar_t wide;
		size_t n = 1;

		if (data[i] >= 0x80) {
			n = mbrtowc(&wide, (const char *)data + i, length - i, &state);
			if (n >= (size_t)-2 || wcwidth(wide) < 0)
				return false;
		} else if ((data[i] < 0x20 && data[i] != '\n' && data[i] != '\t') || data[i] == 0x7f) {
			return false;
		}
		i += n;
	}
	return length > 0;
}

void layout_print_unknown(const unsigned char *data, size_t length)
{
	if (layout_is_text(data, length))
		layout_print_text(data, layout_text_length(data, length));
	else
		layout_print_hex(data, length, 4);
}
