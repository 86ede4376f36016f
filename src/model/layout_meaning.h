/*
 * layout_meaning.h - the attributes of a layout: spans, counters, flows, log messages
 *
 * The language: docs/layouts.md, "Meanings". The result is layout.meaning.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_LAYOUT_MEANING_H
#define MODEL_LAYOUT_MEANING_H

#include "model/layout_fields.h"

/* The word of each level; null for LEVEL_NONE. */
extern const char *const layout_levels[LEVELS];

/*
 * Parses the attributes WORD[=VALUE],... up to the semicolon into l, which has all of its fields. Returns false with a
 * fault on an error; then l may have some of them.
 */
bool meaning_parse(struct layout *l, const char *attributes, struct layout_fault *fault);
/* Returns whether the word packed is among the attributes. */
bool meaning_packed(const char *attributes);

#endif
