/*
 * packet.h - a trace of Perfetto: its packets, and the names that are interned in them
 *
 * The output is a sequence of packets (protos/perfetto/trace/trace_packet.proto of Perfetto; the field numbers are
 * below). Each log is a sequence of its own, whose names are interned when the first event uses them; memory is needed
 * only for each event type, thread and slice track. Times are CLOCK_REALTIME.
 *
 * Events are instants on the track of their thread, and slices that nest are on the same track. A span whose slices
 * overlap without nesting has a track of its own below. Perfetto cannot distinguish machines without knowing their
 * clocks, so a process of another machine than the first log's is a track without a process, named after it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PERFETTO_PACKET_H
#define PERFETTO_PACKET_H

#include "analysis/history.h"
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
enum { REALTIME = 1, MONOTONIC = 3, BOOTTIME = 6 };
enum { UUID_HIGH = 1, UUID_LOW = 2 };
enum { SYSTEM_NAME = 1, NAME_SYSTEM = 1, NAME_RELEASE = 3, NAME_MACHINE = 4 };
enum { INTERNED_EVENT = 2, INTERNED_LABEL = 3, INTERNED_TEXT = 29, ENTRY_NUMBER = 1, ENTRY_NAME = 2 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5, TRACK_COUNTER = 8,
       TRACK_MERGE = 15 };
enum { COUNTER_UNIT = 6 };
enum { MERGE_NONE = 2 };
enum { PROCESS_PID = 1, PROCESS_COMMAND = 2, PROCESS_NAME = 6, THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum {
	EVENT_VALUES = 4, EVENT_KIND = 9, EVENT_NAME = 10, EVENT_TRACK = 11, EVENT_CATEGORY = 22, EVENT_TEXT = 23,
	EVENT_COUNTER = 30, EVENT_COUNTER_DOUBLE = 44, EVENT_FLOW = 47, EVENT_FLOW_END = 48,
};
enum kind { KIND_BEGIN = 1, KIND_END = 2, KIND_INSTANT = 3, KIND_COUNTER = 4 };
enum value_field {
	VALUE_NAME = 1, VALUE_BOOL = 2, VALUE_UNSIGNED = 3, VALUE_SIGNED = 4, VALUE_DOUBLE = 5, VALUE_TEXT = 6,
	        VALUE_POINTER = 7,
	VALUE_MEMBERS = 11, VALUE_ITEMS = 12, VALUE_INTERNED = 17,
};

/* Interned numbers of an event type of a log; 0: not written yet. */
struct perfetto_type {
	uint32_t name, text; /* as the name of an event, and as a value */
	uint32_t field;      /* of the first field */
};

/* Properties of the events of a shape in a segment. */
struct perfetto_cell {
	uint64_t segment;
	struct task *thread;
	const struct layout *layout;
	struct span_role role;
	unsigned constant_size;
	/* The constant part of an instant: kind, track, name, address, truncated. */
	unsigned char constant[64];
};

struct perfetto_log {
	uint32_t sequence;
	uint64_t uuid;
	uint32_t names, fields; /* numbers of interned names so far */
	struct perfetto_type type[EVENT_ID_END];
	uint32_t span_name[SPANS_MAX];
	struct lookup functions; /* numbers of their names */
	bool recording_reported, lost_reported;
	uint64_t lost; /* end of the last loss */
	struct perfetto_cell *cell; /* of the next event */
	struct perfetto_cell cells[SHAPES_MAX + 1];
};

extern struct perfetto {
	const struct sources *logs;
	struct tasks tasks;
	struct slices slices;
	struct lookup counters;
	struct history history; /* of the first log's machine, for its processors and states of threads */
	bool *machine_reported;
	struct proto packet, event;
} perfetto;

static inline struct perfetto_log *perfetto_log(const struct source *s)
{
	return s->own;
}

/* -- Packets -------------------------------------------------------------------------------------- */

/* Writes perfetto.packet. */
void perfetto_put_packet(void);
/* Begins a packet of a log in perfetto.packet. Returns it. */
struct proto *perfetto_packet(const struct perfetto_log *log);
/* Writes perfetto.event in a packet of a log. */
void perfetto_put_event(const struct perfetto_log *log, uint64_t time);
/* Begins an event in perfetto.event. Returns it. */
struct proto *perfetto_event(enum kind kind, uint64_t track);

/* -- Names ---------------------------------------------------------------------------------------- */

/* Puts a name with its number into a packet. */
void perfetto_entry(struct proto *p, unsigned field, uint32_t number, const char *name, size_t length);
/* Returns the name of the next event's type. */
const char *perfetto_type_name(const struct source *s);
struct perfetto_type *perfetto_type(const struct source *s);
/*
 * Return the interned number of the type's name, as the name of an event and as a value. Write the name first if
 * necessary.
 */
uint32_t perfetto_name(const struct source *s);
uint32_t perfetto_text(const struct source *s);
/* Returns the interned number of the name of a track's slices, after writing the name if necessary. */
uint32_t perfetto_span(const struct source *s, const struct slice_track *t);
/* Writes the names of all fields of the next event's type, if necessary. */
void perfetto_fields(const struct source *s, const struct layout *l);

#endif
