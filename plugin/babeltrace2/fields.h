/*
 * fields.h - the values of an event's fields
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FIELDS_H
#define FIELDS_H

#include <babeltrace2/babeltrace.h>
#include <posixtrace/log.h>
#include <stdbool.h>

/* All functions return false if there is no memory. */

/* Sets the common context, whose members are those of enum common. e null: an event that is not in the log. */
bool fields_set_common(bt_field *context, const struct posixtrace_log_event *e);
/* Sets the payload, whose class was made for this form. */
bool fields_set_payload(bt_field *payload, const struct posixtrace_log_event *e, uint32_t form);
/* Sets a payload that is a text and nothing else. */
bool fields_set_text(bt_field *payload, const char *text, size_t length);

#endif
