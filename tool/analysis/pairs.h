/*
 * pairs.h - finds spans by the names of event types
 *
 * Two user event types are a pair if their names differ only in the last word, and these words are a begin and its end:
 * db.query.begin and db.query.end are the span db.query. Words are separated by . _ - : / or a blank.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PAIRS_H
#define PAIRS_H

#include "analysis/span.h"
#include "logs/sources.h"

/* Adds the pairs to the spans of the options, until the table of spans is full. */
void pairs_add(struct spans *spans, const struct sources *logs);

#endif
