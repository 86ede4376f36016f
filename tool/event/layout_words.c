/*
 * layout_words.c - the words for values that are not shown as numbers: labels, true and false, times
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/layout_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "common/moment.h"

static size_t append(char *words, size_t length, const struct layout *l, const struct layout_label *label)
{
	if (length > 0)
		words[length++] = '|';
	memcpy(words + length, l->text + label->at, label->length);
	return length + label->length;
}

/* Writes the label of a value. */
static size_t value_label(char *words, const struct layout *l, const struct layout_field *f, int64_t value)
{
	for (unsigned i = f->first_label; i < f->first_label + f->labels; i++)
		if (l->label[i].value == value)
			return append(words, 0, l, &l->label[i]);
	return 0;
}

/* Writes the labels of the bits that are set, and in hexadecimal the bits that have no label. */
static size_t bit_labels(char *words, const struct layout *l, const struct layout_field *f, uint64_t value)
{
	uint64_t left = value;
	size_t length = 0;

	if (value == 0)
		return value_label(words, l, f, 0);
	for (unsigned i = f->first_label; i < f->first_label + f->labels; i++) {
		uint64_t bits = (uint64_t)l->label[i].value;

		/* A label may stand for several bits, and is used if one of them has not been named yet. */
		if (bits && (value & bits) == bits && (left & bits)) {
			length = append(words, length, l, &l->label[i]);
			left &= ~bits;
		}
	}
	if (left && length > 0)
		length += (size_t)sprintf(words + length, "|0x%" PRIx64, left);
	return length;
}

static size_t time_words(char *words, const struct layout_field *f, uint64_t value)
{
	static const struct {
		const char *unit;
		int digits;
		uint64_t per_second;
	} units[] = { { "s", 0, 1 }, { "ms", 3, 1000 }, { "us", 6, 1000000 }, { "ns", 9, NS_PER_S } };
	unsigned unit = f->size == 4 ? 0 : 3;
	uint64_t seconds;
	size_t length;

	for (unsigned i = 0; i < 4; i++)
		if (strcmp(f->unit, units[i].unit) == 0)
			unit = i;
	seconds = value / units[unit].per_second;
	if (seconds > UINT64_MAX / NS_PER_S)
		return 0;
	moment_utc(words, seconds * NS_PER_S);
	length = strlen(words);
	if (length == 0 || !units[unit].digits)
		return length;
	length--; /* the fraction goes before the Z */
	return length + (size_t)sprintf(words + length, ".%0*" PRIu64 "Z", units[unit].digits,
	                                value - seconds * units[unit].per_second);
}

size_t layout_words(char words[LAYOUT_WORDS], const struct layout *l, const struct layout_field *f,
                    const unsigned char *p)
{
	uint64_t value;

	if (!layout_has_words(f))
		return 0;
	value = layout_unsigned(p, f->size);
	if (f->naming == NAMING_BITS)
		return bit_labels(words, l, f, value);
	if (f->naming == NAMING_VALUES)
		return value_label(words, l, f, f->kind == LAYOUT_SIGNED ? layout_signed(p, f->size) : (int64_t)value);
	if (f->kind == LAYOUT_TIME)
		return time_words(words, f, value);
	return (size_t)sprintf(words, "%s", value ? "true" : "false");
}
