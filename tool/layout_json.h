/*
 * layout_json.h - the data of an event, as JSON, to json.h
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LAYOUT_JSON_H
#define LAYOUT_JSON_H

#include "layout.h"

/* An object with the fields; or a string of hex digits without a layout (null). */
void layout_json(const struct layout *l, const unsigned char *data, size_t length);

/* The value of one field, of which so many bytes are there. */
void layout_json_field(const struct layout_field *f, const unsigned char *p, size_t size);

#endif
