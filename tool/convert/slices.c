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

/* The same limit as that of spans. The oldest begins beyond it have no end. */
#define DEPTH_MAX 65536

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

size_t slices_title(const struct spans *spans, unsigned span, char *text, size_t size)
{
	const struct span *s = spans->span[span];
	int n = s->name ? snprintf(text, size, "%s", s->name) : snprintf(text, size, "%s to %s", s->begin, s->end);

	return n > 0 && (size_t)n < size ? (size_t)n : size - 1;
}

/* -- Tracks -------------------------------------------------------------------------------------- */

static struct slice_track *track_of(struct slices *all, const struct source *s, unsigned span, struct task *scope)
{
	struct lookup_key key = { .first = (uint64_t)s->index << 8 | span, .second = scope ? scope->number : 0 };
	struct slice_track *t = lookup(&all->tracks, key, sizeof *t);

	t->source = s;
	t->span = span;
	t->scope = scope;
	if (all->nested >> span & 1 && scope && scope->tid)
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

static bool ends(struct slices *all, struct source *s, struct task *scope, uint32_t which)
{
	bool some = false;

	for (; which; which &= which - 1) {
		struct slice_track *t = track_of(all, s, (unsigned)__builtin_ctz(which), scope);

		if (t->depth == 0)
			continue;
		end(all, t, s, s->event->time, SLICE_COMPLETE);
		some = true;
	}
	return some;
}

static void begins(struct slices *all, struct source *s, struct task *scope, uint32_t which)
{
	for (; which; which &= which - 1) {
		struct slice_track *t = track_of(all, s, (unsigned)__builtin_ctz(which), scope);

		if (t->depth > 0 && !all->spans->nested)
			end(all, t, NULL, s->event->time, SLICE_REPLACED);
		begin(all, t, s, s->event->time);
	}
}

/* The same order as in analysis/span.c: ends, then the cut, then begins. */
bool slices_event(struct slices *all, struct source *s, struct task *thread, struct span_role role)
{
	struct task *scope = scope_of(all, thread);
	bool some = ends(all, s, scope, role.ends);

	if (s->event->id == POSIX_TRACE_START)
		slices_cut(all, s, s->event->time, SLICE_STARTED);
	begins(all, s, scope, role.begins);
	return some || role.begins;
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
