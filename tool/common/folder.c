/*
 * folder.c - the directory that a path leads to, found once and without trusting what other users have put there
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as in the kernel */
#define TRIES 8      /* for a file that comes and goes */

/* The library that reads logs has this, too: an object that is loaded late has little room for such memory. */
static _Thread_local char reason[384];

static const char *because(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets errno, and returns the reason as text. */
static const char *because(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, sizeof reason, format, arguments);
	va_end(arguments);
	errno = error;
	return reason;
}

/* Sets errno, and returns the system's text for it. */
static const char *system_reason(int error)
{
	return because(error, "%s", strerror(error));
}

/* -- One step --------------------------------------------------------------------------------------- */

static bool is_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

static void enter(struct folder *f, int fd)
{
	struct stat st = { 0 };

	if (f->fd >= 0)
		close(f->fd);
	f->fd = fd;
	fstat(fd, &st);
	f->owner = st.st_uid;
	f->shared = (st.st_mode & S_IWOTH) || ((st.st_mode & S_ISVTX) && (st.st_mode & S_IWGRP));
}

static const char *begin_at(struct folder *f, const char *directory)
{
	int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return system_reason(errno);
	enter(f, fd);
	return NULL;
}

/* Replaces the name of a link by its target. */
static const char *follow(const struct folder *f, int link, const struct stat *st, char **rest, const char *after)
{
	char target[PATH_MAX], *whole;
	ssize_t n;

	if (f->shared && st->st_uid != geteuid() && st->st_uid != f->owner)
		return because(EACCES, "the link %s in its path belongs to another user (%u), "
		               "in a directory that other users can write to: "
		               "give the path of the file itself, or choose another file", *rest, (unsigned)st->st_uid);
	n = readlinkat(link, "", target, sizeof target - 1);
	if (n < 0)
		return system_reason(errno);
	target[n] = 0;
	if (asprintf(&whole, "%s/%s", target, after) < 0)
		return system_reason(ENOMEM);
	free(*rest);
	*rest = whole;
	return NULL;
}

/* path: the path given, of which `after` has not been walked yet. */
static const char *no_directory(const char *path, const char *name, const char *after, unsigned links)
{
	size_t length = strlen(path) - strlen(after);

	if (links)
		return because(ENOENT, "there is no directory %s, to which a link points", name);
	while (length > 1 && path[length - 1] == '/')
		length--;
	return because(ENOENT, "there is no directory %.*s", (int)length, path);
}

/* Enters the first directory of the rest. done: the rest is the file's name. */
static const char *step(struct folder *f, const char *path, char **rest, bool last, unsigned *links, bool *done)
{
	char *slash, *after;
	const char *why = NULL;
	struct stat st;
	int fd, error;

	if (**rest == '/') {
		memmove(*rest, *rest + strspn(*rest, "/"), strlen(*rest + strspn(*rest, "/")) + 1);
		return begin_at(f, "/");
	}
	slash = strchrnul(*rest, '/');
	after = slash + strspn(slash, "/");
	*done = !*after;
	*slash = 0;
	if (!**rest) {
		strcpy(*rest,
		       "."); /* "/" alone; NOLINT(clang-analyzer-security.insecureAPI.strcpy): it has room for it */
		return NULL;
	}
	fd = openat(f->fd, *rest, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && !*done)
		return no_directory(path, *rest, after, *links);
	if (fd < 0)
		return errno == ENOENT ? NULL : system_reason(errno);
	if (fstat(fd, &st) != 0) {
		why = system_reason(errno);
	} else if (S_ISLNK(st.st_mode) && is_proc(f->fd)) {
		f->magic = *done;
		if (!*done) {
			close(fd);
			fd = openat(f->fd, *rest, O_PATH | O_DIRECTORY | O_CLOEXEC);
			if (fd < 0)
				return system_reason(errno);
			enter(f, fd);
			memmove(*rest, after, strlen(after) + 1);
			return NULL;
		}
	} else if (S_ISLNK(st.st_mode) && (!*done || last)) {
		*done = false;
		why = ++*links > LINKS_MAX ? system_reason(ELOOP) : follow(f, fd, &st, rest, after);
	} else if (!*done) {
		if (!S_ISDIR(st.st_mode)) {
			why = because(ENOTDIR, "%s is not a directory", *rest);
		} else {
			enter(f, fd);
			memmove(*rest, after, strlen(after) + 1);
			return NULL;
		}
	}
	error = errno;
	close(fd);
	errno = error;
	return why;
}

/* -- Directories ------------------------------------------------------------------------------------ */

const char *folder_find(struct folder *f, const char *path, bool last)
{
	char *rest = strdup(path);
	unsigned links = 0;
	bool done = false;
	const char *why;
	int error;

	*f = (struct folder){ .fd = -1 };
	if (!rest)
		return system_reason(ENOMEM);
	why = *path ? begin_at(f, ".") : system_reason(ENOENT);
	while (!why && !done)
		why = step(f, path, &rest, last, &links, &done);
	error = errno;
	f->name = rest;
	if (why)
		folder_close(f);
	errno = error;
	return why;
}

void folder_close(struct folder *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	free(f->name);
	f->name = NULL;
}

/* -- Files ------------------------------------------------------------------------------------------ */

const char *folder_objection(const struct folder *f, const struct stat *st)
{
	if (!f->shared || f->magic)
		return NULL;
	if (st->st_uid != geteuid() && st->st_uid != f->owner)
		return because(EACCES, "it belongs to another user (%u), in a directory that other users can write to: "
		               "remove it, or choose another file",
		               (unsigned)st->st_uid);
	if (S_ISREG(st->st_mode) && st->st_nlink > 1)
		return because(EACCES, "it has another name (a hard link), in a directory that other users can "
		               "write to: remove it, or choose another file");
	return NULL;
}

/*
 * Opens the file of entry, an O_PATH descriptor, so the file cannot be exchanged. Without /proc the name is opened
 * again: a different file does not block, and is refused.
 */
static int open_entry(const struct folder *f, int entry, const struct stat *st, int flags)
{
	char path[40];
	struct stat now;
	int fd;

	snprintf(path, sizeof path, "/proc/self/fd/%d", entry);
	fd = open(path, flags);
	if (fd >= 0 || errno != ENOENT)
		return fd;
	fd = openat(f->fd, f->name, flags | O_NONBLOCK | (f->magic ? 0 : O_NOFOLLOW));
	if (fd < 0 || (fstat(fd, &now) == 0 && now.st_dev == st->st_dev && now.st_ino == st->st_ino &&
	               (flags & O_NONBLOCK || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0)))
		return fd;
	close(fd);
	errno = EEXIST;
	return -1;
}

/*
 * Opens the file. Checks it first, because opening a FIFO or a device has side effects. Waits for a FIFO unless flags
 * have O_NONBLOCK; never waits for a regular file, on which another process may have a lease.
 */
static int open_there(const struct folder *f, int flags, const char **why)
{
	bool wait = !(flags & O_NONBLOCK);
	struct stat st;
	int entry, fd, error;

	*why = NULL;
	entry = openat(f->fd, f->name, O_PATH | O_CLOEXEC | (f->magic ? 0 : O_NOFOLLOW));
	if (entry < 0)
		return -1;
	if (fstat(entry, &st) != 0)
		*why = system_reason(errno);
	else if (S_ISLNK(st.st_mode))
		*why = system_reason(ELOOP);
	else
		*why = folder_objection(f, &st);
	if (*why) {
		close(entry);
		errno = EACCES;
		return -1;
	}
	if (S_ISREG(st.st_mode))
		flags |= O_NONBLOCK;
	else if ((flags & O_ACCMODE) == O_RDWR)
		flags = (flags & ~O_ACCMODE) | O_WRONLY;
	fd = open_entry(f, entry, &st, flags | O_CLOEXEC | O_NOCTTY);
	error = errno;
	close(entry);
	if (fd < 0 && error == EWOULDBLOCK && S_ISREG(st.st_mode))
		*why = "another process has a lease on it";
	if (fd >= 0 && S_ISREG(st.st_mode) && wait)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	errno = error;
	return fd;
}

int folder_open(const struct folder *f, int flags)
{
	const char *why;

	return open_there(f, flags | O_NONBLOCK, &why);
}

int folder_open_there(const struct folder *f, int flags, const char **why)
{
	int fd = open_there(f, flags, why);

	if (fd < 0 && !*why)
		*why = system_reason(errno);
	return fd;
}

int folder_write(const char *path, int flags, mode_t mode, const char **why)
{
	int fd = -1, error = 0;
	struct folder f;

	*why = folder_find(&f, path, true);
	if (*why || !f.name)
		return -1;
	for (int i = 0; i < TRIES && fd < 0; i++) {
		fd = open_there(&f, flags, why);
		if (fd < 0 && errno == ENOENT)
			fd = openat(f.fd, f.name, flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode);
		error = errno;
		if (fd < 0 && error != EEXIST && error != ENOENT)
			break;
	}
	if (fd < 0 && !*why)
		*why = system_reason(error);
	folder_close(&f);
	errno = error;
	return fd;
}

int folder_remove(const struct folder *f, int fd)
{
	struct stat here, open;

	if (fstat(fd, &open) != 0 || fstatat(f->fd, f->name, &here, AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	if (here.st_dev != open.st_dev || here.st_ino != open.st_ino) {
		errno = ENOENT;
		return -1;
	}
	return unlinkat(f->fd, f->name, 0);
}
