/*
 * tracepoint.h - the trace point, for functions that know where their callers are
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_TRACEPOINT_H
#define RECORD_TRACEPOINT_H

#include <trace.h>

/* Records an event that was called at this address. The gate has been checked. */
void tracepoint_at(trace_event_id_t id, const void *data, size_t length, const void *address);

#endif
