/*
 * layout_json.h - the data of an event, as JSON, to json.h
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LAYOUT_JSON_H
#define LAYOUT_JSON_H

#include "model/data_layout.h"

/* Integers of more than 53 bits are texts in decimal: most readers of JSON keep numbers as double. */

/* Prints an object with the fields or, without a layout (null), a string of hex digits. */
void layout_json(const struct layout *l, const unsigned char *data, size_t length);

/* Prints the value of one field, of which `size` bytes are present. */
void layout_json_field(const struct layout_field *f, const unsigned char *p, size_t size);

#endif
