/*
 * event_json.h - prints an event of a log as a line of JSON
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EVENT_JSON_H
#define EVENT_JSON_H

#include "logs/sources.h"

/* Prints the source's next event. */
void event_json(const struct sources *all, const struct source *s);

#endif
