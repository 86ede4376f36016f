/*
 * ctf.c - a trace directory in the Common Trace Format, version 1.8 (packet.h)
 *
 * Events of one shape in one segment differ only in time and data: all other bytes are put together once and then
 * copied.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "convert/ctf/kernel.h"
#include "convert/ctf/metadata.h"
#include "convert/ctf/packet.h"
#include "convert/export.h"
#include "event/names.h"
#include "event/system_text.h"
#include "logs/missing.h"
#include "logs/outfile.h"

/* -- What is kept of a log -------------------------------------------------------------------------- */

/* Offsets and sizes of an event: kind, time, vpid, vtid, ip, truncated, procname with its null. */
#define TIME_AT  4
#define FIXED    (4 + 8 + 4 + 4 + 8 + 1)
#define HEAD_MAX (FIXED + 16)

/* The constant bytes of events of one shape. */
struct head {
	uint64_t segment; /* the segment of these events; 0: not filled */
	const struct layout *layout;
	unsigned run_count; /* of the runs, if they are the same in each event, else 0 */
	struct layout_place runs[LAYOUT_FIELDS];
	uint8_t size;
	unsigned char bytes[HEAD_MAX];
};

struct trace {
	int directory; /* descriptor */
	struct ctf_file file;
	bool kinds[CTF_KINDS];
	uint64_t segment;            /* number of the segment of the current packet; 0: no packet yet */
	uint64_t lost;               /* lost events in packets so far */
	uint64_t damaged;            /* events of damaged segments in packets so far */
	uint64_t time;               /* time of the previous event */
	struct kernel_trace *kernel;
	struct head head[SHAPES_MAX + 1];
};

static struct tasks tasks;

static uint64_t bounded(uint64_t time)
{
	return time < CTF_TIME_MAX ? time : CTF_TIME_MAX;
}

/* -- Traces -------------------------------------------------------------------------------------- */

/* Makes a uuid that differs between logs, and is the same in each conversion. */
static void make_uuid(unsigned char uuid[16], const struct logfile *f)
{
	uint64_t created = logfile_created(f);

	memcpy(uuid, &f->in.log, 8);
	memcpy(uuid + 8, &created, 8);
	/* Version 4, variant 1: as for random uuids. */
	uuid[6] = (unsigned char)((uuid[6] & 0x0f) | 0x40);
	uuid[8] = (unsigned char)((uuid[8] & 0x3f) | 0x80);
}

/* Uses the output directory for a single log; makes a directory in it for each of several logs. */
static void make_directory(struct trace *t, const struct export *x, const struct source *s)
{
	const char *slash = strrchr(s->path, '/');
	char *name;

	t->directory = x->directory;
	if (x->logs.count == 1)
		return;
	if (asprintf(&name, "%u-%s", s->index + 1, slash ? slash + 1 : s->path) < 0)
		fail("no memory");
	t->directory = outfile_inner(name);
	free(name);
}

static void begin(struct export *x)
{
	tasks_begin(&tasks, &x->logs);
	for (unsigned i = 0; i < x->logs.count; i++) {
		struct source *s = &x->logs.source[i];
		struct trace *t = calloc(1, sizeof *t);
		unsigned char uuid[16];

		if (!t)
			fail("no memory");
		s->own = t;
		make_directory(t, x, s);
		make_uuid(uuid, s->file);
		ctf_open(&t->file, t->directory, outfile_path(), uuid);
		t->kernel = kernel_trace_begin(&x->logs, &tasks);
	}
}

/*
 * Begins a packet for a new segment. Readers see losses only between two packets, so a loss before the first segment
 * needs an empty packet before it, and a loss after the last one an empty packet after it.
 */
static void next_packet(struct trace *t, const struct source *s)
{
	const struct frame *segment = &s->file->in.segment;
	uint64_t lost = segment->lost, created = bounded(logfile_created(s->file)),
	        damaged = s->file->in.hole.events;

	if (t->segment == 0)
		lost = missing_add(lost, input_lost_early(&s->file->in));
	t->lost = missing_add(t->lost, lost);
	t->damaged = missing_add(t->damaged, damaged);
	lost = missing_add(lost, damaged);
	if (t->segment == 0 && lost > 0)
		ctf_packet(&t->file, created < t->time ? created : t->time, segment->number - 1, 0);
	t->segment = segment->number;
	ctf_packet(&t->file, t->time, segment->number, lost);
}

/*
 * Adds an empty packet at the end if the index counts more lost events than the segments, or events could not be
 * written, or are in damaged parts of the log.
 */
static void last_packet(struct trace *t, const struct source *s)
{
	struct missing missing;
	uint64_t lost = s->file->in.lost > t->lost ? s->file->in.lost - t->lost : 0,
	        created = bounded(logfile_created(s->file));

	missing_find(&missing, s->file);
	lost = missing_add(lost, missing.unwritten);
	lost = missing_add(lost, missing.damaged > t->damaged ? missing.damaged - t->damaged : 0);
	if (lost == 0)
		return;
	if (!t->segment)
		ctf_packet(&t->file, created, 0, 0);
	ctf_packet(&t->file, t->time > created ? t->time : created, t->segment + 1, lost);
}

static void end(struct export *x)
{
	for (unsigned i = 0; i < x->logs.count; i++) {
		struct source *s = &x->logs.source[i];
		struct trace *t = s->own;

		last_packet(t, s);
		ctf_close(&t->file);
		ctf_metadata(t->directory, outfile_path(), s->file, s->layouts, t->file.uuid, t->kinds);
		kernel_trace_end(t->kernel, t->directory, outfile_path(), s, t->file.uuid);
	}
}

/* -- Events ---------------------------------------------------------------------------------------- */

/*
 * Notes the bytes of the data to copy: the fields without padding, and without a field that takes all the rest. Fields
 * that are contiguous in the data too are copied together. Returns their number.
 */
static unsigned find_runs(struct layout_place *runs, const struct layout *l, const struct layout_place *of)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->count - layout_rest(&l->field[l->count - 1]); i++) {
		if (n > 0 && runs[n - 1].at + runs[n - 1].size == of[i].at)
			runs[n - 1].size += of[i].size;
		else
			runs[n++] = of[i];
	}
	return n;
}

static void make_head(struct trace *t, struct head *h, const struct source *s, const struct log_event *e)
{
	unsigned char *p = h->bytes + TIME_AT + 8;
	const char *thread = e->tid == 0 && !e->name[0] ? NAMES_NO_THREAD : e->name;
	size_t name = strnlen(thread, sizeof e->name - 1);

	h->segment = t->segment;
	h->layout = layouts_find(s->layouts, e->id);
	h->run_count = 0;
	if (h->layout && h->layout->fixed == h->layout->count)
		h->run_count = find_runs(h->runs, h->layout, h->layout->place);
	memcpy(p, &e->pid, 4);
	memcpy(p + 4, &e->tid, 4);
	memcpy(p + 8, &e->address, 8);
	p[16] = e->truncated;
	memcpy(p + 17, thread, name);
	p[17 + name] = 0;
	h->size = (uint8_t)(FIXED + name + 1);
}

static unsigned char *put_bytes(unsigned char *to, const unsigned char *data, size_t size)
{
	const uint16_t length = (uint16_t)size;

	memcpy(to, &length, 2);
	memcpy(to + 2, data, size);
	return to + 2 + size;
}

static unsigned char *put_text(unsigned char *to, const unsigned char *data, size_t size)
{
	memcpy(to, data, size);
	to[size] = 0;
	return to + size + 1;
}

/* Writes the fields. */
static unsigned char *put_fields(unsigned char *to, const struct head *h, const struct layout_places *places,
                                 const unsigned char *data)
{
	const struct layout *l = h->layout;
	const struct layout_field *last = &l->field[l->count - 1];
	struct layout_place runs[LAYOUT_FIELDS];
	const struct layout_place *run = h->runs;
	unsigned n = h->run_count;

	if (!n) {
		n = find_runs(runs, l, places->of);
		run = runs;
	}
	for (unsigned i = 0; i < n; i++) {
		memcpy(to, data + run[i].at, run[i].size);
		to += run[i].size;
	}
	data += places->of[l->count - 1].at;
	if (last->kind == LAYOUT_TEXT)
		return put_text(to, data, layout_text_length(data, places->of[l->count - 1].size));
	return layout_rest(last) ? put_bytes(to, data, places->of[l->count - 1].size) : to;
}

/* Writes the data of a system event as text. Returns false if the event is of another kind. */
static bool put_system(struct ctf_file *f, uint32_t *kind, const struct source *s)
{
	const struct log_event *e = s->event;
	char text[SYSTEM_TEXT];

	if (e->length == 0 || !system_text(text, s->layouts, e, s->data))
		return false;
	*kind = (uint32_t)(e->id + CTF_TYPES * (*text ? FORM_TEXT : FORM_NONE));
	if (*text)
		f->at = put_text(f->at, (unsigned char *)text, strlen(text));
	return true;
}

/* Returns the form of the data. */
static enum layout_form put_data(struct ctf_file *f, const struct head *h, const unsigned char *data, size_t length)
{
	struct layout_places places;
	enum layout_form form = layout_form(h->layout, data, length, &places);

	switch (form) {
	case FORM_FIELDS:
		f->at = put_fields(f->at, h, &places, data);
		break;
	case FORM_MORE:
		f->at = put_bytes(put_fields(f->at, h, &places, data), data + places.rest, length - places.rest);
		break;
	case FORM_TEXT:
		f->at = put_text(f->at, data, layout_text_length(data, length));
		break;
	case FORM_BYTES:
		f->at = put_bytes(f->at, data, length);
		break;
	default:
		break;
	}
	return form;
}

static void event(struct export *x, struct source *s)
{
	const struct log_event *e = s->event;
	struct trace *t = s->own;
	unsigned shape = logfile_shape(s->file, e);
	struct head *h = &t->head[shape];
	uint64_t time = bounded(e->time), late;
	unsigned char *at;
	uint32_t kind;

	kernel_trace_event(t->kernel, s);
	/* The event is in no segment and so in no packet: last_packet() counts it. */
	if (logfile_at_end_gap(s->file, e))
		return;
	late = time < t->time ? t->time - time : 0;
	t->time += late ? 0 : time - t->time;
	if (t->segment != s->file->in.segment.number)
		next_packet(t, s);
	/* All events that report damage have the shape SHAPES_MAX, and nothing in common. */
	if (h->segment != t->segment || shape == SHAPES_MAX)
		make_head(t, h, s, e);
	ctf_room(&t->file);
	at = t->file.at;
	t->file.at += h->size;
	if (late) {
		memcpy(t->file.at, &late, 8);
		t->file.at += 8;
	}
	if (!eventtype_system(e->id) || !put_system(&t->file, &kind, s))
		kind = e->id + CTF_TYPES * (uint32_t)put_data(&t->file, h, s->data, e->length);
	kind += late ? CTF_LATE : 0;
	memcpy(at, h->bytes, h->size);
	memcpy(at, &kind, 4);
	memcpy(at + TIME_AT, &t->time, 8);
	t->kinds[kind] = true;
	ctf_packet_end(&t->file, t->time);
}

const struct exporter export_ctf = {
	.name = "ctf",
	.suffix = ".ctf",
	.directory = true,
	.begin = begin,
	.event = event,
	.end = end,
};
