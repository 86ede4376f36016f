/*
 * iterator.c - a log's events, as messages
 *
 * SPDX-License-Identifier: MIT
 */
#include "iterator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>

#include "classes.h"
#include "fields.h"
#include "identity.h"
#include "source.h"

/* Enough for the text of any event of the recording itself. */
#define WORDS 4096

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

/* Two events that are not in the log stand for missing segments. Which of them is the next event. */
enum mark {
	MARK_NONE,
	MARK_RESUME,   /* belongs to the packet after the missing segments */
	MARK_OVERFLOW, /* belongs to the packet before them */
};

struct reader {
	bt_self_message_iterator *self;
	const struct source_log *log;
	struct posixtrace_log *events;
	struct classes classes;
	enum step step;
	const struct posixtrace_log_event *event; /* the next event; null: at the end */
	enum mark mark; /* to be returned before the event */
	uint64_t last;  /* time of the event before; 0: none */
	int error;      /* of the log, at its end */
	uint64_t lost;  /* events missing before the next one, which no message has told yet */
	uint64_t now;   /* time of the previous message */
	bool begun;     /* there has been a packet */
	/* The open packet, or the next one: */
	bt_packet *packet;
	uint64_t number; /* of the last segment that became a packet */
	uint64_t begin, end;
	uint64_t lost_packets, lost_events; /* losses to report before the packet */
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

/* Counts what is missing. The numbers in a log may be any. */
static void note_loss(struct reader *r, const struct posixtrace_log_loss *loss)
{
	/* What a log has overwritten or discarded by its policy is not missing. */
	if (loss->reason != POSIXTRACE_LOG_OVERWRITTEN && loss->reason != POSIXTRACE_LOG_DISCARDED)
		r->lost = loss->count > UINT64_MAX - r->lost ? UINT64_MAX : r->lost + loss->count;
}

/* Returns whether segments are missing before the next event. In a LOOP log the first number may be any. */
static bool is_behind_hole(const struct reader *r)
{
	const struct posixtrace_log_segment *s = r->event->segment;

	return s->missing && s->number != r->number && (r->last || r->log->about->log_policy != POSIX_TRACE_LOOP);
}

/* Returns the type of a mark, or null: a damaged log may have given its number to another type. */
static const struct posixtrace_log_type *mark_type(const struct reader *r, enum mark mark)
{
	const uint32_t id = mark == MARK_OVERFLOW ? POSIX_TRACE_OVERFLOW : POSIX_TRACE_RESUME;
	const struct posixtrace_log_type *t = NULL;

	for (size_t i = 0; (t = posixtrace_log_type_at(r->events, i)) != NULL && t->id != id; i++)
		;
	return t;
}

static void read_event(struct reader *r)
{
	if (r->event)
		r->last = r->event->time;
	r->mark = MARK_NONE;
	while ((r->error = posixtrace_log_next(r->events, &r->event)) == 0 && r->event && r->event->loss)
		note_loss(r, r->event->loss);
	if (r->event && is_behind_hole(r) && mark_type(r, MARK_OVERFLOW) && mark_type(r, MARK_RESUME))
		r->mark = MARK_OVERFLOW;
}

/* -- What there is --------------------------------------------------------------------------------------- */

static uint64_t created(const struct reader *r)
{
	return r->log->about->created;
}

static uint64_t time_of(const struct reader *r)
{
	if (r->mark == MARK_OVERFLOW)
		return r->last ? r->last : created(r);
	return r->mark == MARK_RESUME ? r->event->segment->begin : r->event->time;
}

static bool in_packet(const struct reader *r)
{
	return r->event && (r->mark == MARK_OVERFLOW || r->event->segment->number == r->number);
}

static void begin_reading(struct reader *r)
{
	bt_packet_put_ref(r->packet);
	r->packet = NULL;
	r->step = STEP_STREAM;
	r->begun = false;
	r->event = NULL;
	r->now = r->number = r->last = r->lost = 0;
}

/* Plans a packet for something that is in no segment. The packet begins and ends at this time. */
static void plan_moment(struct reader *r, uint64_t time)
{
	r->begin = r->end = time;
	r->lost_packets = r->lost_events = 0;
}

static void plan_segment(struct reader *r)
{
	const struct posixtrace_log_segment *s = r->event->segment;

	r->begin = later(r->now, bounded(s->begin));
	r->end = later(r->begin, bounded(s->end));
	r->lost_packets = r->mark ? s->missing : 0;
	r->lost_events = r->lost;
	r->lost = 0;
	r->number = s->number;
}

static enum step plan(struct reader *r)
{
	if (r->event) {
		if (r->mark == MARK_OVERFLOW)
			plan_moment(r, later(r->now, bounded(time_of(r))));
		else if (!r->begun && r->lost)
			/* Losses come between two packets, so a loss before the first one has no place in CTF. */
			plan_moment(r, sooner(bounded(created(r)), bounded(r->event->segment->begin)));
		else
			plan_segment(r);
		r->begun = true;
		return STEP_LOST_PACKETS;
	}
	if (!r->lost)
		return STEP_STREAM_END;
	/* After the last segment, or without any. */
	plan_moment(r, r->begun ? r->now : bounded(created(r)));
	if (!r->begun) {
		r->begun = true;
		return STEP_PACKET;
	}
	r->lost_events = r->lost;
	r->lost = 0;
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

/* The next event: its type, and the form of its data or, for an event of the recording itself, its text. */
struct content {
	const struct posixtrace_log_event *event; /* null: of a mark */
	const struct posixtrace_log_type *type;
	uint32_t form;
	const char *text; /* null: the data count */
};

static struct content content_of(const struct reader *r, char words[WORDS])
{
	struct content c = { .event = r->event, .type = r->event->type };

	if (r->mark)
		return (struct content){ .type = mark_type(r, r->mark) };
	if (c.type->system && posixtrace_log_get_system_text(c.event, words, WORDS) == 0) {
		c.text = words;
		c.form = *words ? POSIXTRACE_LOG_FORM_TEXT : POSIXTRACE_LOG_FORM_NONE;
	} else {
		posixtrace_log_get_form(c.event, &c.form);
	}
	return c;
}

static bool set_fields(bt_event *event, const struct content *c, uint64_t late)
{
	bt_field *payload = bt_event_borrow_payload_field(event);

	if (late)
		bt_field_integer_unsigned_set_value(
			bt_field_structure_borrow_member_field_by_index(bt_event_borrow_specific_context_field(event),
			                                                0), late);
	return fields_set_common(bt_event_borrow_common_context_field(event), c->event) &&
	       (c->form == POSIXTRACE_LOG_FORM_NONE ||
	        (c->text ? fields_set_text(payload, c->text, strlen(c->text)) :
	                   fields_set_payload(payload, c->event, c->form)));
}

static bt_message *event(struct reader *r)
{
	uint64_t time = bounded(time_of(r)), late;
	char words[WORDS];
	struct content c = content_of(r, words);
	bt_event_class *class;
	bt_message *m;

	r->now = later(r->now, time < r->end ? time : r->end);
	late = r->now > time ? r->now - time : 0;
	class = classes_event(&r->classes, c.type, c.form, late > 0);
	if (!class)
		return NULL;
	m = bt_message_event_create_with_packet_and_default_clock_snapshot(r->self, class, r->packet, r->now);
	if (m && !set_fields(bt_message_event_borrow_event(m), &c, late)) {
		bt_message_put_ref(m);
		m = NULL;
	}
	if (m && r->mark)
		r->mark--;
	else if (m)
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
	if (r->error == 0)
		return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_END;
	if (r->error == ENOMEM)
		return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_MEMORY_ERROR;
	BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_MESSAGE_ITERATOR(r->self, "%s: %s", r->log->path,
	                                                           strerror(r->error));
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
	error = identity_reader(r->log->fd, r->log->path, &r->events);
	if (error) {
		if (error != ENOMEM)
			BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_MESSAGE_ITERATOR(self, "%s", posixtrace_log_error());
		free(r);
		return error == ENOMEM ? BT_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR
		                       : BT_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	}
	r->classes.stream_class = bt_stream_borrow_class(r->log->stream);
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
	posixtrace_log_close(r->events);
	free(r->classes.type);
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

	posixtrace_log_rewind(r->events);
	begin_reading(r);
	return BT_MESSAGE_ITERATOR_CLASS_SEEK_BEGINNING_METHOD_STATUS_OK;
}
