/*
 * layout.h - what the data of events is, as their programs have declared it
 *
 * By a naming convention, docs/command.md: the name of an event type may end in the layout of
 * its data in braces, as "sql.row{rows:u32,time:u64/ns}". Whoever opens a type of that name has declared it;
 * the events may be of that type, or of one with the name in front of the brace.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TOOL_LAYOUT_H
#define TOOL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum layout_kind {
	LAYOUT_UNSIGNED,
	LAYOUT_SIGNED,
	LAYOUT_HEX,
	LAYOUT_FLOAT,
	LAYOUT_CHARS, /* text of a fixed size, up to its null */
	LAYOUT_TEXT,  /* all the rest, as text */
	LAYOUT_BYTES, /* all the rest, as hex */
};

struct layout_field {
	char name[32];
	uint8_t name_length;
	char unit[16]; /* "" or as declared: ns, us, B, % ... */
	uint8_t unit_length;
	bool ascii; /* both are */
	enum layout_kind kind;
	uint8_t size;   /* bytes of one: 1, 2, 4, 8 */
	uint16_t count; /* of an array; 1: none */
	uint32_t offset; /* in the data, aligned as in C */
};

#define LAYOUT_FIELDS 32

struct layout {
	unsigned count;
	uint8_t align_most; /* what larger numbers are aligned to; 0: 8. i386: 4 */
	uint8_t align;      /* of the whole, as it has come out */
	uint32_t end;       /* offset of what would follow */
	struct layout_field field[LAYOUT_FIELDS];
};

/* -- Names ---------------------------------------------------------------------------------- */

/* Length of a name without its layout; all of it, if what is in braces is none. */
size_t layout_name(const char *name);
/*
 * Appends the layout in a name; l begins with zeroes. False: there is none, or it is not right, or the one before ends with
 * all the rest: l stays as it is.
 */
bool layout_parse(struct layout *l, const char *name);

/* -- Data ----------------------------------------------------------------------------------- */

/* It is all the rest: LAYOUT_TEXT or LAYOUT_BYTES. */
bool layout_rest(const struct layout_field *f);
/* Bytes of a field that are there, of data of this length; of one that is no text, whole items. */
size_t layout_there(const struct layout_field *f, size_t length);
/* Offset of what the layout says nothing of; the end of the data: there is no such thing, or only what fills a structure up. */
size_t layout_unsaid(const struct layout *l, size_t length);
/* One number of 1, 2, 4 or 8 bytes; a floating-point number of 4 or 8. */
uint64_t layout_unsigned(const unsigned char *p, unsigned size);
int64_t layout_signed(const unsigned char *p, unsigned size);
double layout_real(const unsigned char *p, unsigned size);
/* Of LAYOUT_CHARS and LAYOUT_TEXT, of which so many bytes are there: those that are the text. */
size_t layout_text(const struct layout_field *f, const unsigned char *p, size_t size);

/* How the data of an event is told where each kind of event has fixed fields. */
enum layout_form {
	FORM_NONE,   /* there is none */
	FORM_FIELDS, /* what is declared, all of it */
	FORM_MORE,   /* and bytes behind */
	FORM_TEXT,   /* not declared, or not as declared; it is text, in UTF-8 */
	FORM_BYTES,
	FORMS,
};

/* l null: nothing is declared. Nothing is lost in any form: texts have no null in the middle, or it is FORM_BYTES. */
enum layout_form layout_form(const struct layout *l, const unsigned char *data, size_t length);
/* Length of the text of FORM_TEXT: without a null at its end. */
size_t layout_text_length(const unsigned char *data, size_t length);

#endif
