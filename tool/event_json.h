/*
 * event_json.h - an event of a log, as an object of JSON on a line
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EVENT_JSON_H
#define EVENT_JSON_H

#include "sources.h"

/* The next event of one of them. */
void event_json(const struct sources *all, const struct source *s);

#endif
