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
/* An integer that is an id. -1 and 2^64-1 have the same bits, and are different ids. */
struct meaning_id {
	uint64_t value;
	bool negative;
};

/* Does the same for an id. */
bool meaning_id(const struct layout *l, unsigned field, const unsigned char *data, size_t length,
                struct meaning_id *id);

enum meaning_took {
	TOOK_NONE,       /* the data end before the field */
	TOOK_IMPOSSIBLE, /* the duration is negative, or does not fit into 64 bits of ns */
	TOOK,
};

/* Stores how long the span took, in ns, if that is a possible duration. */
enum meaning_took meaning_took(const struct layout *l, const unsigned char *data, size_t length, uint64_t *ns);
/* Returns the level of a log message; LEVEL_NONE if it has none, or its label is no level. */
enum layout_level meaning_level(const struct layout *l, const unsigned char *data, size_t length);

#endif
