/*
 * kernel.h - a trace of the kernel beside that of the program, in CTF, with the events of LTTng's kernel tracer
 *
 * The directory `kernel` in the trace has it: sched_switch, sched_waking, sched_wakeup, syscall_entry_NAME and
 * syscall_exit_NAME, with a stream for each processor. It is made of the events of record --kernel, which the trace of
 * the program has, too. What those do not tell, such as priorities, has the value of ordinary threads.
 *
 *     packet:  magic u32, uuid 16 bytes, stream u32 |
 *              begin u64, end u64, content u64, size u64, number u64, discarded u64, processor u32 | events
 *     event:   id u32, time u64 | fields
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CTF_KERNEL_H
#define CTF_KERNEL_H

#include "logs/sources.h"
#include "logs/tasks.h"

struct kernel_trace;

struct kernel_trace *kernel_trace_begin(const struct sources *logs, const struct tasks *tasks);
/* Takes the next event of the log, whatever its type is. */
void kernel_trace_event(struct kernel_trace *k, const struct source *s);
/* Writes the trace, if there is any event for it, and frees it. uuid: of the program's trace. */
void kernel_trace_end(struct kernel_trace *k, int directory, const char *path, const struct source *s,
                      const unsigned char uuid[16]);

#endif
