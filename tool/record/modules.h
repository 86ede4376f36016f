/*
 * modules.h - which files the recorded processes execute, so that the addresses in their stacks can be resolved
 *
 * The kernel tells of each mapping. A process is described in the log when its first stack is recorded, and again when
 * it has mapped more since; a process without stacks needs no description.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MODULES_H
#define MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/ring.h"
#include "logs/debuginfo.h"
#include "record/beside.h"

struct modules;

/* Ends the program if there is no memory, as all of these do. */
struct modules *modules_new(struct beside *b);
void modules_free(struct modules *m);
/* The process has been running before the recording. */
void modules_running(struct modules *m, uint32_t pid);
/* Takes a PERF_RECORD_MMAP2. */
void modules_map(struct modules *m, const struct ring_record *r);
/* The process has copied the memory of another one. */
void modules_fork(struct modules *m, uint32_t pid, uint32_t parent);
/* The process executes another program from now on. */
void modules_exec(struct modules *m, uint32_t pid);
void modules_exit(struct modules *m, uint32_t pid);
/* Records are missing. */
void modules_gap(struct modules *m);
/* Reads what the process has mapped, unless that is known. */
void modules_look(struct modules *m, uint32_t pid);
/*
 * The process has a stack at this time, with these addresses in itself: describes the process, and each mapping that
 * has one of them, unless it was described. A process may map any number of files, and so may each of its children.
 */
void modules_used(struct modules *m, uint32_t pid, uint64_t time, const uint64_t *address, unsigned count);
/*
 * Returns the file that a process has mapped at an address, and converts the address to an offset in it; null if there
 * is none. Call it after modules_look().
 */
struct image *modules_image(struct modules *m, uint32_t pid, uint64_t *address);
/* Returns whether a process had more mappings than are kept. */
bool modules_left_out(const struct modules *m);
/* Leaves out the processes for which this returns false. */
void modules_keep(struct modules *m, bool (*lives)(void *arg, uint32_t pid), void *arg);

#endif
