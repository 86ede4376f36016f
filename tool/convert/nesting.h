/*
 * nesting.h - which slices of a thread always lie in each other
 *
 * A viewer draws slices of one row as it draws calls of functions: one that begins later ends earlier. Names do not tell which
 * spans keep to that, so all events are read once before the conversion.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NESTING_H
#define NESTING_H

#include "analysis/span.h"
#include "logs/sources.h"

/*
 * Returns a bit for each span of spans whose slices, together with those of all other spans with a bit, can be in the rows of
 * their threads. None has one where slices belong to no thread. everything: no event is left out by a filter.
 */
uint32_t nesting_find(struct sources *logs, const struct spans *spans, bool everything);

#endif
