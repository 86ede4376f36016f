/*
 * history.c - what threads did over time: when they ran, could run, or were blocked, and in which calls
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "event/meaning.h"

/* Slices before a page fault that may be its wait: it was blocked, and then ready. */
#define FAULT_SLICES 8

/* The kinds of types besides enum linux_kind. */
enum { UNSEEN, OTHER, LIBRARY, LINUX };

struct history_type {
	uint64_t segment;
	uint8_t kind;
	enum linux_kind linux_kind;
	const char *name;
	const struct layout *layout;
	unsigned object; /* 1 + the field that tells which lock, or condition; 0: none */
};

struct history_name {
	struct history_name *next; /* with the same hash */
	char text[];
};

/* The name of a thread that has woken others. */
struct waker {
	struct lookup_key key;
	char name[LINUX_NAME];
};

/* -- Lists ------------------------------------------------------------------------------------------ */

static void *list_add(struct history_list *l, size_t size)
{
	if (l->count == l->room) {
		l->room = l->room ? 2 * l->room : 8;
		l->item = realloc(l->item, l->room * size);
		if (!l->item)
			fail("no memory");
	}
	return (char *)l->item + size * l->count++;
}

/* Returns the same pointer for the same text. */
static const char *unique(struct history *h, const char *text)
{
	size_t size = strlen(text) + 1;
	struct history_name **place, *n;
	uint64_t hash = 0;

	for (const char *p = text; *p; p++)
		hash = lookup_mix(hash, (unsigned char)*p);
	place = &h->name[hash % HISTORY_NAMES];
	for (n = *place; n; n = n->next)
		if (strcmp(n->text, text) == 0)
			return n->text;
	n = malloc(sizeof *n + size);
	if (!n)
		fail("no memory");
	memcpy(n->text, text, size);
	n->next = *place;
	*place = n;
	return n->text;
}

/* -- Types ------------------------------------------------------------------------------------------- */

/* Returns 1 + the field with this name, or 0. */
static unsigned find_field(const struct layout *l, const char *name)
{
	for (unsigned i = 0; i < l->count; i++)
		if (strcmp(l->field[i].name, name) == 0 && l->field[i].count == 1)
			return i + 1;
	return 0;
}

static void fill(struct history *h, struct history_type *type, const struct source *s)
{
	const char *name = layouts_name(s->layouts, s->event->id);

	*type = (struct history_type){ .segment = logfile_segment(s->file), .kind = OTHER };
	type->layout = layouts_find(s->layouts, s->event->id);
	if (!name)
		name = logfile_type(s->file, s->event->id);
	type->linux_kind = linux_kind(name, layouts_text(s->layouts, s->event->id));
	if (type->linux_kind != LINUX_NONE) {
		type->kind = LINUX;
		type->name = strncmp(name, LINUX_CALL_PREFIX, strlen(LINUX_CALL_PREFIX)) == 0 ?
		             unique(h, name + strlen(LINUX_CALL_PREFIX)) : NULL;
	} else if (strncmp(name, "libc.", 5) == 0 && type->layout && type->layout->meaning.took) {
		type->kind = LIBRARY;
		type->name = unique(h, name);
		type->object = find_field(type->layout, "lock");
		if (!type->object)
			type->object = find_field(type->layout, "cond");
	}
}

static const struct history_type *type_of(struct history *h, const struct source *s)
{
	uint32_t id = s->event->id < EVENT_ID_END ? s->event->id : 0;
	struct history_type *type = &h->types[(size_t)s->index * EVENT_ID_END + id];

	if (type->kind == UNSEEN || type->segment != logfile_segment(s->file) || !id)
		fill(h, type, s);
	return type;
}

/* -- Events ------------------------------------------------------------------------------------------ */

void history_begin(struct history *h, const struct sources *logs, const struct tasks *tasks)
{
	*h = (struct history){ .logs = logs, .tasks = tasks };
	h->types = calloc((size_t)logs->count * EVENT_ID_END, sizeof *h->types);
	if (!h->types)
		fail("no memory");
}

struct history_thread *history_thread(struct history *h, uint32_t machine, uint32_t tid)
{
	struct history_thread *t = lookup(&h->threads, (struct lookup_key){ machine, tid }, sizeof *t);

	t->machine = machine;
	t->tid = tid;
	return t;
}

const char *history_waker_name(struct history *h, uint32_t machine, uint32_t tid)
{
	struct waker *w = lookup(&h->wakers, (struct lookup_key){ (uint64_t)machine << 32 | tid, 0 }, sizeof *w);

	return w->name;
}

/*
 * Adds a slice. A time in a log may be a little later than that of the record, so that times do not decrease: slices
 * must not overlap.
 */
static void add_slice(struct history_thread *t, const struct history_slice *slice)
{
	uint64_t last = t->slices.count ? ((struct history_slice *)t->slices.item)[t->slices.count - 1].until : 0;
	struct history_slice *new;

	if (slice->until <= slice->from || slice->until <= last)
		return;
	new = list_add(&t->slices, sizeof *new);
	*new = *slice;
	if (new->from < last)
		new->from = last;
}

static void add_run(struct history_thread *t, const struct source *s)
{
	struct linux_run run;
	uint64_t until = s->event->time;

	if (!linux_read_run(&run, s->data, s->event->length) || run.took > until)
		return;
	add_slice(t, &(struct history_slice){ .from = until - run.took, .until = until, .state = HISTORY_RUNNING,
	                                      .how = (uint8_t)(run.why_known ? run.why : LINUX_OTHER),
	                                      .cpu = run.cpu_known ? run.cpu : UINT32_MAX });
}

static void add_off(struct history *h, struct history_thread *t, const struct source *s)
{
	struct linux_off off;
	uint64_t until = s->event->time;
	struct history_slice slice;

	if (!linux_read_off(&off, s->data, s->event->length) || off.took > until)
		return;
	slice = (struct history_slice){ .from = until - off.took, .until = until - off.ready,
	                                .state = HISTORY_BLOCKED, .how = (uint8_t)off.state,
	                                .waker = off.waker, .waker_known = off.waker_known };
	if (off.waker_known && off.waker) {
		struct waker *waker = lookup(&h->wakers,
		                             (struct lookup_key){ (uint64_t)t->machine << 32 | off.waker, 0 },
		                             sizeof *waker);

		memcpy(waker->name, off.waker_name, LINUX_NAME);
	}
	add_slice(t, &slice);
	slice.from = slice.until;
	slice.until = until;
	slice.state = HISTORY_READY;
	add_slice(t, &slice);
}

/* Adds a call, and removes the calls that were made inside of it. */
static void add_call(struct history_list *l, const char *name, uint64_t from, uint64_t until)
{
	struct history_call *call = l->item;

	if (until <= from)
		return;
	while (l->count && call[l->count - 1].from >= from)
		l->count--;
	if (l->count && call[l->count - 1].until > from)
		from = call[l->count - 1].until;
	if (until > from)
		*(struct history_call *)list_add(l, sizeof *call) = (struct history_call){ from, until, name };
}

static void add_system_call(struct history *h, struct history_thread *t, const struct source *s,
                            const struct history_type *type)
{
	uint64_t took, until = s->event->time;
	const char *name = type->name;
	int64_t result;
	char text[64];

	if (!linux_read_call(&took, &result, s->data, s->event->length) || took > until)
		return;
	if (type->linux_kind == LINUX_UNFINISHED) {
		snprintf(text, sizeof text, "%.*s", (int)(s->event->length - 8), (const char *)s->data + 8);
		name = unique(h, text);
	}
	add_call(&t->system, name, until - took, until);
}

static size_t first_after(const struct history_list *l, size_t size, uint64_t time);

/*
 * Returns the begin of the system call that the thread was in at a time, or the time. The event of a call of the C
 * library is recorded after the end of the time that it tells, so its begin seems to be later than it was.
 */
static uint64_t before_system_call(const struct history_thread *t, uint64_t time)
{
	size_t i = first_after(&t->system, sizeof(struct history_call), time);
	const struct history_call *call = t->system.item;

	return i < t->system.count && call[i].from < time ? call[i].from : time;
}

static void add_library_call(struct history *h, struct history_thread *t, const struct source *s,
                             const struct history_type *type)
{
	uint64_t took, object, until = s->event->time;
	const char *name = type->name;
	char text[128];

	if (meaning_took(type->layout, s->data, s->event->length, &took) != TOOK || took > until)
		return;
	if (type->object && meaning_integer(type->layout, type->object, s->data, s->event->length, &object)) {
		snprintf(text, sizeof text, "%s %s=0x%" PRIx64, name, type->layout->field[type->object - 1].name,
		         object);
		name = unique(h, text);
	}
	add_call(&t->library, name, before_system_call(t, until - took), until);
}

/*
 * Notes a page fault. If it had to wait, the thread was blocked just before: in the slices since it ran, which are few,
 * whatever a damaged log says.
 */
static void add_fault(struct history_thread *t, const struct source *s)
{
	bool major = linux_is_major(s->data, s->event->length);
	struct history_slice *slice = t->slices.item;

	*(struct history_fault *)list_add(&t->faults, sizeof(struct history_fault)) =
		(struct history_fault){ s->event->time, major };
	if (!major)
		return;
	for (size_t i = t->slices.count, most = FAULT_SLICES;
	     i-- > 0 && slice[i].state != HISTORY_RUNNING && most-- > 0;)
		if (slice[i].state == HISTORY_BLOCKED)
			slice[i].fault = true;
}

void history_event(struct history *h, const struct source *s)
{
	const struct log_event *e = s->event;
	const struct history_type *type = type_of(h, s);
	struct history_thread *t;

	if (type->kind == OTHER || !e->tid)
		return;
	t = history_thread(h, h->tasks->machine[s->index], e->tid);
	t->pid = e->pid;
	if (e->name[0]) {
		memset(t->name, 0, sizeof t->name);
		memcpy(t->name, e->name, strnlen(e->name, sizeof e->name));
	}
	if (type->kind == LIBRARY) {
		h->library = true;
		add_library_call(h, t, s, type);
		return;
	}
	switch (type->linux_kind) {
	case LINUX_RUN:
		h->states = true;
		add_run(t, s);
		break;
	case LINUX_OFF:
		h->states = true;
		add_off(h, t, s);
		break;
	case LINUX_CALL:
	case LINUX_LAST_CALL:
	case LINUX_UNFINISHED:
		h->system = true;
		add_system_call(h, t, s, type);
		break;
	case LINUX_FAULT:
		add_fault(t, s);
		break;
	default:
		break;
	}
}

/* -- Parts ------------------------------------------------------------------------------------------- */

/* All items of the lists begin with their times. */
struct times {
	uint64_t from, until;
};

/* Returns the index of the first item that ends after a time. */
static size_t first_after(const struct history_list *l, size_t size, uint64_t time)
{
	size_t low = 0, high = l->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (((const struct times *)((const char *)l->item + middle * size))->until > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Goes through one of the lists. */
struct walk {
	const struct history_list *list;
	size_t size, at;
};

static struct walk walk_from(const struct history_list *l, size_t size, uint64_t time)
{
	return (struct walk){ l, size, first_after(l, size, time) };
}

/* Returns the item at a time, or null. Lowers *until to the time when this changes. */
static const void *walk_at(struct walk *w, uint64_t time, uint64_t *until)
{
	for (; w->at < w->list->count; w->at++) {
		const void *item = (const char *)w->list->item + w->at * w->size;
		const struct times *times = item;

		if (times->until <= time)
			continue;
		if (times->from > time) {
			if (times->from < *until)
				*until = times->from;
			return NULL;
		}
		if (times->until < *until)
			*until = times->until;
		return item;
	}
	return NULL;
}

void history_parts(const struct history_thread *t, uint64_t from, uint64_t until,
                   void (*each)(void *arg, const struct history_part *part), void *arg)
{
	struct walk slices = walk_from(&t->slices, sizeof(struct history_slice), from),
	            system = walk_from(&t->system, sizeof(struct history_call), from),
	            library = walk_from(&t->library, sizeof(struct history_call), from);

	while (from < until) {
		struct history_part part = { .from = from, .until = until };

		part.slice = walk_at(&slices, from, &part.until);
		part.system = walk_at(&system, from, &part.until);
		part.library = walk_at(&library, from, &part.until);
		each(arg, &part);
		from = part.until;
	}
}

size_t history_slice_at(const struct history_thread *t, uint64_t time)
{
	const struct history_slice *slice = t->slices.item;
	size_t low = 0, high = t->slices.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (slice[middle].until >= time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void history_faults(const struct history_thread *t, uint64_t from, uint64_t until, uint64_t *minor, uint64_t *major)
{
	const struct history_fault *fault = t->faults.item;
	size_t low = 0, high = t->faults.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (fault[middle].time >= from)
			high = middle;
		else
			low = middle + 1;
	}
	for (; low < t->faults.count && fault[low].time <= until; low++)
		++*(fault[low].major ? major : minor);
}
