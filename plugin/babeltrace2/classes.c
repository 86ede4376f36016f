/*
 * classes.c - what kinds of events a log has, in the words of babeltrace2
 *
 * A function that makes something returns null for want of memory, and puts what it was given for it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "classes.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough for any name, with all bytes shown as four. */
#define SHOWN 1024

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
static bt_field_class *enumeration(bt_trace_class *tc, const struct posixtrace_log_type *t, unsigned index)
{
	const struct posixtrace_log_field *f = posixtrace_log_field_at(t, index);
	bool is_signed = f->kind == POSIXTRACE_LOG_SIGNED;
	bt_field_class *fc = is_signed ? bt_field_class_enumeration_signed_create(tc)
	                               : bt_field_class_enumeration_unsigned_create(tc);

	if (fc)
		bt_field_class_integer_set_field_value_range(fc, 8u * f->size);
	for (unsigned i = 0; fc && i < f->labels; i++) {
		int64_t value;
		const char *label = posixtrace_log_label_at(t, index, i, &value);

		fc = add_label(fc, is_signed, label, value);
	}
	return fc;
}

/* Returns the field class of one item of a field. */
static bt_field_class *item(bt_trace_class *tc, const struct posixtrace_log_type *t, unsigned index)
{
	const struct posixtrace_log_field *f = posixtrace_log_field_at(t, index);

	if (f->kind == POSIXTRACE_LOG_FLOAT)
		return f->size == 8 ? bt_field_class_real_double_precision_create(tc)
		                    : bt_field_class_real_single_precision_create(tc);
	if (f->kind == POSIXTRACE_LOG_BOOL)
		return bt_field_class_bool_create(tc);
	if (f->labels && !f->bits)
		return enumeration(tc, t, index);
	return integer(tc, f->kind == POSIXTRACE_LOG_SIGNED, 8u * f->size,
	               f->kind == POSIXTRACE_LOG_HEX || f->kind == POSIXTRACE_LOG_CODE);
}

/* Returns the field class of an array, which has as many elements as each event says if count is 0. */
static bt_field_class *array(bt_trace_class *tc, bt_field_class *element, uint32_t count)
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

static bt_field_class *declared(bt_trace_class *tc, const struct posixtrace_log_type *t, unsigned index)
{
	const struct posixtrace_log_field *f = posixtrace_log_field_at(t, index);

	if (f->kind == POSIXTRACE_LOG_TEXT)
		return bt_field_class_string_create(tc);
	if (f->kind == POSIXTRACE_LOG_BYTES)
		return bytes(tc);
	return f->array ? array(tc, item(tc, t, index), f->count) : item(tc, t, index);
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

/* Returns whether a character may be in an identifier. isalnum() would depend on the locale. */
static bool allowed(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/*
 * Appends a member named as an identifier of C: invalid characters become _, and a name in use gets a number. Of the
 * name, 32 bytes count.
 */
static bool append_named(bt_field_class *structure, const char *name, bt_field_class *member)
{
	unsigned number = (unsigned)bt_field_class_structure_get_member_count(structure) + 1;
	char identifier[48], *end = identifier;

	for (; *name && end < identifier + 32; name++)
		*end++ = allowed(*name) ? *name : '_';
	*end = '\0';
	while (bt_field_class_structure_borrow_member_by_name_const(structure, identifier))
		sprintf(end, "_%u", number++);
	return append(structure, identifier, member);
}

static bool append_declared(bt_trace_class *tc, bt_field_class *structure, const struct posixtrace_log_type *t,
                            uint32_t form)
{
	for (unsigned i = 0; i < t->fields; i++)
		if (!append_named(structure, posixtrace_log_field_at(t, i)->name, declared(tc, t, i)))
			return false;
	return form == POSIXTRACE_LOG_FORM_FIELDS || append_named(structure, "more", bytes(tc));
}

static bt_field_class *payload(bt_trace_class *tc, const struct posixtrace_log_type *t, uint32_t form)
{
	bt_field_class *fc = bt_field_class_structure_create(tc);
	bool done = fc != NULL;

	if (!done)
		return NULL;
	if (form == POSIXTRACE_LOG_FORM_FIELDS || form == POSIXTRACE_LOG_FORM_MORE)
		done = append_declared(tc, fc, t, form);
	else if (form == POSIXTRACE_LOG_FORM_TEXT)
		done = append(fc, "text", bt_field_class_string_create(tc));
	else
		done = append(fc, "data", bytes(tc));
	if (done)
		return fc;
	bt_field_class_put_ref(fc);
	return NULL;
}

/* -- Events ------------------------------------------------------------------------------------------ */

static bool set_name(bt_event_class *event, const char *name)
{
	char shown[SHOWN];

	posixtrace_log_show(name, SIZE_MAX, shown, sizeof shown);
	return bt_event_class_set_name(event, shown) == BT_EVENT_CLASS_SET_NAME_STATUS_OK;
}

static void set_level(bt_event_class *event, uint32_t level)
{
	static const bt_event_class_log_level levels[] = {
		[POSIXTRACE_LOG_EMERGENCY] = BT_EVENT_CLASS_LOG_LEVEL_EMERGENCY,
		[POSIXTRACE_LOG_ALERT] = BT_EVENT_CLASS_LOG_LEVEL_ALERT,
		[POSIXTRACE_LOG_CRITICAL] = BT_EVENT_CLASS_LOG_LEVEL_CRITICAL,
		[POSIXTRACE_LOG_ERROR] = BT_EVENT_CLASS_LOG_LEVEL_ERROR,
		[POSIXTRACE_LOG_WARNING] = BT_EVENT_CLASS_LOG_LEVEL_WARNING,
		[POSIXTRACE_LOG_NOTICE] = BT_EVENT_CLASS_LOG_LEVEL_NOTICE,
		[POSIXTRACE_LOG_INFO] = BT_EVENT_CLASS_LOG_LEVEL_INFO,
		[POSIXTRACE_LOG_DEBUG] = BT_EVENT_CLASS_LOG_LEVEL_DEBUG,
	};

	if (level)
		bt_event_class_set_log_level(event, levels[level]);
}

static bool set_fields(bt_trace_class *tc, bt_event_class *event, const struct posixtrace_log_type *t, uint32_t form,
                       bool late)
{
	bt_field_class *context = late ? lateness(tc) : NULL;
	bt_field_class *data = form == POSIXTRACE_LOG_FORM_NONE ? NULL : payload(tc, t, form);
	bool done = (context || !late) && (data || form == POSIXTRACE_LOG_FORM_NONE);

	if (done && context)
		done = bt_event_class_set_specific_context_field_class(event, context) ==
		       BT_EVENT_CLASS_SET_FIELD_CLASS_STATUS_OK;
	if (done && data)
		done = bt_event_class_set_payload_field_class(event, data) == BT_EVENT_CLASS_SET_FIELD_CLASS_STATUS_OK;
	bt_field_class_put_ref(context);
	bt_field_class_put_ref(data);
	return done;
}

/* Makes room for a type, which may have been found while the log was read. Returns false if there is no memory. */
static bool make_room(struct classes *c, size_t types)
{
	struct class_forms *more = types > c->types ? realloc(c->type, types * sizeof *more) : c->type;

	if (types <= c->types)
		return true;
	if (!more)
		return false;
	memset(more + c->types, 0, (types - c->types) * sizeof *more);
	c->type = more;
	c->types = types;
	return true;
}

bt_event_class *classes_event(struct classes *c, const struct posixtrace_log_type *t, uint32_t form, bool late)
{
	bt_event_class **known, *event;

	if (t->index >= c->types && !make_room(c, t->index + 1))
		return NULL;
	known = &c->type[t->index].event[form][late];
	if (*known)
		return *known;
	event = bt_event_class_create(c->stream_class);
	if (event && set_name(event, t->name) &&
	    set_fields(bt_stream_class_borrow_trace_class(c->stream_class), event, t, form, late)) {
		set_level(event, posixtrace_log_meaning_of(t)->level);
		*known = event;
	}
	/* The stream class holds a reference. */
	bt_event_class_put_ref(event);
	return *known;
}

/* -- A whole log -------------------------------------------------------------------------------------- */

bt_stream_class *classes_stream(bt_trace_class *tc, bt_clock_class *clock_class)
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
