/*
 * layout.c - what the data of events is, as their programs have declared it
 *
 * SPDX-License-Identifier: MIT
 */
#include "layout.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

/* -- Names ------------------------------------------------------------------------------------- */

/* Where the layout begins: behind the last brace. Null: none. */
static const char *fields_of(const char *name)
{
	const char *brace = strrchr(name, '{');

	return brace && brace > name && brace[1] && name[strlen(name) - 1] == '}' ? brace + 1 : NULL;
}

static bool parse_type(struct layout_field *f, const char *type, size_t length)
{
	static const struct {
		char name[4];
		uint8_t kind, size;
	} types[] = {
		{ "u8", LAYOUT_UNSIGNED, 1 }, { "u16", LAYOUT_UNSIGNED, 2 }, { "u32", LAYOUT_UNSIGNED, 4 }, { "u64", LAYOUT_UNSIGNED, 8 },
		{ "i8", LAYOUT_SIGNED, 1 },   { "i16", LAYOUT_SIGNED, 2 },   { "i32", LAYOUT_SIGNED, 4 },   { "i64", LAYOUT_SIGNED, 8 },
		{ "x8", LAYOUT_HEX, 1 },      { "x16", LAYOUT_HEX, 2 },      { "x32", LAYOUT_HEX, 4 },      { "x64", LAYOUT_HEX, 8 },
		{ "f32", LAYOUT_FLOAT, 4 },   { "f64", LAYOUT_FLOAT, 8 },    { "c", LAYOUT_CHARS, 1 },
		{ "s", LAYOUT_TEXT, 1 },      { "b", LAYOUT_BYTES, 1 },
	};

	for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++)
		if (strlen(types[i].name) == length && memcmp(types[i].name, type, length) == 0) {
			f->kind = types[i].kind;
			f->size = types[i].size;
			return true;
		}
	return false;
}

static bool copy(char *to, size_t size, uint8_t *length, const char *from, size_t n, bool *ascii)
{
	if (n >= size || !utf8_harmless((const unsigned char *)from, n, "", ascii))
		return false;
	memcpy(to, from, n);
	*length = (uint8_t)n;
	return true;
}

bool layout_rest(const struct layout_field *f)
{
	return f->kind == LAYOUT_TEXT || f->kind == LAYOUT_BYTES;
}

/* name:type[count]/unit, up to a comma or the brace. Where it ends; null: it is not right. */
static const char *parse_field(struct layout_field *f, const char *p)
{
	size_t n = strcspn(p, ":,[]/}");

	*f = (struct layout_field){ .count = 1, .ascii = true };
	if (n == 0 || p[n] != ':' || !copy(f->name, sizeof f->name, &f->name_length, p, n, &f->ascii))
		return NULL;
	p += n + 1;
	n = strcspn(p, ":,[]/}");
	if (!parse_type(f, p, n))
		return NULL;
	p += n;
	if (*p == '[') {
		char *end;
		unsigned long count = isdigit((unsigned char)p[1]) ? strtoul(p + 1, &end, 10) : 0;

		if (count < 1 || count > UINT16_MAX || *end != ']' || layout_rest(f))
			return NULL;
		f->count = (uint16_t)count;
		p = end + 1;
	}
	if (*p == '/') {
		n = strcspn(++p, ",}");
		if (n == 0 || !copy(f->unit, sizeof f->unit, &f->unit_length, p, n, &f->ascii))
			return NULL;
		p += n;
	}
	return *p == ',' || *p == '}' ? p : NULL;
}

/* Its place, as a compiler of C would choose it. */
static void place(struct layout *l, struct layout_field *f)
{
	uint8_t most = l->align_most ? l->align_most : 8, align = f->size < most ? f->size : most;

	f->offset = (l->end + align - 1) / align * align;
	l->end = f->offset + (uint32_t)f->size * f->count;
	if (align > l->align)
		l->align = align;
}

bool layout_parse(struct layout *l, const char *name)
{
	const char *p = fields_of(name);
	struct layout longer = *l;

	if (!p)
		return false;
	do {
		struct layout_field *f = &longer.field[longer.count];

		if (longer.count == LAYOUT_FIELDS || (longer.count > 0 && layout_rest(&f[-1])))
			return false;
		p = parse_field(f, p);
		if (!p)
			return false;
		place(&longer, f);
		longer.count++;
	} while (*p++ == ',');
	if (*p)
		return false;
	*l = longer;
	return true;
}

size_t layout_name(const char *name)
{
	const char *fields = fields_of(name);
	struct layout l = { 0 };

	return fields && layout_parse(&l, name) ? (size_t)(fields - 1 - name) : strlen(name);
}

/* -- Data ------------------------------------------------------------------------------------------- */

uint64_t layout_unsigned(const unsigned char *p, unsigned size)
{
	uint64_t eight;
	uint32_t four;
	uint16_t two;

	switch (size) {
	case 8:
		memcpy(&eight, p, 8);
		return eight;
	case 4:
		memcpy(&four, p, 4);
		return four;
	case 2:
		memcpy(&two, p, 2);
		return two;
	default:
		return *p;
	}
}

int64_t layout_signed(const unsigned char *p, unsigned size)
{
	unsigned above = 64 - 8 * size;

	return (int64_t)(layout_unsigned(p, size) << above) >> above;
}

double layout_real(const unsigned char *p, unsigned size)
{
	double d;
	float f;

	if (size == 8) {
		memcpy(&d, p, 8);
		return d;
	}
	memcpy(&f, p, 4);
	return (double)f;
}

size_t layout_there(const struct layout_field *f, size_t length)
{
	size_t left = f->offset < length ? length - f->offset : 0, all = (size_t)f->size * f->count;

	if (layout_rest(f))
		return left;
	return left < all ? left / f->size * f->size : all;
}

size_t layout_unsaid(const struct layout *l, size_t length)
{
	size_t all = (l->end + l->align - 1u) / l->align * l->align;

	return layout_rest(&l->field[l->count - 1]) || length == all || length < l->end ? length : l->end;
}

size_t layout_text_length(const unsigned char *data, size_t length)
{
	while (length > 0 && !data[length - 1])
		length--;
	return length;
}

size_t layout_text(const struct layout_field *f, const unsigned char *p, size_t size)
{
	return f->kind == LAYOUT_CHARS ? strnlen((const char *)p, size) : layout_text_length(p, size);
}

/* Does it end where its first null is, or where all of it does? */
static bool one_text(const unsigned char *data, size_t length)
{
	return !memchr(data, 0, layout_text_length(data, length));
}

static enum layout_form undeclared(const unsigned char *data, size_t length)
{
	size_t n = layout_text_length(data, length);

	/* A small number of two bytes looks like a string of one character; more than one null, like numbers. */
	if (n == 0 || length - n > 1 || (n < length && length <= 2))
		return FORM_BYTES;
	return utf8_harmless(data, n, "\n\t", NULL) ? FORM_TEXT : FORM_BYTES;
}

enum layout_form layout_form(const struct layout *l, const unsigned char *data, size_t length)
{
	const struct layout_field *last = l ? &l->field[l->count - 1] : NULL;

	if (length == 0)
		return FORM_NONE;
	if (!l)
		return undeclared(data, length);
	if (layout_rest(last))
		return length < last->offset || (last->kind == LAYOUT_TEXT && !one_text(data + last->offset, length - last->offset))
		               ? undeclared(data, length)
		               : FORM_FIELDS;
	if (length < l->end)
		return undeclared(data, length);
	return layout_unsaid(l, length) < length ? FORM_MORE : FORM_FIELDS;
}
