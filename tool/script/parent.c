/*
 * parent.c - events in the name of the script that calls the command
 *
 * A script of a hundred events would otherwise be a hundred processes of one event each, and an event that begins a
 * span would be in another thread than the one that ends it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "script/parent.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/ident.h"
#include "record/slow.h"

/* Returns the number of threads of a process, but no more than 2; 0 if /proc does not show it. */
static unsigned count_threads(pid_t pid)
{
	DIR *dir = opendir(proc_path((uint32_t)pid, "/task").text);
	unsigned n = 0;

	if (!dir)
		return 0;
	for (const struct dirent *entry; n < 2 && (entry = readdir(dir));)
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

/* Reads the name of a process. Returns false if /proc does not show it. */
static bool read_name(pid_t pid, char name[16])
{
	char text[32] = "";
	int fd = open(proc_path((uint32_t)pid, "/comm").text, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[strcspn(text, "\n")] = 0;
	memset(name, 0, 16);
	memcpy(name, text, strnlen(text, 15));
	return true;
}

void script_act_for_parent(bool as_thread)
{
	pid_t parent = getppid();
	char name[16];
	unsigned threads;
	struct proc own;

	/* When the parent has ended, init or a manager adopts the process; both are mostly in another session. */
	if (parent <= 0 || getsid(parent) != getsid(0))
		return;
	/* /proc may have other ids than getppid(), those of another pid namespace. */
	if (proc_read(0, &own) != 0 || own.number != own.ident.pid || own.parent != (uint32_t)parent)
		return;
	threads = count_threads(parent);
	if (!threads || !read_name(parent, name) || getppid() != parent)
		return;
	as_thread = as_thread && threads == 1;
	record_for((uint32_t)parent, (uint32_t)(as_thread ? parent : getpid()), name);
}
