/*
 * layout.c - what the data of events is, as their programs have declared it
 *
 * SPDX-License-Identifier: MIT
 */
#include "layout.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "command.h"
#include "json.h"
#include "logfile.h"
#include "out.h"

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

/* UTF-8 that a terminal shows, and does not obey: no control characters, neither those of one byte nor U+0080 to U+009F. */
static bool to_be_shown(const unsigned char *p, size_t size, bool *ascii)
{
	for (size_t i = 0, n; i < size; i += n) {
		n = out_utf8(p + i, size - i);
		if (n == 0 || p[i] < 0x20 || p[i] == 0x7f || (p[i] == 0xc2 && p[i + 1] < 0xa0))
			return false;
		*ascii &= n == 1;
	}
	return true;
}

static bool copy(char *to, size_t size, uint8_t *length, const char *from, size_t n, bool *ascii)
{
	if (n >= size || !to_be_shown((const unsigned char *)from, n, ascii))
		return false;
	memcpy(to, from, n);
	*length = (uint8_t)n;
	return true;
}

static bool rest(enum layout_kind kind)
{
	return kind == LAYOUT_TEXT || kind == LAYOUT_BYTES;
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

		if (count < 1 || count > UINT16_MAX || *end != ']' || rest(f->kind))
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

		if (longer.count == LAYOUT_FIELDS || (longer.count > 0 && rest(f[-1].kind)))
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

/* -- All types together --------------------------------------------------------------------------- */

/* What one name means, whichever ids have it. */
struct meaning {
	char name[TRACE_EVENT_NAME_MAX + 1];
	struct layout layout;
};

struct layouts {
	struct meaning *of[EVENT_ID_END];
	uint8_t align_most;
};

struct layouts *layouts_new(void)
{
	struct layouts *l = calloc(1, sizeof *l);

	if (!l)
		fail("no memory");
	return l;
}

static struct meaning *meaning(struct layouts *l, const char *name, size_t length)
{
	struct meaning *m;

	for (uint32_t id = 0; id < EVENT_ID_END; id++) {
		m = l->of[id];
		if (m && strncmp(m->name, name, length) == 0 && !m->name[length])
			return m;
	}
	m = calloc(1, sizeof *m);
	if (!m)
		fail("no memory");
	memcpy(m->name, name, length);
	m->layout.align_most = l->align_most;
	return m;
}

void layouts_add(struct layouts *l, uint32_t id, const char *name)
{
	size_t length = layout_name(name);

	if (id >= EVENT_ID_END || l->of[id])
		return;
	if (length > TRACE_EVENT_NAME_MAX)
		length = TRACE_EVENT_NAME_MAX;
	l->of[id] = meaning(l, name, length);
	layout_parse(&l->of[id]->layout, name);
}

/* On i386 numbers of eight bytes lie at multiples of four. */
static uint8_t alignment(const struct logfile *f)
{
	const char *machine = f->in.header.machine;
	unsigned char word = 0;
	bool x86 = strcmp(machine, "x86_64") == 0 || (machine[0] == 'i' && strcmp(machine + 2, "86") == 0);

	if (pread(f->in.fd, &word, 1, FRAME_BYTES + 21) != 1)
		word = 0;
	return x86 && word == 4 ? 4 : 8;
}

struct layouts *layouts_of(const struct logfile *f)
{
	struct layouts *l = layouts_new();

	l->align_most = alignment(f);
	for (uint32_t id = 0; id < EVENT_ID_END; id++)
		if (f->in.type[id])
			layouts_add(l, id, f->in.name[id]);
	return l;
}

const struct layout *layouts_find(const struct layouts *l, uint32_t id)
{
	return id < EVENT_ID_END && l->of[id] && l->of[id]->layout.count > 0 ? &l->of[id]->layout : NULL;
}

const char *layouts_name(const struct layouts *l, uint32_t id)
{
	return id < EVENT_ID_END && l->of[id] ? l->of[id]->name : NULL;
}

/* -- Data ------------------------------------------------------------------------------------------- */

static uint64_t get_unsigned(const unsigned char *p, unsigned size)
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

static int64_t get_signed(const unsigned char *p, unsigned size)
{
	unsigned above = 64 - 8 * size;

	return (int64_t)(get_unsigned(p, size) << above) >> above;
}

static double get_real(const unsigned char *p, unsigned size)
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

/* Bytes of a field that are there; of one that is no text, whole items. */
static size_t there(const struct layout_field *f, size_t length)
{
	size_t left = f->offset < length ? length - f->offset : 0, all = (size_t)f->size * f->count;

	if (rest(f->kind))
		return left;
	return left < all ? left / f->size * f->size : all;
}

/* Offset of what the layout says nothing of; the end of the data: there is no such thing, or only what fills a structure up. */
static size_t unsaid(const struct layout *l, size_t length)
{
	size_t all = (l->end + l->align - 1u) / l->align * l->align;

	return rest(l->field[l->count - 1].kind) || length == all || length < l->end ? length : l->end;
}

/* Those at the end of a text are no part of it. */
static size_t without_nulls(const unsigned char *data, size_t length)
{
	while (length > 0 && !data[length - 1])
		length--;
	return length;
}

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
			/* A run of them, so that characters of several bytes stay whole. */
			while (i + n < length && data[i + n] >= 0x80 && data[i] >= 0x80)
				n++;
			out_foreign(p, n, 0);
		}
	}
	out_char('"');
}

static void print_number(const struct layout_field *f, const unsigned char *p)
{
	switch (f->kind) {
	case LAYOUT_SIGNED:
		out_signed(get_signed(p, f->size), 0);
		break;
	case LAYOUT_HEX:
		out_hex(get_unsigned(p, f->size));
		break;
	case LAYOUT_FLOAT:
		out_printf("%.*g", f->size == 8 ? 15 : 7, get_real(p, f->size));
		break;
	default:
		out_number(get_unsigned(p, f->size), 0);
		break;
	}
}

static void print_value(const struct layout_field *f, const unsigned char *p, size_t size)
{
	switch (f->kind) {
	case LAYOUT_CHARS:
		layout_print_text(p, strnlen((const char *)p, size));
		break;
	case LAYOUT_TEXT:
		layout_print_text(p, without_nulls(p, size));
		break;
	case LAYOUT_BYTES:
		layout_print_hex(p, size, 4);
		break;
	default:
		if (f->count == 1) {
			print_number(f, p);
			break;
		}
		out_char('[');
		for (size_t i = 0; i < size; i += f->size) {
			if (i > 0)
				out_char(' ');
			print_number(f, p + i);
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
	size_t more = unsaid(l, length);

	out_char('{');
	for (unsigned i = 0; i < l->count; i++) {
		const struct layout_field *f = &l->field[i];
		size_t size = there(f, length);

		if (size == 0 && !rest(f->kind)) {
			out_text(i > 0 ? " ..." : "...");
			break;
		}
		out_room();
		if (i > 0)
			*out_at++ = ' ';
		if (f->ascii) {
			/* As many bytes as it may have are copied faster than as many as it has. */
			memcpy(out_at, f->name, sizeof f->name);
			out_at += f->name_length;
		} else {
			/* Not every locale has all of UTF-8. */
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
		layout_print_text(data, without_nulls(data, length));
	else
		layout_print_hex(data, length, 4);
}

/* -- JSON --------------------------------------------------------------------------------------------- */

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
		json_signed(get_signed(p, f->size));
		break;
	case LAYOUT_FLOAT:
		json_real(get_real(p, f->size));
		break;
	default:
		json_number(get_unsigned(p, f->size));
		break;
	}
}

static void json_value(const struct layout_field *f, const unsigned char *p, size_t size)
{
	switch (f->kind) {
	case LAYOUT_CHARS:
		json_text((const char *)p, strnlen((const char *)p, size));
		break;
	case LAYOUT_TEXT:
		json_text((const char *)p, without_nulls(p, size));
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

void layout_print_json(const struct layout *l, const unsigned char *data, size_t length)
{
	if (!l) {
		hex_string(data, length);
		return;
	}
	json_begin('{');
	for (unsigned i = 0; i < l->count; i++) {
		const struct layout_field *f = &l->field[i];
		size_t size = there(f, length);

		if (size == 0 && !rest(f->kind))
			break;
		json_key(f->name);
		json_value(f, data + (size > 0 ? f->offset : 0), size);
	}
	json_end('}');
}
