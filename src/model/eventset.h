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
#include <stddef.h>
#include <trace.h>

#define EVENTSET_WORDS 127

bool eventset_valid(const trace_event_set_t *set);
/*
 * Reads a set from the data of a START or FILTER event. Logs of other versions may have sets of another length. Returns
 * false if the data is not a set.
 */
bool eventset_read(trace_event_set_t *set, const void *data, size_t length);
void eventset_empty(trace_event_set_t *set);
/* Returns false if the parameter is not one of the three constants. */
bool eventset_fill(trace_event_set_t *set, int what);
void eventset_add(trace_event_set_t *set, trace_event_id_t id);
void eventset_del(trace_event_set_t *set, trace_event_id_t id);
bool eventset_has(const trace_event_set_t *set, trace_event_id_t id);
bool eventset_is_empty(const trace_event_set_t *set);
/* Combines set into to as how says. Returns false if how is not one of the three constants. */
bool eventset_combine(trace_event_set_t *to, const trace_event_set_t *set, int how);

#endif
