/*
 * side.h - what posixtrace diff knows of one log: events of each type, spans, and how the values of fields are spread
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SIDE_H
#define SIDE_H

#include "analysis/span.h"
#include "analysis/spread.h"
#include "logs/about.h"
#include "logs/sources.h"
#include "logs/tasks.h"

/* An event type; types of the same name are one. */
struct side_type {
	const char *name;
	const struct layout *layout; /* null: none */
	uint64_t events;
	struct spread *field; /* of each field of the layout; null: none is a number */
};

struct side {
	struct sources logs; /* one */
	struct spans spans;
	struct about about;
	struct tasks tasks;
	unsigned types;
	struct side_type *type;
	struct side_type *of[EVENT_ID_END];
	struct span_role role[EVENT_ID_END];
	uint64_t events, first, last; /* of those that are selected */
	double seconds; /* from the first to the last of them */
};

/* Opens the log, and lists its event types. Ends the program if there is no log. */
void side_open(struct side *side, const struct match *m, char *path);
/* Reads the log. The spans of the side have been set. */
void side_read(struct side *side);
/* Returns the type of this name, or null. */
const struct side_type *side_find(const struct side *side, const char *name);
/* Returns whether the values of a field are compared: a number that is no label, no address and no point in time. */
bool side_is_number(const struct layout_field *f);

#endif
