/*
 * several.h - a trace point in a thread that has several writers
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_SEVERAL_H
#define RECORD_SEVERAL_H

#include <stddef.h>
#include <trace.h>

#include "record/self.h"

/*
 * Does steps 3 to 9 of a trace point (tracepoint.c) for all of the thread's writers. Faster if all of them can be
 * written together, or no stream runs. Does not take a struct, so that its caller needs no stack.
 */
void record_several(trace_event_id_t id, const void *data, size_t length, const void *address, struct thread *t);

#endif
