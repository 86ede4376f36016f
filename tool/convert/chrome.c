/*
 * chrome.c - trace events as JSON: for chrome://tracing, Perfetto, speedscope
 *
 * The output is one object in the Trace Event Format of Chrome. It is written event by event; memory is needed only for
 * each event type, thread and slice track. Times are microseconds with three decimals since the creation of the first
 * log: programs read them as double, which cannot hold nanoseconds since 1970.
 *
 * Slices that nest are in the row of their thread; speedscope shows no others. Speedscope takes slices for the same
 * function if their B events are equal, values included, so all values are in the E event, where other viewers find
 * them too. It also moves an E before every B of the same time, so a slice without duration cannot be in a row. Slices
 * that overlap without nesting, and slices without duration, are nestable async events with the id of their track.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls.h"
#include "common/json.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/out.h"
#include "convert/export.h"
#include "convert/slices.h"
#include "event/labels.h"
#include "event/layout_json.h"
#include "event/meaning.h"
#include "event/system_text.h"
#include "logs/missing.h"

/* The number of process ids of Linux. Ids of further machines are shifted by multiples of it. */
#define PIDS 4194304

/* Properties of the events of a shape in a segment. */
struct cell {
	uint64_t segment;
	struct task *thread;
	const struct layout *layout;
	struct span_role role;
};

struct log {
	uint64_t uuid;
	bool recording_written; /* the names of the process and thread that recording_pid() stands for */
	struct cell *cell; /* of the next event */
	struct cell cells[SHAPES_MAX + 1];
};

static struct {
	const struct sources *logs;
	struct tasks tasks;
	struct slices slices;
} all;

static struct log *log_of(const struct source *s)
{
	return s->own;
}

static const char *type_name(const struct source *s)
{
	const char *name = layouts_name(s->layouts, s->event->id);

	return name ? name : logfile_type(s->file, s->event->id);
}

/* -- Objects -------------------------------------------------------------------------------------- */

static void put_time(const char *key, uint64_t time, uint64_t since)
{
	json_key(key);
	json_thousandths(moment_difference(time, since));
}

/* Begins an event of this phase. level: a category of its own, besides posixtrace. */
static void begin_object_level(const char *phase, const char *name, enum layout_level level, uint64_t time,
                               uint64_t pid, uint64_t tid)
{
	char category[32];

	json_begin('{');
	json_key("ph");
	json_string(phase);
	json_key("name");
	json_string(name);
	json_key("cat");
	if (level) {
		snprintf(category, sizeof category, "posixtrace,%s", layout_levels[level]);
		json_string(category);
	} else {
		json_string("posixtrace");
	}
	put_time("ts", time, all.logs->begin);
	json_key("pid");
	json_number(pid);
	json_key("tid");
	json_number(tid);
}

static void begin_object(const char *phase, const char *name, uint64_t time, uint64_t pid, uint64_t tid)
{
	begin_object_level(phase, name, LEVEL_NONE, time, pid, tid);
}

static void end_object(void)
{
	json_end('}');
	out_char('\n');
}

/* -- Processes and threads -------------------------------------------------------------------------- */

static void put_name(const char *what, uint64_t pid, uint64_t tid, const char *name)
{
	json_begin('{');
	json_key("ph");
	json_string("M");
	json_key("name");
	json_string(what);
	/* Older versions of speedscope refuse events without a time. */
	json_key("ts");
	json_number(0);
	json_key("pid");
	json_number(pid);
	json_key("tid");
	json_number(tid);
	json_key("args");
	json_begin('{');
	json_key("name");
	json_string(name);
	json_end('}');
	end_object();
}

static uint64_t shifted(const struct task *t, uint32_t id)
{
	return t->machine * (uint64_t)PIDS + id;
}

/*
 * Returns the id of a pseudo process, above the ids of all machines, for what belongs to no process. Each log is a
 * thread in it.
 */
static uint64_t recording_pid(void)
{
	return all.logs->count * (uint64_t)PIDS;
}

static uint64_t recording_tid(const struct source *s)
{
	if (!log_of(s)->recording_written) {
		log_of(s)->recording_written = true;
		put_name("process_name", recording_pid(), recording_pid(), "recording");
		put_name("thread_name", recording_pid(), recording_pid() + s->index,
		         all.logs->count > 1 ? s->path : "recording");
	}
	return recording_pid() + s->index;
}

static bool foreign(const struct task *t)
{
	return t->machine != all.tasks.machine[0];
}

static void write_process(const struct source *s, struct task *t)
{
	char name[4096 + 128];

	if (t->written)
		return;
	t->written = true;
	if (foreign(t))
		snprintf(name, sizeof name, "%s: %.4000s %u", s->file->in.header.host,
		         t->executable ? t->executable : "process", t->pid);
	else
		snprintf(name, sizeof name, "%.4000s", t->executable ? t->executable : "");
	if (name[0])
		put_name("process_name", shifted(t, t->pid), shifted(t, t->pid), name);
}

static void write_thread(const struct source *s, struct task *t)
{
	char name[64];

	write_process(s, t->process);
	if (t->written)
		return;
	t->written = true;
	if (foreign(t))
		snprintf(name, sizeof name, "%.*s %u", (int)strnlen(t->name, sizeof t->name), t->name, t->tid);
	else
		snprintf(name, sizeof name, "%.*s", (int)strnlen(t->name, sizeof t->name), t->name);
	if (name[0])
		put_name("thread_name", shifted(t, t->pid), shifted(t, t->tid), name);
}

/* -- What an event says ------------------------------------------------------------------------------- */

static void put_bytes(enum label label, const unsigned char *data, size_t size)
{
	json_key(labels[label]);
	layout_json(NULL, data, size);
}

static void put_text(enum label label, const char *text, size_t length)
{
	json_key(labels[label]);
	json_text(text, length);
}

static void put_declared(const struct source *s, const struct layout *l)
{
	size_t length = s->event->length;
	struct layout_places places;

	layout_locate(l, s->data, length, &places);
	for (unsigned i = 0; i < places.count; i++) {
		char name[LABEL_BYTES];

		label_field(name, &l->field[i]);
		json_key(name);
		layout_json_field(l, &l->field[i], s->data + places.of[i].at, places.of[i].size);
	}
	if (places.rest < length)
		put_bytes(LABEL_MORE, s->data + places.rest, length - places.rest);
}

static void put_undeclared(const struct source *s)
{
	const struct log_event *e = s->event;
	char text[SYSTEM_TEXT];

	if (e->id < POSIX_TRACE_UNNAMED_USEREVENT && system_text(text, s->layouts, e, s->data)) {
		if (text[0])
			put_text(LABEL_TEXT, text, strlen(text));
	} else if (layout_form(NULL, s->data, e->length, NULL) == FORM_TEXT) {
		put_text(LABEL_TEXT, (const char *)s->data, layout_text_length(s->data, e->length));
	} else {
		put_bytes(LABEL_DATA, s->data, e->length);
	}
}

/* Writes the values of an event, as members of an object. */
static void put_values(const struct source *s, const struct layout *l)
{
	if (s->event->length > 0 && l)
		put_declared(s, l);
	else if (s->event->length > 0)
		put_undeclared(s);
	if (s->event->truncated) {
		json_key(labels[LABEL_TRUNCATED]);
		json_bool(true);
	}
	if (s->event->address) {
		json_key(labels[LABEL_ADDRESS]);
		json_hex(s->event->address);
	}
}

/* -- Slices --------------------------------------------------------------------------------------------- */

/* Writes the values of a begin or end, and which event it was unless the track shows that. */
static void put_slice_values(const struct source *s)
{
	const char *name = type_name(s);

	put_text(LABEL_EVENT, name, strlen(name));
	if (all.slices.spans->scope == SPAN_ALL && s->event->tid) {
		json_key(labels[LABEL_PID]);
		json_number(s->event->pid);
	}
	if (all.slices.spans->scope != SPAN_THREAD && s->event->tid) {
		json_key(labels[LABEL_TID]);
		json_number(s->event->tid);
	}
	put_values(s, layouts_find(s->layouts, s->event->id));
}

static bool of_recording(const struct slice_track *t)
{
	return !t->scope || (t->scope->process ? t->scope->tid == 0 : t->scope->pid == 0);
}

/* Begins an event of a slice, up to its values. name: null: that of the span. */
static void begin_slice(const char *phase, const struct slice_track *t, const char *name, uint64_t time)
{
	uint64_t pid, tid;
	char title[256];

	pid = of_recording(t) ? recording_pid() : shifted(t->scope, t->scope->pid);
	tid = of_recording(t) ? recording_tid(t->source) :
	      shifted(t->scope, t->scope->process ? t->scope->tid : t->scope->pid);
	span_title(all.slices.spans->span[t->span], title, sizeof title);
	begin_object(phase, name ? name : title, time, pid, tid);
	if (*phase == 'b' || *phase == 'e') {
		json_key("id");
		json_hex(slices_uuid(t, log_of(t->source)->uuid));
	}
	if (*phase == 'B')
		return;
	json_key("args");
	json_begin('{');
}

static void end_slice(void)
{
	json_end('}');
	end_object();
}

static void put_end_values(const struct source *s, enum slice_end how)
{
	if (s) {
		json_key(labels[LABEL_END]);
		json_begin('{');
		put_slice_values(s);
		json_end('}');
	} else if (slice_ends[how]) {
		put_text(LABEL_INCOMPLETE, slice_ends[how], strlen(slice_ends[how]));
	}
}

/* -- Slices in rows of threads: values are written at the end --------------------------------------------- */

struct kept {
	const char *name; /* of the slice; null: that of the span */
	struct log_event event;
	unsigned char data[];
};

static struct kept *keep(const struct source *s, const struct slice_track *t)
{
	struct kept *k = malloc(sizeof *k + s->event->length);

	if (!k)
		fail("no memory");
	k->name = calls_slice(s, all.slices.spans->span[t->span]);
	k->event = *s->event;
	if (s->event->length)
		memcpy(k->data, s->data, s->event->length);
	return k;
}

static void put_kept(const struct slice_track *t, const struct kept *k)
{
	struct source s = *t->source;

	s.event = &k->event;
	s.data = k->data;
	put_slice_values(&s);
}

/* Writes the begins before this time: their slices have a duration. */
static void write_begins(struct slice_row *row, uint64_t time)
{
	for (; row->written < row->count && row->open[row->written].time < time; row->written++) {
		const struct slice_open *open = &row->open[row->written];

		begin_slice("B", open->track, ((const struct kept *)open->own)->name, open->time);
		end_object();
	}
}

static void end_in_row(const struct slice_track *t, const struct source *s, uint64_t time, enum slice_end how)
{
	struct slice_row *row = t->row;
	struct slice_open *open = &row->open[row->count - 1];
	const struct kept *own = open->own;
	bool instant;

	write_begins(row, time);
	instant = row->written < row->count;
	begin_slice(instant ? "b" : "E", t, own->name, time);
	put_kept(t, own);
	if (instant) {
		end_slice();
		begin_slice("e", t, own->name, time);
	} else {
		row->written--;
	}
	put_end_values(s, how);
	end_slice();
	free(open->own);
}

/* -- All slices ------------------------------------------------------------------------------------------- */

static void slice_begins(struct slice_track *t, struct source *s, uint64_t time)
{
	if (t->row) {
		t->row->open[t->row->count - 1].own = keep(s, t);
		write_begins(t->row, time);
		return;
	}
	t->name = calls_slice(s, all.slices.spans->span[t->span]);
	begin_slice("b", t, t->name, time);
	put_slice_values(s);
	end_slice();
}

static void slice_is_over(struct slice_track *t, struct source *s, uint64_t time, enum slice_end how)
{
	if (t->row) {
		end_in_row(t, s, time, how);
		return;
	}
	begin_slice("e", t, t->name, time);
	put_end_values(s, how);
	end_slice();
}

/* -- Flows and counters ------------------------------------------------------------------------------- */

/* Writes one end of a flow, which viewers connect with the slice at this time. field: 1 + its index; 0: none. */
static void put_flow(const struct source *s, const struct task *t, const struct layout *l, unsigned field,
                     bool sends)
{
	struct meaning_id value;

	if (!field || !meaning_id(l, field, s->data, s->event->length, &value))
		return;
	begin_object(sends ? "s" : "f", l->field[field - 1].name, s->event->time, shifted(t, t->pid),
	             shifted(t, t->tid));
	json_key("id");
	json_hex(slices_flow(&all.slices, l, field, value, l->meaning.send == l->meaning.receive ? FLOW_GOES_ON :
	                                                   sends ? FLOW_BEGINS : FLOW_ENDS));
	json_key("bp");
	json_string("e");
	end_object();
}

/* JSON has neither infinity nor NaN, and viewers take the null that stands for them for 0. */
static bool is_finite(const struct layout_field *f, const unsigned char *at)
{
	return f->kind != LAYOUT_FLOAT || isfinite(layout_real(at, f->size));
}

static void put_number(const struct layout_field *f, const unsigned char *at)
{
	if (f->kind == LAYOUT_FLOAT)
		json_real(layout_real(at, f->size));
	else if (f->kind == LAYOUT_SIGNED)
		json_signed(layout_signed(at, f->size));
	else
		json_number(layout_unsigned(at, f->size));
}

/* Writes the numbers of an event as values of counters of its process. */
static void put_counters(const struct source *s, const struct task *t, const struct layout *l)
{
	struct layout_places places;
	struct meaning_id id;

	layout_locate(l, s->data, s->event->length, &places);
	begin_object("C", type_name(s), s->event->time, shifted(t, t->pid), shifted(t, t->tid));
	if (l->meaning.by && meaning_id(l, l->meaning.by, s->data, s->event->length, &id)) {
		json_key("id");
		id.negative ? json_signed((int64_t)id.value) : json_number(id.value);
	}
	json_key("args");
	json_begin('{');
	for (unsigned i = 0; i < places.count; i++) {
		char name[LABEL_BYTES];

		if (!layout_is_number(&l->field[i]) || l->meaning.by == i + 1 ||
		    !is_finite(&l->field[i], s->data + places.of[i].at))
			continue;
		label_field(name, &l->field[i]);
		json_key(name);
		put_number(&l->field[i], s->data + places.of[i].at);
	}
	json_end('}');
	end_object();
}

/* Writes what the event means besides a span. */
static void put_meaning(const struct source *s, const struct task *t, const struct layout *l)
{
	if (!t->tid)
		return;
	put_flow(s, t, l, l->meaning.receive, false);
	put_flow(s, t, l, l->meaning.send, true);
	if (l->meaning.counter)
		put_counters(s, t, l);
}

/* -- Events --------------------------------------------------------------------------------------------- */

static void fill(struct cell *cell, const struct export *x, const struct source *s, uint64_t segment)
{
	cell->segment = segment;
	cell->thread = tasks_thread(&all.tasks, s);
	if (cell->thread->tid)
		write_thread(s, cell->thread);
	cell->layout = layouts_find(s->layouts, s->event->id);
	cell->role = span_role(&x->spans, type_name(s), cell->layout);
}

static void find_cell(const struct export *x, const struct source *s)
{
	struct log *log = log_of(s);
	unsigned shape = logfile_shape(s->file, s->event);
	uint64_t segment = logfile_segment(s->file);

	log->cell = &log->cells[shape];
	if (!log->cell->thread || log->cell->segment != segment || shape == SHAPES_MAX)
		fill(log->cell, x, s, segment);
}

static void put_event(const struct source *s, const struct task *t, const struct layout *l)
{
	enum layout_level level = l ? meaning_level(l, s->data, s->event->length) : LEVEL_NONE;
	/* Viewers connect flows with slices only. */
	bool slice = l && (l->meaning.send || l->meaning.receive);

	/* System events belong to no thread. */
	begin_object_level(slice ? "X" : "i", type_name(s), level, s->event->time,
	                   t->tid ? shifted(t, t->pid) : recording_pid(),
	                   t->tid ? shifted(t, t->tid) : recording_tid(s));
	if (slice) {
		json_key("dur");
		json_number(0);
	} else {
		json_key("s");
		json_string("t");
	}
	json_key("args");
	json_begin('{');
	put_values(s, l);
	json_end('}');
	end_object();
}

static void event(struct export *x, struct source *s)
{
	const struct cell *cell;

	find_cell(x, s);
	cell = log_of(s)->cell;
	slices_time(&all.slices, s);
	if ((span_role_none(&cell->role) && s->event->id != POSIX_TRACE_START) ||
	    !slices_event(&all.slices, s, cell->thread, &cell->role))
		put_event(s, cell->thread, cell->layout);
	if (cell->layout)
		put_meaning(s, cell->thread, cell->layout);
}

static void cut(struct export *x, struct source *s)
{
	slices_cut(&all.slices, s, s->event->time, SLICE_STARTED);
}

static void lost(struct export *x, struct source *s, struct loss loss)
{
	uint64_t tid = recording_tid(s);

	if (!loss.resumed)
		slices_cut(&all.slices, s, loss.from, SLICE_LOST);
	begin_object(loss.until ? "X" : "i", "events lost", loss.from, recording_pid(), tid);
	if (loss.until) {
		put_time("dur", loss.until, loss.from);
	} else {
		json_key("s");
		json_string("t");
	}
	if (loss.unwritten) {
		json_key("args");
		json_begin('{');
		json_key("unwritten");
		json_number(loss.unwritten);
		json_end('}');
	}
	end_object();
}

/* -- Beginning and end ------------------------------------------------------------------------------------ */

static void begin(struct export *x)
{
	all.logs = &x->logs;
	tasks_begin(&all.tasks, &x->logs);
	all.slices = (struct slices){ .spans = &x->spans, .tasks = &all.tasks, .nested = x->nested,
	                              .begin = slice_begins, .end = slice_is_over };
	slices_begin(&all.slices, &x->logs);
	for (unsigned i = 0; i < x->logs.count; i++) {
		struct log *log = calloc(1, sizeof *log);

		if (!log)
			fail("no memory");
		log->uuid = lookup_mix(x->logs.source[i].file->in.log, i);
		x->logs.source[i].own = log;
	}
	json_begin('{');
	json_key("traceEvents");
	json_begin('[');
	out_char('\n');
}

static void put_log(const struct source *s)
{
	const struct input *in = &s->file->in;
	const struct log_header *h = &in->header;
	struct missing missing;

	missing_find(&missing, s->file);
	json_begin('{');
	json_key("file");
	json_string(s->path);
	json_key("created");
	json_number(logfile_created(s->file));
	json_key("host");
	json_string(h->host);
	json_key("kernel");
	json_string(h->kernel);
	json_key("machine");
	json_string(h->machine);
	json_key("complete");
	json_bool(in->ended && missing.unwritten == 0 && missing.damaged == 0);
	json_key("lost");
	json_number(in->lost);
	json_key("discarded");
	json_number(in->discarded);
	json_key("unwritten");
	json_number(in->unwritten);
	json_key("damaged");
	json_number(missing.damaged);
	json_end('}');
}

static void end(struct export *x)
{
	slices_finish(&all.slices, &x->logs);
	json_end(']');
	json_key("displayTimeUnit");
	json_string("ns");
	json_key("otherData");
	json_begin('{');
	/* The time that ts counts from, in ns since 1970. */
	json_key("begin");
	json_number(x->logs.begin);
	json_key("logs");
	json_begin('[');
	for (unsigned i = 0; i < x->logs.count; i++)
		put_log(&x->logs.source[i]);
	json_end(']');
	json_end('}');
	json_end('}');
	json_done();
}

const struct exporter export_chrome = {
	.name = "chrome",
	.suffix = ".json",
	.spans = true,
	.begin = begin,
	.event = event,
	.lost = lost,
	.cut = cut,
	.end = end,
};
