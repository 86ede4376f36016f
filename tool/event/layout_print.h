/*
 * layout_print.h - the data of an event, for people, to out.h
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LAYOUT_PRINT_H
#define LAYOUT_PRINT_H

#include "model/data_layout.h"

/* Finds the name of a code address. */
struct layout_symbols {
	/* Returns null if there is no name. */
	const char *(*find)(void *arg, uint64_t address);
	void *arg;
};

/*
 * Prints {rows=3 time=1200ns}, as far as the data goes. With symbols, which may be null, code addresses are shown by
 * name.
 */
void layout_print(const struct layout *l, const unsigned char *data, size_t length,
                  const struct layout_symbols *symbols);
/* Prints one number of a field. exact: prints all significant digits of a floating-point number. */
void layout_print_number(const struct layout_field *f, const unsigned char *p, bool exact);
/* Returns whether the data is text that this locale can show, perhaps with a trailing null or newline. */
bool layout_is_text(const unsigned char *data, size_t length);
/* Prints undeclared data: text in quotation marks, anything else as hex in groups of four bytes. */
void layout_print_unknown(const unsigned char *data, size_t length);
void layout_print_text(const unsigned char *data, size_t length);
/* Prints bytes in hex. group: bytes between blanks; 0: none. */
void layout_print_hex(const unsigned char *data, size_t length, unsigned group);

#endif
