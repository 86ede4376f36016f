/*
 * uprobe.c - probes that the kernel sets in a file's code
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernel/uprobe.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FORMAT_LOST (1U << 4) /* PERF_FORMAT_LOST, which the system's headers may lack */

int uprobe_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type = -1;

	if (!f)
		return errno == ENOENT ? -ENODEV : -errno;
	if (fscanf(f, "%d", &type) != 1)
		type = -1;
	fclose(f);
	return type < 0 ? -ENODEV : type;
}

/* Opens an event. Leaves out what an older kernel does not know. */
static int open_event(struct uprobe_how *how, struct perf_event_attr *a, pid_t task, int cpu)
{
	a->size = sizeof *a;
	a->sample_type |= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	a->sample_id_all = 1;
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
	/* An event that counts before it has a ring would lose samples. */
	a->disabled = 1;
	a->watermark = 1;
	for (;;) {
		int fd;

		a->read_format = how->no_lost ? 0 : FORMAT_LOST;
		a->inherit_thread = a->inherit && !how->children && !how->no_thread;
		fd = (int)syscall(SYS_perf_event_open, a, task, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd >= 0)
			return fd;
		if (errno != EINVAL)
			return -errno;
		if (!how->no_lost)
			how->no_lost = true;
		else if (!how->no_thread)
			how->no_thread = true;
		else
			return -EINVAL;
	}
}

int uprobe_open(struct uprobe_how *how, const struct uprobe *u, int cpu)
{
	struct perf_event_attr a;
	char path[32];

	memset(&a, 0, sizeof a);
	snprintf(path, sizeof path, "/proc/self/fd/%d", u->file);
	a.type = (uint32_t)how->type;
	/* Only 32 bits of the attribute are for the offset of the semaphore. */
	if (u->semaphore <= UINT32_MAX)
		a.config = u->semaphore << 32;
	a.config1 = (uint64_t)(uintptr_t)path;
	a.config2 = u->offset;
	if (u->tracepoint) {
		a.type = PERF_TYPE_TRACEPOINT;
		a.config = u->tracepoint;
		a.config1 = a.config2 = 0;
		a.sample_type |= PERF_SAMPLE_RAW;
	}
	a.sample_period = 1;
	if (u->registers) {
		a.sample_type |= PERF_SAMPLE_REGS_USER;
		a.sample_regs_user = u->registers;
	}
	if (u->stack) {
		a.sample_type |= PERF_SAMPLE_STACK_USER;
		a.sample_stack_user = u->stack;
	}
	return open_event(how, &a, -1, cpu);
}

int uprobe_open_tracker(struct uprobe_how *how, pid_t task, int cpu)
{
	struct perf_event_attr a;

	memset(&a, 0, sizeof a);
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_DUMMY;
	a.inherit = 1;
	a.mmap = a.mmap2 = a.comm = a.comm_exec = a.task = 1;
	/* A library has probes as soon as the recorder has seen it. */
	a.wakeup_watermark = 1;
	return open_event(how, &a, task, cpu);
}

int uprobe_open_owner(struct uprobe_how *how, int cpu)
{
	struct perf_event_attr a;

	memset(&a, 0, sizeof a);
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_DUMMY;
	/* Not at each sample: that takes longer than the probe. */
	a.wakeup_watermark = 1 << 17;
	return open_event(how, &a, -1, cpu);
}

int uprobe_redirect(int fd, int ring)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring) == 0 ? 0 : -errno;
}

void uprobe_enable(int fd, bool on)
{
	ioctl(fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t uprobe_id(int fd)
{
	uint64_t id = 0;

	return ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

uint64_t uprobe_count(const struct uprobe_how *how, int fd, uint64_t *lost)
{
	uint64_t value[2] = { 0, 0 };

	if (read(fd, value, sizeof value) < (ssize_t)sizeof *value)
		return 0;
	*lost = how->no_lost ? 0 : value[1];
	return value[0];
}
