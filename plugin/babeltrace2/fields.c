/*
 * fields.c - sets the values of an event's fields
 *
 * SPDX-License-Identifier: MIT
 */
#include "fields.h"

#include <string.h>

#include "classes.h"

/*
 * The thread name of events that no thread has recorded. It is not empty, because babeltrace2 2.0 shows the text of an
 * earlier event where a text is empty.
 */
#define NO_THREAD "recording"

static bt_field *member(bt_field *structure, unsigned index)
{
	return bt_field_structure_borrow_member_field_by_index(structure, index);
}

static bool set_text(bt_field *field, const char *text, size_t length)
{
	/* babeltrace2 reuses the memory of events, with the previous contents. */
	bt_field_string_clear(field);
	return bt_field_string_append_with_length(field, text, length) == BT_FIELD_STRING_APPEND_STATUS_OK;
}

static bool set_bytes(bt_field *field, const unsigned char *data, size_t length)
{
	if (bt_field_array_dynamic_set_length(field, length) != BT_FIELD_DYNAMIC_ARRAY_SET_LENGTH_STATUS_OK)
		return false;
	for (size_t i = 0; i < length; i++)
		bt_field_integer_unsigned_set_value(bt_field_array_borrow_element_field_by_index(field, i), data[i]);
	return true;
}

/* Sets the value of item `item` of field `index`, which the event has. */
static void set_item(bt_field *field, const struct posixtrace_log_event *e, const struct posixtrace_log_field *f,
                     unsigned index, size_t item)
{
	uint64_t number = 0;
	int64_t integer = 0;
	double real = 0;

	if (f->kind == POSIXTRACE_LOG_SIGNED) {
		posixtrace_log_get_signed(e, index, item, &integer);
		bt_field_integer_signed_set_value(field, integer);
	} else if (f->kind == POSIXTRACE_LOG_FLOAT) {
		posixtrace_log_get_double(e, index, item, &real);
		if (f->size == 8)
			bt_field_real_double_precision_set_value(field, real);
		else
			bt_field_real_single_precision_set_value(field, (float)real);
	} else {
		posixtrace_log_get_unsigned(e, index, item, &number);
		if (f->kind == POSIXTRACE_LOG_BOOL)
			bt_field_bool_set_value(field, number != 0);
		else
			bt_field_integer_unsigned_set_value(field, number);
	}
}

static bool set_items(bt_field *field, const struct posixtrace_log_event *e, const struct posixtrace_log_field *f,
                      unsigned index)
{
	size_t count = 0;

	posixtrace_log_get_count(e, index, &count);
	if (!f->count &&
	    bt_field_array_dynamic_set_length(field, count) != BT_FIELD_DYNAMIC_ARRAY_SET_LENGTH_STATUS_OK)
		return false;
	for (size_t i = 0; i < count; i++)
		set_item(bt_field_array_borrow_element_field_by_index(field, i), e, f, index, i);
	return true;
}

static bool set_declared(bt_field *field, const struct posixtrace_log_event *e, unsigned index)
{
	const struct posixtrace_log_field *f = posixtrace_log_field_at(e->type, index);
	const unsigned char *bytes = NULL;
	const char *text = NULL;
	size_t length = 0;

	if (f->kind == POSIXTRACE_LOG_TEXT) {
		posixtrace_log_get_text(e, index, &text, &length);
		return set_text(field, text, length);
	}
	if (f->kind == POSIXTRACE_LOG_BYTES) {
		posixtrace_log_get_bytes(e, index, &bytes, &length);
		return set_bytes(field, bytes, length);
	}
	if (f->array)
		return set_items(field, e, f, index);
	set_item(field, e, f, index, 0);
	return true;
}

bool fields_set_common(bt_field *context, const struct posixtrace_log_event *e)
{
	const char *thread = e && (e->tid || e->thread_name[0]) ? e->thread_name : NO_THREAD;

	bt_field_integer_unsigned_set_value(member(context, COMMON_VPID), e ? e->pid : 0);
	bt_field_integer_unsigned_set_value(member(context, COMMON_VTID), e ? e->tid : 0);
	bt_field_integer_unsigned_set_value(member(context, COMMON_IP), e ? e->address : 0);
	bt_field_integer_unsigned_set_value(member(context, COMMON_TRUNCATED), e ? e->truncated : 0);
	return set_text(member(context, COMMON_PROCNAME), thread, strlen(thread));
}

bool fields_set_text(bt_field *payload, const char *text, size_t length)
{
	return set_text(member(payload, 0), text, length);
}

static bool set_all_declared(bt_field *payload, const struct posixtrace_log_event *e)
{
	for (unsigned i = 0; i < e->type->fields; i++)
		if (!set_declared(member(payload, i), e, i))
			return false;
	return true;
}

bool fields_set_payload(bt_field *payload, const struct posixtrace_log_event *e, uint32_t form)
{
	const unsigned char *rest = NULL;
	size_t length = e->length;

	switch (form) {
	case POSIXTRACE_LOG_FORM_FIELDS:
		return set_all_declared(payload, e);
	case POSIXTRACE_LOG_FORM_MORE:
		posixtrace_log_get_rest(e, &rest, &length);
		return set_all_declared(payload, e) && set_bytes(member(payload, e->type->fields), rest, length);
	case POSIXTRACE_LOG_FORM_TEXT:
		return fields_set_text(payload, (const char *)e->data, length - !e->data[length - 1]);
	case POSIXTRACE_LOG_FORM_BYTES:
		return set_bytes(member(payload, 0), e->data, length);
	default:
		return true;
	}
}
