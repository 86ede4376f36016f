/*
 * layout_fields.h - what a layout consists of: fields, labels, a meaning
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_LAYOUT_FIELDS_H
#define MODEL_LAYOUT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum layout_kind {
	LAYOUT_UNSIGNED,
	LAYOUT_SIGNED,
	LAYOUT_HEX,
	LAYOUT_FLOAT,
	LAYOUT_BOOL,
	LAYOUT_CODE,   /* an address in a program */
	LAYOUT_TIME,   /* since 1970-01-01 00:00:00 UTC, in the field's unit: s, ms, us, ns */
	LAYOUT_CHARS,  /* text of a known size, up to its null */
	LAYOUT_STRING, /* text that ends with a null */
	LAYOUT_TEXT,   /* all remaining bytes, as text */
	LAYOUT_BYTES,  /* bytes as hex: a known number of them, or all remaining ones */
};

/* What the labels of a field name. */
enum layout_naming {
	NAMING_NONE,
	NAMING_VALUES, /* each label is the name of a value */
	NAMING_BITS,   /* each label is the name of bits */
};

struct layout_field {
	char name[32];
	char unit[16]; /* "" or as declared: ns, us, B, % ... */
	uint16_t count;  /* items of an array; 1: no array; 0: the counter tells, or all remaining bytes */
	uint8_t counter; /* 1 + the index of the field that has the number of items; 0: none */
	uint8_t name_length, unit_length;
	bool ascii; /* name, unit and labels are ASCII */
	uint8_t kind;  /* enum layout_kind */
	uint8_t size;  /* bytes of one item: 1, 2, 4, 8 */
	uint8_t align; /* of the first item */
	uint8_t naming; /* enum layout_naming */
	uint8_t first_label, labels; /* which of the layout's labels are this field's */
};

struct layout_label {
	int64_t value;
	uint32_t at, length; /* of the name, in layout.text */
};

/* Levels of log messages, in the order of syslog. */
enum layout_level {
	LEVEL_NONE,
	LEVEL_EMERGENCY,
	LEVEL_ALERT,
	LEVEL_CRITICAL,
	LEVEL_ERROR,
	LEVEL_WARNING,
	LEVEL_NOTICE,
	LEVEL_INFO,
	LEVEL_DEBUG,
	LEVELS,
};

/* What events mean beyond their values. A field is 1 + its index; 0: none. */
struct layout_meaning {
	char begin[64], end[64]; /* the span that the event begins, and the one that it ends; "": none */
	uint8_t by;              /* the field that has the same value in the begin and the end of a span */
	uint8_t took;            /* the event ends a span, and this field is how long it took */
	uint8_t send, receive;   /* a flow goes from an event with this value to events that receive it */
	uint8_t level;           /* enum layout_level, of all events of the type */
	uint8_t level_field;     /* the field whose label is the level of an event */
	bool counter;            /* the numbers are values of counters; the field `by` says of which one */
};

/* Where a field is in the data of an event. */
struct layout_place {
	uint32_t at, size; /* only whole items, except for text */
};

#define LAYOUT_FIELDS     32
#define LAYOUT_LABELS     128
#define LAYOUT_LABEL_TEXT 1024 /* bytes of all labels */
#define LAYOUT_LABEL_MAX  31   /* bytes of a label */
#define LAYOUT_TEXT_SIZE  2048 /* a declared layout and its null */

struct layout {
	unsigned count;
	uint8_t align_most; /* maximum alignment of numbers; 0: 8. i386: 4 */
	uint8_t align;      /* resulting alignment of the whole structure */
	uint16_t labels;
	struct layout_meaning meaning;
	uint32_t label_text; /* bytes used in text */
	uint32_t end;        /* of the fields if all are fixed; a field that takes all the rest has no size here */
	uint32_t fixed;      /* how many fields, the first ones, have these places in each event that has all of them */
	struct layout_place place[LAYOUT_FIELDS];
	struct layout_field field[LAYOUT_FIELDS];
	struct layout_label label[LAYOUT_LABELS];
	char text[LAYOUT_LABEL_TEXT];
};

/* An error in a layout. */
struct layout_fault {
	const char *at; /* in the name */
	size_t length;
	const char *why; /* the rest of a sentence that begins with these characters */
};

/* Returns whether the field takes all remaining bytes. */
static inline bool layout_rest(const struct layout_field *f)
{
	return f->kind == LAYOUT_TEXT || (f->kind == LAYOUT_BYTES && f->count == 0 && !f->counter);
}

/* Returns whether the field is text. */
static inline bool layout_is_text_field(const struct layout_field *f)
{
	return f->kind == LAYOUT_CHARS || f->kind == LAYOUT_STRING || f->kind == LAYOUT_TEXT;
}

/* Returns whether the field's value is a list of numbers. */
static inline bool layout_is_array(const struct layout_field *f)
{
	return f->count != 1 && !layout_is_text_field(f) && f->kind != LAYOUT_BYTES;
}

/* Returns whether the field is one number that is neither text nor an array, a float included. */
static inline bool layout_is_number(const struct layout_field *f)
{
	return f->count == 1 && f->kind <= LAYOUT_FLOAT;
}

/* Returns the index of the field with this name, or LAYOUT_FIELDS if there is none. */
static inline unsigned layout_find_field(const struct layout *l, const char *name, size_t length)
{
	for (unsigned i = 0; i < l->count; i++)
		if (l->field[i].name_length == length && memcmp(l->field[i].name, name, length) == 0)
			return i;
	return LAYOUT_FIELDS;
}

#endif
