/*
 * layouts.h - what the data of all the event types of a log, or of a stream, is
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LAYOUTS_H
#define LAYOUTS_H

#include "layout.h"
#include "log/input.h"

struct layouts;

/* Null: no memory. */
struct layouts *layouts_new(void);
/* Of a log; null: no memory. */
struct layouts *layouts_of(const struct input *in);
void layouts_free(struct layouts *l);
/* Event types, in order of their ids; one that is known already may come again. False: no memory. */
bool layouts_add(struct layouts *l, uint32_t id, const char *name);
/* Null: nobody has declared anything of that type's name. Fast, and the same until something is added. */
const struct layout *layouts_find(const struct layouts *l, uint32_t id);
/* The name without the layout; null: no such type. */
const char *layouts_name(const struct layouts *l, uint32_t id);

#endif
