/*
 * probe_types.h - the event types of record --usdt: a probe is one, with its arguments as fields
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROBE_TYPES_H
#define PROBE_TYPES_H

#include <stdbool.h>
#include <stdint.h>

struct location;
struct probe;
struct probes;
struct signature;

/* Returns the probe of this name, a new one if there is none. signature: of its arguments; null: not given. */
struct probe *probe_find(struct probes *p, const char *name, const struct signature *signature);
/* Adds a place to the fields of a probe that has no events yet: a field holds the values of all places. */
void probe_add_place(struct probe *probe, const struct location *l, bool first);
/* Has the kernel fetch the texts of a new place of a probe. What it cannot fetch is an address in all events. */
void probe_fetch_texts(struct probes *p, struct location *l, uint16_t machine);
/* Writes the event type into the log. */
void probe_declare(struct probes *p, struct probe *probe);
/* Prints, once, that texts are addresses, and why. Not in the thread. */
void probe_say_no_texts(struct probes *p);
/* Prints the arguments that no sample has, unless it was done. Not in the thread, which must not print. */
void probe_say_left_off(struct probe *probe);

#endif
