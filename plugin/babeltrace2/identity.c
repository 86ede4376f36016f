/*
 * identity.c - which logs are parts of one trace
 *
 * SPDX-License-Identifier: MIT
 */
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

char *identity_text(char text[IDENTITY_BYTES], const struct posixtrace_log_about *a)
{
	char boot[2 * 16 + 1];

	for (size_t i = 0; i < 16; i++)
		snprintf(boot + 2 * i, 3, "%02x", a->boot[i]);
	snprintf(text, IDENTITY_BYTES, "posixtrace %s %u %u %s %s", boot, a->creator, a->target, a->host, a->name);
	return text;
}

int identity_open(const char *path)
{
	/* Opening a FIFO or a terminal must not wait or have side effects. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

int identity_reader(int fd, const char *path, struct posixtrace_log **reader)
{
	int error = posixtrace_log_open(NULL, reader);

	if (!error)
		error = posixtrace_log_add_fd(*reader, fd, path);
	if (error) {
		posixtrace_log_close(*reader);
		*reader = NULL;
	}
	return error;
}
