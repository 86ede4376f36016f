/*
 * count.c - goes once through logs, and counts
 *
 * SPDX-License-Identifier: MIT
 */
#include "stat/count.h"

#include <string.h>

#include "common/message.h"
#include "model/data_layout.h"

/* -- What an event is added to ------------------------------------------------------------ */

/* Adds the counts of the current segment to the tallies. */
static void fold(struct count *c)
{
	for (unsigned i = 0; i < c->used_count; i++) {
		struct count_cell *cell = &c->cell[c->used[i]];
		struct tally *const tallies[] = { cell->type, cell->process, cell->thread };

		for (unsigned k = 0; k < 3; k++) {
			tallies[k]->events += cell->events;
			tallies[k]->bytes += cell->events * cell->length;
			tallies[k]->truncated += cell->truncated ? cell->events : 0;
		}
		cell->segment = 0;
		cell->events = 0;
	}
	c->used_count = 0;
}

static struct tally *type_of(struct count *c, const struct logfile *f, uint32_t id)
{
	const char *name = logfile_type(f, id);
	struct tally_key key = { 0 };
	size_t length = layout_name(name);

	memcpy(key.name, name, length < sizeof key.name ? length : sizeof key.name - 1);
	return tally_find(&c->types, &key);
}

static struct tally *process_of(struct count *c, uint32_t machine, uint32_t pid)
{
	return tally_find(&c->processes, &(struct tally_key){ .machine = machine, .pid = pid });
}

/* Fills a cell for the first event of a shape in a segment. */
static void fill(struct count *c, struct count_cell *cell, const struct logfile *f, const struct log_event *e,
	const struct about *about)
{
	const struct tally_key thread = { .machine = about->machine, .pid = e->pid, .tid = e->tid };

	if (c->segment != logfile_segment(f)) {
		fold(c);
		c->segment = logfile_segment(f);
	}
	c->used[c->used_count++] = (uint16_t)(cell - c->cell);
	cell->segment = c->segment;
	cell->type = type_of(c, f, e->id);
	cell->process = process_of(c, about->machine, e->pid);
	cell->thread = tally_find(&c->threads, &thread);
	tally_label(cell->thread, e->name, strnlen(e->name, sizeof e->name));
	tally_begin(cell->type, e->time);
	tally_begin(cell->process, e->time);
	tally_begin(cell->thread, e->time);
	cell->role = span_role(&c->spans, cell->type->key.name, layouts_find(c->layouts, e->id));
	cell->linux_kind = c->linux_events.wanted ? linux_kind(cell->type->key.name, layouts_text(c->layouts, e->id)) :
	                                            LINUX_NONE;
	cell->length = e->length;
	cell->truncated = e->truncated;
}

/* -- Executables ---------------------------------------------------------------------------- */

struct executables {
	struct count *count;
	uint32_t machine;
};

/* Reads the beginning of a PROCESS frame (docs/log-format.md). */
static void add_executable(const unsigned char *body, size_t size, void *arg)
{
	struct executables *x = arg;

	if (size >= 18 && get16(body + 16) <= size - 18)
		tally_label(process_of(x->count, x->machine, get32(body)), (const char *)body + 18, get16(body + 16));
}

/* -- Events ----------------------------------------------------------------------------------- */

static void add(struct count *c, const struct logfile *f, const struct log_event *e, const unsigned char *data,
                unsigned shape, bool cuts, const struct about *about)
{
	struct count_cell *cell = &c->cell[shape];

	if (cell->segment != logfile_segment(f))
		fill(c, cell, f, e, about);
	cell->events++;
	tally_time(cell->type, e->time);
	tally_time(cell->process, e->time);
	tally_time(cell->thread, e->time);
	if (cell->linux_kind != LINUX_NONE)
		linux_event(&c->linux_events, cell->linux_kind, cell->type, cell->thread, data, e->length);
	if (!span_role_none(&cell->role) || cuts)
		span_event(&c->spans, &(struct span_event){
			.role = &cell->role, .time = e->time, .thread = cell->thread->index,
			.process = cell->process->index, .data = data, .length = e->length, .cuts = cuts });
}

void count_file(struct count *c, struct logfile *f, struct about *about, uint64_t begin)
{
	const bool all = match_all_user(c->match), groups = group_given(&c->groups);
	struct executables executables = { c, about->machine };
	const struct log_event *e;
	const unsigned char *data;
	uint64_t read = 0;
	bool some = false;

	c->segment = 0;
	c->layouts = layouts_of(&f->in);
	if (!c->layouts)
		fail("no memory");
	logfile_processes(f, add_executable, &executables);
	match_begin(c->match, f);
	if (groups)
		group_begin(&c->groups, f, begin, c->match);
	if (c->over_time.of)
		overtime_begin(&c->over_time, f, begin, c->match);
	while ((e = logfile_next(f, &data)) != NULL) {
		unsigned shape = logfile_shape(f, e);
		bool cuts = about_event(about, e, data, shape == SHAPES_MAX);

		if (shape < SHAPES_MAX) {
			read++;
			about->truncated += e->truncated;
			about->unnamed += e->id >= EVENT_ID_USER && !f->in.type[e->id];
			if (match_hides(c->match, e->id)) {
				about->hidden++;
			} else {
				/* Events may be late. */
				if (!some || e->time < about->first)
					about->first = e->time;
				if (e->time > about->last)
					about->last = e->time;
				some = true;
			}
		}
		if (shape < SHAPES_MAX && ((all && !eventtype_system(e->id)) || match_event(c->match, e, data))) {
			add(c, f, e, data, shape, cuts, about);
			if (groups)
				group_event(&c->groups, e, data);
			if (c->over_time.of)
				overtime_event(&c->over_time, e, data);
		} else if (cuts) {
			span_cut(&c->spans);
		}
	}
	about->read = read;
	about_end(about, f);
	fold(c);
	layouts_free(c->layouts);
	span_finish(&c->spans);
}
