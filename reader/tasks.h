/*
 * tasks.h - processes, with what they execute, and threads
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READER_TASKS_H
#define READER_TASKS_H

#include "reader.h"

/*
 * Returns the index of the first log of the same boot of the same machine, where process ids mean the same; the number
 * of logs if there is none.
 */
uint32_t tasks_machine(const struct posixtrace_log *log, const struct source *s);
/*
 * Evaluates a description of a process: the body of a frame PROCESS. Returns false if there is no memory; a wrong body
 * is no error.
 */
bool tasks_describe(struct posixtrace_log *log, const struct source *s, const unsigned char *body, size_t size);
/* Reads the descriptions of processes in a log that was just opened. Returns false if there is no memory. */
bool tasks_add(struct posixtrace_log *log, struct source *s);
/* Returns the process of a source, a new one if it is not known. Returns null if there is no memory. */
struct process *tasks_process(struct posixtrace_log *log, const struct source *s, uint32_t pid);
/*
 * Returns whether the thread of an event is known, or there is room for one more. A hostile process may report any
 * number of threads.
 */
bool tasks_room(const struct posixtrace_log *log, const struct source *s, const struct log_event *e);
/* Returns the thread of an event, a new one if it is not known. Returns null if there is no memory. */
struct thread *tasks_thread(struct posixtrace_log *log, const struct source *s, const struct log_event *e);
void tasks_free(struct posixtrace_log *log);

#endif
