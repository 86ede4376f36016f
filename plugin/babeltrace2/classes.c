/*
 * classes.c - what kinds of events a log has, in the words of babeltrace2
 *
 * A function that makes something returns null for want of memory, and puts what it was given for it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "classes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/names.h"

/* -- Fields ---------------------------------------------------------------------------------------- */

static bt_field_class *integer(bt_trace_class *tc, bool is_signed, unsigned bits, bool hex)
{
	bt_field_class *fc =
		is_signed ? bt_field_class_integer_signed_create(tc) : bt_field_class_integer_unsigned_create(tc);

	if (!fc)
		return NULL;
	bt_field_class_integer_set_field_value_range(fc, bits);
	if (hex)
		bt_field_class_integer_set_preferred_display_base(
			fc, BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL);
	return fc;
}

/* Returns the field class of an integer that has this name for a value, or null. Puts the class if it fails. */
static bt_field_class *add_label(bt_field_class *fc, bool is_signed, const char *label, int64_t value)
{
	bt_integer_range_set_signed *is = is_signed ? bt_integer_range_set_signed_create() : NULL;
	bt_integer_range_set_unsigned *us = is_signed ? NULL : bt_integer_range_set_unsigned_create();
	bool done;

	if (is_signed)
		done = is && bt_integer_range_set_signed_add_range(is, value, value) ==
		                     BT_INTEGER_RANGE_SET_ADD_RANGE_STATUS_OK &&
		       bt_field_class_enumeration_signed_add_mapping(fc, label, is) ==
		               BT_FIELD_CLASS_ENUMERATION_ADD_MAPPING_STATUS_OK;
	else
		done = us && bt_integer_range_set_unsigned_add_range(us, (uint64_t)value, (uint64_t)value) ==
		                     BT_INTEGER_RANGE_SET_ADD_RANGE_STATUS_OK &&
		       bt_field_class_enumeration_unsigned_add_mapping(fc, label, us) ==
		               BT_FIELD_CLASS_ENUMERATION_ADD_MAPPING_STATUS_OK;
	bt_integer_range_set_signed_put_ref(is);
	bt_integer_range_set_unsigned_put_ref(us);
	if (done)
		return fc;
	bt_field_class_put_ref(fc);
	return NULL;
}

/* Returns the field class of an integer whose values have names. */
static bt_field_class *enumeration(bt_trace_class *tc, const struct layout *l, const struct layout_field *f)
{
	bool is_signed = f->kind == LAYOUT_SIGNED;
	bt_field_class *fc = is_signed ? bt_field_class_enumeration_signed_create(tc)
	                               : bt_field_class_enumeration_unsigned_create(tc);

	if (fc)
		bt_field_class_integer_set_field_value_range(fc, 8u * f->size);
	for (unsigned i = f->first_label; fc && i < f->first_label + f->labels; i++) {
		char label[LAYOUT_LABEL_MAX + 1];

		snprintf(label, sizeof label, "%.*s", (int)l->label[i].length, l->text + l->label[i].at);
		fc = add_label(fc, is_signed, label, l->label[i].value);
	}
	return fc;
}

/* Returns the field class of one item of a field. */
static bt_field_class *item(bt_trace_class *tc, const struct layout *l, const struct layout_field *f)
{
	if (f->kind == LAYOUT_FLOAT)
		return f->size == 8 ? bt_field_class_real_double_precision_create(tc)
		                    : bt_field_class_real_single_precision_create(tc);
	if (f->kind == LAYOUT_BOOL)
		return bt_field_class_bool_create(tc);
	if (f->naming == NAMING_VALUES)
		return enumeration(tc, l, f);
	return integer(tc, f->kind == LAYOUT_SIGNED, 8u * f->size, f->kind == LAYOUT_HEX || f->kind == LAYOUT_CODE);
}

/* Returns the field class of an array, which has as many elements as each event says if count is 0. */
static bt_field_class *array(bt_trace_class *tc, bt_field_class *element, uint16_t count)
{
	bt_field_class *fc = !element ? NULL :
	                     count > 0 ? bt_field_class_array_static_create(tc, element, count) :
	                                 bt_field_class_array_dynamic_create(tc, element, NULL);

	bt_field_class_put_ref(element);
	return fc;
}

/* Returns the field class of bytes with a length of their own in each event. */
static bt_field_class *bytes(bt_trace_class *tc)
{
	return array(tc, integer(tc, false, 8, true), 0);
}

static bt_field_class *declared(bt_trace_class *tc, const struct layout *l, const struct layout_field *f)
{
	if (layout_is_text_field(f))
		return bt_field_class_string_create(tc);
	if (f->kind == LAYOUT_BYTES)
		return bytes(tc);
	return layout_is_array(f) ? array(tc, item(tc, l, f), f->count) : item(tc, l, f);
}

static bool append(bt_field_class *structure, const char *name, bt_field_class *member)
{
	bool done = member && bt_field_class_structure_append_member(structure, name, member) ==
	                              BT_FIELD_CLASS_STRUCTURE_APPEND_MEMBER_STATUS_OK;

	bt_field_class_put_ref(member);
	return done;
}

static bt_field_class *common(bt_trace_class *tc)
{
	bt_field_class *fc = bt_field_class_structure_create(tc);

	/* The order is that of enum common. */
	if (fc && append(fc, "vpid", integer(tc, false, 32, false)) &&
	    append(fc, "vtid", integer(tc, false, 32, false)) &&
	    append(fc, "ip", integer(tc, false, 64, true)) && append(fc, "truncated", integer(tc, false, 8, false)) &&
	    append(fc, "procname", bt_field_class_string_create(tc)))
		return fc;
	bt_field_class_put_ref(fc);
	return NULL;
}

static bt_field_class *lateness(bt_trace_class *tc)
{
	bt_field_class *fc = bt_field_class_structure_create(tc);

	if (fc && append(fc, "late", integer(tc, false, 64, false)))
		return fc;
	bt_field_class_put_ref(fc);
	return NULL;
}

static bool append_declared(bt_trace_class *tc, bt_field_class *structure, const struct layout *l,
                            enum layout_form form)
{
	struct names names = { 0 };

	for (unsigned i = 0; i < l->count; i++)
		if (!append(structure, names_identifier(&names, l->field[i].name), declared(tc, l, &l->field[i])))
			return false;
	return form == FORM_FIELDS || append(structure, names_identifier(&names, "more"), bytes(tc));
}

static bt_field_class *payload(bt_trace_class *tc, const struct layout *l, enum layout_form form)
{
	bt_field_class *fc = bt_field_class_structure_create(tc);
	bool done = fc != NULL;

	if (!done)
		return NULL;
	if (form == FORM_FIELDS || form == FORM_MORE)
		done = append_declared(tc, fc, l, form);
	else if (form == FORM_TEXT)
		done = append(fc, "text", bt_field_class_string_create(tc));
	else
		done = append(fc, "data", bytes(tc));
	if (done)
		return fc;
	bt_field_class_put_ref(fc);
	return NULL;
}

/* -- Events ------------------------------------------------------------------------------------------ */

static bool set_name(bt_event_class *event, const struct layouts *l, uint32_t id)
{
	char shown[NAMES_SHOWN(TRACE_EVENT_NAME_MAX)], unknown[16];
	const char *name = layouts_name(l, id);

	/* Named as the posixtrace command names a type without a name. */
	if (!name) {
		snprintf(unknown, sizeof unknown, "?%u", id);
		name = unknown;
	}
	return bt_event_class_set_name(event,
	                               names_shown(shown, name, strlen(name))) == BT_EVENT_CLASS_SET_NAME_STATUS_OK;
}

static void set_level(bt_event_class *event, const struct layout *l)
{
	static const bt_event_class_log_level levels[LEVELS] = {
		[LEVEL_EMERGENCY] = BT_EVENT_CLASS_LOG_LEVEL_EMERGENCY,
		[LEVEL_ALERT] = BT_EVENT_CLASS_LOG_LEVEL_ALERT,
		[LEVEL_CRITICAL] = BT_EVENT_CLASS_LOG_LEVEL_CRITICAL,
		[LEVEL_ERROR] = BT_EVENT_CLASS_LOG_LEVEL_ERROR,
		[LEVEL_WARNING] = BT_EVENT_CLASS_LOG_LEVEL_WARNING,
		[LEVEL_NOTICE] = BT_EVENT_CLASS_LOG_LEVEL_NOTICE,
		[LEVEL_INFO] = BT_EVENT_CLASS_LOG_LEVEL_INFO,
		[LEVEL_DEBUG] = BT_EVENT_CLASS_LOG_LEVEL_DEBUG,
	};

	if (l && l->meaning.level)
		bt_event_class_set_log_level(event, levels[l->meaning.level]);
}

static bool set_fields(struct classes *c, bt_event_class *event, uint32_t id, enum layout_form form, bool late)
{
	bt_field_class *context = late ? lateness(c->trace_class) : NULL;
	bt_field_class *data = form == FORM_NONE ? NULL : payload(c->trace_class, layouts_find(c->layouts, id), form);
	bool done = (context || !late) && (data || form == FORM_NONE);

	if (done && context)
		done = bt_event_class_set_specific_context_field_class(event, context) ==
		       BT_EVENT_CLASS_SET_FIELD_CLASS_STATUS_OK;
	if (done && data)
		done = bt_event_class_set_payload_field_class(event, data) == BT_EVENT_CLASS_SET_FIELD_CLASS_STATUS_OK;
	bt_field_class_put_ref(context);
	bt_field_class_put_ref(data);
	return done;
}

bt_event_class *classes_event(struct classes *c, uint32_t id, enum layout_form form, bool late)
{
	bt_event_class **known = &c->event[id][form][late], *event;

	if (*known)
		return *known;
	event = bt_event_class_create(c->stream_class);
	if (event && set_name(event, c->layouts, id) && set_fields(c, event, id, form, late)) {
		set_level(event, layouts_find(c->layouts, id));
		*known = event;
	}
	/* The stream class holds a reference. */
	bt_event_class_put_ref(event);
	return *known;
}

/* -- A whole log -------------------------------------------------------------------------------------- */

static bt_stream_class *stream_class(bt_trace_class *tc, bt_clock_class *clock_class)
{
	bt_stream_class *sc = bt_stream_class_create(tc);
	bt_field_class *context = sc ? common(tc) : NULL;
	bool done = context &&
	            bt_stream_class_set_default_clock_class(sc, clock_class) ==
	                    BT_STREAM_CLASS_SET_DEFAULT_CLOCK_CLASS_STATUS_OK &&
	            bt_stream_class_set_event_common_context_field_class(sc, context) ==
	                    BT_STREAM_CLASS_SET_FIELD_CLASS_STATUS_OK;

	bt_field_class_put_ref(context);
	if (!done) {
		bt_stream_class_put_ref(sc);
		return NULL;
	}
	/* Packets have begin and end times. Without packets, sink.ctf.fs does not accept losses. */
	bt_stream_class_set_supports_packets(sc, BT_TRUE, BT_TRUE, BT_TRUE);
	bt_stream_class_set_supports_discarded_events(sc, BT_TRUE, BT_TRUE);
	bt_stream_class_set_supports_discarded_packets(sc, BT_TRUE, BT_TRUE);
	return sc;
}

struct classes *classes_new(bt_trace_class *trace_class, bt_clock_class *clock_class, struct input *in)
{
	struct classes *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->trace_class = trace_class;
	c->layouts = layouts_of(in);
	c->stream_class = c->layouts ? stream_class(trace_class, clock_class) : NULL;
	if (c->stream_class)
		return c;
	classes_free(c);
	return NULL;
}

void classes_free(struct classes *c)
{
	if (!c)
		return;
	bt_stream_class_put_ref(c->stream_class);
	layouts_free(c->layouts);
	free(c);
}
