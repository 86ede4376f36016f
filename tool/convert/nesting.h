/*
 * nesting.h - finds the spans whose slices always nest on their thread
 *
 * A viewer draws the slices of a row like function calls: a slice that begins later ends earlier. Names do not show
 * which spans have this property, so all events are read once before the conversion.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NESTING_H
#define NESTING_H

#include "analysis/span.h"
#include "logs/sources.h"

/*
 * Returns a bit for each span whose slices, together with those of all other spans with a bit, fit into the rows of
 * their threads. Returns 0 if slices belong to no thread. everything: no filter is given.
 */
uint64_t nesting_find(struct sources *logs, const struct spans *spans, bool everything);

#endif
