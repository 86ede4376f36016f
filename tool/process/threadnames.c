/*
 * threadnames.c - names of living threads
 *
 * SPDX-License-Identifier: MIT
 */
#include "process/threadnames.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACES 512

static struct {
	pid_t pid, tid;
	char name[16];
} place[PLACES];

static bool ours;

void threadnames_begin(pid_t pid)
{
	struct stat here, there;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
	ours = stat("/proc/self/ns/pid", &here) == 0 && stat(path, &there) == 0 && here.st_ino == there.st_ino;
	memset(place, 0, sizeof place);
}

const char *threadnames_get(pid_t pid, pid_t tid)
{
	char path[64], *name = place[(unsigned)tid % PLACES].name;
	ssize_t n = 0;
	int fd;

	if (!ours || tid <= 0)
		return "";
	if (place[(unsigned)tid % PLACES].tid == tid && place[(unsigned)tid % PLACES].pid == pid)
		return name;
	place[(unsigned)tid % PLACES].pid = pid;
	place[(unsigned)tid % PLACES].tid = tid;
	snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, sizeof place[0].name - 1);
		close(fd);
	}
	name[n > 0 ? n : 0] = 0;
	name[strcspn(name, "\n")] = 0;
	return name;
}
