/*
 * fields.c - fields of an event that are given as texts: NAME:TYPE=VALUE
 *
 * SPDX-License-Identifier: MIT
 */
#include "script/fields.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <posixtrace/trace.h>

#include "common/message.h"
#include "model/eventtype.h"

void fields_add_bytes(struct fields *f, const void *bytes, size_t size)
{
	if (size > FIELDS_DATA_MAX - f->length)
		wrong_usage("more than %d bytes of data", FIELDS_DATA_MAX);
	memcpy(f->data + f->length, bytes, size);
	f->length += size;
}

/* -- Values ------------------------------------------------------------------------------------ */

/* Returns the base of a number. Leading zeroes, as `date` prints them, do not make it octal. */
static int base(const char *text)
{
	return text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
}

/* Adds the lowest bytes of a number. */
static void add_bytes_of(struct fields *f, uint64_t n, unsigned size)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	fields_add_bytes(f, (unsigned char *)&n + 8 - size, size);
#else
	fields_add_bytes(f, &n, size);
#endif
}

/* Finds the value of a label. Returns false if the field has no label with this text. */
static bool find_label(const struct layout *l, const struct layout_field *field, const char *text, uint64_t *value)
{
	for (unsigned i = field->first_label; i < field->first_label + field->labels; i++)
		if (l->label[i].length == strlen(text) && memcmp(l->text + l->label[i].at, text, strlen(text)) == 0) {
			*value = (uint64_t)l->label[i].value;
			return true;
		}
	return false;
}

/* Returns whether the text is an integer that the field can have, which is stored; else the nearest, or 0. */
static bool parse_integer(const struct layout_field *field, const char *text, uint64_t *n)
{
	bool is_signed = field->kind == LAYOUT_SIGNED, is_negative;
	uint64_t most = UINT64_MAX >> (64 - 8 * field->size + is_signed);
	char *end;

	text += strspn(text, " \t\n");
	is_negative = *text == '-';
	text += *text == '-' || *text == '+';
	*n = 0;
	/* No second sign. */
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*n = strtoull(text, &end, base(text));
	if (*end) {
		*n = 0;
		return false;
	}
	if (is_negative && !is_signed) {
		bool fits = *n == 0;

		*n = 0;
		return fits;
	}
	most += is_negative;
	if (!errno && *n <= most) {
		*n = is_negative ? 0 - *n : *n;
		return true;
	}
	*n = is_negative ? 0 - most : most;
	return false;
}

static bool parse_bool(const char *text, uint64_t *n)
{
	*n = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
	return *n || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

static bool add_real(struct fields *f, const struct layout_field *field, const char *text)
{
	char *end;
	double real = strtod(text, &end);
	bool fits = end != text && !*end;
	float small;

	real = fits ? real : 0;
	small = (float)real;
	if (field->size == 4)
		fields_add_bytes(f, &small, 4);
	else
		fields_add_bytes(f, &real, 8);
	return fits;
}

/* Adds the value of the field. Returns false if the text is no such value, and another was added instead. */
static bool add_value(struct fields *f, const struct layout *l, const struct layout_field *field, const char *text)
{
	bool fits;
	uint64_t n;

	switch (field->kind) {
	case LAYOUT_STRING:
		fields_add_bytes(f, text, strlen(text) + 1);
		return true;
	case LAYOUT_FLOAT:
		return add_real(f, field, text);
	case LAYOUT_BOOL:
		fits = parse_bool(text, &n);
		break;
	default:
		fits = find_label(l, field, text, &n) || parse_integer(field, text, &n);
	}
	add_bytes_of(f, n, field->size);
	return fits;
}

/* Notes the first value that could not be recorded. A longer text is cut. */
static void note_misfit(struct fields *f, const char *option, const char *text)
{
	if (!f->misfit[0])
		snprintf(f->misfit, sizeof f->misfit, "%s %s", option, text);
}

void fields_add_number(struct fields *f, enum layout_kind kind, unsigned size, const char *option, const char *text)
{
	static const struct layout without_labels;
	const struct layout_field field = { .kind = (uint8_t)kind, .size = (uint8_t)size };

	if (!add_value(f, &without_labels, &field, text))
		note_misfit(f, option, text);
}

void fields_say_misfit(const struct fields *f)
{
	if (f->misfit[0])
		complain("%s: not a value of this type; the nearest one, or 0, is recorded", f->misfit);
}

/* -- Fields ------------------------------------------------------------------------------------- */

/* Appends to the layout. Ends the program if it becomes too long. */
static void append(struct fields *f, const char *text, size_t length)
{
	size_t used = strlen(f->layout);

	if (used + length + 2 > sizeof f->layout)
		wrong_usage("the fields are declared in more than %d bytes", LAYOUT_TEXT_SIZE - 1);
	memcpy(f->layout + used, text, length);
	f->layout[used + length] = 0;
}

void fields_attributes(struct fields *f, const char *attributes)
{
	if (strpbrk(attributes, ";{}"))
		wrong_usage("--as %s: attributes are separated by commas; fields are given by --field", attributes);
	append(f, "{packed,", strlen("{packed,"));
	append(f, attributes, strlen(attributes));
}

/* Returns the equals sign before the value: labels have others, in angle brackets. Null if there is none. */
static const char *before_value(const char *text)
{
	const char *equals = strchr(text, '='), *labels = strchr(text, '<');

	if (equals && labels && labels < equals) {
		const char *end = strchr(labels, '>');

		equals = end ? strchr(end, '=') : NULL;
	}
	return equals;
}

/* Declares the field alone, which tells what it is. */
static void declare(struct layout *l, const char *declaration, size_t length, const char *text)
{
	char alone[LAYOUT_TEXT_SIZE];
	struct layout_fault fault;

	if (length > sizeof alone - 3)
		wrong_usage("--field %s: the declaration is too long", text);
	alone[0] = '{';
	memcpy(alone + 1, declaration, length);
	memcpy(alone + 1 + length, "}", 2);
	if (!layout_declare(l, alone, &fault))
		wrong_usage("--field %s: '%.*s' %s", text, (int)fault.length, fault.at, fault.why);
}

void fields_add(struct fields *f, const char *text)
{
	const char *equals = before_value(text);
	struct layout l = { 0 };
	char declaration[LAYOUT_TEXT_SIZE];
	size_t length = equals ? (size_t)(equals - text) : 0;

	if (length == 0 || length + 3 > sizeof declaration)
		wrong_usage("--field %s: not NAME:TYPE=VALUE, or NAME=TEXT", text);
	length = (size_t)snprintf(declaration, sizeof declaration, "%.*s%s", (int)length, text,
	                          memchr(text, ':', length) ? "" : ":z");
	declare(&l, declaration, length, text);
	if (l.count != 1 || l.field[0].count > 1 ||
	    (l.field[0].kind >= LAYOUT_CHARS && l.field[0].kind != LAYOUT_STRING))
		wrong_usage("--field %s: a field of a script is one number, a bool, or text of type z", text);
	append(f, f->layout[0] == 0 ? "{packed;" : strchr(f->layout, ';') ? "," : ";",
	       f->layout[0] == 0 ? strlen("{packed;") : 1);
	append(f, declaration, length);
	if (!add_value(f, &l, &l.field[0], equals + 1))
		note_misfit(f, "--field", text);
}

/* -- Event types ------------------------------------------------------------------------------------ */

/* Opens a type whose layout, if it has one, is behind its name. */
static trace_event_id_t open_name(const char *name)
{
	const struct layout none = { 0 };
	trace_event_id_t id = POSIX_TRACE_UNNAMED_USEREVENT;
	struct layout_fault fault;

	if (strlen(name) > TRACE_EVENT_NAME_MAX)
		fail("%s: the name of an event type, with its layout, has %d bytes at most; this one has %zu", name,
		     TRACE_EVENT_NAME_MAX, strlen(name));
	if (posix_trace_eventid_open(name, &id) != 0)
		fail("%s: not a valid name for an event type", name);
	if (layout_wrong(&none, name, &fault))
		complain("wrong layout: '%.*s' in %s %s", (int)fault.length, fault.at, name, fault.why);
	return id;
}

trace_event_id_t fields_open(struct fields *f, const char *name)
{
	trace_event_id_t id = POSIX_TRACE_UNNAMED_USEREVENT;
	char other[TRACE_EVENT_NAME_MAX + 1];
	struct layout_fault fault;
	int err;

	if (eventtype_predefined_id(name) || strcmp(name, "posix_trace_unnamed_userevent") == 0)
		wrong_usage("%s: this name belongs to the events of the recording itself", name);
	if (!*name)
		wrong_usage("the name of the event is empty");
	if (!f->layout[0])
		return open_name(name);
	if (!strchr(f->layout, ';'))
		wrong_usage("--as needs a --field: what an event means belongs to its fields");
	append(f, "}", 1);
	if (!layout_check(f->layout, &fault))
		wrong_usage("'%.*s' %s", (int)fault.length, fault.at, fault.why);
	if (strlen(name) > TRACE_EVENT_NAME_MAX)
		fail("%s: the name of an event type has %d bytes at most; this one has %zu", name, TRACE_EVENT_NAME_MAX,
		     strlen(name));
	err = posixtrace_declare(name, f->layout, &id);
	if (err == EEXIST) {
		layout_other_name(other, sizeof other, name, f->layout);
		err = posixtrace_declare(other, f->layout, &id);
	}
	if (err)
		fail("%s: not a valid name for an event type with fields", name);
	return id;
}
