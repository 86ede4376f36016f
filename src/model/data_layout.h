/*
 * data_layout.h - what the data of events is, as their programs have declared it
 *
 * The language of layouts: docs/layouts.md. A program declares a layout with posixtrace_declare(), or puts it behind
 * the name of an event type, as "sql.row{rows:u32,time:u64/ns}". Opening a type of this name declares the layout. The
 * events may have this type, or the type whose name ends before the brace.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_DATA_LAYOUT_H
#define MODEL_DATA_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	uint32_t label_text; /* bytes used in text */
	uint32_t end;        /* of the fields if all are fixed; a field that takes all the rest has no size here */
	uint32_t fixed;      /* how many fields, the first ones, have these places in each event that has all of them */
	struct layout_place place[LAYOUT_FIELDS];
	struct layout_field field[LAYOUT_FIELDS];
	struct layout_label label[LAYOUT_LABELS];
	char text[LAYOUT_LABEL_TEXT];
};

/* -- Names ---------------------------------------------------------------------------------- */

/* Returns the length of a name without its layout, or the whole length if there is no valid layout. */
size_t layout_name(const char *name);

/* An error in a layout. */
struct layout_fault {
	const char *at; /* in the name */
	size_t length;
	const char *why; /* the rest of a sentence that begins with these characters */
};

/*
 * Appends the layout in a name to l, which begins with zeroes. Returns false and leaves l unchanged if there is no
 * layout, or it is wrong, or the previous layout ends with a field that takes all remaining bytes.
 */
bool layout_parse(struct layout *l, const char *name);
/*
 * Returns whether the name was meant to have a layout that layout_parse() would not append to l. A name without a colon
 * after its last opening brace was not.
 */
bool layout_wrong(const struct layout *l, const char *name, struct layout_fault *fault);

/*
 * Appends a layout that was declared beside its name, "{rows:u32,time:u64/ns}", to l, which begins with zeroes. Returns
 * false with a fault, and leaves l unchanged, if it is wrong.
 */
bool layout_declare(struct layout *l, const char *text, struct layout_fault *fault);
/* Returns whether layout_declare() would accept the text for a name that has no layout yet. */
bool layout_check(const char *text, struct layout_fault *fault);

/* -- Data ----------------------------------------------------------------------------------- */

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

/* Where the fields are in the data of an event. */
struct layout_places {
	unsigned count; /* of the first fields: more fields than these are not in the data */
	bool whole;     /* all fields are in the data, and complete */
	size_t rest;    /* offset of bytes that belong to no field; length if there are none but padding */
	struct layout_place of[LAYOUT_FIELDS];
};

void layout_locate(const struct layout *l, const unsigned char *data, size_t length, struct layout_places *places);

/* Return a number of 1, 2, 4 or 8 bytes; a floating-point number of 4 or 8. */
uint64_t layout_unsigned(const unsigned char *p, unsigned size);
int64_t layout_signed(const unsigned char *p, unsigned size);
double layout_real(const unsigned char *p, unsigned size);
/* Returns the length of the text in a field of which `size` bytes are present. */
size_t layout_text(const struct layout_field *f, const unsigned char *p, size_t size);

/* Forms of an event's data, for formats where each kind of event has fixed fields. */
enum layout_form {
	FORM_NONE,   /* no data */
	FORM_FIELDS, /* exactly the declared fields */
	FORM_MORE,   /* the declared fields, and bytes after them */
	FORM_TEXT,   /* text in UTF-8, undeclared or different from its declaration */
	FORM_BYTES,
	FORMS,
};

/*
 * Returns the form of the data, and for FORM_FIELDS and FORM_MORE also where the fields are. l null: undeclared; then
 * places may be null. No form loses data: data with a null inside a text is FORM_BYTES.
 */
enum layout_form layout_form(const struct layout *l, const unsigned char *data, size_t length,
                             struct layout_places *places);
/* Returns the length of FORM_TEXT data without trailing nulls. */
size_t layout_text_length(const unsigned char *data, size_t length);

#endif
