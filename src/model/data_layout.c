/*
 * data_layout.c - what the data of events is, as their programs have declared it
 *
 * SPDX-License-Identifier: MIT
 */
#include "model/data_layout.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* -- Names ------------------------------------------------------------------------------------- */

/* Returns the beginning of the layout, after the last opening brace; null if there is none. */
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
		{ "u8", LAYOUT_UNSIGNED, 1 }, { "u16", LAYOUT_UNSIGNED, 2 }, { "u32", LAYOUT_UNSIGNED, 4 },
		        { "u64", LAYOUT_UNSIGNED, 8 },
		{ "i8", LAYOUT_SIGNED, 1 },   { "i16", LAYOUT_SIGNED, 2 },   { "i32", LAYOUT_SIGNED, 4 },
		        { "i64", LAYOUT_SIGNED, 8 },
		{ "x8", LAYOUT_HEX, 1 },      { "x16", LAYOUT_HEX, 2 },      { "x32", LAYOUT_HEX, 4 },
		        { "x64", LAYOUT_HEX, 8 },
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

/* Returns null, for parse_field(). */
static const char *wrong(struct layout_fault *fault, const char *at, size_t length, const char *why)
{
	*fault = (struct layout_fault){ at, length, why };
	return NULL;
}

/* Parses [count]. Returns the text after it, or null on an error. */
static const char *parse_count(struct layout_field *f, const char *p, struct layout_fault *fault)
{
	size_t n = strcspn(p, ",/}");
	char *end;
	unsigned long count = isdigit((unsigned char)p[1]) ? strtoul(p + 1, &end, 10) : 0;

	if (layout_rest(f))
		return wrong(fault, p, n, "is after s or b, which take all the rest and are not arrays");
	if (count < 1 || count > UINT16_MAX || *end != ']')
		return wrong(fault, p, n, "is not a count in brackets, from 1 to 65535");
	f->count = (uint16_t)count;
	return end + 1;
}

/* Parses name:type[count]/unit, up to a comma or the brace. Returns the text after it, or null if it is wrong. */
static const char *parse_field(struct layout_field *f, const char *p, struct layout_fault *fault)
{
	size_t n = strcspn(p, ":,[]/}"), whole = strcspn(p, ",}");

	*f = (struct layout_field){ .count = 1, .ascii = true };
	if (n == 0 || p[n] != ':')
		return wrong(fault, p, whole, "is not FIELD:TYPE");
	if (!copy(f->name, sizeof f->name, &f->name_length, p, n, &f->ascii))
		return wrong(fault, p, n,
		             "is not a valid field name: at most 31 bytes of UTF-8 without control characters");
	p += n + 1;
	n = strcspn(p, ":,[]/}");
	if (!parse_type(f, p, n))
		return wrong(fault, p, n, "is not a type: u8 u16 u32 u64, i8 ..., x8 ..., f32 f64, c, s, b");
	p += n;
	if (*p == '[') {
		p = parse_count(f, p, fault);
		if (!p)
			return NULL;
	}
	if (*p == '/') {
		n = strcspn(++p, ",}");
		if (n == 0 || !copy(f->unit, sizeof f->unit, &f->unit_length, p, n, &f->ascii))
			return wrong(fault, p - 1, n + 1,
			             "is not a unit: 1 to 15 bytes of UTF-8 without control characters");
		p += n;
	}
	return *p == ',' || *p == '}' ? p :
	       wrong(fault, p, strcspn(p, ",}"), "is after the type, where a comma or the closing brace is expected");
}

static bool has_field(const struct layout *l, const struct layout_field *f)
{
	for (unsigned i = 0; i < l->count; i++)
		if (l->field[i].name_length == f->name_length && memcmp(l->field[i].name, f->name, f->name_length) == 0)
			return true;
	return false;
}

/* Sets the field's offset as a C compiler would. */
static void set_offset(struct layout *l, struct layout_field *f)
{
	uint8_t most = l->align_most ? l->align_most : 8, align = f->size < most ? f->size : most;

	f->offset = (l->end + align - 1) / align * align;
	l->end = f->offset + (uint32_t)f->size * f->count;
	if (align > l->align)
		l->align = align;
}

/* Appends the fields from p on to l. Returns false on an error; then l may have some of them. */
static bool parse_fields(struct layout *l, const char *p, struct layout_fault *fault)
{
	do {
		struct layout_field field;
		const char *begin = p;

		p = parse_field(&field, p, fault);
		if (!p)
			return false;
		if (l->count == LAYOUT_FIELDS)
			return wrong(fault, begin, (size_t)(p - begin), "is beyond the maximum of 32 fields");
		if (l->count > 0 && layout_rest(&l->field[l->count - 1]))
			return wrong(fault, begin, (size_t)(p - begin),
			             "is after a field that takes all the rest, s or b");
		if (has_field(l, &field))
			return wrong(fault, begin, (size_t)(p - begin), "is the name of an earlier field");
		set_offset(l, &field);
		l->field[l->count++] = field;
	} while (*p++ == ',');
	return !*p || wrong(fault, p, strlen(p), "is after the closing brace");
}

bool layout_parse(struct layout *l, const char *name)
{
	const char *fields = fields_of(name);
	struct layout longer = *l;
	struct layout_fault fault;

	if (!fields || !parse_fields(&longer, fields, &fault))
		return false;
	*l = longer;
	return true;
}

bool layout_wrong(const struct layout *l, const char *name, struct layout_fault *fault)
{
	const char *brace = strrchr(name, '{'), *fields = fields_of(name);
	struct layout longer = *l;

	if (!brace || brace == name || !strchr(brace, ':'))
		return false;
	if (fields)
		return !parse_fields(&longer, fields, fault);
	if (strchr(brace, '}'))
		wrong(fault, strchr(brace, '}') + 1, strlen(strchr(brace, '}') + 1), "is after the closing brace");
	else
		wrong(fault, brace, strlen(brace), "has no closing brace");
	return true;
}

bool layout_declare(struct layout *l, const char *text, struct layout_fault *fault)
{
	struct layout longer = *l;
	size_t length = strlen(text);

	if (length >= LAYOUT_TEXT_SIZE)
		return wrong(fault, text + LAYOUT_TEXT_SIZE - 1, length - (LAYOUT_TEXT_SIZE - 1),
		             "is beyond the maximum of 2047 bytes");
	if (text[0] != '{' || !strchr(text, '}'))
		return wrong(fault, text, length, "is not {FIELD:TYPE,...}");
	if (!parse_fields(&longer, text + 1, fault))
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

/* Returns where whole items end, for data that ends before the last field does. */
static size_t end_of_whole(const struct layout *l, size_t length)
{
	for (unsigned i = 0; i < l->count; i++) {
		const struct layout_field *f = &l->field[i];
		size_t size = layout_there(f, length);

		if (size < (size_t)f->size * f->count)
			return f->offset + size < length ? f->offset + size : length;
	}
	return length;
}

size_t layout_silent(const struct layout *l, size_t length)
{
	size_t all = (l->end + l->align - 1u) / l->align * l->align;
	const struct layout_field *last = &l->field[l->count - 1];

	if (layout_rest(last))
		return length < last->offset ? end_of_whole(l, length) : length;
	if (length < l->end)
		return end_of_whole(l, length);
	return length == all ? length : l->end;
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

/* Returns whether only nulls follow the first null. */
static bool one_text(const unsigned char *data, size_t length)
{
	return !memchr(data, 0, layout_text_length(data, length));
}

static enum layout_form undeclared(const unsigned char *data, size_t length)
{
	size_t n = layout_text_length(data, length);

	/*
	 * A small number of two bytes looks like a string of one character. Data with several trailing nulls looks like
	 * numbers.
	 */
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
		return length < last->offset ||
		       (last->kind == LAYOUT_TEXT && !one_text(data + last->offset, length - last->offset))
		               ? undeclared(data, length)
		               : FORM_FIELDS;
	if (length < l->end)
		return undeclared(data, length);
	return layout_silent(l, length) < length ? FORM_MORE : FORM_FIELDS;
}
