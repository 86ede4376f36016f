/*
 * tables.c - what the events of a page refer to: threads, types, trace points
 *
 * SPDX-License-Identifier: MIT
 */
#include "view/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/calls.h"
#include "common/json.h"
#include "common/message.h"
#include "common/out.h"
#include "model/layout_meaning.h"
#include "view/columns.h"
#include "view/page.h"
#include "view/stacks.h"

struct thread {
	uint32_t log, pid, tid;
	char name[16];
};

struct type {
	uint32_t id; /* below POSIX_TRACE_UNNAMED_USEREVENT: one of the system's */
	char name[TRACE_EVENT_NAME_MAX + 1];
	const struct layout *layout; /* null: none */
	uint64_t stacks; /* enum samples_kind, if the page shows stacks of it */
};

struct trace_point {
	uint64_t address;
	const struct symbol *symbol; /* null: unknown */
	uint64_t function; /* 1: it is where a function begins */
};

/* A table of different rows, found by their bytes. */
struct rows_found {
	unsigned char *row;
	size_t size; /* of one */
	uint32_t count, room;
	uint32_t *slot; /* a hash table of the rows, as index + 1; at most half of it is used */
	uint32_t slots;
};

static struct rows_found threads = { .size = sizeof(struct thread) }, types = { .size = sizeof(struct type) },
	trace_points = { .size = sizeof(struct trace_point) };

/* -- Rows ---------------------------------------------------------------------------------------- */

static uint32_t *find(const struct rows_found *r, const unsigned char *row)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	uint32_t i;

	for (size_t k = 0; k < r->size; k++)
		hash = (hash ^ row[k]) * UINT64_C(0x100000001b3);
	for (i = (uint32_t)(hash >> 20) & (r->slots - 1); r->slot[i]; i = (i + 1) & (r->slots - 1))
		if (memcmp(r->row + (r->slot[i] - 1) * r->size, row, r->size) == 0)
			break;
	return &r->slot[i];
}

static void grow(struct rows_found *r)
{
	r->room = r->room ? 2 * r->room : 64;
	r->slots = 2 * r->room;
	r->row = realloc(r->row, r->room * r->size);
	free(r->slot);
	r->slot = calloc(r->slots, sizeof *r->slot);
	if (!r->row || !r->slot)
		fail("no memory");
	for (uint32_t i = 0; i < r->count; i++)
		*find(r, r->row + i * r->size) = i + 1;
}

static uint32_t row_of(struct rows_found *r, const void *row)
{
	uint32_t *slot;

	if (r->count == r->room)
		grow(r);
	slot = find(r, row);
	if (!*slot) {
		memcpy(r->row + r->count * r->size, row, r->size);
		*slot = ++r->count;
	}
	return *slot - 1;
}

uint32_t view_thread(const struct source *s)
{
	const struct log_event *e = s->event;
	struct thread thread = { .log = s->index, .pid = e->pid, .tid = e->tid };

	memcpy(thread.name, e->name, strnlen(e->name, sizeof thread.name));
	return row_of(&threads, &thread);
}

/* Returns whether both layouts are equal. */
static bool same_layout(const struct layout *a, const struct layout *b)
{
	/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): layouts begin with zeroes everywhere */
	return a == b || (a && b && memcmp(a, b, sizeof *a) == 0);
}

/* Returns the row of a type. Types of several logs share a row if name, id and layout are equal. */
static uint32_t find_type(const struct type *type)
{
	for (uint32_t i = 0; i < types.count; i++) {
		const struct type *other = (const struct type *)types.row + i;

		if (strcmp(other->name, type->name) == 0 && other->id == type->id && other->stacks == type->stacks &&
		    same_layout(other->layout, type->layout))
			return i;
	}
	return row_of(&types, type);
}

uint32_t view_type(const struct source *s)
{
	struct view_log *log = s->own;
	const struct log_event *e = s->event;
	const char *name = layouts_name(s->layouts, e->id);
	enum samples_kind stacks;
	struct type type;

	if (log->type[e->id])
		return log->type[e->id] - 1;
	memset(&type, 0, sizeof type);
	if (!name)
		name = logfile_type(s->file, e->id);
	memcpy(type.name, name, strnlen(name, sizeof type.name - 1));
	type.id = e->id < POSIX_TRACE_UNNAMED_USEREVENT ? e->id : POSIX_TRACE_UNNAMED_USEREVENT;
	type.layout = stacks_layout(s, e->id, &stacks);
	if (type.layout)
		type.stacks = stacks;
	else
		type.layout = layouts_find(s->layouts, e->id);
	log->type[e->id] = find_type(&type) + 1;
	return log->type[e->id] - 1;
}

uint32_t view_place(const struct source *s)
{
	const struct log_event *e = s->event;
	struct trace_point trace_point;

	/* System events are recorded by the library. */
	if (!e->address || e->id < POSIX_TRACE_UNNAMED_USEREVENT)
		return 0;
	memset(&trace_point, 0, sizeof trace_point);
	trace_point.address = e->address;
	trace_point.function = calls_kind(layouts_name(s->layouts, e->id)) != CALLS_OTHER;
	if (s->symbols)
		trace_point.symbol = symbols_event(s->symbols, e, layouts_name(s->layouts, e->id));
	return row_of(&trace_points, &trace_point) + 1;
}

/* -- JSON ------------------------------------------------------------------------------------------ */

static void text_member(const char *key, const char *text)
{
	json_key(key);
	json_string(text);
}

static void number_member(const char *key, uint64_t n)
{
	json_key(key);
	json_number(n);
}

/* Writes a number as text: it may be too large for a number of JavaScript. */
static void long_member(const char *key, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)n);
	text_member(key, text);
}

static void write_labels(const struct layout *l, const struct layout_field *f)
{
	text_member("naming", f->naming == NAMING_BITS ? "bits" : "values");
	json_key("labels");
	json_begin('[');
	for (unsigned i = f->first_label; i < f->first_label + f->labels; i++) {
		char text[24];

		if (f->kind == LAYOUT_SIGNED)
			snprintf(text, sizeof text, "%lld", (long long)l->label[i].value);
		else
			snprintf(text, sizeof text, "%llu", (unsigned long long)l->label[i].value);
		json_begin('[');
		json_string(text);
		json_text(l->text + l->label[i].at, l->label[i].length);
		json_end(']');
	}
	json_end(']');
}

static void write_fields(const struct layout *l)
{
	static const char *const kinds[] = {
		[LAYOUT_UNSIGNED] = "unsigned", [LAYOUT_SIGNED] = "signed", [LAYOUT_HEX] = "hex",
		[LAYOUT_FLOAT] = "float",       [LAYOUT_BOOL] = "bool",     [LAYOUT_CODE] = "code",
		[LAYOUT_TIME] = "time",         [LAYOUT_CHARS] = "chars",   [LAYOUT_STRING] = "string",
		[LAYOUT_TEXT] = "text",         [LAYOUT_BYTES] = "bytes",
	};

	number_member("align", l->align);
	json_key("fields");
	json_begin('[');
	for (unsigned i = 0; i < l->count; i++) {
		const struct layout_field *f = &l->field[i];

		json_begin('{');
		text_member("name", f->name);
		text_member("unit", f->unit);
		text_member("kind", kinds[f->kind]);
		number_member("size", f->size);
		number_member("align", f->align);
		number_member("count", f->count);
		number_member("counter", f->counter);
		if (f->naming)
			write_labels(l, f);
		json_end('}');
	}
	json_end(']');
}

static void write_index(const char *key, unsigned field)
{
	if (field)
		number_member(key, field - 1);
}

/* Writes what events of the type mean; fields by their indices. */
static void write_meaning(const struct layout_meaning *m)
{
	write_index("by", m->by);
	write_index("took", m->took);
	write_index("send", m->send);
	write_index("receive", m->receive);
	write_index("level_field", m->level_field);
	if (m->level)
		text_member("level", layout_levels[m->level]);
	if (m->counter) {
		json_key("counter");
		json_bool(true);
	}
}

static void write_types(void)
{
	json_key("types");
	json_begin('[');
	for (uint32_t i = 0; i < types.count; i++) {
		const struct type *t = (const struct type *)types.row + i;

		json_begin('{');
		text_member("name", t->name);
		number_member("system", t->id < POSIX_TRACE_UNNAMED_USEREVENT ? t->id : 0);
		if (t->layout) {
			write_fields(t->layout);
			write_meaning(&t->layout->meaning);
		}
		if (t->stacks)
			text_member("stacks", t->stacks == SAMPLES_ON ? "on" : "off");
		json_end('}');
	}
	json_end(']');
}

static void write_threads(void)
{
	json_key("threads");
	json_begin('[');
	for (uint32_t i = 0; i < threads.count; i++) {
		const struct thread *t = (const struct thread *)threads.row + i;

		json_begin('[');
		json_number(t->log);
		json_number(t->pid);
		json_number(t->tid);
		json_text(t->name, strnlen(t->name, sizeof t->name));
		json_end(']');
	}
	json_end(']');
}

static void write_places(void)
{
	json_key("places");
	json_begin('[');
	for (uint32_t i = 0; i < trace_points.count; i++) {
		const struct trace_point *p = (const struct trace_point *)trace_points.row + i;
		char address[24];

		json_begin('{');
		snprintf(address, sizeof address, "0x%llx", (unsigned long long)p->address);
		text_member("address", address);
		if (p->symbol) {
			text_member("text", p->symbol->text);
			if (p->symbol->function)
				text_member("function", p->function ? calls_name(p->symbol) : p->symbol->function);
			if (p->symbol->source) {
				text_member("source", p->symbol->source);
				number_member("line", p->symbol->line);
			}
			if (p->symbol->image)
				text_member("image", p->symbol->image);
		}
		json_end('}');
	}
	json_end(']');
}

/* Writes the pid and the executable from the beginning of a PROCESS frame (docs/log-format.md). */
static void write_process(const unsigned char *body, size_t size, void *arg)
{
	if (size < 18 || get16(body + 16) > size - 18)
		return;
	json_begin('[');
	json_number(get32(body));
	json_text((const char *)body + 18, strnlen((const char *)body + 18, get16(body + 16)));
	json_end(']');
}

/* Writes the holes of a log, with times relative to the beginning of the page. */
static void write_holes(const struct about *a, uint64_t begin)
{
	static const char *const reasons[HOLE_REASONS] = { [HOLE_LOST] = "lost", [HOLE_FULL] = "full",
	                                                   [HOLE_DAMAGED] = "damaged",
		[HOLE_UNWRITTEN] = "unwritten" };

	json_key("gaps");
	json_begin('[');
	for (size_t i = 0; i < a->holes; i++) {
		json_begin('[');
		json_difference(a->hole[i].from, begin);
		if (a->hole[i].until)
			json_difference(a->hole[i].until, begin);
		else
			json_null();
		json_string(reasons[a->hole[i].reason]);
		json_end(']');
	}
	json_end(']');
}

static const struct view_log *log_of(const struct source *s)
{
	return s->own;
}

/* Returns the first log of the same boot of the same machine, where process ids mean the same processes. */
static uint32_t machine_of(const struct sources *logs, uint32_t number)
{
	const struct log_header *h = &log_of(&logs->source[number])->about.header;

	for (uint32_t i = 0; i < number; i++)
		if (logfile_same_machine(h, &log_of(&logs->source[i])->about.header))
			return i;
	return number;
}

static void write_logs(const struct sources *logs)
{
	json_key("logs");
	json_begin('[');
	for (uint32_t i = 0; i < logs->count; i++) {
		const struct source *s = &logs->source[i];
		const struct view_log *log = s->own;

		json_begin('{');
		number_member("machine", machine_of(logs, i));
		long_member("created", logfile_created(s->file));
		json_key("processes");
		json_begin('[');
		logfile_processes(s->file, write_process, NULL);
		json_end(']');
		write_holes(&log->about, logs->begin);
		json_key("about");
		about_json(&log->about);
		json_end('}');
	}
	json_end(']');
}

static void write_roles(const struct spans *spans, unsigned span, bool ends)
{
	json_key(ends ? "to" : "from");
	json_begin('[');
	for (uint32_t i = 0; i < types.count; i++) {
		const struct type *t = (const struct type *)types.row + i;
		struct span_role role = span_role(spans, t->name, t->layout);

		if ((ends ? role.ends : role.begins) >> span & 1 || (role.took && role.whole == span))
			json_number(i);
	}
	json_end(']');
}

static void write_span(const struct spans *spans, unsigned i)
{
	static const char *const scopes[] = { [SPAN_THREAD] = "thread", [SPAN_PROCESS] = "process",
	                                      [SPAN_ALL] = "all" };
	const struct span *s = spans->span[i];

	json_begin('{');
	if (s->name)
		text_member("name", s->name);
	if (s->begin) {
		text_member("begin", s->begin);
		text_member("end", s->end);
	}
	if (s->whole) {
		json_key("whole");
		json_bool(true);
	}
	text_member("by", scopes[spans->scope]);
	json_key("nested");
	json_bool(spans->nested || s->calls);
	if (s->calls || (s->whole && calls_kind(s->name) == CALLS_WHOLE)) {
		json_key("calls");
		json_bool(true);
	}
	write_roles(spans, i, false);
	write_roles(spans, i, true);
	json_end('}');
}

static void write_spans(const struct spans *spans)
{
	json_key("spans");
	json_begin('[');
	for (unsigned i = 0; i < spans->count; i++)
		write_span(spans, i);
	json_end(']');
}

static unsigned char *text;
static size_t text_size, text_room;

/*
 * Keeps the output in memory, because it becomes one block. Its size depends on the number of types, threads and trace
 * points, not of events.
 */
static void keep(const char *bytes, size_t size)
{
	if (text_size + size > text_room) {
		text_room = 2 * (text_size + size);
		text = realloc(text, text_room);
		if (!text)
			fail("no memory");
	}
	memcpy(text + text_size, bytes, size);
	text_size += size;
}

void view_write_tables(const struct view_facts *facts)
{
	out_to(keep);
	json_begin('{');
	text_member("version", POSIXTRACE_VERSION);
	text_member("title", facts->title);
	text_member("order", FORMAT_ORDER == FORMAT_LITTLE ? "little" : "big");
	long_member("begin", facts->logs->begin);
	number_member("events", columns_count());
	number_member("bytes", columns_bytes());
	number_member("wanted", facts->events);
	json_key("last");
	json_bool(facts->last);
	write_types();
	write_threads();
	write_places();
	write_logs(facts->logs);
	write_spans(facts->spans);
	stacks_write_functions();
	json_end('}');
	json_done();
	out_to(NULL);
	page_block("tables", text, text_size);
}
