/*
 * slow.h - the slow path of a trace point
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_SLOW_H
#define RECORD_SLOW_H

#include <stddef.h>
#include <stdint.h>
#include <trace.h>

/*
 * Records an event whatever the state of the thread, and does what the fast path leaves undone: attaches the process,
 * makes writers. frame: the trace point's stack address. Does not take a struct, so that its caller needs no stack.
 */
__attribute__((cold)) void record_slow(trace_event_id_t id, const void *data, size_t length, const void *address,
                                       uintptr_t frame);

#endif
