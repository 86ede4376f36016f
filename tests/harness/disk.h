/*
 * disk.h - a small disk for one test, which the test can fill up
 *
 * It is a tmpfs in a mount namespace (shm.h), invisible to other processes and gone after the test. The test is skipped
 * where this is impossible.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DISK_H
#define DISK_H

#include "shm.h"

#define DISK         "/dev/shm/disk"
#define FILE_ON_DISK DISK "/log"
#define DISK_OTHERS  DISK "/others"

/* Mounts the disk. options as for mount, such as "size=64k". */
static inline void disk(const char *options)
{
	shm_mounted("");
	MUST(mkdir(DISK, 0700) == 0);
	if (mount("disk", DISK, "tmpfs", 0, options) != 0)
		SKIP("no tmpfs can be mounted here");
}

/* Opens FILE_ON_DISK, creating it if necessary. */
static inline int disk_file(int flags)
{
	int fd = open(FILE_ON_DISK, O_CREAT | O_RDWR | O_CLOEXEC | flags, 0600);

	MUST(fd >= 0);
	return fd;
}

/* Fills the disk, except for this many bytes. */
static inline void disk_fill(off_t but)
{
	static char block[4096];
	int fd = open(DISK_OTHERS, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	off_t size = 0;

	MUST(fd >= 0);
	memset(block, 1, sizeof block);
	while (write(fd, block, sizeof block) > 0)
		size += (off_t)sizeof block;
	MUST(errno == ENOSPC);
	if (but)
		MUST(ftruncate(fd, size - but) == 0);
	close(fd);
}

static inline void disk_free(void)
{
	MUST(unlink(DISK_OTHERS) == 0);
}

#endif
