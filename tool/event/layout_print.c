/*
 * layout_print.c - the data of an event, for people
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/layout_print.h"

#include <string.h>
#include <wchar.h>

#include "common/out.h"

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

static void print_value(const struct layout_field *f, const unsigned char *p, size_t size)
{
	switch (f->kind) {
	case LAYOUT_CHARS:
		layout_print_text(p, layout_text(f, p, size));
		break;
	case LAYOUT_TEXT:
		layout_print_text(p, layout_text(f, p, size));
		break;
	case LAYOUT_BYTES:
		layout_print_hex(p, size, 4);
		break;
	default:
		if (f->count == 1) {
			layout_print_number(f, p, false);
			break;
		}
		out_char('[');
		for (size_t i = 0; i < size; i += f->size) {
			if (i > 0)
				out_char(' ');
			layout_print_number(f, p + i, false);
		}
		out_char(']');
	}
	if (f->unit_length && f->ascii)
		out_bytes(f->unit, f->unit_length);
	else if (f->unit_length)
		out_foreign(f->unit, f->unit_length, 0);
}

void layout_print(const struct layout *l, const unsigned char *data, size_t length)
{
	size_t more = layout_silent(l, length);

	out_char('{');
	for (unsigned i = 0; i < l->count; i++) {
		const struct layout_field *f = &l->field[i];
		size_t size = layout_there(f, length);

		if (size == 0 && !layout_rest(f)) {
			out_text(i > 0 ? " ..." : "...");
			break;
		}
		out_room();
		if (i > 0)
			*out_at++ = ' ';
		if (f->ascii) {
			/* Copying the maximum length is faster than copying the actual length. */
			memcpy(out_at, f->name, sizeof f->name);
			out_at += f->name_length;
		} else {
			/* Not every locale can show all of UTF-8. */
			out_foreign(f->name, f->name_length, 0);
		}
		out_char('=');
		print_value(f, data + (size > 0 ? f->offset : 0), size);
	}
	if (more < length) {
		out_text(" +");
		layout_print_hex(data + more, length - more, 4);
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
