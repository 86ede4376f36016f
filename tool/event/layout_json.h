/*
 * layout_json.h - the data of an event, as JSON, to json.h
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LAYOUT_JSON_H
#define LAYOUT_JSON_H

#include "model/data_layout.h"

/*
 * Integers of more than 53 bits are texts in decimal: most readers of JSON keep numbers as double. Labels and times are
 * texts, code addresses are texts in hexadecimal.
 */

/*
 * Prints an object with the fields or, without a layout (null), a string of hex digits. Returns the offset of the bytes
 * that are not in it.
 */
size_t layout_json(const struct layout *l, const unsigned char *data, size_t length);

/* Prints the value of one field, of which `size` bytes are present. */
void layout_json_field(const struct layout *l, const struct layout_field *f, const unsigned char *p, size_t size);

#endif
