/*
 * meaning.h - the values that the attributes of a layout refer to: ids, durations, levels
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MEANING_H
#define MEANING_H

#include "model/data_layout.h"
#include "model/layout_meaning.h"

/*
 * Stores the value of an integer field of an event in *value. field: 1 + its index, as in struct layout_meaning.
 * Returns false if the data end before the field.
 */
bool meaning_integer(const struct layout *l, unsigned field, const unsigned char *data, size_t length, uint64_t *value);
/* Stores how long the span took, in ns; 0 if it is negative. Returns false if the data end before the field. */
bool meaning_took(const struct layout *l, const unsigned char *data, size_t length, uint64_t *ns);
/* Returns the level of a log message; LEVEL_NONE if it has none, or its label is no level. */
enum layout_level meaning_level(const struct layout *l, const unsigned char *data, size_t length);

#endif
