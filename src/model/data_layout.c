/*
 * data_layout.c - what the data of events is, as their programs have declared it
 *
 * SPDX-License-Identifier: MIT
 */
#include "model/data_layout.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"
#include "model/layout_meaning.h"

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
		char name[5];
		uint8_t kind, size;
	} types[] = {
		{ "u8", LAYOUT_UNSIGNED, 1 }, { "u16", LAYOUT_UNSIGNED, 2 }, { "u32", LAYOUT_UNSIGNED, 4 },
		        { "u64", LAYOUT_UNSIGNED, 8 },
		{ "i8", LAYOUT_SIGNED, 1 },   { "i16", LAYOUT_SIGNED, 2 },   { "i32", LAYOUT_SIGNED, 4 },
		        { "i64", LAYOUT_SIGNED, 8 },
		{ "x8", LAYOUT_HEX, 1 },      { "x16", LAYOUT_HEX, 2 },      { "x32", LAYOUT_HEX, 4 },
		        { "x64", LAYOUT_HEX, 8 },
		{ "f32", LAYOUT_FLOAT, 4 },   { "f64", LAYOUT_FLOAT, 8 },    { "bool", LAYOUT_BOOL, 1 },
		{ "a32", LAYOUT_CODE, 4 },    { "a64", LAYOUT_CODE, 8 },     { "t32", LAYOUT_TIME, 4 },
		{ "t64", LAYOUT_TIME, 8 },    { "c", LAYOUT_CHARS, 1 },      { "z", LAYOUT_STRING, 1 },
		{ "s", LAYOUT_TEXT, 1 },      { "b", LAYOUT_BYTES, 1 },
	};

	for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++)
		if (strlen(types[i].name) == length && memcmp(types[i].name, type, length) == 0) {
			f->kind = types[i].kind;
			f->size = types[i].size;
			f->count = f->kind != LAYOUT_TEXT && f->kind != LAYOUT_BYTES && f->kind != LAYOUT_STRING;
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

/* Returns null, for parse_field(). */
static const char *wrong(struct layout_fault *fault, const char *at, size_t length, const char *why)
{
	*fault = (struct layout_fault){ at, length, why };
	return NULL;
}

/* Parses [count] or [field]. Returns the text after it, or null on an error. */
static const char *parse_count(const struct layout *l, struct layout_field *f, const char *p,
                               struct layout_fault *fault)
{
	size_t n = strcspn(p, "],/}");
	unsigned counter;
	unsigned long count;
	char *end;

	n += p[n] == ']';
	if (f->kind == LAYOUT_TEXT || f->kind == LAYOUT_STRING)
		return wrong(fault, p, n, "is after s or z, which are not arrays; text of a known size is c[n]");
	if (isdigit((unsigned char)p[1])) {
		count = strtoul(p + 1, &end, 10);
		if (count < 1 || count > UINT16_MAX || end + 1 != p + n)
			return wrong(fault, p, n, "is not a count in brackets, from 1 to 65535");
		f->count = (uint16_t)count;
		return p + n;
	}
	counter = n > 2 && p[n - 1] == ']' ? layout_find_field(l, p + 1, n - 2) : LAYOUT_FIELDS;
	if (counter == LAYOUT_FIELDS || l->field[counter].kind != LAYOUT_UNSIGNED || l->field[counter].count != 1)
		return wrong(fault, p, n,
		             "is not a count in brackets: a number, or an earlier field of type u8, u16, u32 or u64");
	f->counter = (uint8_t)(counter + 1);
	f->count = 0;
	return p + n;
}

/* Parses the value of a label. Returns the text after it, or null if it does not fit into the field. */
static const char *parse_value(const struct layout_field *f, const char *p, int64_t *value)
{
	unsigned bits = f->size * 8u;
	char *end;

	if (!isdigit((unsigned char)p[*p == '-']) || (*p == '-' && f->kind != LAYOUT_SIGNED))
		return NULL;
	errno = 0;
	*value = f->kind == LAYOUT_SIGNED ? strtoll(p, &end, 0) : (int64_t)strtoull(p, &end, 0);
	if (errno)
		return NULL;
	if (f->kind == LAYOUT_SIGNED)
		return *value >> (bits - 1) == 0 || *value >> (bits - 1) == -1 ? end : NULL;
	return bits == 64 || (uint64_t)*value >> bits == 0 ? end : NULL;
}

static bool has_label(const struct layout *l, const struct layout_field *f, const char *name, size_t length)
{
	for (unsigned i = f->first_label; i < l->labels; i++)
		if (l->label[i].length == length && memcmp(l->text + l->label[i].at, name, length) == 0)
			return true;
	return false;
}

/* Parses one label, NAME or NAME=VALUE, whose value is *next unless it has one. Returns the text after it, or null. */
static const char *parse_label(struct layout *l, struct layout_field *f, const char *p, int64_t *next,
                               struct layout_fault *fault)
{
	size_t n = strcspn(p, "=,|<>[]/;{}"), whole = strcspn(p, ",|>}");
	struct layout_label *label = &l->label[l->labels];

	if (n == 0 || n > LAYOUT_LABEL_MAX || !utf8_harmless((const unsigned char *)p, n, "", &f->ascii))
		return wrong(fault, p, whole,
		             "is not a valid label: 1 to 31 bytes of UTF-8 without control characters");
	if (has_label(l, f, p, n))
		return wrong(fault, p, whole, "is an earlier label of the same field");
	if (l->labels == LAYOUT_LABELS || l->label_text + n > LAYOUT_LABEL_TEXT)
		return wrong(fault, p, whole, "is beyond the maximum of 128 labels that have 1024 bytes together");
	*label = (struct layout_label){ *next, l->label_text, (uint32_t)n };
	memcpy(l->text + l->label_text, p, n);
	if (p[n] == '=') {
		const char *after = parse_value(f, p + n + 1, &label->value);

		if (!after || !strchr(",|>", *after))
			return wrong(fault, p, whole, "is not LABEL=NUMBER with a number that the field can have");
		n = (size_t)(after - p);
	}
	l->label_text += label->length;
	l->labels++;
	f->labels++;
	*next = label->value;
	return p + n;
}

/* Parses <LABEL,...>, names of values, or <LABEL|...>, names of bits. Returns the text after it, or null. */
static const char *parse_labels(struct layout *l, struct layout_field *f, const char *p, struct layout_fault *fault)
{
	size_t n = strcspn(p, ">}");
	bool bits = memchr(p, '|', n) != NULL;
	const char *begin = p;
	int64_t next = bits;

	if (f->kind > LAYOUT_HEX || (bits && f->kind == LAYOUT_SIGNED))
		return wrong(fault, p, n + (p[n] == '>'),
		             bits ? "is after a type that has no bits with labels: u8 ... and x8 ... have" :
		                    "is after a type that has no labels: u8 ..., i8 ..., x8 ... have");
	f->naming = bits ? NAMING_BITS : NAMING_VALUES;
	f->first_label = (uint8_t)l->labels;
	do {
		p = parse_label(l, f, p + 1, &next, fault);
		if (!p)
			return NULL;
		next = bits ? (int64_t)((uint64_t)next << 1) : (int64_t)((uint64_t)next + 1);
	} while (*p == (bits ? '|' : ','));
	if (*p == '>')
		return p + 1;
	if (*p == ',' || *p == '|')
		return wrong(fault, p, 1 + strcspn(p + 1, ",|>}"),
		             "is among labels that have the other separator: a comma, or a bar for bits");
	return wrong(fault, begin, (size_t)(p - begin), "is a list of labels that does not end with >");
}

/* Parses what may be after the name of a type: <LABELS>[COUNT]/UNIT. Returns the text after it, or null. */
static const char *parse_suffixes(struct layout *l, struct layout_field *f, const char *p, struct layout_fault *fault)
{
	size_t n;

	if (*p == '<')
		p = parse_labels(l, f, p, fault);
	if (p && *p == '[')
		p = parse_count(l, f, p, fault);
	if (!p || *p != '/')
		return p;
	n = strcspn(++p, ",}");
	if (n == 0 || !copy(f->unit, sizeof f->unit, &f->unit_length, p, n, &f->ascii))
		return wrong(fault, p - 1, n + 1, "is not a unit: 1 to 15 bytes of UTF-8 without control characters");
	return p + n;
}

/* Returns whether times can be in this unit. */
static bool time_unit(const char *unit)
{
	return !*unit || strcmp(unit, "s") == 0 || strcmp(unit, "ms") == 0 || strcmp(unit, "us") == 0 ||
	       strcmp(unit, "ns") == 0;
}

/* Parses name:type<labels>[count]/unit, up to a comma or the brace. Returns the text after it, or null on an error. */
static const char *parse_field(struct layout *l, struct layout_field *f, const char *p, struct layout_fault *fault)
{
	size_t n = strcspn(p, ":,[]<>;/{}"), whole = strcspn(p, ",}");
	const char *type;

	memset(f, 0, sizeof *f);
	f->ascii = true;
	if (n == 0 || p[n] != ':')
		return wrong(fault, p, whole, "is not FIELD:TYPE");
	if (!copy(f->name, sizeof f->name, &f->name_length, p, n, &f->ascii))
		return wrong(fault, p, n,
		             "is not a valid field name: at most 31 bytes of UTF-8 without control characters");
	type = p + n + 1;
	n = strcspn(type, ":,[]<>;/}");
	if (!parse_type(f, type, n))
		return wrong(fault, type, n, "is not a type: u8 u16 u32 u64, i8 ..., x8 ..., f32 f64, bool, a32 a64, "
		                             "t32 t64, c, z, s, b");
	p = parse_suffixes(l, f, type + n, fault);
	if (!p)
		return NULL;
	if (f->kind == LAYOUT_TIME && !time_unit(f->unit))
		return wrong(fault, type, (size_t)(p - type), "is a time, whose unit is s, ms, us or ns");
	return *p == ',' || *p == '}' ? p :
	       wrong(fault, p, strcspn(p, ",}"), "is after the type, where a comma or the closing brace is expected");
}

/* Sets the alignment that the field has in a C structure, which may be packed. */
static void set_align(struct layout *l, struct layout_field *f, bool packed)
{
	uint8_t most = packed ? 1 : l->align_most ? l->align_most : 8;

	f->align = f->size < most ? f->size : most;
	if (f->align > l->align)
		l->align = f->align;
}

/* Notes where the field is, if it and all before it have a fixed size. */
static void set_place(struct layout *l, const struct layout_field *f)
{
	struct layout_place *place = &l->place[l->count];

	if (l->fixed < l->count || f->counter || f->kind == LAYOUT_STRING)
		return;
	place->at = (l->end + f->align - 1u) & ~(f->align - 1u);
	place->size = (uint32_t)f->size * f->count;
	l->end = place->at + place->size;
	l->fixed++;
}

/* Appends the fields from p on to l. Returns false on an error; then l may have some of them. */
static bool parse_fields(struct layout *l, const char *p, struct layout_fault *fault)
{
	const char *attributes = p[strcspn(p, ";}")] == ';' ? p : NULL;
	bool packed = attributes && meaning_packed(attributes);

	if (attributes)
		p += strcspn(p, ";") + 1;
	do {
		struct layout_field field;
		const char *begin = p;

		p = parse_field(l, &field, p, fault);
		if (!p)
			return false;
		if (l->count == LAYOUT_FIELDS)
			return wrong(fault, begin, (size_t)(p - begin), "is beyond the maximum of 32 fields");
		if (l->count > 0 && layout_rest(&l->field[l->count - 1]))
			return wrong(fault, begin, (size_t)(p - begin),
			             "is after a field that takes all the rest, s or b");
		if (layout_find_field(l, field.name, field.name_length) < LAYOUT_FIELDS)
			return wrong(fault, begin, (size_t)(p - begin), "is the name of an earlier field");
		set_align(l, &field, packed);
		set_place(l, &field);
		l->field[l->count++] = field;
	} while (*p++ == ',');
	if (*p)
		return wrong(fault, p, strlen(p), "is after the closing brace");
	return !attributes || meaning_parse(l, attributes, fault);
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

/* Appends a layout that was declared beside its name. Returns false on an error; then l may have some of the fields. */
static bool declare(struct layout *l, const char *text, struct layout_fault *fault)
{
	size_t length = strlen(text);

	if (length >= LAYOUT_TEXT_SIZE)
		return wrong(fault, text + LAYOUT_TEXT_SIZE - 1, length - (LAYOUT_TEXT_SIZE - 1),
		             "is beyond the maximum of 2047 bytes");
	if (text[0] != '{' || !strchr(text, '}'))
		return wrong(fault, text, length, "is not {FIELD:TYPE,...}");
	return parse_fields(l, text + 1, fault);
}

bool layout_declare(struct layout *l, const char *text, struct layout_fault *fault)
{
	struct layout longer = *l;

	if (!declare(&longer, text, fault))
		return false;
	*l = longer;
	return true;
}

bool layout_check(const char *text, struct layout_fault *fault)
{
	struct layout l = { 0 };

	return declare(&l, text, fault);
}

size_t layout_name(const char *name)
{
	const char *fields = fields_of(name);
	struct layout l = { 0 };
	struct layout_fault fault;

	return fields && parse_fields(&l, fields, &fault) ? (size_t)(fields - 1 - name) : strlen(name);
}

void layout_other_name(char *name, size_t size, const char *event_name, const char *layout)
{
	const char *attributes = strrchr(layout, ';'), hex[] = "0123456789abcdef";
	struct text t = text_into(name, size);
	uint32_t hash = 2166136261u; /* FNV-1a */
	size_t end;

	text_add(&t, event_name);
	text_add(&t, "(");
	text_add(&t, attributes ? attributes + 1 : layout + (*layout == '{'));
	end = (size_t)(t.at - name);
	if (end < size - 1) {
		name[end - 1] = ')'; /* instead of the brace */
		return;
	}
	for (const char *p = layout; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619u;
	end -= strlen("#01234567)");
	while (end > 0 && ((unsigned char)name[end] & 0xc0) == 0x80)
		end--;
	name[end++] = '#';
	for (int shift = 28; shift >= 0; shift -= 4)
		name[end++] = hex[hash >> shift & 15];
	memcpy(name + end, ")", 2);
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

/* Returns the number of bytes of a text that ends with a null, or of all bytes if there is none. */
static size_t string_size(const unsigned char *p, size_t left, bool *whole)
{
	const unsigned char *null = left > 0 ? memchr(p, 0, left) : NULL;

	*whole = null != NULL;
	return null ? (size_t)(null - p) + 1 : left;
}

/* Returns the number of items that the field should have. */
static uint64_t wanted_items(const struct layout *l, const struct layout_field *f, const unsigned char *data,
                             const struct layout_places *places)
{
	if (!f->counter)
		return f->count;
	return layout_unsigned(data + places->of[f->counter - 1].at, l->field[f->counter - 1].size);
}

/* Returns the offset of bytes behind the last field, which are not the padding at the end of a structure. */
static size_t behind(const struct layout *l, size_t end, size_t length)
{
	size_t mask = l->align - 1u;

	return ((end + mask) & ~mask) == length ? length : end;
}

/* The places of the fields are the same in each event that has all of them. */
static void locate_fixed(const struct layout *l, size_t length, struct layout_places *places)
{
	unsigned last = l->count - 1;

	memcpy(places->of, l->place, l->count * sizeof *l->place);
	places->count = l->count;
	places->whole = true;
	if (layout_rest(&l->field[last])) {
		places->of[last].size = (uint32_t)(length - l->end);
		places->rest = length;
	} else {
		places->rest = behind(l, l->end, length);
	}
}

void layout_locate(const struct layout *l, const unsigned char *data, size_t length, struct layout_places *places)
{
	size_t end = 0;

	if (l->fixed == l->count && length >= l->end) {
		locate_fixed(l, length, places);
		return;
	}
	for (unsigned i = 0; i < l->count; i++) {
		const struct layout_field *f = &l->field[i];
		size_t at = (end + f->align - 1) & ~(size_t)(f->align - 1), left, size;
		uint64_t count = wanted_items(l, f, data, places);
		bool whole = true;

		at = at < length ? at : length;
		left = length - at;
		size = left;
		if (f->kind == LAYOUT_STRING) {
			size = string_size(data + at, left, &whole);
		} else if (!layout_rest(f)) {
			whole = count <= left && count * f->size <= left;
			/* Only whole items count. Sizes are powers of two. */
			size = whole ? (size_t)count * f->size : left & ~(size_t)(f->size - 1);
		}
		places->of[i].at = (uint32_t)at;
		places->of[i].size = (uint32_t)size;
		end = at + size;
		if (!whole) {
			places->count = size > 0 ? i + 1 : i;
			places->whole = false;
			places->rest = end;
			return;
		}
	}
	places->count = l->count;
	places->whole = true;
	places->rest = behind(l, end, length);
}

size_t layout_text_length(const unsigned char *data, size_t length)
{
	while (length > 0 && !data[length - 1])
		length--;
	return length;
}

size_t layout_text(const struct layout_field *f, const unsigned char *p, size_t size)
{
	return f->kind == LAYOUT_TEXT ? layout_text_length(p, size) : strnlen((const char *)p, size);
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

enum layout_form layout_form(const struct layout *l, const unsigned char *data, size_t length,
                             struct layout_places *places)
{
	const struct layout_field *last = l ? &l->field[l->count - 1] : NULL;
	size_t at;

	if (length == 0)
		return FORM_NONE;
	if (!l)
		return undeclared(data, length);
	layout_locate(l, data, length, places);
	if (!places->whole)
		return undeclared(data, length);
	at = places->of[l->count - 1].at;
	if (last->kind == LAYOUT_TEXT && !one_text(data + at, length - at))
		return undeclared(data, length);
	return places->rest < length ? FORM_MORE : FORM_FIELDS;
}
