/*
 * pairs.h - what begins and ends something, as the names of events tell
 *
 * Names of user event types that differ in their last word only, and there are a begin and its end: db.query.begin and
 * db.query.end are the span db.query. Words are parted by one of . _ - : / or a blank.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PAIRS_H
#define PAIRS_H

#include "analysis/span.h"
#include "logs/sources.h"

/* Adds them to those that were asked for, as many as there is room for. */
void pairs_add(struct spans *spans, const struct sources *logs);

#endif
