/*
 * layouts.h - what the data of all the event types of a log, or of a stream, is
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LAYOUTS_H
#define LAYOUTS_H

#include "model/data_layout.h"
#include "log/input.h"

struct layouts;

/* Returns null if there is no memory. */
struct layouts *layouts_new(void);
/* Returns the layouts of a log's event types, or null if there is no memory. */
struct layouts *layouts_of(struct input *in);
void layouts_free(struct layouts *l);
/* Adds an event type. Types come by ascending id; a known type is ignored. Returns false if there is no memory. */
bool layouts_add(struct layouts *l, uint32_t id, const char *name);
/*
 * Adds the layout that was declared beside the name of an event type; for each type the first one counts. Returns false
 * if there is no memory.
 */
bool layouts_declare(struct layouts *l, uint32_t id, const char *text);
/* Returns the layout as it was declared, in the name or beside it, or "" if there is none. */
const char *layouts_text(const struct layouts *l, uint32_t id);
/*
 * Returns the layout, or null if no type of that name has declared any. Fast. The result is valid until something is
 * added.
 */
const struct layout *layouts_find(const struct layouts *l, uint32_t id);
/*
 * Returns a sentence on what is wrong in the layout that the type's name was meant to declare, or null. layouts_find()
 * does not return its fields. If no layout is right, the braces are part of the name.
 */
const char *layouts_wrong(const struct layouts *l, uint32_t id);
/* Returns the name without the layout, or null if there is no such type. */
const char *layouts_name(const struct layouts *l, uint32_t id);

#endif
