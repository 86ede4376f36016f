/*
 * perfetto.c - a trace of Perfetto (packet.h): for ui.perfetto.dev and trace_processor
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "convert/perfetto/ftrace.h"
#include "convert/perfetto/packet.h"
#include "convert/perfetto/tracks.h"
#include "convert/perfetto/values.h"
#include "event/meaning.h"

/* -- Meanings ------------------------------------------------------------------------------------- */

/* Puts an end of a flow. field: 1 + its index; 0: none. */
static void put_flow(struct proto *p, const struct source *s, const struct layout *l, unsigned field,
                     enum slice_flow how)
{
	struct meaning_id value;

	if (field && meaning_id(l, field, s->data, s->event->length, &value))
		proto_fixed(p, how == FLOW_ENDS ? EVENT_FLOW_END : EVENT_FLOW,
		            slices_flow(&perfetto.slices, l, field, value, how));
}

/* Puts the flows and the level of the next event. */
static void put_meaning(struct proto *p, const struct source *s, const struct layout *l)
{
	enum layout_level level = l ? meaning_level(l, s->data, s->event->length) : LEVEL_NONE;

	if (level)
		proto_text(p, EVENT_CATEGORY, layout_levels[level], strlen(layout_levels[level]));
	if (!l)
		return;
	/* A flow that only goes through the event must not end there. */
	if (l->meaning.receive != l->meaning.send)
		put_flow(p, s, l, l->meaning.receive, FLOW_ENDS);
	put_flow(p, s, l, l->meaning.send, l->meaning.receive == l->meaning.send ? FLOW_GOES_ON : FLOW_BEGINS);
}

static void put_counter(struct proto *p, const struct layout_field *f, const unsigned char *at)
{
	uint64_t value = f->kind == LAYOUT_SIGNED ? (uint64_t)layout_signed(at, f->size) : 0;

	if (f->kind != LAYOUT_SIGNED && f->kind != LAYOUT_FLOAT)
		value = layout_unsigned(at, f->size);
	if (f->kind == LAYOUT_FLOAT)
		proto_double(p, EVENT_COUNTER_DOUBLE, layout_real(at, f->size));
	else if (f->kind != LAYOUT_SIGNED && value > INT64_MAX)
		proto_double(p, EVENT_COUNTER_DOUBLE, (double)value);
	else
		proto_number(p, EVENT_COUNTER, value);
}

/* Writes the numbers of the next event as values of counters of its process. */
static void put_counters(const struct source *s, struct task *thread, const struct layout *l)
{
	struct layout_places places;
	uint64_t id = 0;

	if (!thread->tid || (l->meaning.by && !meaning_integer(l, l->meaning.by, s->data, s->event->length, &id)))
		return;
	layout_locate(l, s->data, s->event->length, &places);
	for (unsigned i = 0; i < places.count; i++) {
		uint64_t track;

		if (!layout_is_number(&l->field[i]) || l->meaning.by == i + 1)
			continue;
		track = perfetto_counter_track(s, thread, l, i, id);
		put_counter(perfetto_event(KIND_COUNTER, track), &l->field[i], s->data + places.of[i].at);
		perfetto_put_event(perfetto_log(s), s->event->time);
	}
}

/* -- Slices --------------------------------------------------------------------------------------- */

/* Puts which event it was, unless the track and the name show that. */
static void put_ref(struct proto *p, unsigned field, const struct source *s, bool named)
{
	size_t value;

	if (!named) {
		value = perfetto_value(p, field, LABEL_EVENT);
		proto_number(p, VALUE_INTERNED, perfetto_type(s)->text);
		proto_end(p, value);
	}
	if (perfetto.slices.spans->scope == SPAN_ALL && s->event->tid)
		perfetto_put_number(p, field, LABEL_PID, VALUE_UNSIGNED, s->event->pid);
	if (perfetto.slices.spans->scope != SPAN_THREAD && s->event->tid)
		perfetto_put_number(p, field, LABEL_TID, VALUE_UNSIGNED, s->event->tid);
}

static void slice_begins(struct slice_track *t, struct source *s, uint64_t time)
{
	const struct perfetto_log *log = perfetto_log(s);
	uint64_t track = perfetto_slice_track(t);
	bool named = !t->row && !perfetto.slices.spans->span[t->span]->name;
	uint32_t name = perfetto_span(s, t);
	struct proto *p;

	if (!named)
		perfetto_text(s);
	p = perfetto_event(KIND_BEGIN, track);
	proto_number(p, EVENT_NAME, name);
	put_ref(p, EVENT_VALUES, s, named);
	perfetto_put_constant(p, EVENT_VALUES, s->event);
	perfetto_put_data(p, EVENT_VALUES, s, log->cell->layout);
	put_meaning(p, s, log->cell->layout);
	perfetto_put_event(log, time);
}

/*
 * Puts the values of the end as members of one value: the slice also has the values of the begin, perhaps with the same
 * names.
 */
static void slice_ends_with(struct proto *p, const struct source *s)
{
	size_t value = perfetto_value(p, EVENT_VALUES, LABEL_END);

	put_ref(p, VALUE_MEMBERS, s, false);
	perfetto_put_constant(p, VALUE_MEMBERS, s->event);
	perfetto_put_data(p, VALUE_MEMBERS, s, perfetto_log(s)->cell->layout);
	proto_end(p, value);
}

static void slice_is_over(struct slice_track *t, struct source *s, uint64_t time, enum slice_end how)
{
	uint64_t track = perfetto_slice_track(t);
	struct proto *p;

	if (s)
		perfetto_text(s);
	p = perfetto_event(KIND_END, track);
	if (s) {
		slice_ends_with(p, s);
		put_meaning(p, s, perfetto_log(s)->cell->layout);
	} else if (slice_ends[how]) {
		perfetto_put_text(p, EVENT_VALUES, LABEL_INCOMPLETE, slice_ends[how], strlen(slice_ends[how]));
	}
	perfetto_put_event(perfetto_log(t->source), time);
}

/* -- Events --------------------------------------------------------------------------------------- */

static void fill(struct perfetto_cell *cell, const struct export *x, struct source *s, uint64_t segment)
{
	struct task *thread = tasks_thread(&perfetto.tasks, s);
	struct proto *p;
	uint64_t track = perfetto_thread_track(s, thread);
	uint32_t name = perfetto_name(s);

	cell->segment = segment;
	cell->thread = thread;
	cell->layout = layouts_find(s->layouts, s->event->id);
	cell->role = span_role(&x->spans, perfetto_type_name(s), cell->layout);
	perfetto_fields(s, cell->layout);
	p = perfetto_event(KIND_INSTANT, track);
	proto_number(p, EVENT_NAME, name);
	perfetto_put_constant(p, EVENT_VALUES, s->event);
	cell->constant_size = (unsigned)p->size;
	memcpy(cell->constant, p->data, p->size);
}

static struct perfetto_cell *cell_of(const struct export *x, struct source *s)
{
	struct perfetto_log *log = perfetto_log(s);
	unsigned shape = logfile_shape(s->file, s->event);
	uint64_t segment = logfile_segment(s->file);
	struct perfetto_cell *cell = &log->cells[shape];

	if (!cell->thread || cell->segment != segment || shape == SHAPES_MAX)
		fill(cell, x, s, segment);
	log->cell = cell;
	return cell;
}

static void put_instant(const struct source *s, const struct perfetto_cell *cell)
{
	proto_clear(&perfetto.event);
	proto_room(&perfetto.event, sizeof cell->constant);
	memcpy(perfetto.event.data, cell->constant, sizeof cell->constant);
	perfetto.event.size = cell->constant_size;
	perfetto_put_data(&perfetto.event, EVENT_VALUES, s, cell->layout);
	put_meaning(&perfetto.event, s, cell->layout);
	perfetto_put_event(perfetto_log(s), s->event->time);
}

static void event(struct export *x, struct source *s)
{
	struct perfetto_cell *cell = cell_of(x, s);

	history_event(&perfetto.history, s);
	slices_time(&perfetto.slices, s);
	if ((span_role_none(&cell->role) && s->event->id != POSIX_TRACE_START) ||
	    !slices_event(&perfetto.slices, s, cell->thread, &cell->role))
		put_instant(s, cell);
	if (cell->layout && cell->layout->meaning.counter)
		put_counters(s, cell->thread, cell->layout);
}

static void cut(struct export *x, struct source *s)
{
	slices_cut(&perfetto.slices, s, s->event->time, SLICE_STARTED);
}

/* -- Losses --------------------------------------------------------------------------------------- */

static void put_loss(const struct source *s, enum kind kind, uint64_t time, uint64_t unwritten)
{
	char text[64] = "events lost";
	struct proto *p = perfetto_event(kind, perfetto_lost_track(s));

	if (unwritten)
		snprintf(text, sizeof text, "%" PRIu64 " events could not be written", unwritten);
	if (kind != KIND_END)
		proto_text(p, EVENT_TEXT, text, strlen(text));
	perfetto_put_event(perfetto_log(s), time);
}

static void lost(struct export *x, struct source *s, struct loss loss)
{
	struct perfetto_log *log = perfetto_log(s);

	if (!loss.resumed)
		slices_cut(&perfetto.slices, s, loss.from, SLICE_LOST);
	perfetto_lost_track(s);
	if (!loss.until) {
		put_loss(s, KIND_INSTANT, loss.from, loss.unwritten);
		return;
	}
	/* Losses on the track must not overlap, even if events are late. */
	if (loss.from < log->lost)
		loss.from = log->lost;
	if (loss.until < loss.from)
		loss.until = loss.from;
	log->lost = loss.until;
	put_loss(s, KIND_BEGIN, loss.from, 0);
	put_loss(s, KIND_END, loss.until, 0);
}

/* -- The beginning ---------------------------------------------------------------------------------- */

static void put_clock(struct proto *p, unsigned id, uint64_t time)
{
	size_t clock = proto_begin(p, CLOCKS_CLOCK);

	proto_number(p, CLOCK_ID, id);
	proto_number(p, CLOCK_TIME, time);
	proto_end(p, clock);
}

/*
 * Returns the time of the log's creation on the clock of the scheduler's events, for which Perfetto takes
 * CLOCK_BOOTTIME. The log does not tell it; the difference to CLOCK_MONOTONIC is how long the machine was suspended.
 */
static uint64_t boot_time(const struct source *s)
{
	return s->file->in.header.monotonic ? s->file->in.header.monotonic : logfile_created(s->file);
}

/*
 * Writes the same moment on all clocks, for the first log. The offset may differ in other logs, but all times are of
 * one clock.
 */
static void put_clocks(const struct source *s)
{
	size_t clocks;

	proto_clear(&perfetto.packet);
	clocks = proto_begin(&perfetto.packet, PACKET_CLOCKS);
	put_clock(&perfetto.packet, REALTIME, logfile_created(s->file));
	if (s->file->in.header.monotonic)
		put_clock(&perfetto.packet, MONOTONIC, s->file->in.header.monotonic);
	put_clock(&perfetto.packet, BOOTTIME, boot_time(s));
	proto_number(&perfetto.packet, CLOCKS_PRIMARY, REALTIME);
	proto_end(&perfetto.packet, clocks);
	perfetto_put_packet();
}

static void put_uuid(void)
{
	uint64_t high = 0, low = 0;
	size_t uuid;

	for (unsigned i = 0; i < perfetto.logs->count; i++) {
		high = lookup_mix(high, perfetto.logs->source[i].file->in.log);
		low = lookup_mix(low, logfile_created(perfetto.logs->source[i].file));
	}
	proto_clear(&perfetto.packet);
	uuid = proto_begin(&perfetto.packet, PACKET_UUID);
	proto_number(&perfetto.packet, UUID_HIGH, high);
	proto_number(&perfetto.packet, UUID_LOW, low);
	proto_end(&perfetto.packet, uuid);
	perfetto_put_packet();
}

static void put_machine(const struct log_header *h)
{
	size_t system, name;

	proto_clear(&perfetto.packet);
	system = proto_begin(&perfetto.packet, PACKET_SYSTEM);
	name = proto_begin(&perfetto.packet, SYSTEM_NAME);
	proto_text(&perfetto.packet, NAME_SYSTEM, "Linux", strlen("Linux"));
	proto_text(&perfetto.packet, NAME_RELEASE, h->kernel, strlen(h->kernel));
	proto_text(&perfetto.packet, NAME_MACHINE, h->machine, strlen(h->machine));
	proto_end(&perfetto.packet, name);
	proto_end(&perfetto.packet, system);
	perfetto_put_packet();
}

/* Writes the first packet of a log's sequence. */
static void put_first(struct perfetto_log *log)
{
	struct proto *p = &perfetto.packet;
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
		perfetto_entry(p, INTERNED_LABEL, ++log->fields, labels[i], strlen(labels[i]));
	proto_end(p, inner);
	perfetto_put_packet();
}

static void begin(struct export *x)
{
	const struct source *first = &x->logs.source[0];

	perfetto.logs = &x->logs;
	tasks_begin(&perfetto.tasks, &x->logs);
	history_begin(&perfetto.history, &x->logs, &perfetto.tasks);
	perfetto.slices = (struct slices){ .spans = &x->spans, .tasks = &perfetto.tasks, .nested = x->nested,
	                                   .begin = slice_begins, .end = slice_is_over };
	slices_begin(&perfetto.slices, &x->logs);
	perfetto.machine_reported = calloc(x->logs.count, sizeof *perfetto.machine_reported);
	if (!perfetto.machine_reported)
		fail("no memory");
	put_uuid();
	put_clocks(first);
	put_machine(&first->file->in.header);
	for (unsigned i = 0; i < x->logs.count; i++) {
		struct perfetto_log *log = calloc(1, sizeof *log);

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
	const struct source *first = &x->logs.source[0];

	slices_finish(&perfetto.slices, &x->logs);
	ftrace_put(&perfetto.history, perfetto.tasks.machine[0], logfile_created(first->file) - boot_time(first));
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
