/*
 * fields.c - sets the values of an event's fields
 *
 * SPDX-License-Identifier: MIT
 */
#include "fields.h"

#include <string.h>

#include "classes.h"
#include "event/names.h"

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

static void set_item(bt_field *field, const struct layout_field *f, const unsigned char *p)
{
	if (f->kind == LAYOUT_SIGNED)
		bt_field_integer_signed_set_value(field, layout_signed(p, f->size));
	else if (f->kind == LAYOUT_BOOL)
		bt_field_bool_set_value(field, *p != 0);
	else if (f->kind != LAYOUT_FLOAT)
		bt_field_integer_unsigned_set_value(field, layout_unsigned(p, f->size));
	else if (f->size == 8)
		bt_field_real_double_precision_set_value(field, layout_real(p, f->size));
	else
		bt_field_real_single_precision_set_value(field, (float)layout_real(p, f->size));
}

static bool set_items(bt_field *field, const struct layout_field *f, const unsigned char *p, size_t count)
{
	if (f->counter &&
	    bt_field_array_dynamic_set_length(field, count) != BT_FIELD_DYNAMIC_ARRAY_SET_LENGTH_STATUS_OK)
		return false;
	for (size_t i = 0; i < count; i++)
		set_item(bt_field_array_borrow_element_field_by_index(field, i), f, p + i * f->size);
	return true;
}

static bool set_declared(bt_field *field, const struct layout_field *f, const unsigned char *p, size_t size)
{
	if (layout_is_text_field(f))
		return set_text(field, (const char *)p, layout_text(f, p, size));
	if (f->kind == LAYOUT_BYTES)
		return set_bytes(field, p, size);
	if (layout_is_array(f))
		return set_items(field, f, p, size / f->size);
	set_item(field, f, p);
	return true;
}

bool fields_set_common(bt_field *context, const struct log_event *e)
{
	const char *thread = e->tid == 0 && !e->name[0] ? NAMES_NO_THREAD : e->name;

	bt_field_integer_unsigned_set_value(member(context, COMMON_VPID), e->pid);
	bt_field_integer_unsigned_set_value(member(context, COMMON_VTID), e->tid);
	bt_field_integer_unsigned_set_value(member(context, COMMON_IP), e->address);
	bt_field_integer_unsigned_set_value(member(context, COMMON_TRUNCATED), e->truncated);
	return set_text(member(context, COMMON_PROCNAME), thread, strnlen(thread, sizeof e->name));
}

static bool set_all_declared(bt_field *payload, const struct layout *l, const struct layout_places *places,
                             const unsigned char *data)
{
	for (unsigned i = 0; i < l->count; i++)
		if (!set_declared(member(payload, i), &l->field[i], data + places->of[i].at, places->of[i].size))
			return false;
	return true;
}

bool fields_set_payload(bt_field *payload, const struct layout *l, enum layout_form form,
                        const struct layout_places *places, const unsigned char *data, size_t length)
{
	switch (form) {
	case FORM_FIELDS:
		return set_all_declared(payload, l, places, data);
	case FORM_MORE:
		return set_all_declared(payload, l, places, data) &&
		       set_bytes(member(payload, l->count), data + places->rest, length - places->rest);
	case FORM_TEXT:
		return set_text(member(payload, 0), (const char *)data, layout_text_length(data, length));
	case FORM_BYTES:
		return set_bytes(member(payload, 0), data, length);
	default:
		return true;
	}
}
