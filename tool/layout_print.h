/*
 * layout_print.h - the data of an event, for people, to out.h
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LAYOUT_PRINT_H
#define LAYOUT_PRINT_H

#include "layout.h"

/* {rows=3 time=1200ns}, or what fits in the length there is. */
void layout_print(const struct layout *l, const unsigned char *data, size_t length);
/* One number of a field. exact: a floating-point number with all the digits that tell it from others. */
void layout_print_number(const struct layout_field *f, const unsigned char *p, bool exact);
/* Text, perhaps with a null or a newline at its end, which this locale can show? */
bool layout_is_text(const unsigned char *data, size_t length);
/* Without a layout: in quotation marks as text, if it is, else as hex, grouped by four bytes. */
void layout_print_unknown(const unsigned char *data, size_t length);
void layout_print_text(const unsigned char *data, size_t length);
/* group: bytes between blanks; 0: none */
void layout_print_hex(const unsigned char *data, size_t length, unsigned group);

#endif
