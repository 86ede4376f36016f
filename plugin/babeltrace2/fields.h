/*
 * fields.h - the values of an event's fields
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FIELDS_H
#define FIELDS_H

#include <babeltrace2/babeltrace.h>
#include <stdbool.h>

#include "model/data_layout.h"
#include "log/format.h"

/* Both functions return false if there is no memory. */

/* Sets the common context, whose members are those of enum common. */
bool fields_set_common(bt_field *context, const struct log_event *e);
/* Sets the payload, whose class was made for this layout and form; places are those of layout_form(). */
bool fields_set_payload(bt_field *payload, const struct layout *l, enum layout_form form,
                        const struct layout_places *places, const unsigned char *data, size_t length);

#endif
