/*
 * pairs.h - finds spans by the layouts and the names of event types
 *
 * A layout may declare spans (docs/layouts.md, "Meanings"). Besides, two user event types are a pair if their names
 * are: event/wordpair.h. A name that ends with the word begin is a span also if there is no type for its end: that of
 * TRACE_SCOPE appears when the scope has ended for the first time.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PAIRS_H
#define PAIRS_H

#include "analysis/span.h"
#include "logs/sources.h"

/*
 * Adds the spans that the layouts declare and, unless no_names, the pairs of names that have no id, until the table is
 * full.
 */
void pairs_add_types(struct spans *spans, const struct layouts *l, bool no_names);
/* Does so for all logs: first what is declared, then the pairs, then what Linux's events declare. */
void pairs_add(struct spans *spans, const struct sources *logs, bool no_names);

#endif
