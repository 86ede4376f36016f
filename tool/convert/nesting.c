/*
 * nesting.c - finds the spans whose slices always nest on their thread
 *
 * SPDX-License-Identifier: MIT
 */
#include "convert/nesting.h"

#include "analysis/roles.h"
#include "convert/slices.h"

_Static_assert(SPANS_MAX <= 64, "a bit for each span");

static struct {
	uint64_t overlaps[SPANS_MAX]; /* for each span, the spans with overlaps that do not nest */
	uint64_t alone;               /* spans with decreasing times */
} found;

static void overlap(unsigned a, unsigned b)
{
	found.overlaps[a] |= UINT64_C(1) << b;
	found.overlaps[b] |= UINT64_C(1) << a;
}

static void slice_begins(struct slice_track *t, struct source *s, uint64_t time)
{
	const struct slice_row *row = t->row;

	/* The slice below it on the stack began before. */
	if (s->event->time < time || (row && row->count > 1 && row->open[row->count - 2].time > time))
		found.alone |= UINT64_C(1) << t->span;
}

static void slice_is_over(struct slice_track *t, struct source *s, uint64_t time, enum slice_end how)
{
	const struct slice_row *row = t->row;

	if (!row)
		return;
	if (s && s->event->time < time)
		found.alone |= UINT64_C(1) << t->span;
	/* When all slices of a log are cut, the innermost one ends first. */
	for (size_t i = row->count; i > 0 && row->open[i - 1].track != t; i--) {
		if (how == SLICE_COMPLETE || how == SLICE_REPLACED || row->open[i - 1].track->source != t->source)
			overlap(t->span, row->open[i - 1].track->span);
		if (row->open[i - 1].time > time)
			found.alone |= UINT64_C(1) << t->span;
	}
}

/* The latest time of a thread. Times decrease if a log is damaged, or if two logs have the same thread. */
struct latest {
	struct lookup_key key;
	uint64_t time;
};

/* The state of the search, kept until the program ends. */
static struct {
	struct tasks tasks;
	struct slices slices;
	struct lookup threads;
	struct roles roles;
} all;

static void look(struct source *s)
{
	const struct span_role *role = roles_of(&all.roles, s);
	struct task *thread;
	struct latest *latest;

	slices_time(&all.slices, s);
	if (!(role->begins | role->ends) && s->event->id != POSIX_TRACE_START)
		return;
	thread = tasks_thread(&all.tasks, s);
	latest = lookup(&all.threads, (struct lookup_key){ .first = thread->number }, sizeof *latest);
	if (s->event->time < latest->time)
		found.alone |= role->begins | role->ends;
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

uint64_t nesting_find(struct sources *logs, const struct spans *spans, bool everything)
{
	uint64_t nested = 0;

	if (spans->count == 0 || spans->scope != SPAN_THREAD)
		return 0;
	all.slices = (struct slices){ .spans = spans, .tasks = &all.tasks, .nested = UINT64_MAX, .begin = slice_begins,
	                              .end = slice_is_over };
	roles_begin(&all.roles, spans, logs);
	tasks_begin(&all.tasks, logs);
	slices_begin(&all.slices, logs);
	read_all(logs, everything);
	for (unsigned i = 0; i < spans->count; i++)
		if (!(found.alone >> i & 1) && !(found.overlaps[i] & (nested | UINT64_C(1) << i)))
			nested |= UINT64_C(1) << i;
	return nested;
}
