/*
 * stacks.h - record --sample and --off-cpu: the stacks of threads as events (docs/kernel.md)
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STACKS_H
#define STACKS_H

#include "kernel/ring.h"
#include "kernel/sampling.h"
#include "kernel/states.h"
#include "record/beside.h"

struct stacks;

/* Ends the program if there is no memory, as all of these do. */
struct stacks *stacks_new(struct beside *b, const struct sampling *how);
void stacks_free(struct stacks *s);
/* Takes a record that tells of processes, which are recorded: births, executions, ends, mappings. */
void stacks_fork(struct stacks *s, uint32_t pid, uint32_t parent);
void stacks_exec(struct stacks *s, uint32_t pid);
void stacks_exit(struct stacks *s, uint32_t tid);
void stacks_process_exit(struct stacks *s, uint32_t pid);
void stacks_map(struct stacks *s, const struct ring_record *r);
/* The process has been running before the recording. */
void stacks_running(struct stacks *s, uint32_t pid);
/* Records are missing. */
void stacks_gap(struct stacks *s);
/* Writes the stack of a sample. */
void stacks_sample(struct stacks *s, const struct state_thread *t, const struct ring_record *r);
/* Keeps the stack of a thread that leaves the processor now. */
void stacks_leaves(struct stacks *s, const struct ring_record *r);
/* Writes the stack of a thread that has not run for this time. */
void stacks_off(struct stacks *s, const struct state_thread *t, const struct state_off *off);
/* Leaves out the processes for which this returns false. */
void stacks_keep(struct stacks *s, bool (*lives)(void *arg, uint32_t pid), void *arg);
/* Returns whether a process had more files mapped than are remembered. */
bool stacks_left_out(const struct stacks *s);

#endif
