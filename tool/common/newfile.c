/*
 * newfile.c - files that get their name when they are complete
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/message.h"

#define TRIES 8 /* to find an unused name */

char *newfile_random_name(const struct folder *f)
{
	uint64_t number = 0;
	char *made;

	if (getrandom(&number, sizeof number, 0) != sizeof number)
		number = (uint64_t)getpid();
	if (asprintf(&made, ".%.200s.%016" PRIx64, f->name, number) < 0)
		fail("no memory");
	return made;
}

int newfile_make(const struct folder *f, int flags, const char *preferred, char **name)
{
	/* Without /proc it would not get a name, see newfile_give_name(). */
	bool unnamed = access("/proc/self/fd", X_OK) == 0;
	int fd = unnamed ? openat(f->fd, ".", O_TMPFILE | flags | O_CLOEXEC, 0600) : -1;

	*name = NULL;
	for (int i = 0; i < TRIES && fd < 0; i++) {
		*name = preferred ? strdup(preferred) : newfile_random_name(f);
		preferred = NULL;
		if (!*name)
			fail("no memory");
		fd = openat(f->fd, *name, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			break;
		free(*name);
		*name = NULL;
		if (errno != EEXIST)
			break;
	}
	return fd;
}

/* Links the file through /proc, because AT_EMPTY_PATH would need a privilege. */
int newfile_give_name(const struct folder *f, int fd, const char *name)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, f->fd, name, AT_SYMLINK_FOLLOW);
}
