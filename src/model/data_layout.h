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

#include "model/layout_fields.h"

/* -- Names ---------------------------------------------------------------------------------- */

/* Returns the length of a name without its layout, or the whole length if there is no valid layout. */
size_t layout_name(const char *name);

/*
 * Writes the name for events with this layout, where their own name has another layout: "shop.order(id:u32,item:z)". If
 * that is too long, it ends with a number that is calculated from the layout. The size is at least 32.
 */
void layout_other_name(char *name, size_t size, const char *event_name, const char *layout);

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
