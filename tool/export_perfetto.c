/*
 * export_perfetto.c - a trace of Perfetto: for ui.perfetto.dev and trace_processor
 *
 * A row of packets, protos/perfetto/trace/trace_packet.proto of Perfetto; what its numbers are is below. Each log is
 * a sequence of packets with interned names of its own, written when the first event comes that has them, so that nothing
 * is kept but one place for each event type, thread and slice track. Times are CLOCK_REALTIME.
 *
 * Events are instants on the track of their thread. Slices are on tracks of their own below it: two spans of one thread may
 * overlap, which slices of one track may not. Perfetto cannot tell machines apart whose clocks it knows nothing of, so
 * processes of other machines than that of the first log are tracks without a process, named by it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "export.h"
#include "labels.h"
#include "out.h"
#include "proto.h"
#include "slices.h"
#include "system_text.h"

enum { TRACE_PACKET = 1 };
enum packet_field {
	PACKET_CLOCKS = 6, PACKET_TIME = 8, PACKET_SEQUENCE = 10, PACKET_EVENT = 11, PACKET_INTERNED = 12, PACKET_FLAGS = 13,
	PACKET_SYSTEM = 45, PACKET_DEFAULTS = 59, PACKET_TRACK = 60, PACKET_FIRST = 87, PACKET_UUID = 89,
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS = 2 };
enum { DEFAULTS_CLOCK = 58 };
enum { CLOCKS_CLOCK = 1, CLOCKS_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIME = 2 };
enum { REALTIME = 1, MONOTONIC = 3 };
enum { UUID_HIGH = 1, UUID_LOW = 2 };
enum { SYSTEM_NAME = 1, NAME_SYSTEM = 1, NAME_RELEASE = 3, NAME_MACHINE = 4 };
enum { INTERNED_EVENT = 2, INTERNED_LABEL = 3, INTERNED_TEXT = 29, ENTRY_NUMBER = 1, ENTRY_NAME = 2 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5, TRACK_MERGE = 15 };
enum { MERGE_NONE = 2 };
enum { PROCESS_PID = 1, PROCESS_COMMAND = 2, PROCESS_NAME = 6, THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { EVENT_VALUES = 4, EVENT_KIND = 9, EVENT_NAME = 10, EVENT_TRACK = 11, EVENT_TEXT = 23 };
enum kind { KIND_BEGIN = 1, KIND_END = 2, KIND_INSTANT = 3 };
enum value_field {
	VALUE_NAME = 1, VALUE_BOOL = 2, VALUE_UNSIGNED = 3, VALUE_SIGNED = 4, VALUE_DOUBLE = 5, VALUE_TEXT = 6, VALUE_POINTER = 7,
	VALUE_MEMBERS = 11, VALUE_ITEMS = 12, VALUE_INTERNED = 17,
};

/* An event type of a log; what has the number 0 has not been written yet. */
struct type {
	uint32_t name, text; /* as the name of an event, and as a value */
	uint32_t field;      /* of the first of its fields */
};

/* What all events of one shape in one segment share. */
struct cell {
	uint64_t segment;
	struct task *thread;
	const struct layout *layout;
	struct span_role role;
	unsigned constant_size;
	/* Kind, track, name, address, truncated, of an instant. */
	unsigned char constant[64];
};

struct log {
	uint32_t sequence;
	uint64_t uuid;
	uint32_t names, fields; /* how many have been written */
	struct type type[EVENT_ID_END];
	uint32_t span_name[SPANS_MAX];
	bool recording_told, lost_told;
	uint64_t lost; /* until then */
	struct cell *cell; /* of its next event */
	struct cell cells[SHAPES_MAX + 1];
};

static struct {
	const struct sources *logs;
	struct tasks tasks;
	struct slices slices;
	bool *machine_told;
	struct proto packet, event;
} all;

/* -- Packets ----------------------------------------------------------------------------------- */

static struct log *log_of(const struct source *s)
{
	return s->own;
}

/* What has been put into all.packet. */
static void put_packet(void)
{
	unsigned char head[PROTO_FIELD_BYTES], *at = put_varint(proto_put_tag(head, TRACE_PACKET, PROTO_BYTES), all.packet.size);

	out_bytes((const char *)head, (size_t)(at - head));
	out_bytes((const char *)all.packet.data, all.packet.size);
}

static struct proto *begin_packet(const struct log *log)
{
	proto_clear(&all.packet);
	proto_number(&all.packet, PACKET_SEQUENCE, log->sequence);
	proto_number(&all.packet, PACKET_FLAGS, FLAG_NEEDS);
	return &all.packet;
}

/* What has been put into all.event. */
static void put_event(const struct log *log, uint64_t time)
{
	unsigned char head[6 * PROTO_FIELD_BYTES], length[PROTO_FIELD_BYTES], *at = head, *to;

	/* Perfetto's numbers are signed. */
	at = put_varint(proto_put_tag(at, PACKET_TIME, PROTO_VARINT), time < INT64_MAX ? time : INT64_MAX);
	at = put_varint(proto_put_tag(at, PACKET_SEQUENCE, PROTO_VARINT), log->sequence);
	at = put_varint(proto_put_tag(at, PACKET_FLAGS, PROTO_VARINT), FLAG_NEEDS);
	at = put_varint(proto_put_tag(at, PACKET_EVENT, PROTO_BYTES), all.event.size);
	to = put_varint(proto_put_tag(length, TRACE_PACKET, PROTO_BYTES), (size_t)(at - head) + all.event.size);
	out_bytes((const char *)length, (size_t)(to - length));
	out_bytes((const char *)head, (size_t)(at - head));
	out_bytes((const char *)all.event.data, all.event.size);
}

static struct proto *begin_event(enum kind kind, uint64_t track)
{
	proto_clear(&all.event);
	proto_number(&all.event, EVENT_KIND, kind);
	proto_number(&all.event, EVENT_TRACK, track);
	return &all.event;
}

/* -- Names -------------------------------------------------------------------------------------- */

static void put_entry(struct proto *p, unsigned field, uint32_t number, const char *name, size_t length)
{
	size_t entry = proto_begin(p, field);

	proto_number(p, ENTRY_NUMBER, number);
	proto_text(p, ENTRY_NAME, name, length);
	proto_end(p, entry);
}

static void intern(const struct log *log, unsigned field, uint32_t number, const char *name)
{
	struct proto *p = begin_packet(log);
	size_t interned = proto_begin(p, PACKET_INTERNED);

	put_entry(p, field, number, name, strlen(name));
	proto_end(p, interned);
	put_packet();
}

static const char *type_name(const struct source *s)
{
	const char *name = layouts_name(s->layouts, s->event->id);

	return name ? name : logfile_type(s->file, s->event->id);
}

static struct type *type_of(const struct source *s)
{
	return &log_of(s)->type[s->event->id < EVENT_ID_END ? s->event->id : 0];
}

/* Of the next event's type, as the name of events. */
static uint32_t intern_name(const struct source *s)
{
	struct log *log = log_of(s);
	struct type *t = type_of(s);

	if (!t->name) {
		t->name = ++log->names;
		intern(log, INTERNED_EVENT, t->name, type_name(s));
	}
	return t->name;
}

/* The same as the value of something. */
static uint32_t intern_text(const struct source *s)
{
	struct type *t = type_of(s);

	if (!t->text) {
		t->text = intern_name(s);
		intern(log_of(s), INTERNED_TEXT, t->text, type_name(s));
	}
	return t->text;
}

static uint32_t intern_span(const struct source *s, const struct slice_track *t)
{
	struct log *log = log_of(s);
	const char *name = all.slices.spans->span[t->span]->name;

	if (!name)
		return intern_name(s);
	if (!log->span_name[t->span]) {
		log->span_name[t->span] = ++log->names;
		intern(log, INTERNED_EVENT, log->names, name);
	}
	return log->span_name[t->span];
}

/* All fields of the next event's type. */
static void intern_fields(const struct source *s, const struct layout *l)
{
	struct log *log = log_of(s);
	struct type *t = type_of(s);
	struct proto *p;
	size_t interned;

	if (!l || t->field)
		return;
	t->field = log->fields + 1;
	p = begin_packet(log);
	interned = proto_begin(p, PACKET_INTERNED);
	for (unsigned i = 0; i < l->count; i++) {
		char text[LABEL_BYTES];
		size_t length = label_field(text, &l->field[i]);

		put_entry(p, INTERNED_LABEL, ++log->fields, text, length);
	}
	proto_end(p, interned);
	put_packet();
}

/* -- Tracks ------------------------------------------------------------------------------------- */

/* A track of no process or thread; parent 0: none. merge: it may look as one with others of the same name and parent. */
static void tell_track(const struct log *log, uint64_t uuid, uint64_t parent, const char *name, bool merge)
{
	struct proto *p = begin_packet(log);
	size_t track = proto_begin(p, PACKET_TRACK);

	proto_number(p, TRACK_UUID, uuid);
	proto_text(p, TRACK_NAME, name, strlen(name));
	if (parent)
		proto_number(p, TRACK_PARENT, parent);
	if (!merge)
		proto_number(p, TRACK_MERGE, MERGE_NONE);
	proto_end(p, track);
	put_packet();
}

/* A track of a log, which says of which if there are several. */
static void tell_log_track(const struct source *s, uint64_t uuid, const char *what)
{
	char name[4096 + 32];

	if (all.logs->count > 1)
		snprintf(name, sizeof name, "%s (%.4096s)", what, s->path);
	tell_track(log_of(s), uuid, 0, all.logs->count > 1 ? name : what, false);
}

static uint64_t recording_track(const struct source *s)
{
	struct log *log = log_of(s);
	uint64_t uuid = lookup_mix(log->uuid, 1);

	if (!log->recording_told)
		tell_log_track(s, uuid, "recording");
	log->recording_told = true;
	return uuid;
}

static uint64_t lost_track(const struct source *s)
{
	struct log *log = log_of(s);
	uint64_t uuid = lookup_mix(log->uuid, 2);

	if (!log->lost_told)
		tell_log_track(s, uuid, "events lost");
	log->lost_told = true;
	return uuid;
}

static uint64_t tell_machine(const struct source *s, uint32_t machine)
{
	uint64_t uuid = tasks_machine_uuid(s);

	if (!all.machine_told[machine])
		tell_track(log_of(s), uuid, 0, s->file->in.header.host, false);
	all.machine_told[machine] = true;
	return uuid;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Without a process, so that it is not taken for one of the first machine. */
static void tell_foreign(const struct source *s, const struct task *t)
{
	uint64_t parent = t->process ? t->process->uuid : tell_machine(s, t->machine);
	char name[300];

	if (t->process)
		snprintf(name, sizeof name, "%.*s %u", (int)strnlen(t->name, sizeof t->name), t->name, t->tid);
	else
		snprintf(name, sizeof name, "%.256s %u", t->executable ? file_name(t->executable) : "process", t->pid);
	tell_track(log_of(s), t->uuid, parent, name, false);
}

/* Perfetto's are signed. */
static uint64_t as_int32(uint32_t n)
{
	return (uint64_t)(int64_t)(int32_t)n;
}

static void put_process(struct proto *p, const struct task *t)
{
	size_t process = proto_begin(p, TRACK_PROCESS);

	proto_number(p, PROCESS_PID, as_int32(t->pid));
	if (t->executable) {
		const char *name = file_name(t->executable);

		proto_text(p, PROCESS_COMMAND, t->executable, strlen(t->executable));
		proto_text(p, PROCESS_NAME, name, strlen(name));
	}
	proto_end(p, process);
}

static void put_thread(struct proto *p, const struct task *t)
{
	size_t thread = proto_begin(p, TRACK_THREAD), length = strnlen(t->name, sizeof t->name);

	proto_number(p, THREAD_PID, as_int32(t->pid));
	proto_number(p, THREAD_TID, t->tid);
	if (length)
		proto_text(p, THREAD_NAME, t->name, length);
	proto_end(p, thread);
}

static void tell_task(const struct source *s, struct task *t)
{
	struct proto *p;
	size_t track;

	if (t->told)
		return;
	t->told = true;
	if (t->process)
		tell_task(s, t->process);
	if (t->machine != all.tasks.machine[0]) {
		tell_foreign(s, t);
		return;
	}
	p = begin_packet(log_of(s));
	track = proto_begin(p, PACKET_TRACK);
	proto_number(p, TRACK_UUID, t->uuid);
	if (t->process)
		put_thread(p, t);
	else
		put_process(p, t);
	proto_end(p, track);
	put_packet();
}

static uint64_t thread_track(const struct source *s, struct task *thread)
{
	/* What the system does belongs to none. */
	if (thread->tid == 0)
		return recording_track(s);
	tell_task(s, thread);
	return thread->uuid;
}

static uint64_t slice_track(struct slice_track *t)
{
	struct log *log = log_of(t->source);
	uint64_t scope = t->scope ? t->scope->uuid : 0, parent = scope;
	uint64_t uuid = lookup_mix(lookup_mix(log->uuid, (uint64_t)t->lane << 8 | t->span), scope) | 1;
	char name[256];

	if (t->told)
		return uuid;
	t->told = true;
	if (t->scope && (t->scope->process ? t->scope->tid == 0 : t->scope->pid == 0))
		parent = recording_track(t->source);
	else if (t->scope)
		tell_task(t->source, t->scope);
	slices_title(all.slices.spans, t->span, name, sizeof name);
	tell_track(log, uuid, parent, name, true);
	return uuid;
}

/* -- Values --------------------------------------------------------------------------------------- */

static void put_item(struct proto *p, const struct layout_field *f, const unsigned char *at)
{
	switch (f->kind) {
	case LAYOUT_SIGNED:
		proto_number(p, VALUE_SIGNED, (uint64_t)layout_signed(at, f->size));
		break;
	case LAYOUT_HEX:
		proto_number(p, VALUE_POINTER, layout_unsigned(at, f->size));
		break;
	case LAYOUT_FLOAT:
		proto_double(p, VALUE_DOUBLE, layout_real(at, f->size));
		break;
	default:
		proto_number(p, VALUE_UNSIGNED, layout_unsigned(at, f->size));
		break;
	}
}

static void put_items(struct proto *p, const struct layout_field *f, const unsigned char *at, size_t size)
{
	for (size_t i = 0; i < size; i += f->size) {
		size_t item = proto_begin(p, VALUE_ITEMS);

		put_item(p, f, at + i);
		proto_end(p, item);
	}
}

static void put_field(struct proto *p, const struct layout_field *f, const unsigned char *at, size_t size)
{
	switch (f->kind) {
	case LAYOUT_CHARS:
	case LAYOUT_TEXT:
		proto_text(p, VALUE_TEXT, (const char *)at, layout_text(f, at, size));
		break;
	case LAYOUT_BYTES:
		proto_hex(p, VALUE_TEXT, at, size);
		break;
	default:
		if (f->count == 1)
			put_item(p, f, at);
		else
			put_items(p, f, at, size);
	}
}

/* The names of what is said of events have the first numbers. */
static size_t begin_value(struct proto *p, unsigned field, enum label label)
{
	size_t value = proto_begin(p, field);

	proto_number(p, VALUE_NAME, label + 1);
	return value;
}

static void put_number(struct proto *p, unsigned field, enum label label, enum value_field type, uint64_t n)
{
	size_t value = begin_value(p, field, label);

	proto_number(p, type, n);
	proto_end(p, value);
}

static void put_text(struct proto *p, unsigned field, enum label label, const char *text, size_t length)
{
	size_t value = begin_value(p, field, label);

	proto_text(p, VALUE_TEXT, text, length);
	proto_end(p, value);
}

static void put_hex(struct proto *p, unsigned field, enum label label, const unsigned char *data, size_t size)
{
	size_t value = begin_value(p, field, label);

	proto_hex(p, VALUE_TEXT, data, size);
	proto_end(p, value);
}

static void put_declared(struct proto *p, unsigned field, const struct source *s, const struct layout *l)
{
	uint32_t name = type_of(s)->field, length = s->event->length;
	size_t said;

	for (unsigned i = 0; i < l->count; i++) {
		const struct layout_field *f = &l->field[i];
		size_t size = layout_there(f, length), value;

		if (size == 0 && !layout_rest(f))
			break;
		value = proto_begin(p, field);
		proto_number(p, VALUE_NAME, name + i);
		put_field(p, f, s->data + (size > 0 ? f->offset : 0), size);
		proto_end(p, value);
	}
	said = layout_unsaid(l, length);
	if (said < length)
		put_hex(p, field, LABEL_MORE, s->data + said, length - said);
}

static void put_undeclared(struct proto *p, unsigned field, const struct source *s)
{
	const struct log_event *e = s->event;
	char text[SYSTEM_TEXT];

	if (e->id < POSIX_TRACE_UNNAMED_USEREVENT && system_text(text, s->layouts, e, s->data)) {
		if (text[0])
			put_text(p, field, LABEL_TEXT, text, strlen(text));
		return;
	}
	switch (layout_form(NULL, s->data, e->length)) {
	case FORM_TEXT:
		put_text(p, field, LABEL_TEXT, (const char *)s->data, layout_text_length(s->data, e->length));
		break;
	case FORM_BYTES:
		put_hex(p, field, LABEL_DATA, s->data, e->length);
		break;
	default:
		break;
	}
}

/* All data of the next event. */
static void put_data(struct proto *p, unsigned field, const struct source *s, const struct layout *l)
{
	if (s->event->length == 0)
		return;
	if (l)
		put_declared(p, field, s, l);
	else
		put_undeclared(p, field, s);
}

static void put_constant(struct proto *p, unsigned field, const struct log_event *e)
{
	if (e->address)
		put_number(p, field, LABEL_ADDRESS, VALUE_POINTER, e->address);
	if (e->truncated)
		put_number(p, field, LABEL_TRUNCATED, VALUE_BOOL, true);
}

/* -- Slices --------------------------------------------------------------------------------------- */

/* Which event it is, as far as its track and its name do not tell. */
static void put_who(struct proto *p, unsigned field, const struct source *s, bool named)
{
	size_t value;

	if (!named) {
		value = begin_value(p, field, LABEL_EVENT);
		proto_number(p, VALUE_INTERNED, type_of(s)->text);
		proto_end(p, value);
	}
	if (all.slices.spans->scope == SPAN_ALL && s->event->tid)
		put_number(p, field, LABEL_PID, VALUE_UNSIGNED, s->event->pid);
	if (all.slices.spans->scope != SPAN_THREAD && s->event->tid)
		put_number(p, field, LABEL_TID, VALUE_UNSIGNED, s->event->tid);
}

static void slice_begins(struct slice_track *t, struct source *s, uint64_t time)
{
	const struct log *log = log_of(s);
	uint64_t track = slice_track(t);
	bool named = !all.slices.spans->span[t->span]->name;
	uint32_t name = intern_span(s, t);
	struct proto *p;

	if (!named)
		intern_text(s);
	p = begin_event(KIND_BEGIN, track);
	proto_number(p, EVENT_NAME, name);
	put_who(p, EVENT_VALUES, s, named);
	put_constant(p, EVENT_VALUES, s->event);
	put_data(p, EVENT_VALUES, s, log->cell->layout);
	put_event(log, time);
}

/* Its values are members of one, since the slice has those of its begin too, which may have the same names. */
static void slice_ends_with(struct proto *p, const struct source *s)
{
	size_t value = begin_value(p, EVENT_VALUES, LABEL_END);

	put_who(p, VALUE_MEMBERS, s, false);
	put_constant(p, VALUE_MEMBERS, s->event);
	put_data(p, VALUE_MEMBERS, s, log_of(s)->cell->layout);
	proto_end(p, value);
}

static void slice_is_over(struct slice_track *t, struct source *s, uint64_t time, enum slice_end how)
{
	uint64_t track = slice_track(t);
	struct proto *p;

	if (s)
		intern_text(s);
	p = begin_event(KIND_END, track);
	if (s)
		slice_ends_with(p, s);
	else
		put_text(p, EVENT_VALUES, LABEL_INCOMPLETE, slice_ends[how], strlen(slice_ends[how]));
	put_event(log_of(t->source), time);
}

/* -- Events --------------------------------------------------------------------------------------- */

static void fill(struct cell *cell, const struct export *x, struct source *s, uint64_t segment)
{
	struct task *thread = tasks_thread(&all.tasks, s);
	struct proto *p;
	uint64_t track = thread_track(s, thread);
	uint32_t name = intern_name(s);

	cell->segment = segment;
	cell->thread = thread;
	cell->layout = layouts_find(s->layouts, s->event->id);
	cell->role = span_role(&x->spans, type_name(s));
	intern_fields(s, cell->layout);
	p = begin_event(KIND_INSTANT, track);
	proto_number(p, EVENT_NAME, name);
	put_constant(p, EVENT_VALUES, s->event);
	cell->constant_size = (unsigned)p->size;
	memcpy(cell->constant, p->data, p->size);
}

static struct cell *cell_of(const struct export *x, struct source *s)
{
	struct log *log = log_of(s);
	unsigned shape = logfile_shape(s->file, s->event);
	uint64_t segment = logfile_segment(s->file);
	struct cell *cell = &log->cells[shape];

	if (!cell->thread || cell->segment != segment || shape == SHAPES_MAX)
		fill(cell, x, s, segment);
	log->cell = cell;
	return cell;
}

static void event(struct export *x, struct source *s)
{
	struct cell *cell = cell_of(x, s);

	slices_time(&all.slices, s);
	if ((cell->role.begins | cell->role.ends || s->event->id == POSIX_TRACE_START) &&
	    slices_event(&all.slices, s, cell->thread, cell->role))
		return;
	proto_clear(&all.event);
	proto_room(&all.event, sizeof cell->constant);
	memcpy(all.event.data, cell->constant, sizeof cell->constant);
	all.event.size = cell->constant_size;
	put_data(&all.event, EVENT_VALUES, s, cell->layout);
	put_event(log_of(s), s->event->time);
}

static void cut(struct export *x, struct source *s)
{
	slices_cut(&all.slices, s, s->event->time, SLICE_STARTED);
}

/* -- Losses --------------------------------------------------------------------------------------- */

static void put_loss(const struct source *s, enum kind kind, uint64_t time)
{
	struct proto *p = begin_event(kind, lost_track(s));

	if (kind != KIND_END)
		proto_text(p, EVENT_TEXT, "events lost", strlen("events lost"));
	put_event(log_of(s), time);
}

static void lost(struct export *x, struct source *s, struct loss loss)
{
	struct log *log = log_of(s);

	if (!loss.resumed)
		slices_cut(&all.slices, s, loss.from, SLICE_LOST);
	lost_track(s);
	if (!loss.until) {
		put_loss(s, KIND_INSTANT, loss.from);
		return;
	}
	/* They follow each other, but for events that are late. */
	if (loss.from < log->lost)
		loss.from = log->lost;
	if (loss.until < loss.from)
		loss.until = loss.from;
	log->lost = loss.until;
	put_loss(s, KIND_BEGIN, loss.from);
	put_loss(s, KIND_END, loss.until);
}

/* -- The beginning ---------------------------------------------------------------------------------- */

static void put_clock(struct proto *p, unsigned id, uint64_t time)
{
	size_t clock = proto_begin(p, CLOCKS_CLOCK);

	proto_number(p, CLOCK_ID, id);
	proto_number(p, CLOCK_TIME, time);
	proto_end(p, clock);
}

/* The same moment on both, of the first log: others may have another offset, and all times are those of the one clock. */
static void put_clocks(const struct source *s)
{
	size_t clocks;

	proto_clear(&all.packet);
	clocks = proto_begin(&all.packet, PACKET_CLOCKS);
	put_clock(&all.packet, REALTIME, logfile_created(s->file));
	if (s->file->in.header.monotonic)
		put_clock(&all.packet, MONOTONIC, s->file->in.header.monotonic);
	proto_number(&all.packet, CLOCKS_PRIMARY, REALTIME);
	proto_end(&all.packet, clocks);
	put_packet();
}

static void put_uuid(void)
{
	uint64_t high = 0, low = 0;
	size_t uuid;

	for (unsigned i = 0; i < all.logs->count; i++) {
		high = lookup_mix(high, all.logs->source[i].file->in.log);
		low = lookup_mix(low, logfile_created(all.logs->source[i].file));
	}
	proto_clear(&all.packet);
	uuid = proto_begin(&all.packet, PACKET_UUID);
	proto_number(&all.packet, UUID_HIGH, high);
	proto_number(&all.packet, UUID_LOW, low);
	proto_end(&all.packet, uuid);
	put_packet();
}

static void put_machine(const struct log_header *h)
{
	size_t system, name;

	proto_clear(&all.packet);
	system = proto_begin(&all.packet, PACKET_SYSTEM);
	name = proto_begin(&all.packet, SYSTEM_NAME);
	proto_text(&all.packet, NAME_SYSTEM, "Linux", strlen("Linux"));
	proto_text(&all.packet, NAME_RELEASE, h->kernel, strlen(h->kernel));
	proto_text(&all.packet, NAME_MACHINE, h->machine, strlen(h->machine));
	proto_end(&all.packet, name);
	proto_end(&all.packet, system);
	put_packet();
}

/* The first packet of a log's sequence. */
static void put_first(struct log *log)
{
	struct proto *p = &all.packet;
	size_t inner;

	proto_clear(p);
	proto_number(p, PACKET_SEQUENCE, log->sequence);
	proto_number(p, PACKET_FLAGS, FLAG_CLEARED);
	proto_number(p, PACKET_FIRST, true);
	inner = proto_begin(p, PACKET_DEFAULTS);
	proto_number(p, DEFAULTS_CLOCK, REALTIME);
	proto_end(p, inner);
	inner = proto_begin(p, PACKET_INTERNED);
	for (unsigned i = 0; i < LABELS; i++)
		put_entry(p, INTERNED_LABEL, ++log->fields, labels[i], strlen(labels[i]));
	proto_end(p, inner);
	put_packet();
}

static void begin(struct export *x)
{
	const struct source *first = &x->logs.source[0];

	all.logs = &x->logs;
	tasks_begin(&all.tasks, &x->logs);
	all.slices = (struct slices){ .spans = &x->spans, .tasks = &all.tasks, .begin = slice_begins, .end = slice_is_over };
	slices_begin(&all.slices, &x->logs);
	all.machine_told = calloc(x->logs.count, sizeof *all.machine_told);
	if (!all.machine_told)
		fail("no memory");
	put_uuid();
	put_clocks(first);
	put_machine(&first->file->in.header);
	for (unsigned i = 0; i < x->logs.count; i++) {
		struct log *log = calloc(1, sizeof *log);

		if (!log)
			fail("no memory");
		log->sequence = i + 1;
		log->uuid = lookup_mix(x->logs.source[i].file->in.log, i);
		x->logs.source[i].own = log;
		put_first(log);
	}
}

static void end(struct export *x)
{
	slices_finish(&all.slices, &x->logs);
}

const struct exporter export_perfetto = {
	.name = "perfetto",
	.suffix = ".pftrace",
	.binary = true,
	.spans = true,
	.begin = begin,
	.event = event,
	.lost = lost,
	.cut = cut,
	.end = end,
};
