/*
 * probe_processes.c - the processes that record --usdt records, and what they have mapped
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/probe_processes.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <posixtrace/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/launch.h"
#include "process/libraries.h"
#include "process/mapped_file.h"
#include "record/probe_events.h"
#include "record/probe_files.h"
#include "record/probe_patterns.h"
#include "record/probe_state.h"

struct probed_process *probed_process_find(const struct probes *p, uint32_t pid)
{
	/* The newest ones have the most events. */
	for (unsigned i = p->processes; i > 0; i--)
		if ((uint32_t)p->process[i - 1].pid == pid)
			return &p->process[i - 1];
	return NULL;
}

void probed_process_add(struct probes *p, pid_t pid)
{
	if (probed_process_find(p, (uint32_t)pid))
		return;
	p->process = probes_more(p->process, p->processes, sizeof *p->process);
	p->process[p->processes++] = (struct probed_process){ .pid = pid };
}

/* Writes into the log what a process executes. path: of its first mapping, if it has ended already; may be null. */
static void describe(struct probes *p, struct probed_process *process, uint64_t time, const char *path)
{
	char name[32], executable[PATH_MAX] = "", arguments[1024];
	ssize_t length = 0;
	int fd;

	process->described = true;
	snprintf(name, sizeof name, "/proc/%d/exe", (int)process->pid);
	if (readlink(name, executable, sizeof executable - 1) <= 0)
		snprintf(executable, sizeof executable, "%s", path ? path : "");
	snprintf(name, sizeof name, "/proc/%d/cmdline", (int)process->pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		length = read(fd, arguments, sizeof arguments);
		close(fd);
	}
	posixtrace_log_describe(p->log.writer, probelog_time(&p->log, time), (uint32_t)process->pid, 0, executable,
	                        arguments, length > 0 ? (size_t)length : 0);
}

void probed_process_mapped(struct probes *p, pid_t pid, uint64_t time, const struct mapping *m)
{
	int fd = mapped_file_open((uint32_t)pid, m->start, m->end, m->inode, m->path);
	struct probed_process *process = probed_process_find(p, (uint32_t)pid);
	struct probed_file *f;

	if (fd < 0 || !process) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (!process->described)
		describe(p, process, time, m->path);
	f = probed_file_add(p, fd, m->path);
	posixtrace_log_describe_module(p->log.writer, probelog_time(&p->log, time), (uint32_t)pid, m->start, m->end,
	                               m->offset, m->path, f->build_id, f->build_id_length);
	probed_file_open(p, f);
}

void probed_process_look(struct probes *p, pid_t pid, uint64_t time)
{
	char name[32], line[PATH_MAX + 128];
	FILE *maps;

	snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
	maps = fopen(name, "re");
	if (!maps)
		return;
	while (fgets(line, sizeof line, maps)) {
		struct mapping m;
		char rights[8];
		int at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %" SCNu64 " %n", &m.start, &m.end, rights,
		           &m.offset, &m.inode, &at) < 5 || !at || !strchr(rights, 'x'))
			continue;
		line[strcspn(line, "\n")] = '\0';
		m.path = line + at;
		probed_process_mapped(p, pid, time, &m);
	}
	fclose(maps);
}

static void see_file(const char *path, const struct elf_file *file, void *arg)
{
	struct probes *p = arg;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *real = fd >= 0 ? realpath(path, NULL) : NULL;

	if (fd >= 0)
		probed_file_open(p, probed_file_add(p, fd, real ? real : path));
	free(real);
}

void probed_command_look(struct probes *p, const char *path)
{
	char program[PATH_MAX];

	launch_program(path, program);
	libraries_each(program, see_file, NULL, p);
	/* Files that --usdt names: a shell may start them, or the program may load them later. */
	for (unsigned i = 0; i < p->wanted->count; i++) {
		char own[PATH_MAX];
		size_t length;

		probe_pattern_names(p->wanted->pattern[i], &length);
		if (!length || length >= sizeof own)
			continue;
		memcpy(own, p->wanted->pattern[i], length);
		own[length] = '\0';
		see_file(own, NULL, p);
	}
}
