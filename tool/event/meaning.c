/*
 * meaning.c - the values that the attributes of a layout refer to: ids, durations, levels
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/meaning.h"

#include <string.h>

#include "event/value.h"

bool meaning_integer(const struct layout *l, unsigned field, const unsigned char *data, size_t length, uint64_t *value)
{
	const struct layout_field *f = &l->field[field - 1];
	struct layout_place place;

	if (field <= l->fixed) {
		place = l->place[field - 1];
	} else {
		struct layout_places places;

		layout_locate(l, data, length, &places);
		if (field > places.count)
			return false;
		place = places.of[field - 1];
	}
	if (place.at + (size_t)f->size > length)
		return false;
	*value = f->kind == LAYOUT_SIGNED ? (uint64_t)layout_signed(data + place.at, f->size) :
	                                    layout_unsigned(data + place.at, f->size);
	return true;
}

bool meaning_id(const struct layout *l, unsigned field, const unsigned char *data, size_t length, struct meaning_id *id)
{
	if (!meaning_integer(l, field, data, length, &id->value))
		return false;
	id->negative = l->field[field - 1].kind == LAYOUT_SIGNED && (int64_t)id->value < 0;
	return true;
}

enum meaning_took meaning_took(const struct layout *l, const unsigned char *data, size_t length, uint64_t *ns)
{
	const struct layout_field *f = &l->field[l->meaning.took - 1];
	struct meaning_id value;

	if (!meaning_id(l, l->meaning.took, data, length, &value))
		return TOOK_NONE;
	/* The largest number stands for no duration. */
	if (value.negative ||
	    __builtin_mul_overflow(value.value, unit_find(f->unit, f->unit_length).scale, ns) || *ns == UINT64_MAX)
		return TOOK_IMPOSSIBLE;
	return TOOK;
}

/* Returns the level with this word. */
static enum layout_level find(const char *word, size_t length)
{
	for (enum layout_level i = LEVEL_NONE + 1; i < LEVELS; i++)
		if (strlen(layout_levels[i]) == length && memcmp(layout_levels[i], word, length) == 0)
			return i;
	return LEVEL_NONE;
}

enum layout_level meaning_level(const struct layout *l, const unsigned char *data, size_t length)
{
	const struct layout_field *f;
	uint64_t value;

	if (!l->meaning.level_field)
		return l->meaning.level;
	f = &l->field[l->meaning.level_field - 1];
	if (!meaning_integer(l, l->meaning.level_field, data, length, &value))
		return LEVEL_NONE;
	for (unsigned i = 0; i < f->labels; i++) {
		const struct layout_label *label = &l->label[f->first_label + i];

		if ((uint64_t)label->value == value)
			return find(l->text + label->at, label->length);
	}
	return LEVEL_NONE;
}
