/*
 * uprobe.h - probes that the kernel sets in a file's code
 *
 * A probe is an event of a processor, and is set in all processes that have mapped the file. It cannot belong to a
 * thread: the kernel would make it again for each new thread, from the path in the recorder's memory, which the thread
 * does not have. Then clone() fails in the traced program, with EFAULT.
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
	unsigned tracepoint; /* the number of its name in tracefs: samples have the fields of that; 0: none */
	unsigned name;       /* fetch_define() */
};

/* Returns the type of the kernel's uprobes for perf_event_open(), or a negative error number: -ENODEV it has none. */
int uprobe_type(void);
/* Opens a probe on a processor, disabled. Returns a descriptor or a negative error number. */
int uprobe_open(struct uprobe_how *how, const struct uprobe *u, int cpu);
/* Opens an event that tells of a thread, those that it starts, their names and mappings. As uprobe_open(). */
int uprobe_open_tracker(struct uprobe_how *how, pid_t task, int cpu);
/* Opens an event of a processor that never occurs, for the ring of the probes: it decides how often the ring wakes. */
int uprobe_open_owner(struct uprobe_how *how, int cpu);
/* Sends the events of fd to the ring of another event. */
int uprobe_redirect(int fd, int ring);
void uprobe_enable(int fd, bool on);
uint64_t uprobe_id(int fd);
/* Returns how often the probe was hit; *lost: samples without room in the ring, if the kernel counts them. */
uint64_t uprobe_count(const struct uprobe_how *how, int fd, uint64_t *lost);

#endif
