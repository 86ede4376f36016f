/*
 * lasted.h - how long the span took that an event ends, for spans that event types declare
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LASTED_H
#define LASTED_H

#include "analysis/roles.h"
#include "logs/tasks.h"

struct lasted {
	struct spans spans;
	struct roles roles;
	struct tasks tasks;
};

/* Finds the spans that the layouts of the logs declare. */
void lasted_begin(struct lasted *l, const struct sources *logs);
/* Forgets all begins: the logs are read again from the beginning, or events are missing. */
void lasted_cut(struct lasted *l);
/* Returns whether the next event of the source ends a span, or is a whole one. *ns: how long it took. */
bool lasted_event(struct lasted *l, const struct source *s, uint64_t *ns);

#endif
