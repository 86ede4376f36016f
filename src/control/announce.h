/*
 * announce.h - system events that a call causes: START, STOP, FILTER
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_ANNOUNCE_H
#define CONTROL_ANNOUNCE_H

#include "control/handle.h"
#include "record/emit.h"

/* Who calls, as the origin of an event. */
struct writer announce_caller(const struct handle *h);
/* The same for an event that is not recorded but told. */
struct event announce_origin(const struct handle *h, const void *address);
/*
 * Records the event unless it is filtered out; with always, also in a stream
 * that is not running. False if the stream has no room for it.
 */
bool announce(struct handle *h, bool always, trace_event_id_t id, const void *data, size_t length, const void *address);

#endif
