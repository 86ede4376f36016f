/*
 * lines.c - a text file of the kernel's, line by line
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/lines.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/sys.h"

int lines_each(const char *path, size_t first, void (*f)(const char *, void *), void *arg)
{
	char buf[LINES_BUFFER];

	return lines_each_in(buf, path, first, f, arg);
}

int lines_each_in(char *buf, const char *path, size_t first, void (*f)(const char *, void *), void *arg)
{
	int fd = sys_open(AT_FDCWD, path, O_RDONLY, 0);
	size_t have = 0;
	bool cut = false; /* what comes is the rest of a line that is too long */
	long n;

	if (fd < 0)
		return fd;
	while ((n = sys_read(fd, buf + have, first ? first : LINES_BUFFER - 1 - have)) > 0) {
		char *line = buf, *end;

		first = 0;
		have += (size_t)n;
		buf[have] = 0;
		while ((end = strchr(line, '\n'))) {
			*end = 0;
			if (!cut)
				f(line, arg);
			cut = false;
			line = end + 1;
		}
		have -= (size_t)(line - buf);
		if (have == LINES_BUFFER - 1) {
			have = 0;
			cut = true;
		}
		memmove(buf, line, have);
	}
	sys_close(fd);
	return (int)n;
}
