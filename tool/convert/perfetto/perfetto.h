/*
 * perfetto.h - a trace of Perfetto: what the parts of convert --to perfetto share
 *
 * A row of packets, protos/perfetto/trace/trace_packet.proto of Perfetto; what its numbers are is below. Each log is
 * a sequence of packets with interned names of its own, written when the first event comes that has them, so that nothing
 * is kept but one place for each event type, thread and slice track. Times are CLOCK_REALTIME.
 *
 * Events are instants on the track of their thread, and so are slices that nest. A span whose slices overlap others without
 * nesting has a track of its own below it. Perfetto cannot tell machines apart whose clocks it knows nothing of, so
 * processes of other machines than that of the first log are tracks without a process, named by it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PERFETTO_H
#define PERFETTO_H

#include "convert/export.h"
#include "convert/perfetto/proto.h"
#include "convert/slices.h"
#include "event/labels.h"

enum { TRACE_PACKET = 1 };
enum packet_field {
	PACKET_CLOCKS = 6, PACKET_TIME = 8, PACKET_SEQUENCE = 10, PACKET_EVENT = 11, PACKET_INTERNED = 12,
	        PACKET_FLAGS = 13,
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
	VALUE_NAME = 1, VALUE_BOOL = 2, VALUE_UNSIGNED = 3, VALUE_SIGNED = 4, VALUE_DOUBLE = 5, VALUE_TEXT = 6,
	        VALUE_POINTER = 7,
	VALUE_MEMBERS = 11, VALUE_ITEMS = 12, VALUE_INTERNED = 17,
};

/* An event type of a log; what has the number 0 has not been written yet. */
struct perfetto_type {
	uint32_t name, text; /* as the name of an event, and as a value */
	uint32_t field;      /* of the first of its fields */
};

/* What all events of one shape in one segment share. */
struct perfetto_cell {
	uint64_t segment;
	struct task *thread;
	const struct layout *layout;
	struct span_role role;
	unsigned constant_size;
	/* Kind, track, name, address, truncated, of an instant. */
	unsigned char constant[64];
};

struct perfetto_log {
	uint32_t sequence;
	uint64_t uuid;
	uint32_t names, fields; /* how many have been written */
	struct perfetto_type type[EVENT_ID_END];
	uint32_t span_name[SPANS_MAX];
	bool recording_reported, lost_reported;
	uint64_t lost; /* until then */
	struct perfetto_cell *cell; /* of its next event */
	struct perfetto_cell cells[SHAPES_MAX + 1];
};

extern struct perfetto {
	const struct sources *logs;
	struct tasks tasks;
	struct slices slices;
	bool *machine_reported;
	struct proto packet, event;
} perfetto;

static inline struct perfetto_log *perfetto_log(const struct source *s)
{
	return s->own;
}

/* -- Packets: perfetto_packet.c ------------------------------------------------------------------ */

/* Writes what has been put into perfetto.packet. */
void perfetto_put_packet(void);
/* Begins a packet of a log there. */
struct proto *perfetto_packet(const struct perfetto_log *log);
/* Writes what has been put into perfetto.event, in a packet of a log. */
void perfetto_put_event(const struct perfetto_log *log, uint64_t time);
/* Begins an event there. */
struct proto *perfetto_event(enum kind kind, uint64_t track);

/* -- Names: perfetto_packet.c -------------------------------------------------------------------- */

/* A name with its number, in a packet. */
void perfetto_entry(struct proto *p, unsigned field, uint32_t number, const char *name, size_t length);
/* Of the next event's type. */
const char *perfetto_type_name(const struct source *s);
struct perfetto_type *perfetto_type(const struct source *s);
/* Numbers of names, which are written if they have not been: of the next event's type, as the name of events. */
uint32_t perfetto_name(const struct source *s);
/* The same as the value of something. */
uint32_t perfetto_text(const struct source *s);
/* Of the slices of a track. */
uint32_t perfetto_span(const struct source *s, const struct slice_track *t);
/* All fields of the next event's type. */
void perfetto_fields(const struct source *s, const struct layout *l);

/* -- Tracks: perfetto_tracks.c ------------------------------------------------------------------- */

/* Their uuids; they are written if they have not been. */
uint64_t perfetto_lost_track(const struct source *s);
uint64_t perfetto_thread_track(const struct source *s, struct task *thread);
uint64_t perfetto_slice_track(struct slice_track *t);

/* -- Values: perfetto_values.c ------------------------------------------------------------------- */

/* Begins a value, for proto_end(). The names of what is said of events have the first numbers. */
size_t perfetto_value(struct proto *p, unsigned field, enum label label);
void perfetto_put_number(struct proto *p, unsigned field, enum label label, enum value_field type, uint64_t n);
void perfetto_put_text(struct proto *p, unsigned field, enum label label, const char *text, size_t length);
/* All data of the next event. */
void perfetto_put_data(struct proto *p, unsigned field, const struct source *s, const struct layout *l);
/* What all events of a shape share. */
void perfetto_put_constant(struct proto *p, unsigned field, const struct log_event *e);

#endif
