/*
 * typenames.c - names and layouts of the event types of a running program
 *
 * SPDX-License-Identifier: MIT
 */
#include "process/typenames.h"

#include <posixtrace/trace.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "common/message.h"
#include "common/progress.h"
#include "control/handle.h"
#include "control/later.h"
#include "logs/declared.h"

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
	char name[TRACE_EVENT_NAME_MAX + 1], layout[LAYOUT_TEXT_SIZE];
	trace_event_id_t id;
	bool new = false;
	int none;

	/* The list keeps its position: later calls return only newly defined types. */
	while (posix_trace_eventtypelist_getnext_id(trid, &id, &none) == 0 && !none) {
		if (id >= EVENT_ID_END || t->known[id] || posix_trace_eventid_get_name(trid, id, name) != 0)
			continue;
		layouts_add(t->layouts, id, name);
		t->known[id] = new = true;
		if (id >= t->end)
			t->end = id + 1;
		t->twice[id] = named_before(t, id);
	}
	/* A layout may be declared after its name was opened. */
	for (id = EVENT_ID_USER; id < t->end; id++)
		if (t->known[id] && !layouts_text(t->layouts, id)[0] &&
		    posixtrace_get_layout(trid, id, layout, sizeof layout) == 0)
			layouts_declare(t->layouts, id, layout);
	return new;
}

const char *typenames_name(const struct typenames *t, uint32_t id)
{
	const char *name = id < EVENT_ID_END && t->known[id] ? layouts_name(t->layouts, id) : NULL;

	return name ? name : "?";
}

/* -- The process of a stream -------------------------------------------------------------- */

bool stream_attached(trace_id_t trid)
{
	struct handle *h = handle_get(trid, HANDLE_ACTIVE);
	bool attached = false;

	if (h) {
		attached = handle_works(h) && load_relaxed(&h->target.page->image) != 0;
		handle_put(h);
	}
	return attached;
}

uint64_t stream_refused(trace_id_t trid, char name[TRACE_EVENT_NAME_MAX + 1])
{
	struct handle *h = handle_get(trid, HANDLE_ACTIVE);
	uint64_t count = 0;

	if (h) {
		count = handle_works(h) ? registry_refused(h->target.names, name) : 0;
		handle_put(h);
	}
	return count;
}

uint64_t stream_full_names(trace_id_t trid)
{
	struct handle *h = handle_get(trid, HANDLE_ACTIVE);
	uint64_t count = 0;

	if (h) {
		count = handle_works(h) ? registry_full(h->target.names) : 0;
		handle_put(h);
	}
	return count;
}

uint32_t stream_names_taken(trace_id_t trid)
{
	struct handle *h = handle_get(trid, HANDLE_ACTIVE);
	uint32_t count = 0;

	if (h) {
		count = handle_works(h) ? later_taken(&h->target.later, h->target.names) : 0;
		handle_put(h);
	}
	return count;
}

uint32_t stream_user_since(trace_id_t trid)
{
	struct handle *h = handle_get(trid, HANDLE_ACTIVE);
	uint32_t user = 0;

	if (h) {
		const struct names_moved *moved = &h->target.page->moved;

		if (handle_works(h) && load_acquire(&moved->state) == MOVED_REPORTED) /* PAIR(moved) */
			user = moved->user;
		handle_put(h);
	}
	return user;
}

bool stream_next_type(trace_id_t trid, bool rewind, trace_event_id_t *id, char name[TRACE_EVENT_NAME_MAX + 1])
{
	int none;

	if (rewind)
		posix_trace_eventtypelist_rewind(trid);
	do {
		if (posix_trace_eventtypelist_getnext_id(trid, id, &none) != 0 || none)
			return false;
	} while (eventtype_system(*id) || posix_trace_eventid_get_name(trid, *id, name) != 0);
	return true;
}

void stream_say_wrong(trace_id_t trid, const struct match *m, const char *what)
{
	char name[TRACE_EVENT_NAME_MAX + 1], layout[LAYOUT_TEXT_SIZE];
	struct layouts *l = layouts_new();
	trace_event_id_t id;
	uint64_t refused;
	uint32_t taken;

	if (!l)
		fail("no memory");
	for (bool first = true; stream_next_type(trid, first, &id, name); first = false)
		if (match_name(m, name) &&
		    (!layouts_add(l, id, name) || (posixtrace_get_layout(trid, id, layout, sizeof layout) == 0 &&
		                                   !layouts_declare(l, id, layout))))
			fail("no memory");
	declared_say(l, what);
	layouts_free(l);
	refused = stream_refused(trid, name);
	declared_say_refused(what, refused, name);
	declared_say_full(what, stream_full_names(trid));
	taken = stream_names_taken(trid);
	if (taken)
		progress_say("%s: %u event type%s of processes that have become other users %s of another type: "
		             "events of both are shown with one of the names",
		             what, taken, taken == 1 ? "" : "s", taken == 1 ? "has the id" : "have the ids");
}
