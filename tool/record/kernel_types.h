/*
 * kernel_types.h - the events of --kernel: their types, layouts and bytes (docs/kernel.md)
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KERNEL_TYPES_H
#define KERNEL_TYPES_H

#include "kernel/clockcheck.h"
#include "kernel/states.h"
#include "record/beside.h"

struct kernel_types;
struct match;

/*
 * Makes the types of a log. m: only events are written whose names it selects, if its patterns name such events at all.
 * Ends the program if there is no memory.
 */
struct kernel_types *kernel_types_new(struct beside *b, const struct match *m);
void kernel_types_free(struct kernel_types *k);

/* Each of these writes an event of a thread. Times are of CLOCK_MONOTONIC; an event is at the end of its span. */
void put_run(struct kernel_types *k, const struct state_thread *t, const struct state_run *run);
void put_off(struct kernel_types *k, const struct state_thread *t, const struct state_off *off);
/* Writes the system call that the thread is in, which ends with this result. */
void put_call(struct kernel_types *k, const struct state_thread *t, uint64_t until, int64_t result);
/* Writes the system call that the thread is in, which does not return. exits: the thread ends. */
void put_unfinished(struct kernel_types *k, const struct state_thread *t, uint64_t until, bool exits);
void put_fault(struct kernel_types *k, const struct state_thread *t, uint64_t time, uint64_t address, uint64_t at,
               bool major);
struct signal_send {
	uint8_t number, result;
	int32_t code;
	uint32_t to; /* a thread or process */
	uint32_t from;
	const char *from_name;
};
void put_send(struct kernel_types *k, const struct state_thread *t, uint64_t time, const struct signal_send *send);
void put_signal(struct kernel_types *k, const struct state_thread *t, uint64_t time, uint8_t number, int32_t code,
                uint64_t handler);
struct io_request {
	uint64_t sector, bytes;
	uint32_t major, minor;
	int32_t error;
	char kind[12]; /* R read, W write, D discard, F flush; S synchronous, M metadata, A ahead */
};
void put_io(struct kernel_types *k, const struct state_thread *t, uint64_t since, uint64_t until,
            const struct io_request *io);
void put_fork(struct kernel_types *k, const struct state_thread *t, uint64_t time, uint32_t pid, uint32_t tid);
void put_exec(struct kernel_types *k, const struct state_thread *t, uint64_t time);
void put_exit(struct kernel_types *k, const struct state_thread *t, uint64_t time);
void put_clock(struct kernel_types *k, const struct state_thread *t, uint64_t time, const struct clock_check *c);

#endif
