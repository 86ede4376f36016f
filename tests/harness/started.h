/*
 * started.h - when a process started: with its process id, what identifies it, also in the names of its files
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STARTED_H
#define STARTED_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

/*
 * Returns the start time of a process in clock ticks since the system start. stat: /proc/self/stat, or the file of
 * another process. Does only what is allowed in the child of a process with threads.
 */
static inline uint64_t process_started(const char *stat)
{
	int fd = open(stat, O_RDONLY | O_CLOEXEC);
	char line[1024] = "", *field;

	MUST(fd >= 0 && read(fd, line, sizeof line - 1) > 0);
	close(fd);
	/* Field 22. The second is in parentheses, and may have others in it. A space is before each field. */
	field = strrchr(line, ')');
	for (int i = 2; i < 22 && field; i++)
		field = strchr(field + 1, ' ');
	MUST(field);
	return strtoull(field, NULL, 10);
}

#endif
