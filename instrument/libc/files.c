/*
 * files.c - wrappers of calls on files: open, read, write, close, and their kin
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "libc/call.h"

/* -- read, write and their kin -------------------------------------------------------------------------- */

CALL_EVENT(read, "");
CALL_EVENT(write, "");
CALL_EVENT(readv, "");
CALL_EVENT(writev, "");
CALL_EVENT(pread, ",offset:i64");
CALL_EVENT(pwrite, ",offset:i64");
CALL_EVENT(preadv, ",offset:i64");
CALL_EVENT(pwritev, ",offset:i64");

CALL_WRAPPER(ssize_t, read, read, (int fd, void *to, size_t size), (fd, to, size))
CALL_WRAPPER(ssize_t, write, write, (int fd, const void *from, size_t size), (fd, from, size))
CALL_WRAPPER(ssize_t, readv, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count))
CALL_WRAPPER(ssize_t, writev, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
CALL_WRAPPER_MORE(ssize_t, pread, pread, (int fd, void *to, size_t size, off_t offset), (fd, to, size, offset), offset)
CALL_WRAPPER_MORE(ssize_t, pread64, pread, (int fd, void *to, size_t size, off64_t offset), (fd, to, size, offset),
                  offset)
CALL_WRAPPER_MORE(ssize_t, pwrite, pwrite, (int fd, const void *from, size_t size, off_t offset),
                  (fd, from, size, offset), offset)
CALL_WRAPPER_MORE(ssize_t, pwrite64, pwrite, (int fd, const void *from, size_t size, off64_t offset),
                  (fd, from, size, offset), offset)
CALL_WRAPPER_MORE(ssize_t, preadv, preadv, (int fd, const struct iovec *parts, int count, off_t offset),
                  (fd, parts, count, offset), offset)
CALL_WRAPPER_MORE(ssize_t, preadv64, preadv, (int fd, const struct iovec *parts, int count, off64_t offset),
                  (fd, parts, count, offset), offset)
CALL_WRAPPER_MORE(ssize_t, preadv2, preadv, (int fd, const struct iovec *parts, int count, off_t offset, int flags),
                  (fd, parts, count, offset, flags), offset)
CALL_WRAPPER_MORE(ssize_t, preadv64v2, preadv, (int fd, const struct iovec *parts, int count, off64_t offset, int flags),
                  (fd, parts, count, offset, flags), offset)
CALL_WRAPPER_MORE(ssize_t, pwritev, pwritev, (int fd, const struct iovec *parts, int count, off_t offset),
                  (fd, parts, count, offset), offset)
CALL_WRAPPER_MORE(ssize_t, pwritev64, pwritev, (int fd, const struct iovec *parts, int count, off64_t offset),
                  (fd, parts, count, offset), offset)
CALL_WRAPPER_MORE(ssize_t, pwritev2, pwritev, (int fd, const struct iovec *parts, int count, off_t offset, int flags),
                  (fd, parts, count, offset, flags), offset)
CALL_WRAPPER_MORE(ssize_t, pwritev64v2, pwritev,
                  (int fd, const struct iovec *parts, int count, off64_t offset, int flags),
                  (fd, parts, count, offset, flags), offset)

/* With _FORTIFY_SOURCE, programs call these. room: of the buffer. */
CALL_WRAPPER(ssize_t, __read_chk, read, (int fd, void *to, size_t size, size_t room), (fd, to, size, room))
CALL_WRAPPER_MORE(ssize_t, __pread_chk, pread, (int fd, void *to, size_t size, off_t offset, size_t room),
                  (fd, to, size, offset, room), offset)
CALL_WRAPPER_MORE(ssize_t, __pread64_chk, pread, (int fd, void *to, size_t size, off64_t offset, size_t room),
                  (fd, to, size, offset, room), offset)

/* -- Other calls on one or two files -------------------------------------------------------------------- */

CALL_EVENT(fsync, "");
CALL_EVENT(fdatasync, "");
CALL_EVENT(sync_file_range, "");
CALL_EVENT(ftruncate, ",size:i64");
CALL_EVENT(fallocate, ",size:i64");
CALL_EVENT(sendfile, ",from:i64");
CALL_EVENT(copy_file_range, ",from:i64");
CALL_EVENT(splice, ",from:i64");
CALL_EVENT(flock, ",operation:i64");

CALL_WRAPPER(int, fsync, fsync, (int fd), (fd))
CALL_WRAPPER(int, fdatasync, fdatasync, (int fd), (fd))
CALL_WRAPPER(int, sync_file_range, sync_file_range, (int fd, off64_t from, off64_t size, unsigned flags),
             (fd, from, size, flags))
CALL_WRAPPER_MORE(int, ftruncate, ftruncate, (int fd, off_t size), (fd, size), size)
CALL_WRAPPER_MORE(int, ftruncate64, ftruncate, (int fd, off64_t size), (fd, size), size)
CALL_WRAPPER_MORE(int, fallocate, fallocate, (int fd, int mode, off_t from, off_t size), (fd, mode, from, size), size)
CALL_WRAPPER_MORE(int, fallocate64, fallocate, (int fd, int mode, off64_t from, off64_t size), (fd, mode, from, size),
                  size)
CALL_WRAPPER_MORE(ssize_t, sendfile, sendfile, (int fd, int from, off_t *offset, size_t size), (fd, from, offset, size),
                  from)
CALL_WRAPPER_MORE(ssize_t, sendfile64, sendfile, (int fd, int from, off64_t *offset, size_t size),
                  (fd, from, offset, size), from)
CALL_WRAPPER_MORE(ssize_t, copy_file_range, copy_file_range,
                  (int from, off64_t *from_offset, int fd, off64_t *offset, size_t size, unsigned flags),
                  (from, from_offset, fd, offset, size, flags), from)
CALL_WRAPPER_MORE(ssize_t, splice, splice,
                  (int from, off64_t *from_offset, int fd, off64_t *offset, size_t size, unsigned flags),
                  (from, from_offset, fd, offset, size, flags), from)
/* Not declared with <fcntl.h>. */
CALL_WRAPPER_MORE(int, flock, flock, (int fd, int operation), (fd, operation), operation)

/* -- open ------------------------------------------------------------------------------------------------ */

static struct posixtrace_event event_open = {
	"libc.open",
	"{packed,took=took;took:u64/ns,fd:i32," ERRNO_FIELD ",path:z,flags:x32<O_WRONLY|O_RDWR|O_CREAT=0x40|O_EXCL=0x80|"
	"O_NOCTTY=0x100|O_TRUNC=0x200|O_APPEND=0x400|O_NONBLOCK=0x800|O_CLOEXEC=0x80000>}",
	0
};

/* Records an open. The name of the file is absolute, if it can be found. */
static void record_open(uint64_t began, int fd, const char *path, int flags, const void *caller)
{
	struct posixtrace_around around;
	char name[NAME_SIZE];

	call_before(around.__before, began, fd, fd < 0, errno);
	around.__address = caller;
	memcpy(around.__behind, &flags, 4);
	if (fd >= 0) {
		names_forget(fd);
		if (path[0] == '/')
			names_set(fd, path);
		else if (names_get(fd, name))
			path = name;
		else
			names_set(fd, path);
	}
	record_text(&event_open, path, &around, POSIXTRACE_TEXT_SIZES(CALL_BEFORE, 4, POSIXTRACE_TEXT_MOST));
}

#ifndef __O_TMPFILE
# define __O_TMPFILE 0
#endif
/* Returns the third argument of open(), or the fourth one of openat(), which is there if a file may be made. */
#define TAKE_MODE(flags, mode)                                              \
	do {                                                                \
		if (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE) { \
			va_list list;                                       \
                                                                            \
			va_start(list, flags);                              \
			mode = va_arg(list, mode_t);                        \
			va_end(list);                                       \
		}                                                           \
	} while (0)

/* Calls `next`, and records that. */
#define DO_OPEN(path, flags, arguments)                       \
	do {                                                  \
		uint64_t began;                               \
		int fd;                                       \
                                                              \
		if (!RECORDED(GROUP_IO)) {                    \
			fd = next arguments;                  \
			names_forget(fd);                     \
			return fd;                            \
		}                                             \
		began = clock_now();                          \
		fd = next arguments;                          \
		record_open(began, fd, path, flags, CALLER);  \
		return fd;                                    \
	} while (0)

#define OPEN_WRAPPER(name)                                            \
	WRAPPER int name(const char *path, int flags, ...)            \
	{                                                             \
		NEXT(int, name, (const char *, int, ...));            \
		mode_t mode = 0;                                      \
                                                                      \
		TAKE_MODE(flags, mode);                               \
		DO_OPEN(path, flags, (path, flags, mode));            \
	}
OPEN_WRAPPER(open)
OPEN_WRAPPER(open64)

#define OPENAT_WRAPPER(name)                                               \
	WRAPPER int name(int directory, const char *path, int flags, ...)  \
	{                                                                  \
		NEXT(int, name, (int, const char *, int, ...));            \
		mode_t mode = 0;                                           \
                                                                           \
		TAKE_MODE(flags, mode);                                    \
		DO_OPEN(path, flags, (directory, path, flags, mode));      \
	}
OPENAT_WRAPPER(openat)
OPENAT_WRAPPER(openat64)

#define CREAT_WRAPPER(name)                                                        \
	WRAPPER int name(const char *path, mode_t mode)                            \
	{                                                                          \
		NEXT(int, name, (const char *, mode_t));                           \
                                                                                   \
		DO_OPEN(path, O_CREAT | O_WRONLY | O_TRUNC, (path, mode));         \
	}
CREAT_WRAPPER(creat)
CREAT_WRAPPER(creat64)

/* With _FORTIFY_SOURCE, programs call these. */
#define OPEN_2_WRAPPER(name)                                  \
	WRAPPER int name(const char *path, int flags);        \
	WRAPPER int name(const char *path, int flags)         \
	{                                                     \
		NEXT(int, name, (const char *, int));         \
                                                              \
		DO_OPEN(path, flags, (path, flags));          \
	}
OPEN_2_WRAPPER(__open_2)
OPEN_2_WRAPPER(__open64_2)

#define OPENAT_2_WRAPPER(name)                                           \
	WRAPPER int name(int directory, const char *path, int flags);    \
	WRAPPER int name(int directory, const char *path, int flags)     \
	{                                                                \
		NEXT(int, name, (int, const char *, int));               \
                                                                         \
		DO_OPEN(path, flags, (directory, path, flags));          \
	}
OPENAT_2_WRAPPER(__openat_2)
OPENAT_2_WRAPPER(__openat64_2)

/* -- close, and copies of descriptors ------------------------------------------------------------------- */

CALL_EVENT(close, "");
CALL_EVENT(dup, "");
CALL_EVENT(fcntl, ",command:i64<F_DUPFD,F_GETFD,F_SETFD,F_GETFL,F_SETFL,F_GETLK,F_SETLK,F_SETLKW,F_DUPFD_CLOEXEC=1030>");
CALL_EVENT(ioctl, ",request:i64");

WRAPPER int close(int fd)
{
	NEXT(int, close, (int));
	struct call call;
	uint64_t began;
	size_t length;
	int closed;

	if (!RECORDED(GROUP_IO)) {
		/* Forget the name first: at the end of the call the number may belong to another thread's file. */
		names_forget(fd);
		return next(fd);
	}
	/* Some programs close all numbers, and few of them are open. */
	length = names_known(fd, call_name(&call));
	names_forget(fd);
	began = clock_now();
	closed = next(fd);
	call_before(call.data, began, fd, closed < 0, errno);
	call_end(&event_close, &call, length, closed, 0, 0, CALLER);
	return closed;
}

#if __GLIBC_PREREQ(2, 34)
WRAPPER int close_range(unsigned first, unsigned last, int flags)
{
	NEXT(int, close_range, (unsigned, unsigned, int));

	names_forget_range(first, last);
	return next(first, last, flags);
}

WRAPPER void closefrom(int first)
{
	NEXT(void, closefrom, (int));

	names_forget_range(first > 0 ? (unsigned)first : 0, UINT_MAX);
	next(first);
}
#endif

/* Records that fd was copied to the descriptor `copy`, whose former path is forgotten. */
static int copied(uint64_t began, int fd, int copy, const void *caller)
{
	names_forget(copy);
	if (began)
		call_record(&event_dup, began, fd, copy, 0, 0, caller);
	return copy;
}

#define DUP_WRAPPER(name, parameters, arguments)                                               \
	WRAPPER int name parameters                                                            \
	{                                                                                      \
		NEXT(int, name, parameters);                                                   \
		uint64_t began = RECORDED(GROUP_IO) ? clock_now() : 0;                         \
                                                                                               \
		return copied(began, fd, next arguments, CALLER);                              \
	}
DUP_WRAPPER(dup, (int fd), (fd))
DUP_WRAPPER(dup2, (int fd, int copy), (fd, copy))
DUP_WRAPPER(dup3, (int fd, int copy, int flags), (fd, copy, flags))

/*
 * The type of the last argument depends on the command. An integer, a pointer and no argument at all are the same
 * register for the next function, which takes a pointer, too.
 */
#define FCNTL_WRAPPER(name)                                                                                     \
	WRAPPER int name(int fd, int command, ...)                                                              \
	{                                                                                                       \
		NEXT(int, name, (int, int, ...));                                                               \
		uint64_t began;                                                                                 \
		void *argument;                                                                                 \
		va_list list;                                                                                   \
		int result;                                                                                     \
                                                                                                                \
		va_start(list, command);                                                                        \
		argument = va_arg(list, void *);                                                                \
		va_end(list);                                                                                   \
		began = RECORDED(GROUP_IO) ? clock_now() : 0;                                                   \
		result = next(fd, command, argument);                                                           \
		if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)                                           \
			names_forget(result);                                                                   \
		if (began)                                                                                      \
			call_record(&event_fcntl, began, fd, result, command, 8, CALLER);                       \
		return result;                                                                                  \
	}
FCNTL_WRAPPER(fcntl)
#if __GLIBC_PREREQ(2, 28)
FCNTL_WRAPPER(fcntl64)
#endif

WRAPPER int ioctl(int fd, unsigned long request, ...);
WRAPPER int ioctl(int fd, unsigned long request, ...)
{
	NEXT(int, ioctl, (int, unsigned long, ...));
	uint64_t began;
	void *argument;
	va_list list;
	int result;

	va_start(list, request);
	argument = va_arg(list, void *);
	va_end(list);
	if (!RECORDED(GROUP_IO))
		return next(fd, request, argument);
	began = clock_now();
	result = next(fd, request, argument);
	call_record(&event_ioctl, began, fd, result, (int64_t)(uint32_t)request, 8, CALLER);
	return result;
}

/* -- New descriptors without a path ----------------------------------------------------------------------- */

#define PIPE_WRAPPER(name, parameters, arguments)           \
	WRAPPER int name parameters                         \
	{                                                   \
		NEXT(int, name, parameters);                \
		int result = next arguments;                \
                                                            \
		if (result == 0) {                          \
			names_forget(fds[0]);               \
			names_forget(fds[1]);               \
		}                                           \
		return result;                              \
	}
PIPE_WRAPPER(pipe, (int fds[2]), (fds))
PIPE_WRAPPER(pipe2, (int fds[2], int flags), (fds, flags))
/* Of <sys/socket.h>. */
WRAPPER int socketpair(int domain, int type, int protocol, int fds[2]);
PIPE_WRAPPER(socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds))

#define NEW_WRAPPER(name, parameters, arguments)            \
	WRAPPER int name parameters;                        \
	WRAPPER int name parameters                         \
	{                                                   \
		NEXT(int, name, parameters);                \
		int made = next arguments;                  \
                                                            \
		names_forget(made);                         \
		return made;                                \
	}
NEW_WRAPPER(eventfd, (unsigned count, int flags), (count, flags))
NEW_WRAPPER(epoll_create, (int size), (size))
NEW_WRAPPER(epoll_create1, (int flags), (flags))
NEW_WRAPPER(timerfd_create, (int clock, int flags), (clock, flags))
NEW_WRAPPER(inotify_init, (void), ())
NEW_WRAPPER(inotify_init1, (int flags), (flags))
#if __GLIBC_PREREQ(2, 27)
NEW_WRAPPER(memfd_create, (const char *name, unsigned flags), (name, flags))
#endif
/* Makes a descriptor, or changes the signals of one. */
NEW_WRAPPER(signalfd, (int fd, const void *signals, int flags), (fd, signals, flags))
NEW_WRAPPER(mkstemp, (char *path), (path))
NEW_WRAPPER(mkstemp64, (char *path), (path))
NEW_WRAPPER(mkostemp, (char *path, int flags), (path, flags))
NEW_WRAPPER(mkostemp64, (char *path, int flags), (path, flags))
