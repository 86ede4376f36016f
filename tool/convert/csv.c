/*
 * csv.c - a table with a column for each declared field, quoted as in RFC 4180
 *
 * Spreadsheets treat a cell that begins with =, +, - or @ as a formula, which may run programs and send data away, and
 * the traced program determines the texts. Such a text gets a leading apostrophe, and so does a text that begins with
 * an apostrophe: a reader that removes one leading apostrophe gets the traced text. Numbers are never changed.
 *
 * Fields with the same name share a column, whatever their types. Only selected event types have columns, so a single
 * type makes a table without empty cells.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "common/out.h"
#include "base/utf8.h"
#include "convert/export.h"
#include "event/layout_print.h"
#include "event/layout_words.h"
#include "event/system_text.h"

/* Larger tables are not readable. Event types whose fields do not fit have their data in hex. */
#define COLUMNS_MAX 1024

static const char *const fixed[] = { "time", "relative", "pid", "tid", "thread", "event", "address", "truncated",
                                     "text", "data" };

#define FIXED (sizeof fixed / sizeof fixed[0])

/* The columns of fields. */
static struct {
	const char *name[COLUMNS_MAX];
	unsigned count;
} columns;

/* The state of a log: for each event type, the field in each column, as index + 1. Null: no columns. */
struct column_map {
	uint8_t *field[EVENT_ID_END];
};

/* -- Columns -------------------------------------------------------------------------------------- */

/* Returns the column with this name, which is added if necessary. Returns COLUMNS_MAX if the table is full. */
static unsigned column_of(const char *name)
{
	for (unsigned i = 0; i < columns.count; i++)
		if (strcmp(columns.name[i], name) == 0)
			return i;
	if (columns.count == COLUMNS_MAX)
		return COLUMNS_MAX;
	columns.name[columns.count] = name;
	return columns.count++;
}

static void map_fields(struct column_map *p, uint32_t id, const struct layout *l)
{
	uint8_t *field = calloc(COLUMNS_MAX, 1);

	if (!field)
		fail("no memory");
	p->field[id] = field;
	for (unsigned i = 0; i < l->count; i++) {
		unsigned column = column_of(l->field[i].name);

		/* Two fields of the same name cannot share a column. */
		if (column == COLUMNS_MAX || field[column]) {
			free(field);
			p->field[id] = NULL;
			return;
		}
		field[column] = (uint8_t)(i + 1);
	}
}

static void map_all(struct source *s)
{
	struct column_map *p = calloc(1, sizeof *p);

	if (!p)
		fail("no memory");
	s->own = p;
	for (uint32_t id = 0; id < EVENT_ID_END; id++) {
		const struct layout *l = layouts_find(s->layouts, id);

		if (l && match_type(s->match, id))
			map_fields(p, id, l);
	}
}

/* -- Cells ---------------------------------------------------------------------------------------- */

/*
 * Returns whether a spreadsheet may take the text for a formula, perhaps after removing leading bytes, or for our
 * apostrophe.
 */
static bool needs_apostrophe(const char *text, size_t size)
{
	/* The full-width forms of =, +, - and @, which some spreadsheets accept. */
	static const char wide[4][3] = { "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0" };

	if (size > 0 && text[0] && strchr("=+-@'\t\r\n", text[0]))
		return true;
	for (unsigned i = 0; size >= 3 && i < 4; i++)
		if (memcmp(text, wide[i], 3) == 0)
			return true;
	return false;
}

/* Writes a text, quoted if necessary. Invalid bytes become U+FFFD, because readers expect UTF-8. */
static void put_text(const char *text, size_t size)
{
	bool marks = false, plain = true;

	for (size_t i = 0; i < size; i++) {
		marks |= text[i] == '"' || text[i] == ',' || text[i] == '\n' || text[i] == '\r';
		plain &= text[i] && (unsigned char)text[i] < 0x80;
	}
	if (marks)
		out_char('"');
	if (needs_apostrophe(text, size))
		out_char('\'');
	if (!marks && plain) {
		out_bytes(text, size);
		return;
	}
	for (size_t i = 0; i < size;) {
		size_t n = utf8_length((const unsigned char *)text + i, size - i);

		if (text[i] == '"')
			out_char('"');
		if (n > 0 && text[i])
			out_bytes(text + i, n);
		else
			out_text("\xef\xbf\xbd");
		i += n ? n : 1;
	}
	if (marks)
		out_char('"');
}

static void put_hex(const unsigned char *data, size_t length)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < length; i++) {
		out_char(digits[data[i] >> 4]);
		out_char(digits[data[i] & 15]);
	}
}

static void put_item(const struct layout *l, const struct layout_field *f, const unsigned char *p)
{
	char words[LAYOUT_WORDS];
	size_t length = layout_words(words, l, f, p);

	if (length > 0)
		put_text(words, length);
	else
		layout_print_number(f, p, true);
}

static void put_field(const struct layout *l, const struct layout_field *f, const unsigned char *p, size_t size)
{
	if (f->kind == LAYOUT_BYTES) {
		put_hex(p, size);
	} else if (layout_is_text_field(f)) {
		put_text((const char *)p, layout_text(f, p, size));
	} else {
		for (size_t i = 0; i < size; i += f->size) {
			if (i > 0)
				out_char(' ');
			put_item(l, f, p + i);
		}
	}
}

/* -- Lines ---------------------------------------------------------------------------------------- */

static bool is_fixed(const char *name)
{
	for (unsigned i = 0; i < FIXED; i++)
		if (strcmp(fixed[i], name) == 0)
			return true;
	return strcmp("file", name) == 0;
}

static void begin(struct export *x)
{
	for (unsigned i = 0; i < x->logs.count; i++)
		map_all(&x->logs.source[i]);
	out_text(x->logs.count > 1 ? "file," : "");
	for (unsigned i = 0; i < FIXED; i++) {
		out_text(i > 0 ? "," : "");
		out_text(fixed[i]);
	}
	for (unsigned i = 0; i < columns.count; i++) {
		out_char(',');
		if (is_fixed(columns.name[i]))
			out_text("fields.");
		put_text(columns.name[i], strlen(columns.name[i]));
	}
	out_char('\n');
}

/* Writes the columns text and data, and those of the fields. */
static void put_data(const struct source *s, const struct log_event *e, const unsigned char *data)
{
	const struct layout *l = layouts_find(s->layouts, e->id);
	const uint8_t *field = ((const struct column_map *)s->own)->field[e->id];
	enum layout_form form = field ? FORM_FIELDS : layout_form(NULL, data, e->length, NULL);
	struct layout_places places = { .rest = 0 };
	char text[SYSTEM_TEXT];

	if (field)
		layout_locate(l, data, e->length, &places);
	if (eventtype_system(e->id) && e->length > 0 && system_text(text, s->layouts, e, data)) {
		put_text(text, strlen(text));
		form = FORM_TEXT;
	} else if (form == FORM_TEXT) {
		put_text((const char *)data, layout_text_length(data, e->length));
	}
	out_char(',');
	if (form != FORM_TEXT)
		put_hex(data + places.rest, e->length - places.rest);
	for (unsigned i = 0; i < columns.count; i++) {
		out_char(',');
		if (field && field[i] && field[i] <= places.count)
			put_field(l, &l->field[field[i] - 1], data + places.of[field[i] - 1].at,
			          places.of[field[i] - 1].size);
	}
}

static void event(struct export *x, struct source *s)
{
	const struct log_event *e = s->event;
	const char *name = layouts_name(s->layouts, e->id);

	if (!name)
		name = logfile_type(s->file, e->id);
	if (x->logs.count > 1) {
		put_text(s->path, strlen(s->path));
		out_char(',');
	}
	out_number(e->time, 0);
	out_char(',');
	out_difference(e->time, x->logs.begin);
	out_char(',');
	/* System events belong to no thread. */
	if (e->tid) {
		out_number(e->pid, 0);
		out_char(',');
		out_number(e->tid, 0);
		out_char(',');
		put_text(e->name, strnlen(e->name, sizeof e->name));
	} else {
		out_text(",,");
	}
	out_char(',');
	put_text(name, strlen(name));
	out_char(',');
	if (e->address)
		out_hex(e->address);
	out_text(e->truncated ? ",1," : ",0,");
	put_data(s, e, s->data);
	out_char('\n');
}

const struct exporter export_csv = {
	.name = "csv",
	.rows = true,
	.suffix = ".csv",
	.begin = begin,
	.event = event,
};
