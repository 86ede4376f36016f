/*
 * ring.h - perf events of the kernel: opened on each processor, and read in the order of time
 *
 * Each processor has one ring, which belongs to an event of this process that never happens. So the rings last as long
 * as the recording, whichever of the recorded threads ends first. All other events write into the ring of their
 * processor.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KERNEL_RING_H
#define KERNEL_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A record. Pointers are valid during the call that delivers the record. */
struct ring_record {
	uint32_t type;        /* PERF_RECORD_... */
	uint16_t misc;        /* of the record's header */
	unsigned kind;        /* of the event, as given to rings_open() */
	uint64_t time;        /* CLOCK_MONOTONIC, ns; does not fall in one ring */
	uint32_t pid, tid, cpu;
	uint64_t ip, address; /* of a sample with them */
	const unsigned char *chain; /* of a sample with PERF_SAMPLE_CALLCHAIN: the addresses, and PERF_CONTEXT_... */
	uint64_t chain_length;
	const unsigned char *registers; /* of a sample with PERF_SAMPLE_REGS_USER, 8 bytes each; null: none */
	const unsigned char *stack;     /* of a sample with PERF_SAMPLE_STACK_USER, from the stack pointer on */
	uint64_t stack_size;
	uint64_t abi;         /* of a sample with PERF_SAMPLE_REGS_USER: PERF_SAMPLE_REGS_ABI_... */
	const unsigned char *data; /* of a sample with PERF_SAMPLE_RAW the tracepoint's data, else the record's body */
	size_t size;
};

/* What rings_read() finds. */
struct ring_calls {
	void (*record)(void *arg, const struct ring_record *r);
	/* Records of a processor may be missing from this time on. */
	void (*gap_begins)(void *arg, uint64_t time);
	/* No more are missing. lost: how many were, perhaps 0. from: the time of gap_begins(). */
	void (*gap_ends)(void *arg, uint64_t from, uint64_t until, uint64_t lost);
};

struct rings;

/*
 * Makes rings of about this size, one for each processor; smaller ones if the limit of locked memory demands
 * it. Returns null and sets errno: EACCES or EPERM if this user has no perf events.
 */
struct rings *rings_new(size_t size);
/* Returns the size of a ring. */
size_t rings_size(const struct rings *r);
/* Returns the number of processors. */
unsigned rings_count(const struct rings *r);
/*
 * Opens an event on each processor, for a thread and all that it starts (inherit), or for all threads (pid -1).
 * Completes the attributes. The event is disabled. Returns 0 or an error number.
 */
int rings_open(struct rings *r, const struct perf_event_attr *attr, pid_t pid, unsigned kind);
/* Closes all events. */
void rings_close_events(struct rings *r);
/* Begins to record, but for events that the kernel enables when a thread executes a program. */
void rings_enable(struct rings *r);
/* Ends recording. What is in the rings can still be read. */
void rings_disable(struct rings *r);
/* Waits until a ring is a quarter full, fd is readable, or the time is over. */
void rings_wait(const struct rings *r, int fd, int milliseconds);
/* Delivers the records so far in the order of time; but for all, only those that no earlier one can follow any more. */
void rings_read(struct rings *r, const struct ring_calls *calls, void *arg, bool all);
/* Returns the number of lost records that no gap has told of, after the last rings_read(). Linux 6.0 counts them. */
uint64_t rings_untold(const struct rings *r);
void rings_free(struct rings *r);

/*
 * Returns what has to be added to times of perf events on CLOCK_MONOTONIC. It is not 0 in a time namespace, whose
 * offset the kernel does not add to them.
 */
int64_t ring_clock_offset(void);
/* Opens an event for a trial, and closes it. Returns 0 or an error number. */
int ring_trial(const struct perf_event_attr *attr, pid_t pid, int cpu);
/* Opens an event. Returns a descriptor, or -1 and sets errno. */
int ring_open_event(const struct perf_event_attr *attr, pid_t pid, int cpu);

#endif
