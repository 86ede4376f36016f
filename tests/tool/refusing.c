/*
 * refusing.c - preloaded: a kernel that is locked down and does not let tracefs be read, and a clock that is wrong
 *
 * REFUSE_TRACEFS=1: files of tracefs cannot be opened. SHIFT_CLOCK=NS: CLOCK_MONOTONIC is so far ahead of the kernel's.
 *
 * SPDX-License-Identifier: MIT
 */
/* open() and open64() are two functions here. */
#undef _FILE_OFFSET_BITS
#undef _TIME_BITS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int open_file(const char *path, int flags, mode_t mode)
{
	if (getenv("REFUSE_TRACEFS") && (strncmp(path, "/sys/kernel/tracing/", 20) == 0 ||
	                                 strncmp(path, "/sys/kernel/debug/tracing/", 26) == 0)) {
		errno = EPERM;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static bool makes_file(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list list;

	va_start(list, flags);
	if (makes_file(flags))
		mode = va_arg(list, mode_t);
	va_end(list);
	return open_file(path, flags, mode);
}

#ifdef __GLIBC__
int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list list;

	va_start(list, flags);
	if (makes_file(flags))
		mode = va_arg(list, mode_t);
	va_end(list);
	return open_file(path, flags | O_LARGEFILE, mode);
}
#endif

int clock_gettime(clockid_t id, struct timespec *t)
{
	static int (*next)(clockid_t, struct timespec *);
	const char *shift = getenv("SHIFT_CLOCK");
	int r;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
	r = next(id, t);
	if (r != 0 || id != CLOCK_MONOTONIC || !shift)
		return r;
	t->tv_nsec += atol(shift);
	t->tv_sec += t->tv_nsec / 1000000000;
	t->tv_nsec %= 1000000000;
	return 0;
}
