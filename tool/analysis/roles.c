/*
 * roles.c - the role in spans of each event of several logs, found once for each type in each segment
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis/roles.h"

#include <stdlib.h>

#include "common/message.h"

struct cached_role {
	uint64_t segment;
	bool known;
	struct span_role role;
};

void roles_begin(struct roles *roles, const struct spans *spans, const struct sources *logs)
{
	roles->spans = spans;
	roles->cached = calloc((size_t)logs->count * EVENT_ID_END, sizeof *roles->cached);
	if (!roles->cached)
		fail("no memory");
}

const struct span_role *roles_of(struct roles *roles, const struct source *s)
{
	uint32_t id = s->event->id < EVENT_ID_END ? s->event->id : 0;
	struct cached_role *r = &roles->cached[(size_t)s->index * EVENT_ID_END + id];
	uint64_t segment = logfile_segment(s->file);

	if (!r->known || r->segment != segment || id == 0) {
		const char *name = layouts_name(s->layouts, s->event->id);

		if (!name)
			name = logfile_type(s->file, s->event->id);
		*r = (struct cached_role){ segment, true,
			                   span_role(roles->spans, name, layouts_find(s->layouts, s->event->id)) };
	}
	return &r->role;
}
