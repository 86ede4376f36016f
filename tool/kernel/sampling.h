/*
 * sampling.h - the perf events that take stacks: at a frequency, and when a thread leaves the processor
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KERNEL_SAMPLING_H
#define KERNEL_SAMPLING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* What is wanted, and how it can be had. */
struct sampling {
	uint32_t hertz;    /* 0: no samples */
	bool off_cpu;      /* stacks of threads that leave the processor */
	uint32_t depth;    /* most addresses of a stack */
	bool dwarf;        /* the kernel copies registers and stack, and does not walk the program's frames */
	/* Set by sampling_find(): */
	bool cycles;       /* samples are at equal numbers of cycles, not at equal times */
	bool user_only;    /* without samples and stacks of the kernel */
	int error;         /* why there are no samples, or 0 */
	int off_error;     /* why there are no stacks of threads that leave the processor, or 0 */
};

#define SAMPLING_DEPTH 127 /* the kernel's default limit, kernel.perf_event_max_stack */

/* Returns whether stacks are wanted at all. */
static inline bool sampling_any(const struct sampling *s)
{
	return s->hertz || s->off_cpu;
}

/* The registers in a sample, by their numbers for the kernel. Such samples are there on x86-64 only. */
#ifdef __x86_64__
# define SAMPLING_REGISTERS (((UINT64_C(1) << 9) - 1) | UINT64_C(0xff) << 16)
# define SAMPLING_REGISTERS_COUNT 17
#else
# define SAMPLING_REGISTERS 0
# define SAMPLING_REGISTERS_COUNT 0
#endif
#define SAMPLING_COPIED 8192 /* bytes of the stack */

/* Finds out how stacks can be had. Limits the depth to that of the kernel. */
void sampling_find(struct sampling *s);
/* Completes the attributes of the event that takes samples. */
void sampling_attribute(const struct sampling *s, struct perf_event_attr *attr);
/* Completes the attributes of the event that occurs when a thread leaves the processor. */
void sampling_off_attribute(const struct sampling *s, struct perf_event_attr *attr);
/* Makes an event tell which files processes map to execute them. */
void sampling_modules(struct perf_event_attr *attr);

#endif
