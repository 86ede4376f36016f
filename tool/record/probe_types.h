/*
 * probe_types.h - the event types of record --usdt: a probe is one, with its arguments as fields
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROBE_TYPES_H
#define PROBE_TYPES_H

#include <stdbool.h>

struct location;
struct probe;
struct probes;

/* Returns the probe of this name, a new one if there is none. */
struct probe *probe_find(struct probes *p, const char *name);
/* Adds a place to the fields of a probe that has no events yet: a field holds the values of all places. */
void probe_add_place(struct probe *probe, const struct location *l, bool first);
/* Writes the event type into the log. */
void probe_declare(struct probes *p, struct probe *probe);
/* Prints the arguments that no sample has, unless it was done. Not in the thread, which must not print. */
void probe_say_left_off(struct probe *probe);

#endif
