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

struct logfile;

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

/* What the types of a log, or of a stream, declare together. */
struct layouts;

struct layouts *layouts_new(void);
/* Of a log. */
struct layouts *layouts_of(const struct logfile *f);
/* Event types, in order of their ids; one that is known already may come again. */
void layouts_add(struct layouts *l, uint32_t id, const char *name);
/* Null: nobody has declared anything of that type's name. Fast, and the same until something is added. */
const struct layout *layouts_find(const struct layouts *l, uint32_t id);
/* The name without the layout; null: no such type. */
const char *layouts_name(const struct layouts *l, uint32_t id);

/* -- Data, to out.h ---------------------------------------------------------------------------- */

/* {rows=3 time=1200ns}, or what fits in the length there is. */
void layout_print(const struct layout *l, const unsigned char *data, size_t length);
/* Text, perhaps with a null or a newline at its end? */
bool layout_is_text(const unsigned char *data, size_t length);
/* Without a layout: in quotation marks as text, if it is, else as hex, grouped by four bytes. */
void layout_print_unknown(const unsigned char *data, size_t length);
void layout_print_text(const unsigned char *data, size_t length);
/* group: bytes between blanks; 0: none */
void layout_print_hex(const unsigned char *data, size_t length, unsigned group);
/* An object with the fields; or a string of hex digits without a layout (null). */
void layout_print_json(const struct layout *l, const unsigned char *data, size_t length);

#endif
