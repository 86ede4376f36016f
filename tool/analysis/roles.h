/*
 * roles.h - the role in spans of each event of several logs, found once for each type in each segment
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ROLES_H
#define ROLES_H

#include "analysis/span.h"
#include "logs/sources.h"

struct cached_role;

struct roles {
	const struct spans *spans;
	struct cached_role *cached; /* EVENT_ID_END for each log */
};

/* Ends the program if there is no memory. */
void roles_begin(struct roles *roles, const struct spans *spans, const struct sources *logs);
/* Returns the role of the next event of the source. */
const struct span_role *roles_of(struct roles *roles, const struct source *s);

#endif
