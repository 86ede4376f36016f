/*
 * layout_words.h - the words for values that are not shown as numbers: labels, true and false, times
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LAYOUT_WORDS_H
#define LAYOUT_WORDS_H

#include "model/data_layout.h"

/* The most bytes of the words: all labels with a separator each, and what has no label. */
#define LAYOUT_WORDS (LAYOUT_LABEL_TEXT + LAYOUT_LABELS + 24)

/* Returns whether layout_words() has words for some values of the field. */
static inline bool layout_has_words(const struct layout_field *f)
{
	return f->naming != NAMING_NONE || f->kind == LAYOUT_BOOL || f->kind == LAYOUT_TIME;
}

/*
 * Writes the words for one item of a field, which is at p: "idle", "read|write|0x40", "true",
 * "2026-11-26T09:53:08.250Z". Returns their length, or 0 if there are none for this value, which is then shown as a
 * number.
 */
size_t layout_words(char words[LAYOUT_WORDS], const struct layout *l, const struct layout_field *f,
                    const unsigned char *p);

#endif
