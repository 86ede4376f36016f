/*
 * daemons_calls.c - trace points around calls that daemons make, preloaded by daemons.py
 *
 * Records nothing between fork() and the change of the user, so that a worker's first event is that of the new user.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#define POSIXTRACE_SHORT_NAMES
#include <dlfcn.h>
#include <errno.h>
#include <posixtrace/typed.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

TRACE_EVENT(call, accept, (i32, fd))
TRACE_EVENT(call, write, (i32, fd), (str, begin))

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static int quiet; /* A filter may forbid the system calls of the first event. */

static void written(int fd, const void *data, size_t length)
{
	char begin[9] = "";
	int error = errno;

	if (quiet)
		return;
	memcpy(begin, data, length < 8 ? length : 8);
	trace(call, write, fd, begin);
	errno = error;
}

ssize_t write(int fd, const void *data, size_t length)
{
	ssize_t result = NEXT(write)(fd, data, length);

	written(fd, data, length);
	return result;
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	ssize_t result = NEXT(writev)(fd, parts, count);

	written(fd, count > 0 ? parts[0].iov_base : "", count > 0 ? parts[0].iov_len : 0);
	return result;
}

static int accepted(int fd)
{
	int error = errno;

	if (!quiet && fd >= 0)
		trace(call, accept, fd);
	errno = error;
	return fd;
}

int accept(int fd, struct sockaddr *restrict address, socklen_t *restrict length)
{
	return accepted(NEXT(accept)(fd, address, length));
}

int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict length, int flags)
{
	return accepted(NEXT(accept4)(fd, address, length, flags));
}

int prctl(int option, ...)
{
	unsigned long arguments[4];
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	quiet |= option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP;
	return NEXT(prctl)(option, arguments[0], arguments[1], arguments[2], arguments[3]);
}
