/*
 * fields.h - fields of an event that are given as texts: NAME:TYPE=VALUE
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SCRIPT_FIELDS_H
#define SCRIPT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trace.h>

#include "model/data_layout.h"

#define FIELDS_DATA_MAX 65535

struct fields {
	char layout[LAYOUT_TEXT_SIZE]; /* "{...;name:type,...", without the closing brace; "": no field yet */
	unsigned char data[FIELDS_DATA_MAX];
	size_t length;
	char misfit[256]; /* the first value that is not one of its type; "": none */
};

/* Adds bytes to the data. Ends the program if there are too many. */
void fields_add_bytes(struct fields *f, const void *bytes, size_t size);
/*
 * Adds a number of 1, 2, 4 or 8 bytes. Values are data of the script, not mistakes in it: if the text is no number of
 * this kind, or it does not fit, the nearest one or 0 is added, and noted. option: for the message.
 */
void fields_add_number(struct fields *f, enum layout_kind kind, unsigned size, const char *option, const char *text);
/* Prints which value could not be recorded, if any. For scripts that are traced: others get no message. */
void fields_say_misfit(const struct fields *f);
/*
 * Adds a field: "id:u32=7", "time:u64/ms=12", "state:u8<idle,busy>=busy", "item=tea". Ends the program if it is none. A
 * value that does not fit is treated as by fields_add_number().
 */
void fields_add(struct fields *f, const char *text);
/* Sets the attributes of the layout, before a field is added. Ends the program if they are too long. */
void fields_attributes(struct fields *f, const char *attributes);
/*
 * Opens the event type with the layout of the fields; without fields, a layout may be behind the name. Ends the program
 * if that is wrong. Returns the id, POSIX_TRACE_UNNAMED_USEREVENT if there are too many types.
 */
trace_event_id_t fields_open(struct fields *f, const char *name);

#endif
