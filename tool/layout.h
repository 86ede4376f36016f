/*
 * layout.h - what the data of events is, as their programs have declared it
 *
 * By a naming convention, docs/command.md: the name of an event type may end in the layout of
 * its data in braces, as "sql.row{rows:u32,time:u64/ns}". Whoever opens a type of that name has declared it;
 * the events may be of that type, or of one with the name in front of the brace.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LAYOUT_H
#define LAYOUT_H

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
	char unit[16]; /* "" or as declared: ns, us, B, % ... */
	enum layout_kind kind;
	uint8_t size;   /* bytes of one: 1, 2, 4, 8 */
	uint16_t count; /* of an array; 1: none */
	uint32_t offset; /* in the data, aligned as in C */
};

#define LAYOUT_FIELDS 16

struct layout {
	unsigned count;
	struct layout_field field[LAYOUT_FIELDS];
};

/* Length of a name without its layout. */
size_t layout_name(const char *name);
/* The layout in a name. False: there is none, or it is not right. */
bool layout_parse(struct layout *l, const char *name);

/* To out.h: {rows=3 time=1200ns}, or what fits in the length there is. */
void layout_print(const struct layout *l, const unsigned char *data, size_t length);
/* Without a layout: as text if it is printable, else as hex, grouped by four bytes. */
void layout_print_unknown(const unsigned char *data, size_t length);
/* An object with the fields; or a string of hex digits without a layout (null). */
void layout_print_json(const struct layout *l, const unsigned char *data, size_t length);

#endif
