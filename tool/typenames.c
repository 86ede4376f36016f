/*
 * typenames.c - names and layouts of the event types of a running program
 *
 * SPDX-License-Identifier: MIT
 */
#include "typenames.h"

#include <stdlib.h>
#include <string.h>

struct typenames *typenames_new(void)
{
	struct typenames *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->layouts = layouts_new();
	if (!t->layouts) {
		free(t);
		return NULL;
	}
	t->end = 1;
	return t;
}

static bool named_before(const struct typenames *t, uint32_t id)
{
	const char *name = typenames_name(t, id);

	for (uint32_t other = EVENT_ID_USER; other < id; other++)
		if (t->known[other] && strcmp(typenames_name(t, other), name) == 0)
			return true;
	return false;
}

bool typenames_look(struct typenames *t, trace_id_t trid)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id;
	bool new = false;
	int none;

	/* It stays where it was; what comes later is given by later calls. */
	while (posix_trace_eventtypelist_getnext_id(trid, &id, &none) == 0 && !none) {
		if (id >= EVENT_ID_END || t->known[id] || posix_trace_eventid_get_name(trid, id, name) != 0)
			continue;
		layouts_add(t->layouts, id, name);
		t->known[id] = new = true;
		if (id >= t->end)
			t->end = id + 1;
		t->twice[id] = named_before(t, id);
	}
	return new;
}

const char *typenames_name(const struct typenames *t, uint32_t id)
{
	const char *name = id < EVENT_ID_END && t->known[id] ? layouts_name(t->layouts, id) : NULL;

	return name ? name : "?";
}
