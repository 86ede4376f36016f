/*
 * unused.c - a program that is linked with the library and never uses it makes no extra system calls (H10)
 *
 * Three programs, which differ only in the library that they are linked with, are single-stepped from one system call
 * to the next: with ours, with an empty library, and with a library that is active when it is loaded, which proves that
 * activity is noticed. Calls of the loader that map a library do not count; they are recognized by their instruction's
 * address. At the end of each program its mappings are counted, without those of the library itself.
 *
 * Prints a line for bench/table.py: the excess of ours, and the figures of the empty library.
 *
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "test.h"

#define MOST_CALLS 256

struct program {
	const char *path, *library; /* `library`: a part of the names of its files */
	int calls;                  /* system calls outside of the loader */
	long call[MOST_CALLS];
	long kib; /* mappings without the library */
};

/* A line of /proc/PID/maps. */
struct mapping {
	unsigned long from, to;
	char path[PATH_MAX];
};

static bool mapping_read(const char *line, struct mapping *m)
{
	int at = 0;

	if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &m->from, &m->to, &at) < 2 || !at)
		return false;
	snprintf(m->path, sizeof m->path, "%s", line + at);
	m->path[strcspn(m->path, "\n")] = '\0';
	return true;
}

static FILE *open_maps(pid_t pid)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	MUST(f);
	return f;
}

/* Returns true if the instruction is in the dynamic loader. */
static bool in_loader(pid_t pid, unsigned long at)
{
	FILE *f = open_maps(pid);
	char line[PATH_MAX + 128];
	struct mapping m;
	bool found = false;

	while (!found && fgets(line, sizeof line, f))
		found = mapping_read(line, &m) && at >= m.from && at < m.to && strstr(m.path, "/ld-");
	fclose(f);
	return found;
}

/* Returns the KiB of all mappings without those of the library, which end with anonymous memory. */
static long mapped(const struct program *p, pid_t pid)
{
	FILE *f = open_maps(pid);
	char line[PATH_MAX + 128];
	struct mapping m;
	unsigned long end = 0, sum = 0;
	bool there = false;

	while (fgets(line, sizeof line, f)) {
		if (!mapping_read(line, &m))
			continue;
		if (strstr(m.path, p->library) || (m.from == end && !m.path[0])) {
			end = m.to;
			there = true;
		} else {
			sum += m.to - m.from;
			end = 0;
		}
	}
	fclose(f);
	CHECK("-", there);
	return (long)(sum / 1024);
}

static void lead(struct program *p)
{
	struct __ptrace_syscall_info info;
	int status;
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid == 0) {
		char *argv[] = { (char *)p->path, NULL }, *envp[] = { NULL };

		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		raise(SIGSTOP);
		execve(p->path, argv, envp);
		_exit(126);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	if (!WIFSTOPPED(status))
		SKIP("a process may not be traced here");
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL,
	           (void *)(PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXIT | PTRACE_O_TRACEEXEC)) < 0) {
		kill(pid, SIGKILL);
		SKIP("a process may not be traced here");
	}
	for (bool executed = false;;) {
		MUST(ptrace(PTRACE_SYSCALL, pid, NULL, NULL) == 0);
		MUST(waitpid(pid, &status, 0) == pid);
		if (!WIFSTOPPED(status))
			break;
		executed |= status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8);
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8))
			p->kib = mapped(p, pid);
		if (WSTOPSIG(status) != (SIGTRAP | 0x80) || !executed)
			continue;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof info, &info) < 0) {
			kill(pid, SIGKILL);
			SKIP("this kernel does not tell where a system call comes from");
		}
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY && !in_loader(pid, (unsigned long)info.instruction_pointer)) {
			MUST(p->calls < MOST_CALLS);
			p->call[p->calls++] = (long)info.entry.nr;
		}
	}
	CHECK_EQ("-", status, 0);
}

TEST(unused)
{
	static struct program with = { .path = WITH, .library = "/libposixtrace.so" };
	static struct program empty = { .path = WITH_EMPTY, .library = "/libunused-empty.so" };
	static struct program busy = { .path = WITH_BUSY, .library = "/libunused-busy.so" };

	lead(&with);
	lead(&empty);
	lead(&busy);
	CHECK_EQ("-", with.calls, empty.calls);
	CHECK("-", memcmp(with.call, empty.call, sizeof with.call) == 0);
	CHECK_EQ("-", with.kib, empty.kib);
	/* The end of a program is at least one call. The busy library proves that the test notices activity. */
	CHECK_OP("-", empty.calls, >=, 1);
	CHECK_EQ("-", busy.calls, empty.calls + 2);
	CHECK_OP("-", busy.kib, >=, empty.kib + 64);
	printf("unused\tsystem calls\t%d\t%d\nunused\tmemory\t%ld\t%ld\n", with.calls - empty.calls, empty.calls,
	       with.kib - empty.kib, empty.kib);
}

TEST_MAIN(TEST_ENTRY(unused))
