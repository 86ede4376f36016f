/*
 * wordpair.h - names of event types that differ only in their last word, and are the begin and the end of a span
 *
 * db.query.begin and db.query.end are the span db.query. Words are separated by . _ - : / or a blank.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef WORDPAIR_H
#define WORDPAIR_H

#include <stdbool.h>
#include <stddef.h>

#define WORDPAIR_NONE 0xffu

/* Returns the offset of the last word; 0 if the name has only one word. */
size_t wordpair_last(const char *name);
/* Returns whether a word is a begin, for which there may be an end. */
bool wordpair_begins(const char *word);
/*
 * Returns a number if these words are a begin and an end of it, else WORDPAIR_NONE. A begin has one end: that with the
 * lowest number for which an event type exists.
 */
unsigned wordpair_rank(const char *begin, const char *end);

#endif
