/*
 * eventset.h - sets of trace event types: one bit for each id
 *
 * The mark tells a set that was initialised from memory that was not.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_EVENTSET_H
#define MODEL_EVENTSET_H

#include <stdbool.h>
#include <trace.h>

#define EVENTSET_WORDS 31

bool eventset_valid(const trace_event_set_t *set);
void eventset_empty(trace_event_set_t *set);
/* False: what is not one of the three. */
bool eventset_fill(trace_event_set_t *set, int what);
void eventset_add(trace_event_set_t *set, trace_event_id_t id);
void eventset_del(trace_event_set_t *set, trace_event_id_t id);
bool eventset_has(const trace_event_set_t *set, trace_event_id_t id);
bool eventset_is_empty(const trace_event_set_t *set);
/* to = to combined with set, as how says; false: how is not one of the three. */
bool eventset_combine(trace_event_set_t *to, const trace_event_set_t *set, int how);

#endif
