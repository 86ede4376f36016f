/*
 * probe_processes.h - the processes that record --usdt records, and what they have mapped
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROBE_PROCESSES_H
#define PROBE_PROCESSES_H

#include <stdint.h>
#include <sys/types.h>

struct probed_process;
struct probes;

/* What a process has mapped, to be executed. */
struct mapping {
	uint64_t start, end, offset, inode;
	const char *path;
};

/* Returns the process, or null if its events are not wanted. Valid until the next call of probed_process_add(). */
struct probed_process *probed_process_find(const struct probes *p, uint32_t pid);
void probed_process_add(struct probes *p, pid_t pid);
/* Opens the probes of a file that a process has mapped. time: when it was so. */
void probed_process_mapped(struct probes *p, pid_t pid, uint64_t time, const struct mapping *m);
/* Looks at all that a running process has mapped. time: when it was so. */
void probed_process_look(struct probes *p, pid_t pid, uint64_t time);
/* Opens the probes of a command before it runs: of its file, and of the libraries that ld.so will load. */
void probed_command_look(struct probes *p, const char *path);

#endif
