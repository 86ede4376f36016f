/*
 * side.c - what posixtrace diff knows of one log: events of each type, spans, and how the values of fields are spread
 *
 * SPDX-License-Identifier: MIT
 */
#include "diff/side.h"

#include <stdlib.h>
#include <string.h>

#include "common/message.h"

bool side_is_number(const struct layout_field *f)
{
	return (f->kind == LAYOUT_UNSIGNED || f->kind == LAYOUT_SIGNED || f->kind == LAYOUT_FLOAT) &&
	       f->naming == NAMING_NONE && !layout_is_array(f);
}

static struct side_type *find(const struct side *side, const char *name)
{
	for (unsigned i = 0; i < side->types; i++)
		if (strcmp(side->type[i].name, name) == 0)
			return &side->type[i];
	return NULL;
}

const struct side_type *side_find(const struct side *side, const char *name)
{
	return find(side, name);
}

static void add_type(struct side *side, const char *name, const struct layout *l)
{
	struct side_type *t = &side->type[side->types++];
	bool numbers = false;

	*t = (struct side_type){ .name = name, .layout = l };
	for (unsigned i = 0; l && i < l->count; i++)
		numbers |= side_is_number(&l->field[i]);
	if (!numbers)
		return;
	t->field = calloc(l->count, sizeof *t->field);
	if (!t->field)
		fail("no memory");
}

void side_open(struct side *side, const struct match *m, char *path)
{
	const struct layouts *l;
	unsigned names = 0;

	sources_open(&side->logs, m, false, 1, &path);
	l = side->logs.source[0].layouts;
	for (uint32_t id = EVENT_ID_USER; id < EVENT_ID_END; id++)
		names += layouts_name(l, id) != NULL;
	side->type = calloc(names + 1, sizeof *side->type);
	if (!side->type)
		fail("no memory");
	for (uint32_t id = EVENT_ID_USER; id < EVENT_ID_END; id++) {
		const char *name = layouts_name(l, id);

		if (!name || !match_type(side->logs.source[0].match, id))
			continue;
		if (!find(side, name))
			add_type(side, name, layouts_find(l, id));
		side->of[id] = find(side, name);
	}
}

static void add_fields(struct side_type *t, const struct log_event *e, const unsigned char *data)
{
	const struct layout *l = t->layout;
	struct layout_places places;

	layout_locate(l, data, e->length, &places);
	for (unsigned i = 0; i < places.count; i++) {
		const struct layout_field *f = &l->field[i];
		const unsigned char *p = data + places.of[i].at;
		struct value v;

		if (!side_is_number(f))
			continue;
		v = value_of_number(f, p);
		spread_add(&t->field[i], &v, unit_find(f->unit, f->unit_length));
	}
}

/* Counts the next event, which is selected. cuts: it ends open spans. */
static void add_event(struct side *side, const struct source *s, bool cuts)
{
	const struct log_event *e = s->event;
	const struct span_role *role = &side->role[e->id];
	struct side_type *t = side->of[e->id];
	const struct task *thread;

	if (side->events++ == 0 || e->time < side->first)
		side->first = e->time;
	if (e->time > side->last)
		side->last = e->time;
	if (t) {
		t->events++;
		if (t->field)
			add_fields(t, e, s->data);
	}
	if (span_role_none(role))
		return;
	thread = tasks_thread(&side->tasks, s);
	span_event(&side->spans, &(struct span_event){
		.role = role, .time = e->time, .thread = thread->number, .process = thread->process->number,
		.data = s->data, .length = e->length, .cuts = cuts });
}

void side_read(struct side *side)
{
	struct source *s = &side->logs.source[0];

	tasks_begin(&side->tasks, &side->logs);
	about_begin(&side->about, s->file);
	for (uint32_t id = EVENT_ID_USER; id < EVENT_ID_END; id++)
		if (side->of[id])
			side->role[id] = span_role(&side->spans, side->of[id]->name, side->of[id]->layout);
	sources_rewind(&side->logs);
	for (; s->event; source_advance(s)) {
		bool damage = logfile_shape(s->file, s->event) == SHAPES_MAX;
		bool cuts = about_event(&side->about, s->event, s->data, damage);

		if (!eventtype_system(s->event->id) && source_wanted(s))
			add_event(side, s, cuts);
		else if (cuts)
			span_cut(&side->spans);
	}
	about_end(&side->about, s->file);
	span_finish(&side->spans);
	side->seconds = side->last > side->first ? (double)(side->last - side->first) / 1e9 : 0;
}
