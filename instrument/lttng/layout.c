/*
 * layout.c - the layout of an event's data, made of the provider's description
 *
 * SPDX-License-Identifier: MIT
 */
#include "layout.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits of layouts: docs/layouts.md. */
#define FIELDS_MOST       32
#define NAME_MOST         31
#define LABELS_MOST       128
#define LABELS_BYTES_MOST 1024
#define ITEMS_MOST        65535

/* A range of values with one label has a label for each value, up to so many. */
#define RANGE_MOST 16

struct building {
	char text[POSIXTRACE_LAYOUT_MAX + 1];
	size_t length;
	bool full; /* the field did not fit */
	char names[FIELDS_MOST][NAME_MOST + 1]; /* of the fields so far */
	const char *originals[FIELDS_MOST]; /* as the provider has them */
	unsigned fields, labels, labels_bytes;
	bool functions; /* addresses in hexadecimal are functions */
	bool without_labels;
};

static __attribute__((format(printf, 2, 3))) void add(struct building *b, const char *format, ...)
{
	size_t room = sizeof b->text - b->length;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(b->text + b->length, room, format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= room) {
		b->full = true;
		b->text[b->length] = '\0';
	} else {
		b->length += (size_t)length;
	}
}

/* -- Names and labels ------------------------------------------------------------------------------------ */

/* Copies a text without the characters that mean something in a layout, and without those that are not ASCII. */
static void copy_plain(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; from[n] && n + 1 < size; n++)
		to[n] = from[n] < ' ' || from[n] > '~' || strchr(":,;[]<>/{}=|", from[n]) ? '_' : from[n];
	to[n] = '\0';
}

static bool has_name(const struct building *b, const char *name)
{
	for (unsigned i = 0; i < b->fields; i++)
		if (strcmp(b->names[i], name) == 0)
			return true;
	return false;
}

/* Begins a field: "name:", under another name if it is too long, or taken. Returns false if there are too many fields. */
static bool begin_field(struct building *b, const char *original)
{
	char *name = b->names[b->fields], number[8];
	size_t length;

	if (b->fields == FIELDS_MOST)
		return false;
	copy_plain(name, NAME_MOST + 1, *original ? original : "_");
	length = strlen(name);
	for (unsigned n = 2; has_name(b, name); n++) {
		size_t digits = (size_t)snprintf(number, sizeof number, "%u", n);

		if (length + digits > NAME_MOST)
			length = NAME_MOST - digits;
		memcpy(name + length, number, digits + 1);
	}
	add(b, "%s%s:", b->fields ? "," : "", name);
	b->originals[b->fields++] = original;
	return !b->full;
}

/* The values of an integer type, of which a field's labels may be. */
struct range {
	bool is_signed;
	unsigned bits;
};

static bool in_range(struct range r, unsigned long long value, bool value_signed)
{
	if (!r.is_signed)
		return !(value_signed && (long long)value < 0) && (r.bits == 64 || value >> r.bits == 0);
	if (!value_signed && value > (unsigned long long)INT64_MAX)
		return false;
	return (long long)value >= -(1LL << (r.bits - 1)) && (long long)value <= (long long)((1ULL << (r.bits - 1)) - 1);
}

struct labels {
	struct building *b;
	struct range range;
	unsigned long long values[LABELS_MOST]; /* those that have a label; the first one counts */
	char texts[LABELS_MOST][NAME_MOST + 1];
	unsigned count;
};

/* Adds a label if it can be one: two values cannot share it, and a value has one only. */
static void add_label(struct labels *l, const char *text, unsigned long long value, bool value_signed)
{
	struct building *b = l->b;
	size_t length = strlen(text);

	if (length == 0 || b->labels == LABELS_MOST || b->labels_bytes + length + 1 > LABELS_BYTES_MOST ||
	    !in_range(l->range, value, value_signed))
		return;
	for (unsigned i = 0; i < l->count; i++)
		if (l->values[i] == value || strcmp(l->texts[i], text) == 0)
			return;
	if (l->range.is_signed)
		add(b, "%s%s=%lld", l->count ? "," : "<", text, (long long)value);
	else
		add(b, "%s%s=%llu", l->count ? "," : "<", text, value);
	if (b->full)
		return;
	strcpy(l->texts[l->count], text);
	l->values[l->count++] = value;
	b->labels++;
	b->labels_bytes += (unsigned)length + 1;
}

/* Adds the labels of one entry: a range has "few" for its first value, and then "few+1", "few+2". */
static void add_entry(struct labels *l, const struct ust_enum_entry *entry, unsigned long long start,
                      unsigned long long end, bool value_signed)
{
	char text[NAME_MOST + 1], other[NAME_MOST + 1];

	copy_plain(text, sizeof text, entry->string ? entry->string : "");
	add_label(l, text, start, value_signed);
	for (unsigned i = 1; i < RANGE_MOST && i <= end - start; i++) {
		snprintf(other, sizeof other, "%.27s+%u", text, i);
		add_label(l, other, start + i, value_signed);
	}
}

static void add_labels(struct building *b, const struct ust_enum_desc *desc, struct range range)
{
	struct labels *l = calloc(1, sizeof *l);
	unsigned long long next = 0;
	size_t before = b->length;

	if (!l)
		return;
	l->b = b;
	l->range = range;
	for (unsigned i = 0; i < desc->nr_entries; i++) {
		const struct ust_enum_entry *entry = desc->entries[i];
		bool automatic = entry->options & UST_ENUM_ENTRY_IS_AUTO;
		unsigned long long start = automatic ? next : entry->start.value;
		unsigned long long end = automatic ? next : entry->end.value;

		add_entry(l, entry, start, end, automatic ? range.is_signed : entry->start.signedness);
		next = end + 1;
	}
	if (l->count)
		add(b, ">");
	/* A field without labels has more room than one whose list is cut. */
	if (b->full) {
		b->text[b->length = before] = '\0';
		b->full = false;
	}
	free(l);
}

/* -- Types -------------------------------------------------------------------------------------------------- */

/* A number, which may be an item of an array. */
struct number {
	char letter; /* u, i, x, a, f; 0: of a size that layouts do not have */
	unsigned size; /* bytes */
	bool reversed;
	const struct ust_enum_desc *labels; /* null: none */
};

static bool number_of(const struct building *b, const struct ust_type_common *type, struct number *n)
{
	*n = (struct number){ 0 };
	if (type->type == ust_type_enum) {
		n->labels = ((const struct ust_type_enum *)type)->desc;
		type = ((const struct ust_type_enum *)type)->container_type;
	}
	if (type->type == ust_type_integer) {
		const struct ust_type_integer *integer = (const struct ust_type_integer *)type;

		n->size = integer->size / 8;
		n->reversed = integer->reverse_byte_order;
		n->letter = integer->signedness ? 'i' : 'u';
		if (integer->base == 16)
			n->letter = b->functions && n->size == sizeof(void *) ? 'a' : 'x';
	} else if (type->type == ust_type_float) {
		const struct ust_type_float *real = (const struct ust_type_float *)type;

		n->size = (real->exp_dig + real->mant_dig) / 8;
		n->reversed = real->reverse_byte_order;
		n->letter = n->size < 4 ? 0 : 'f';
	} else {
		return false;
	}
	if (n->size != 1 && n->size != 2 && n->size != 4 && n->size != 8)
		n->letter = 0;
	return true;
}

static void add_number(struct building *b, const struct number *n)
{
	add(b, "%c%u", n->letter, n->size * 8);
	if (n->labels && !b->without_labels && n->letter != 'a')
		add_labels(b, n->labels, (struct range){ n->letter == 'i', n->size * 8 });
}

/* Adds an array of a fixed length. */
static bool add_array(struct building *b, const char *name, const struct ust_type_array *array,
                      const struct number *item)
{
	if (array->length == 0)
		return true;
	if (!begin_field(b, name))
		return false;
	if (array->length > ITEMS_MOST || (size_t)array->length * item->size > ITEMS_MOST) {
		add(b, "b");
		return false;
	}
	if (array->encoding != ust_string_encoding_none)
		add(b, "c[%u]", array->length);
	else if (!item->letter)
		add(b, "b[%u]", array->length * item->size);
	else {
		add_number(b, item);
		add(b, "[%u]", array->length);
	}
	return !b->full;
}

/* Returns the name that the field with the length of a sequence has in the layout; null: there is none. */
static const char *length_field(const struct building *b, const struct ust_type_sequence *sequence)
{
	if (!sequence->length_name)
		return b->fields ? b->names[b->fields - 1] : NULL;
	for (unsigned i = b->fields; i-- > 0;)
		if (strcmp(b->originals[i], sequence->length_name) == 0)
			return b->names[i];
	return NULL;
}

static bool add_sequence(struct building *b, const char *name, const struct ust_type_sequence *sequence,
                         const struct number *item)
{
	const char *length = length_field(b, sequence);

	if (!length || !item->letter || !begin_field(b, name))
		return false;
	if (sequence->encoding != ust_string_encoding_none)
		add(b, "c");
	else
		add_number(b, item);
	add(b, "[%s]", length);
	return !b->full;
}

/* Adds a field. is_length: the next one is a sequence of so many items. Returns false if no field can follow. */
static bool add_field(struct building *b, const struct ust_event_field *field, bool is_length)
{
	const struct ust_type_common *type = field->type;
	struct number n = { 0 };

	if (type->type == ust_type_array)
		return number_of(b, ((const struct ust_type_array *)type)->elem_type, &n) &&
		       add_array(b, field->name, (const struct ust_type_array *)type, &n);
	if (type->type == ust_type_sequence)
		return number_of(b, ((const struct ust_type_sequence *)type)->elem_type, &n) &&
		       add_sequence(b, field->name, (const struct ust_type_sequence *)type, &n);
	if (type->type == ust_type_string) {
		if (!begin_field(b, field->name))
			return false;
		add(b, "z");
		return !b->full;
	}
	if (!number_of(b, type, &n) || n.size == 0 || !begin_field(b, field->name))
		return false;
	/* Lengths are never negative. */
	if (is_length && n.letter)
		n.letter = 'u';
	if (n.letter)
		add_number(b, &n);
	else
		add(b, "b[%u]", n.size);
	return !b->full;
}

/* -- An event ---------------------------------------------------------------------------------------------------- */

static const char *level_of(const struct ust_event_desc *desc)
{
	static const char *const levels[] = { "emergency", "alert", "critical", "error", "warning", "notice", "info" };
	int level;

	if (!desc->loglevel || !*desc->loglevel)
		return NULL;
	level = **desc->loglevel;
	return level >= 0 && level < (int)(sizeof levels / sizeof *levels) ? levels[level] : "debug";
}

/* Returns the field after this one that is recorded; null: none. */
static const struct ust_event_field *field_after(const struct ust_tracepoint_class *class, size_t i)
{
	while (++i < class->nr_fields)
		if (!class->fields[i]->nowrite)
			return class->fields[i];
	return NULL;
}

static void build(struct building *b, const struct ust_event_desc *desc)
{
	const struct ust_tracepoint_class *class = desc->tp_class;
	const char *level = level_of(desc);
	size_t whole;

	add(b, "{packed%s%s;", level ? ",level=" : "", level ? level : "");
	for (size_t i = 0; i < class->nr_fields; i++) {
		const struct ust_event_field *next = field_after(class, i);
		bool more;

		if (class->fields[i]->nowrite)
			continue;
		whole = b->length;
		more = add_field(b, class->fields[i], next && next->type->type == ust_type_sequence);
		if (b->full || b->length + 2 > sizeof b->text) {
			b->text[b->length = whole] = '\0';
			b->full = false;
			b->fields--;
			more = false;
		}
		if (!more)
			break;
	}
	add(b, "}");
}

/* Notes for each call that writes a part of the data whether its bytes are to be swapped. */
static void note_swaps(const struct ust_tracepoint_class *class, struct event_swaps *swaps)
{
	struct building b = { .full = false };
	bool any = false;

	swaps->count = 0;
	swaps->sizes = calloc(class->nr_fields + 1, 1);
	if (!swaps->sizes)
		return;
	for (size_t i = 0; i < class->nr_fields; i++) {
		const struct ust_type_common *type = class->fields[i]->type;
		struct number n = { 0 };

		if (class->fields[i]->nowrite)
			continue;
		if (type->type == ust_type_array)
			type = ((const struct ust_type_array *)type)->elem_type;
		else if (type->type == ust_type_sequence)
			type = ((const struct ust_type_sequence *)type)->elem_type;
		if (number_of(&b, type, &n) && n.reversed && n.letter && n.size > 1)
			swaps->sizes[swaps->count] = (unsigned char)n.size;
		any = any || swaps->sizes[swaps->count];
		swaps->count++;
	}
	if (any)
		return;
	free(swaps->sizes);
	*swaps = (struct event_swaps){ 0 };
}

bool layout_of_calls(const char *provider)
{
	static const char calls[] = "lttng_ust_cyg_profile";

	return strncmp(provider, calls, strlen(calls)) == 0;
}

char *layout_new(const char *provider, const struct ust_event_desc *desc, struct event_swaps *swaps)
{
	struct building *b = calloc(1, sizeof *b);
	char *layout = NULL;

	if (!b)
		return NULL;
	note_swaps(desc->tp_class, swaps);
	for (int without = 0; without < 2 && !layout; without++) {
		*b = (struct building){
			.functions = layout_of_calls(provider), .without_labels = without,
		};
		build(b, desc);
		if (b->fields == 0)
			break;
		/* Labels are any text of the program's. */
		if (!posixtrace_layout_wrong(b->text, NULL, NULL))
			layout = strdup(b->text);
	}
	free(b);
	return layout;
}
