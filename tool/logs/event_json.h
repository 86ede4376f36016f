/*
 * event_json.h - prints an event of a log as a line of JSON
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EVENT_JSON_H
#define EVENT_JSON_H

#include "logs/sources.h"

#define EVENT_JSON_NO_SPAN UINT64_MAX
/*
 * Prints the source's next event. took: how long the span took that the event ends, in nanoseconds, or
 * EVENT_JSON_NO_SPAN.
 */
void event_json(const struct sources *all, const struct source *s, uint64_t took);

#endif
