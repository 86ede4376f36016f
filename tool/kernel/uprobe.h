/*
 * uprobe.h - probes that the kernel sets in a file's code, for a thread on a processor
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KERNEL_UPROBE_H
#define KERNEL_UPROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What all events of the recorder have in common. */
struct uprobe_how {
	int type;       /* of the kernel's uprobes: uprobe_type() */
	bool children;  /* also processes that the thread starts, and not only threads */
	bool no_lost;   /* Linux before 6.0: the kernel does not count lost samples */
	bool no_thread; /* Linux before 5.13: processes cannot be left out */
};

struct uprobe {
	int file;           /* open: the kernel gets no path that may have become another file */
	uint64_t offset;    /* of the instruction in the file */
	uint64_t semaphore; /* 0: none */
	uint64_t registers; /* mask of those in a sample */
	uint32_t stack;     /* bytes of the stack in a sample */
};

/* Returns the type of the kernel's uprobes for perf_event_open(), or a negative error number: -ENODEV it has none. */
int uprobe_type(void);
/* Opens a probe, disabled. Returns a descriptor or a negative error number. */
int uprobe_open(struct uprobe_how *how, const struct uprobe *u, pid_t task, int cpu);
/* Opens an event that tells of executed files, new mappings, threads and names. As uprobe_open(). */
int uprobe_open_tracker(struct uprobe_how *how, pid_t task, int cpu);
/* Sends the events of fd to the ring of another event. */
int uprobe_redirect(int fd, int ring);
void uprobe_enable(int fd, bool on);
uint64_t uprobe_id(int fd);
/* Returns how often the probe was hit; *lost: samples without room in the ring, if the kernel counts them. */
uint64_t uprobe_count(const struct uprobe_how *how, int fd, uint64_t *lost);

#endif
