/*
 * packet.c - the packets of a trace of Perfetto, and the names that are interned in them
 *
 * SPDX-License-Identifier: MIT
 */
#include "convert/perfetto/packet.h"

#include <string.h>

#include "analysis/calls.h"
#include "common/out.h"

struct perfetto perfetto;

/* -- Packets ----------------------------------------------------------------------------------- */

void perfetto_put_packet(void)
{
	unsigned char head[PROTO_FIELD_BYTES],
	        *at = put_varint(proto_put_tag(head, TRACE_PACKET, PROTO_BYTES), perfetto.packet.size);

	out_bytes((const char *)head, (size_t)(at - head));
	out_bytes((const char *)perfetto.packet.data, perfetto.packet.size);
}

struct proto *perfetto_packet(const struct perfetto_log *log)
{
	proto_clear(&perfetto.packet);
	proto_number(&perfetto.packet, PACKET_SEQUENCE, log->sequence);
	proto_number(&perfetto.packet, PACKET_FLAGS, FLAG_NEEDS);
	return &perfetto.packet;
}

void perfetto_put_event(const struct perfetto_log *log, uint64_t time)
{
	unsigned char head[6 * PROTO_FIELD_BYTES], length[PROTO_FIELD_BYTES], *at = head, *to;

	/* Perfetto reads times as signed numbers. */
	at = put_varint(proto_put_tag(at, PACKET_TIME, PROTO_VARINT), time < INT64_MAX ? time : INT64_MAX);
	at = put_varint(proto_put_tag(at, PACKET_SEQUENCE, PROTO_VARINT), log->sequence);
	at = put_varint(proto_put_tag(at, PACKET_FLAGS, PROTO_VARINT), FLAG_NEEDS);
	at = put_varint(proto_put_tag(at, PACKET_EVENT, PROTO_BYTES), perfetto.event.size);
	to = put_varint(proto_put_tag(length, TRACE_PACKET, PROTO_BYTES), (size_t)(at - head) + perfetto.event.size);
	out_bytes((const char *)length, (size_t)(to - length));
	out_bytes((const char *)head, (size_t)(at - head));
	out_bytes((const char *)perfetto.event.data, perfetto.event.size);
}

struct proto *perfetto_event(enum kind kind, uint64_t track)
{
	proto_clear(&perfetto.event);
	proto_number(&perfetto.event, EVENT_KIND, kind);
	proto_number(&perfetto.event, EVENT_TRACK, track);
	return &perfetto.event;
}

/* -- Names -------------------------------------------------------------------------------------- */

void perfetto_entry(struct proto *p, unsigned field, uint32_t number, const char *name, size_t length)
{
	size_t entry = proto_begin(p, field);

	proto_number(p, ENTRY_NUMBER, number);
	proto_text(p, ENTRY_NAME, name, length);
	proto_end(p, entry);
}

static void intern(const struct perfetto_log *log, unsigned field, uint32_t number, const char *name)
{
	struct proto *p = perfetto_packet(log);
	size_t interned = proto_begin(p, PACKET_INTERNED);

	perfetto_entry(p, field, number, name, strlen(name));
	proto_end(p, interned);
	perfetto_put_packet();
}

const char *perfetto_type_name(const struct source *s)
{
	const char *name = layouts_name(s->layouts, s->event->id);

	return name ? name : logfile_type(s->file, s->event->id);
}

struct perfetto_type *perfetto_type(const struct source *s)
{
	return &perfetto_log(s)->type[s->event->id < EVENT_ID_END ? s->event->id : 0];
}

uint32_t perfetto_name(const struct source *s)
{
	struct perfetto_log *log = perfetto_log(s);
	struct perfetto_type *t = perfetto_type(s);

	if (!t->name) {
		t->name = ++log->names;
		intern(log, INTERNED_EVENT, t->name, perfetto_type_name(s));
	}
	return t->name;
}

uint32_t perfetto_text(const struct source *s)
{
	struct perfetto_type *t = perfetto_type(s);

	if (!t->text) {
		t->text = perfetto_name(s);
		intern(perfetto_log(s), INTERNED_TEXT, t->text, perfetto_type_name(s));
	}
	return t->text;
}

/* A name of a function, and its number. */
struct function_name {
	struct lookup_key key;
	uint32_t number;
};

static uint32_t function_name(struct perfetto_log *log, const char *name)
{
	struct function_name *n = lookup(&log->functions, (struct lookup_key){ .first = (uintptr_t)name }, sizeof *n);

	if (!n->number) {
		n->number = ++log->names;
		intern(log, INTERNED_EVENT, n->number, name);
	}
	return n->number;
}

uint32_t perfetto_span(const struct source *s, const struct slice_track *t)
{
	struct perfetto_log *log = perfetto_log(s);
	const char *function = calls_slice(s, perfetto.slices.spans->span[t->span]);
	char name[256];

	if (function)
		return function_name(log, function);
	/* A row of its own has the title of the span, and its slices have the names of their events. */
	if (!t->row && !perfetto.slices.spans->span[t->span]->name)
		return perfetto_name(s);
	span_title(perfetto.slices.spans->span[t->span], name, sizeof name);
	if (!log->span_name[t->span]) {
		log->span_name[t->span] = ++log->names;
		intern(log, INTERNED_EVENT, log->names, name);
	}
	return log->span_name[t->span];
}

void perfetto_fields(const struct source *s, const struct layout *l)
{
	struct perfetto_log *log = perfetto_log(s);
	struct perfetto_type *t = perfetto_type(s);
	struct proto *p;
	size_t interned;

	if (!l || t->field)
		return;
	t->field = log->fields + 1;
	p = perfetto_packet(log);
	interned = proto_begin(p, PACKET_INTERNED);
	for (unsigned i = 0; i < l->count; i++) {
		char text[LABEL_BYTES];
		size_t length = label_field(text, &l->field[i]);

		perfetto_entry(p, INTERNED_LABEL, ++log->fields, text, length);
	}
	proto_end(p, interned);
	perfetto_put_packet();
}
