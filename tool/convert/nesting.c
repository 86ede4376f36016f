/*
 * nesting.c - finds the spans whose slices always nest on their thread
 *
 * SPDX-License-Identifier: MIT
 */
#include "convert/nesting.h"

#include <stdlib.h>

#include "common/message.h"
#include "convert/slices.h"

_Static_assert(SPANS_MAX <= 32, "a bit for each span");

static struct {
	uint32_t overlaps[SPANS_MAX]; /* for each span, the spans with overlaps that do not nest */
	uint32_t alone;               /* spans with decreasing times */
} found;

static void overlap(unsigned a, unsigned b)
{
	found.overlaps[a] |= UINT32_C(1) << b;
	found.overlaps[b] |= UINT32_C(1) << a;
}

static void slice_begins(struct slice_track *t, struct source *s, uint64_t time)
{
	const struct slice_row *row = t->row;

	/* The slice below it on the stack began before. */
	if (s->event->time < time || (row && row->count > 1 && row->open[row->count - 2].time > time))
		found.alone |= UINT32_C(1) << t->span;
}

static void slice_is_over(struct slice_track *t, struct source *s, uint64_t time, enum slice_end how)
{
	const struct slice_row *row = t->row;

	if (!row)
		return;
	if (s && s->event->time < time)
		found.alone |= UINT32_C(1) << t->span;
	/* When all slices of a log are cut, the innermost one ends first. */
	for (size_t i = row->count; i > 0 && row->open[i - 1].track != t; i--) {
		if (how == SLICE_COMPLETE || how == SLICE_REPLACED || row->open[i - 1].track->source != t->source)
			overlap(t->span, row->open[i - 1].track->span);
		if (row->open[i - 1].time > time)
			found.alone |= UINT32_C(1) << t->span;
	}
}

/* The latest time of a thread. Times decrease if a log is damaged, or if two logs have the same thread. */
struct latest {
	struct lookup_key key;
	uint64_t time;
};

/* The role of an event type in a segment. */
struct cached_role {
	uint64_t segment;
	bool known;
	struct span_role role;
};

/* The state of the search, kept until the program ends. */
static struct {
	struct tasks tasks;
	struct slices slices;
	struct lookup threads;
	struct cached_role *roles; /* EVENT_ID_END for each log */
} all;

static struct span_role role_of(const struct source *s)
{
	uint32_t id = s->event->id < EVENT_ID_END ? s->event->id : 0;
	struct cached_role *r = &all.roles[(size_t)s->index * EVENT_ID_END + id];
	uint64_t segment = logfile_segment(s->file);

	if (!r->known || r->segment != segment || id == 0) {
		const char *name = layouts_name(s->layouts, s->event->id);

		if (!name)
			name = logfile_type(s->file, s->event->id);
		*r = (struct cached_role){ segment, true, span_role(all.slices.spans, name) };
	}
	return r->role;
}

static void look(struct source *s)
{
	struct span_role role = role_of(s);
	struct task *thread;
	struct latest *latest;

	slices_time(&all.slices, s);
	if (!(role.begins | role.ends) && s->event->id != POSIX_TRACE_START)
		return;
	thread = tasks_thread(&all.tasks, s);
	latest = lookup(&all.threads, (struct lookup_key){ .first = thread->number }, sizeof *latest);
	if (s->event->time < latest->time)
		found.alone |= role.begins | role.ends;
	else
		latest->time = s->event->time;
	slices_event(&all.slices, s, thread, role);
}

static void read_all(struct sources *logs, bool everything)
{
	struct source *s;

	sources_rewind(logs);
	while ((s = sources_oldest(logs)) != NULL) {
		if (source_tells_of_loss(s)) {
			struct loss loss = source_take_loss(s);

			if (loss.wanted && !loss.resumed)
				slices_cut(&all.slices, s, loss.from, SLICE_LOST);
			continue;
		}
		if (everything || source_wanted(s))
			look(s);
		else if (s->event->id == POSIX_TRACE_START)
			slices_cut(&all.slices, s, s->event->time, SLICE_STARTED);
		source_advance(s);
	}
	slices_finish(&all.slices, logs);
}

uint32_t nesting_find(struct sources *logs, const struct spans *spans, bool everything)
{
	uint32_t nested = 0;

	if (spans->count == 0 || spans->scope != SPAN_THREAD)
		return 0;
	all.slices = (struct slices){ .spans = spans, .tasks = &all.tasks, .nested = UINT32_MAX, .begin = slice_begins,
	                              .end = slice_is_over };
	all.roles = calloc((size_t)logs->count * EVENT_ID_END, sizeof *all.roles);
	if (!all.roles)
		fail("no memory");
	tasks_begin(&all.tasks, logs);
	slices_begin(&all.slices, logs);
	read_all(logs, everything);
	for (unsigned i = 0; i < spans->count; i++)
		if (!(found.alone >> i & 1) && !(found.overlaps[i] & (nested | UINT32_C(1) << i)))
			nested |= UINT32_C(1) << i;
	return nested;
}
