/*
 * announce.h - records the system events that calls cause: START, STOP, FILTER
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_ANNOUNCE_H
#define CONTROL_ANNOUNCE_H

#include "control/handle.h"
#include "record/emit.h"

/* Returns the ids and the name of the calling thread, for the origin of an event. */
struct owner_id announce_caller(const struct handle *h);
/* Returns an event with the calling thread as its origin, for events that are reported without being recorded. */
struct event announce_origin(const struct handle *h, const void *address);
/*
 * Records the event unless the filter excludes it. If always is true, a stream
 * that is not running records it as well. Returns false if the stream has no room.
 */
bool announce(struct handle *h, bool always, trace_event_id_t id, const void *data, size_t length, const void *address);

#endif
