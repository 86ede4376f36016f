/*
 * mapped_file.c - finds the file that a process has mapped, and opens nothing else
 *
 * SPDX-License-Identifier: MIT
 */
#include "process/mapped_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Opens a name if it leads to a regular file with this inode number; 0: with any. To open a device or a FIFO may do
 * something, so the name is only looked up at first, and what was found is opened.
 */
static int open_same(const char *name, uint64_t inode)
{
	int entry = open(name, O_PATH | O_CLOEXEC), fd = -1;
	char found[32];
	struct stat st;

	if (entry < 0)
		return -1;
	snprintf(found, sizeof found, "/proc/self/fd/%d", entry);
	if (fstat(entry, &st) == 0 && S_ISREG(st.st_mode) && (!inode || st.st_ino == inode))
		fd = open(found, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	close(entry);
	return fd;
}

int mapped_file_open(uint32_t pid, uint64_t start, uint64_t end, uint64_t inode, const char *path)
{
	char name[PATH_MAX + 64];
	int fd;

	if (path[0] != '/' || !inode)
		return -1;
	snprintf(name, sizeof name, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid, start, end);
	/* This is the mapping itself. Some file systems have another inode number there. */
	fd = open_same(name, 0);
	if (fd < 0) {
		snprintf(name, sizeof name, "/proc/%" PRIu32 "/root%s", pid, path);
		fd = open_same(name, inode);
	}
	/* Where the process has ended, its root is likely to be ours. */
	return fd < 0 ? open_same(path, inode) : fd;
}
