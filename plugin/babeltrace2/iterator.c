/*
 * iterator.c - a log's events, as messages
 *
 * SPDX-License-Identifier: MIT
 */
#include "iterator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fields.h"
#include "log/input.h"
#include "source.h"
#include "event/system_text.h"

enum step {
	STEP_STREAM,
	STEP_PLAN, /* between two packets; has no message */
	STEP_LOST_PACKETS,
	STEP_LOST_EVENTS,
	STEP_PACKET,
	STEP_EVENT, /* or the end of the packet */
	STEP_STREAM_END,
	STEP_OVER,
};

struct reader {
	bt_self_message_iterator *self;
	struct source_log *log;
	struct input in;
	enum step step;
	const struct log_event *event; /* the next event; null: at the end */
	const unsigned char *data;
	uint64_t now; /* time of the previous message */
	bool begun;   /* there has been a packet */
	/* The open packet, or the next one: */
	bt_packet *packet;
	uint64_t number; /* of the last segment that became a packet */
	uint64_t begin, end;
	uint64_t lost_packets, lost_events; /* losses to report before the packet */
	/* events lost before the oldest segment of a LOOP log; their own reports were overwritten */
	uint64_t lost_early;
	uint64_t lost_reported;
};

/* Limits a time to the last one that babeltrace2 accepts, in the year 2262. */
static uint64_t bounded(uint64_t time)
{
	return time < INT64_MAX ? time : INT64_MAX - 1;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void read_event(struct reader *r)
{
	r->event = input_next(&r->in, &r->data);
	/* The event is in no segment, so in no packet. plan() reports it. */
	if (r->event && input_end_gap(&r->in, r->event))
		r->event = NULL;
}

/* -- What there is --------------------------------------------------------------------------------------- */

/*
 * Returns whether the event is the first of the two that stand for missing segments. It belongs to the packet before
 * them.
 */
static bool before_hole(const struct reader *r)
{
	return r->event == &r->in.gap[1];
}

static bool behind_hole(const struct reader *r)
{
	return r->event == &r->in.gap[0];
}

static bool in_packet(const struct reader *r)
{
	return r->event && (before_hole(r) || r->in.segment.number == r->number);
}

static void begin_reading(struct reader *r)
{
	bt_packet_put_ref(r->packet);
	r->packet = NULL;
	r->step = STEP_STREAM;
	r->begun = false;
	r->now = r->number = 0;
	r->lost_reported = 0;
	r->lost_early = input_lost_early(&r->in);
}

/* Plans a packet for something that is in no segment. The packet begins and ends at this time. */
static void plan_moment(struct reader *r, uint64_t time)
{
	r->begin = r->end = time;
	r->lost_packets = r->lost_events = 0;
}

static void plan_segment(struct reader *r)
{
	const struct frame *f = &r->in.segment;

	r->begin = later(r->now, bounded(f->first));
	r->end = later(r->begin, bounded(r->in.unpack->latest));
	r->lost_packets = behind_hole(r) ? f->number - r->number - 1 : 0;
	r->lost_events = f->lost + r->lost_early;
	r->lost_reported += r->lost_events;
	r->lost_early = 0;
	r->number = f->number;
}

/* Losses are reported between two packets, so a loss before the first packet has no place in CTF. */
static bool lost_at_first(const struct reader *r)
{
	return !r->begun && r->in.segment.lost + r->lost_early > 0;
}

static enum step plan(struct reader *r)
{
	uint64_t created = bounded(attr_created(&r->in.header.attr)), lost;

	if (r->event) {
		if (before_hole(r))
			plan_moment(r, later(r->now, bounded(r->event->time)));
		else if (lost_at_first(r))
			plan_moment(r, sooner(created, bounded(r->in.segment.first)));
		else
			plan_segment(r);
		r->begun = true;
		return STEP_LOST_PACKETS;
	}
	lost = r->in.lost + r->in.unwritten;
	if (lost <= r->lost_reported)
		return STEP_STREAM_END;
	/* After the last segment, or without any. */
	plan_moment(r, r->begun ? r->now : created);
	if (!r->begun) {
		r->begun = true;
		return STEP_PACKET;
	}
	r->lost_events = lost - r->lost_reported;
	r->lost_reported = lost;
	return STEP_LOST_EVENTS;
}

/* -- Messages: null if there is no memory ------------------------------------------------------------------ */

/*
 * Makes the message for lost packets. Its period is that between the previous packet and this one, as sink.ctf.fs
 * requires.
 */
static bt_message *lost_packets(struct reader *r)
{
	bt_message *m =
		bt_message_discarded_packets_create_with_default_clock_snapshots(r->self, r->log->stream, r->now,
		                                                                 r->begin);

	if (m)
		bt_message_discarded_packets_set_count(m, r->lost_packets);
	return m;
}

/* Makes the message for lost events. Its period lasts to the end of this packet. */
static bt_message *lost_events(struct reader *r)
{
	bt_message *m =
		bt_message_discarded_events_create_with_default_clock_snapshots(r->self, r->log->stream, r->now,
		                                                                r->end);

	if (m)
		bt_message_discarded_events_set_count(m, r->lost_events);
	return m;
}

static bt_message *packet(struct reader *r)
{
	r->packet = bt_packet_create(r->log->stream);
	r->now = r->begin;
	return r->packet ? bt_message_packet_beginning_create_with_default_clock_snapshot(r->self, r->packet, r->now) :
	       NULL;
}

static bt_message *packet_end(struct reader *r)
{
	bt_message *m = bt_message_packet_end_create_with_default_clock_snapshot(r->self, r->packet, r->end);

	bt_packet_put_ref(r->packet);
	r->packet = NULL;
	r->now = r->end;
	return m;
}

/* The content of an event's payload: its data or, for a system event, a text. */
struct content {
	const struct layout *layout;
	enum layout_form form;
	struct layout_places places;
	const unsigned char *data;
	size_t length;
};

static struct content content_of(const struct reader *r, char words[SYSTEM_TEXT])
{
	const struct layouts *l = r->log->classes->layouts;
	const struct log_event *e = r->event;
	struct content c = { .layout = layouts_find(l, e->id), .data = r->data, .length = e->length };

	if (eventtype_system(e->id) && e->length > 0 && system_text(words, l, e, r->data)) {
		c.data = (unsigned char *)words;
		c.length = strlen(words);
		c.form = c.length > 0 ? FORM_TEXT : FORM_NONE;
	} else {
		c.form = layout_form(c.layout, r->data, e->length, &c.places);
	}
	return c;
}

static bool set_fields(const struct reader *r, bt_event *event, const struct content *c, uint64_t late)
{
	if (late)
		bt_field_integer_unsigned_set_value(
			bt_field_structure_borrow_member_field_by_index(bt_event_borrow_specific_context_field(event),
			                                                0), late);
	return fields_set_common(bt_event_borrow_common_context_field(event), r->event) &&
	       (c->form == FORM_NONE ||
	        fields_set_payload(bt_event_borrow_payload_field(event), c->layout, c->form, &c->places, c->data,
	                           c->length));
}

static bt_message *event(struct reader *r)
{
	const struct log_event *e = r->event;
	uint64_t time = bounded(e->time), late;
	char words[SYSTEM_TEXT];
	struct content c = content_of(r, words);
	bt_event_class *class;
	bt_message *m;

	r->now = later(r->now, time < r->end ? time : r->end);
	late = r->now > time ? r->now - time : 0;
	class = classes_event(r->log->classes, e->id, c.form, late > 0);
	if (!class)
		return NULL;
	m = bt_message_event_create_with_packet_and_default_clock_snapshot(r->self, class, r->packet, r->now);
	if (m && !set_fields(r, bt_message_event_borrow_event(m), &c, late)) {
		bt_message_put_ref(m);
		m = NULL;
	}
	if (m)
		read_event(r);
	return m;
}

/* -- The sequence of messages -------------------------------------------------------------------------------- */

/* Goes one step further. Returns false if there is no memory. *m is null if the step has no message. */
static bool go(struct reader *r, bt_message **m)
{
	*m = NULL;
	switch (r->step) {
	case STEP_STREAM:
		r->step = STEP_PLAN;
		*m = bt_message_stream_beginning_create(r->self, r->log->stream);
		read_event(r);
		return *m != NULL;
	case STEP_PLAN:
		r->step = plan(r);
		return true;
	case STEP_LOST_PACKETS:
		r->step = STEP_LOST_EVENTS;
		return !r->lost_packets || (*m = lost_packets(r)) != NULL;
	case STEP_LOST_EVENTS:
		r->step = STEP_PACKET;
		return !r->lost_events || (*m = lost_events(r)) != NULL;
	case STEP_PACKET:
		r->step = STEP_EVENT;
		*m = packet(r);
		return *m != NULL;
	case STEP_EVENT:
		if (in_packet(r)) {
			*m = event(r);
		} else {
			r->step = STEP_PLAN;
			*m = packet_end(r);
		}
		return *m != NULL;
	case STEP_STREAM_END:
		r->step = STEP_OVER;
		*m = bt_message_stream_end_create(r->self, r->log->stream);
		return *m != NULL;
	default:
		return true;
	}
}

/* Returns the status at the end of the log: the end may have been a part that could not be read. */
static bt_message_iterator_class_next_method_status end(struct reader *r)
{
	if (r->in.error == 0)
		return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_END;
	if (r->in.error == -ENOMEM)
		return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_MEMORY_ERROR;
	BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_MESSAGE_ITERATOR(r->self, "%s: %s", r->log->path,
	                                                           strerror(-r->in.error));
	return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_ERROR;
}

bt_message_iterator_class_next_method_status iterator_next(bt_self_message_iterator *self,
                                                           bt_message_array_const messages,
                                                           uint64_t capacity, uint64_t *count)
{
	struct reader *r = bt_self_message_iterator_get_data(self);
	uint64_t n = 0;
	bt_message *m;

	while (n < capacity && r->step != STEP_OVER) {
		if (!go(r, &m)) {
			while (n > 0)
				bt_message_put_ref(messages[--n]);
			return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_MEMORY_ERROR;
		}
		if (m)
			messages[n++] = m;
	}
	*count = n;
	return n > 0 ? BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_OK : end(r);
}

/* -- The other methods ----------------------------------------------------------------------------------------- */

bt_message_iterator_class_initialize_method_status
iterator_initialize(bt_self_message_iterator *self, bt_self_message_iterator_configuration *configuration,
                    bt_self_component_port_output *port)
{
	struct reader *r = calloc(1, sizeof *r);
	int error;

	if (!r)
		return BT_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
	r->self = self;
	r->log = bt_self_component_port_get_data(bt_self_component_port_output_as_self_component_port(port));
	error = input_open(&r->in, r->log->fd);
	if (error < 0) {
		if (error != -ENOMEM)
			BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_MESSAGE_ITERATOR(self, "%s: it is no log any more",
			                                                           r->log->path);
		free(r);
		return error == -ENOMEM ? BT_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR
		                        : BT_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	}
	begin_reading(r);
	/* Seeking goes forward from the beginning. Without it nothing can be trimmed. */
	bt_self_message_iterator_configuration_set_can_seek_forward(configuration, BT_TRUE);
	bt_self_message_iterator_set_data(self, r);
	return BT_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

void iterator_finalize(bt_self_message_iterator *self)
{
	struct reader *r = bt_self_message_iterator_get_data(self);

	bt_packet_put_ref(r->packet);
	input_close(&r->in);
	free(r);
}

bt_message_iterator_class_can_seek_beginning_method_status iterator_can_rewind(bt_self_message_iterator *self,
                                                                               bt_bool *can)
{
	(void)self;
	*can = BT_TRUE;
	return BT_MESSAGE_ITERATOR_CLASS_CAN_SEEK_BEGINNING_METHOD_STATUS_OK;
}

bt_message_iterator_class_seek_beginning_method_status iterator_rewind(bt_self_message_iterator *self)
{
	struct reader *r = bt_self_message_iterator_get_data(self);

	input_rewind(&r->in);
	begin_reading(r);
	return BT_MESSAGE_ITERATOR_CLASS_SEEK_BEGINNING_METHOD_STATUS_OK;
}
