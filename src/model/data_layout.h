/*
 * data_layout.h - what the data of events is, as their programs have declared it
 *
 * A naming convention (docs/command.md): the name of an event type may end in the layout of its data in braces, as
 * "sql.row{rows:u32,time:u64/ns}". Opening a type of this name declares the layout. The events may have this type, or
 * the type whose name ends before the brace.
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
	LAYOUT_CHARS, /* text of a fixed size, up to its null */
	LAYOUT_TEXT,  /* all remaining bytes, as text */
	LAYOUT_BYTES, /* all remaining bytes, as hex */
};

struct layout_field {
	char name[32];
	uint8_t name_length;
	char unit[16]; /* "" or as declared: ns, us, B, % ... */
	uint8_t unit_length;
	bool ascii; /* name and unit are ASCII */
	enum layout_kind kind;
	uint8_t size;   /* bytes of one item: 1, 2, 4, 8 */
	uint16_t count; /* items of an array; 1: no array */
	uint32_t offset; /* in the data, aligned as in C */
};

#define LAYOUT_FIELDS 32
#define LAYOUT_TEXT_SIZE 2048 /* a declared layout and its null */

struct layout {
	unsigned count;
	uint8_t align_most; /* maximum alignment of numbers; 0: 8. i386: 4 */
	uint8_t align;      /* resulting alignment of the whole structure */
	uint32_t end;       /* offset after the last field */
	struct layout_field field[LAYOUT_FIELDS];
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

/* -- Data ----------------------------------------------------------------------------------- */

/* Returns whether the field takes all remaining bytes: LAYOUT_TEXT or LAYOUT_BYTES. */
bool layout_rest(const struct layout_field *f);
/* Returns how many bytes of a field are present in data of this length; only whole items count, except for text. */
size_t layout_there(const struct layout_field *f, size_t length);
/*
 * Returns the offset of the bytes that belong to no field: bytes after the last field, or of an incomplete field.
 * Returns length if there are none but padding.
 */
size_t layout_silent(const struct layout *l, size_t length);
/* Return a number of 1, 2, 4 or 8 bytes; a floating-point number of 4 or 8. */
uint64_t layout_unsigned(const unsigned char *p, unsigned size);
int64_t layout_signed(const unsigned char *p, unsigned size);
double layout_real(const unsigned char *p, unsigned size);
/* Returns the length of the text of a LAYOUT_CHARS or LAYOUT_TEXT field of which `size` bytes are present. */
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
 * Returns the form of the data. l null: undeclared. No form loses data: data with a null inside a text is FORM_BYTES.
 */
enum layout_form layout_form(const struct layout *l, const unsigned char *data, size_t length);
/* Returns the length of FORM_TEXT data without trailing nulls. */
size_t layout_text_length(const unsigned char *data, size_t length);

#endif
