/*
 * slices.c - slices: spans between a begin and an end, on tracks
 *
 * SPDX-License-Identifier: MIT
 */
#include "convert/slices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "event/meaning.h"

/* The same limit as that of spans. The oldest begins beyond it have no end. */
#define DEPTH_MAX 65536
/* Further events that are whole spans, each around all before it, get tracks of their own. */
#define SEATS_MAX 1024

const char *const slice_ends[] = {
	[SLICE_COMPLETE] = NULL,
	[SLICE_REPLACED] = "begun again",
	[SLICE_LOST] = "events lost",
	[SLICE_STARTED] = "recording stopped",
	[SLICE_LOG_ENDS] = "end of log",
};

void slices_begin(struct slices *all, const struct sources *logs)
{
	all->open = calloc(logs->count, sizeof(struct slice_track *));
	all->latest = calloc(logs->count, sizeof *all->latest);
	if (!all->open || !all->latest)
		fail("no memory");
}

/* -- Tracks -------------------------------------------------------------------------------------- */

/* The lanes of the slices of one span in one scope that may overlap. */
struct slice_seats {
	struct lookup_key key;
	struct keyed taken; /* the seat of each open id */
	uint32_t *free;     /* seats that are free again, below count */
	uint32_t count, free_count, room;
};

static struct lookup_key key_of(const struct source *s, unsigned span, const struct task *scope, uint32_t seat)
{
	return (struct lookup_key){ .first = (uint64_t)s->index << 8 | span,
	                            .second = (uint64_t)seat << 32 | (scope ? scope->number : 0) };
}

uint64_t slices_uuid(const struct slice_track *t, uint64_t log)
{
	uint64_t uuid = lookup_mix(lookup_mix(log, (uint64_t)t->lane << 8 | t->span), t->scope ? t->scope->uuid : 0);

	return t->seat ? lookup_mix(uuid, t->seat) : uuid;
}

uint64_t slices_flow(struct slices *all, const struct layout *l, unsigned field, struct meaning_id value,
                     enum slice_flow how)
{
	const char *name = l->field[field - 1].name;
	uint64_t scope = value.negative, number = 0;
	struct keyed_entry *e;

	for (; *name; name++)
		scope = lookup_mix(scope, (unsigned char)*name);
	e = keyed_find(&all->flows, scope, value.value);
	if (e)
		number = e->value;
	if (how == FLOW_BEGINS || (how == FLOW_GOES_ON && !e)) {
		number = ++all->flow_count;
		if (e)
			e->value = number;
		else
			keyed_add(&all->flows, scope, value.value, number);
	} else if (how == FLOW_ENDS && e) {
		keyed_remove(&all->flows, e);
	}
	return lookup_mix(lookup_mix(scope, value.value), number);
}

/* Returns the track of a span in a scope. seats null: the span has only one there. */
static struct slice_track *track_of(struct slices *all, const struct source *s, unsigned span, struct task *scope,
                                    struct slice_seats *seats, uint32_t seat)
{
	struct slice_track *t = lookup(&all->tracks, key_of(s, span, scope, seat), sizeof *t);

	t->source = s;
	t->span = span;
	t->scope = scope;
	t->seats = seats;
	t->seat = seat;
	if (!seats && all->nested >> span & 1 && scope && scope->tid)
		t->row = lookup(&all->rows, (struct lookup_key){ .first = scope->number }, sizeof *t->row);
	return t;
}

static void push(struct slice_row *row, struct slice_track *t, uint64_t time)
{
	if (row->count == row->room) {
		row->room = row->room ? 2 * row->room : 4;
		row->open = realloc(row->open, row->room * sizeof *row->open);
		if (!row->open)
			fail("no memory");
	}
	row->open[row->count++] = (struct slice_open){ .track = t, .time = time };
}

/* Removes the innermost slice of this track. */
static void pop(struct slice_row *row, const struct slice_track *t)
{
	size_t i = row->count;

	while (i > 0 && row->open[i - 1].track != t)
		i--;
	if (i == 0)
		return;
	memmove(row->open + i - 1, row->open + i, (row->count - i) * sizeof *row->open);
	row->count--;
}

static void begin(struct slices *all, struct slice_track *t, struct source *s, uint64_t time)
{
	struct slice_track **open = &all->open[s->index];

	if (time < t->last && t->depth + t->abandoned == 0) {
		t->lane++;
		t->written = false;
		t->last = 0;
	}
	if (time > t->last)
		t->last = time;
	if (t->row)
		push(t->row, t, t->last);
	all->begin(t, s, t->last);
	if (t->depth + t->abandoned == 0) {
		t->next = *open;
		t->link = open;
		if (t->next)
			t->next->link = &t->next;
		*open = t;
	}
	if (t->depth == DEPTH_MAX)
		t->abandoned++;
	else
		t->depth++;
}

static struct slice_seats *seats_of(struct slices *all, const struct source *s, unsigned span, struct task *scope)
{
	return lookup(&all->seats, key_of(s, span, scope, 0), sizeof(struct slice_seats));
}

/* Returns a seat that is free, and takes it for the id. */
static uint32_t take(struct slice_seats *seats, struct meaning_id id)
{
	uint32_t seat = seats->free_count > 0 ? seats->free[--seats->free_count] : ++seats->count;

	keyed_add(&seats->taken, id.negative, id.value, seat);
	return seat;
}

/* Frees the seat of a track, if it is taken for an id. */
static void leave(const struct slice_track *t)
{
	struct slice_seats *seats = t->seats;
	struct keyed_entry *e = keyed_find(&seats->taken, t->id.negative, t->id.value);

	if (!e || e->value != t->seat)
		return;
	keyed_remove(&seats->taken, e);
	if (seats->free_count == seats->room) {
		seats->room = seats->room ? 2 * seats->room : 4;
		seats->free = realloc(seats->free, seats->room * sizeof *seats->free);
		if (!seats->free)
			fail("no memory");
	}
	seats->free[seats->free_count++] = t->seat;
}

/* Ends the innermost slice of a track. s null: without an event. */
static void end(struct slices *all, struct slice_track *t, struct source *s, uint64_t time, enum slice_end how)
{
	/* The order of events of several threads is as exact as their clocks. */
	if (time > t->last)
		t->last = time;
	all->end(t, s, t->last, how);
	if (t->row)
		pop(t->row, t);
	if (t->depth > 0)
		t->depth--;
	else
		t->abandoned--;
	if (t->depth + t->abandoned > 0)
		return;
	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	if (t->seats)
		leave(t);
}

/* -- Events -------------------------------------------------------------------------------------- */

static struct task *scope_of(const struct slices *all, struct task *thread)
{
	switch (all->spans->scope) {
	case SPAN_THREAD:
		return thread;
	case SPAN_PROCESS:
		return thread->process;
	default:
		return NULL;
	}
}

static bool ends(struct slices *all, struct source *s, struct task *scope, uint64_t which)
{
	bool some = false;

	for (; which; which &= which - 1) {
		struct slice_track *t = track_of(all, s, (unsigned)__builtin_ctzll(which), scope, NULL, 0);

		if (t->depth == 0)
			continue;
		end(all, t, s, s->event->time, SLICE_COMPLETE);
		some = true;
	}
	return some;
}

static void begins(struct slices *all, struct source *s, struct task *scope, uint64_t which)
{
	for (; which; which &= which - 1) {
		struct slice_track *t = track_of(all, s, (unsigned)__builtin_ctzll(which), scope, NULL, 0);

		if (t->depth > 0 && !all->spans->nested && !all->spans->span[t->span]->calls)
			end(all, t, NULL, s->event->time, SLICE_REPLACED);
		begin(all, t, s, s->event->time);
	}
}

/* -- Spans with an id ------------------------------------------------------------------------------- */

/* Ends the open slice with this id. s null: without an event. Returns whether there was one. */
static bool end_id(struct slices *all, struct source *s, struct source *event, unsigned span, struct task *scope,
                   struct meaning_id id, enum slice_end how)
{
	struct slice_seats *seats = seats_of(all, s, span, scope);
	const struct keyed_entry *e = keyed_find(&seats->taken, id.negative, id.value);

	if (!e)
		return false;
	end(all, track_of(all, s, span, scope, seats, (uint32_t)e->value), event, s->event->time, how);
	return true;
}

static bool ends_id(struct slices *all, struct source *s, struct task *scope, uint64_t which,
                    struct meaning_id id)
{
	bool some = false;

	for (; which; which &= which - 1)
		some |= end_id(all, s, s, (unsigned)__builtin_ctzll(which), scope, id, SLICE_COMPLETE);
	return some;
}

static void begins_id(struct slices *all, struct source *s, struct task *scope, uint64_t which,
                    struct meaning_id id)
{
	for (; which; which &= which - 1) {
		unsigned span = (unsigned)__builtin_ctzll(which);
		struct slice_seats *seats = seats_of(all, s, span, scope);
		struct slice_track *t;

		end_id(all, s, NULL, span, scope, id, SLICE_REPLACED);
		t = track_of(all, s, span, scope, seats, take(seats, id));
		t->id = id;
		begin(all, t, s, s->event->time);
	}
}

/* -- Events that are whole spans ------------------------------------------------------------------------ */

/* Makes a slice that ends with the event, in the first lane that is free since its begin. */
static bool whole(struct slices *all, struct source *s, struct task *scope, const struct span_role *role)
{
	struct slice_seats *seats = seats_of(all, s, role->whole, scope);
	struct slice_track *t;
	uint64_t took, from;
	uint32_t seat = 0;

	if (meaning_took(role->took, s->data, s->event->length, &took) != TOOK)
		return false;
	from = took < s->event->time ? s->event->time - took : 0;
	do
		t = track_of(all, s, role->whole, scope, seats, ++seat);
	while (t->last > from && seat < SEATS_MAX);
	begin(all, t, s, from);
	end(all, t, NULL, s->event->time, SLICE_COMPLETE);
	return true;
}

/* -- All events --------------------------------------------------------------------------------------- */

/* The same order as in analysis/span.c: ends, then the cut, then begins. */
bool slices_event(struct slices *all, struct source *s, struct task *thread, const struct span_role *role)
{
	struct task *scope = role->by && all->spans->scope == SPAN_THREAD ? thread->process : scope_of(all, thread);
	bool some = role->took && whole(all, s, scope, role);
	struct meaning_id id = { .value = 0 };

	if (role->by && !meaning_id(role->by, role->by->meaning.by, s->data, s->event->length, &id))
		return some;
	some |= role->by ? ends_id(all, s, scope, role->ends, id) : ends(all, s, scope, role->ends);
	if (s->event->id == POSIX_TRACE_START)
		slices_cut(all, s, s->event->time, SLICE_STARTED);
	if (role->by)
		begins_id(all, s, scope, role->begins, id);
	else
		begins(all, s, scope, role->begins);
	return some || role->begins;
}

static void end_all(struct slices *all, struct slice_track *t, uint64_t time, enum slice_end how)
{
	/* End the innermost slices of the row first. */
	while (t->row && t->row->count && t->row->open[t->row->count - 1].track->source == t->source)
		end(all, t->row->open[t->row->count - 1].track, NULL, time, how);
	while (t->depth + t->abandoned > 0)
		end(all, t, NULL, time, how);
}

void slices_cut(struct slices *all, const struct source *s, uint64_t time, enum slice_end how)
{
	while (all->open[s->index])
		end_all(all, all->open[s->index], time, how);
}

void slices_finish(struct slices *all, const struct sources *logs)
{
	for (unsigned i = 0; i < logs->count; i++)
		slices_cut(all, &logs->source[i], all->latest[i], SLICE_LOG_ENDS);
}
