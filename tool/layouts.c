/*
 * layouts.c - what the data of all the event types of a log, or of a stream, is
 *
 * SPDX-License-Identifier: MIT
 */
#include "layouts.h"

#include <stdlib.h>
#include <string.h>

/* What one name means, whichever ids have it. */
struct meaning {
	char name[TRACE_EVENT_NAME_MAX + 1];
	struct layout layout;
};

struct layouts {
	struct meaning *of[EVENT_ID_END];
	uint8_t align_most;
};

struct layouts *layouts_new(void)
{
	return calloc(1, sizeof(struct layouts));
}

void layouts_free(struct layouts *l)
{
	for (uint32_t id = 0; l && id < EVENT_ID_END; id++) {
		struct meaning *m = l->of[id];

		/* Several ids may have it. */
		for (uint32_t other = id; m && other < EVENT_ID_END; other++)
			if (l->of[other] == m)
				l->of[other] = NULL;
		free(m);
	}
	free(l);
}

static struct meaning *meaning(struct layouts *l, const char *name, size_t length)
{
	struct meaning *m;

	for (uint32_t id = 0; id < EVENT_ID_END; id++) {
		m = l->of[id];
		if (m && strncmp(m->name, name, length) == 0 && !m->name[length])
			return m;
	}
	m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	memcpy(m->name, name, length);
	m->layout.align_most = l->align_most;
	return m;
}

bool layouts_add(struct layouts *l, uint32_t id, const char *name)
{
	size_t length = layout_name(name);

	if (id >= EVENT_ID_END || l->of[id])
		return true;
	if (length > TRACE_EVENT_NAME_MAX)
		length = TRACE_EVENT_NAME_MAX;
	l->of[id] = meaning(l, name, length);
	if (l->of[id])
		layout_parse(&l->of[id]->layout, name);
	return l->of[id] != NULL;
}

/* On i386 numbers of eight bytes lie at multiples of four. */
static uint8_t alignment(const struct log_header *h)
{
	const char *machine = h->machine;
	bool x86 = strcmp(machine, "x86_64") == 0 || (machine[0] == 'i' && strcmp(machine + 2, "86") == 0);

	return x86 && h->word == 4 ? 4 : 8;
}

struct layouts *layouts_of(const struct input *in)
{
	struct layouts *l = layouts_new();
	bool all = l != NULL;

	if (l)
		l->align_most = alignment(&in->header);
	for (uint32_t id = 0; id < EVENT_ID_END && all; id++)
		if (in->type[id])
			all = layouts_add(l, id, in->name[id]);
	if (all)
		return l;
	layouts_free(l);
	return NULL;
}

const struct layout *layouts_find(const struct layouts *l, uint32_t id)
{
	return id < EVENT_ID_END && l->of[id] && l->of[id]->layout.count > 0 ? &l->of[id]->layout : NULL;
}

const char *layouts_name(const struct layouts *l, uint32_t id)
{
	return id < EVENT_ID_END && l->of[id] ? l->of[id]->name : NULL;
}
