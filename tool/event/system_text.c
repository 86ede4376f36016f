/*
 * system_text.c - what the system's own events say, in words
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/system_text.h"

#include <stdio.h>
#include <string.h>

#include "model/eventset.h"

struct words {
	char *text;
	size_t length;
	bool full;
};

static void add(struct words *w, const char *before, const char *name)
{
	size_t head = strlen(before), n = strlen(name);

	if (w->full || w->length + head + n + sizeof "..." > SYSTEM_TEXT) {
		if (!w->full)
			strcpy(w->text + w->length, "...");
		w->full = true;
		return;
	}
	memcpy(w->text + w->length, before, head);
	memcpy(w->text + w->length + head, name, n + 1);
	w->length += head + n;
}

/* Adds the types in one set, but not in the other. Returns false if no type was added. */
static bool add_types(struct words *w, const struct layouts *l, const char *before, const trace_event_set_t *in,
                      const trace_event_set_t *not_in)
{
	bool any = false;

	for (uint32_t id = 1; id < EVENT_ID_END; id++) {
		if (!eventset_has(in, id) || (not_in && eventset_has(not_in, id)) || !layouts_name(l, id))
			continue;
		add(w, any ? ", " : before, layouts_name(l, id));
		any = true;
	}
	return any;
}

bool system_text(char text[SYSTEM_TEXT], const struct layouts *l, const struct log_event *e, const unsigned char *data)
{
	struct words w = { .text = text };
	trace_event_set_t set[2];

	text[0] = 0;
	if (e->id == POSIX_TRACE_STOP && e->length == sizeof(int)) {
		if (memcmp(data, &(int){ 0 }, sizeof(int)) != 0)
			add(&w, "", "by itself: it is full");
	} else if (e->id == POSIX_TRACE_OVERFLOW && e->length == sizeof(struct system_gap)) {
		struct system_gap gap;

		memcpy(&gap, data, sizeof gap);
		snprintf(text, SYSTEM_TEXT, "%s%llu event%s could not be written", gap.at_least ? "at least " : "",
		         (unsigned long long)gap.events, gap.events == 1 ? "" : "s");
	} else if (e->id == POSIX_TRACE_START && eventset_read(&set[0], data, e->length)) {
		add_types(&w, l, "without ", &set[0], NULL);
	} else if (e->id == POSIX_TRACE_FILTER && eventset_read(&set[0], data, e->length / 2) &&
	           eventset_read(&set[1], data + e->length / 2, e->length / 2)) {
		add_types(&w, l, add_types(&w, l, "without ", &set[1], &set[0]) ? "; again with " : "again with ",
		          &set[0], &set[1]);
	} else {
		return false;
	}
	return true;
}
