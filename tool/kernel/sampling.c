/*
 * sampling.c - the perf events that take stacks: at a frequency, and when a thread leaves the processor
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernel/sampling.h"

#include <errno.h>
#include <stdio.h>

#include "kernel/ring.h"

/* Has the registers and the stack copied, if they are to be walked later. */
static void copy_stack(const struct sampling *s, struct perf_event_attr *attr)
{
	if (!s->dwarf)
		return;
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = SAMPLING_REGISTERS;
	attr->sample_stack_user = SAMPLING_COPIED;
	attr->exclude_callchain_user = 1;
}

void sampling_attribute(const struct sampling *s, struct perf_event_attr *attr)
{
	attr->type = s->cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
	attr->config = s->cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK;
	attr->sample_type = PERF_SAMPLE_CALLCHAIN;
	attr->freq = 1;
	attr->sample_freq = s->hertz;
	attr->sample_max_stack = (uint16_t)s->depth;
	attr->exclude_kernel = attr->exclude_callchain_kernel = s->user_only;
	attr->exclude_hv = s->user_only;
	attr->exclude_idle = 1;
	copy_stack(s, attr);
}

void sampling_off_attribute(const struct sampling *s, struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	attr->sample_type = PERF_SAMPLE_CALLCHAIN;
	attr->sample_period = 1;
	attr->sample_max_stack = (uint16_t)s->depth;
	copy_stack(s, attr);
}

void sampling_modules(struct perf_event_attr *attr)
{
	attr->mmap = attr->mmap2 = 1;
#ifdef PERF_RECORD_MISC_MMAP_BUILD_ID
	attr->build_id = 1;
#endif
}

/* Returns the largest depth that the kernel allows. */
static uint32_t depth_most(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_stack", "re");
	unsigned n = SAMPLING_DEPTH;

	if (f && fscanf(f, "%u", &n) != 1)
		n = SAMPLING_DEPTH;
	if (f)
		fclose(f);
	return n;
}

/* Returns 0, or why there are no samples of this kind. */
static int try(const struct sampling *s)
{
	struct perf_event_attr attr = { .size = sizeof attr, .disabled = 1 };

	sampling_attribute(s, &attr);
	return ring_trial(&attr, 0, -1);
}

static int try_off(const struct sampling *s)
{
	struct perf_event_attr attr = { .size = sizeof attr, .disabled = 1 };

	sampling_off_attribute(s, &attr);
	return ring_trial(&attr, 0, -1);
}

void sampling_find(struct sampling *s)
{
	if (s->depth > depth_most())
		s->depth = depth_most();
	s->error = s->off_error = 0;
	if (s->hertz) {
		/* The processor's counter where there is one; virtual machines often have none. */
		for (unsigned i = 0; i < 4; i++) {
			s->cycles = i % 2 == 0;
			s->user_only = i >= 2;
			s->error = try(s);
			if (!s->error || s->error == EINVAL)
				break;
		}
	}
	/* A thread leaves the processor in the kernel, so this event is never without the kernel. */
	if (s->off_cpu)
		s->off_error = try_off(s);
}
