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

/*
 * Makes the calling thread record in the name of another thread of any process, as a command does that a script calls
 * for an event of the script. Only what readers see of the thread changes: locks and seats keep its own id. Does
 * nothing if nobody traces this process.
 */
void record_for(uint32_t pid, uint32_t tid, const char name[16]);

#endif
