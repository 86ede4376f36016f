/*
 * libc_early.c - a library whose constructor calls the C library before other constructors have run
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int early_ran;

static __attribute__((__constructor__)) void begin(void)
{
	int fd = open("/dev/null", O_WRONLY);
	void *p = calloc(3, 5);

	p = realloc(p, 100);
	if (p && fd >= 0 && write(fd, "early", 5) == 5)
		early_ran = 1;
	free(p);
	close(fd);
}

static __attribute__((__destructor__)) void end(void)
{
	int fd = open("/dev/null", O_WRONLY);
	void *p = malloc(5);

	if (fd < 0 || write(fd, "late", 4) != 4)
		_exit(99);
	free(p);
	close(fd);
}
