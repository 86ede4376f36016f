/*
 * newlog.c - the file for a new log
 *
 * SPDX-License-Identifier: MIT
 */
#include "newlog.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <trace.h>
#include <unistd.h>

#include "command.h"
#include "log/format.h"

/* Nothing is overwritten but a log: it may be a name typed wrong. */
static bool is_log(int fd)
{
	char magic[sizeof FORMAT_MAGIC - 1];

	return pread(fd, magic, sizeof magic, FRAME_BYTES) == sizeof magic && memcmp(magic, FORMAT_MAGIC, sizeof magic) == 0;
}

static const char *in_the_way(int fd, const struct stat *st)
{
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return "another recorder writes to it: take another file, -o FILE";
	if (st->st_size > 0 && !is_log(fd))
		return "there is something that is no log, so it is not overwritten: remove it, or take another file, -o FILE";
	if (ftruncate(fd, 0) != 0)
		return strerror(errno);
	return NULL;
}

int newlog_open(const char *path)
{
	const char *why = NULL;
	struct stat st;
	int fd;

	if (strcmp(path, "-") == 0) {
		if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
			complain("standard output is a file with something in it, which is not overwritten: -o FILE");
		else if (isatty(STDOUT_FILENO))
			complain("standard output is a terminal, and a log is not for people: posixtrace live shows events as they come");
		else
			return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return -1;
	}
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	else
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
	if (fd < 0 || fstat(fd, &st) != 0)
		why = strerror(errno);
	else if (S_ISREG(st.st_mode))
		why = in_the_way(fd, &st);
	if (!why)
		return fd;
	complain("%s: %s", path, why);
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Calls f for each N of which there is a FILE.N. */
static void each_number(const char *path, void (*f)(const char *path, unsigned number, void *arg), void *arg)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	DIR *dir = folder ? opendir(folder) : NULL;
	size_t n = strlen(name);
	struct dirent *e;

	while (dir && (e = readdir(dir)) != NULL) {
		char *end;
		unsigned long number;

		if (strncmp(e->d_name, name, n) != 0 || e->d_name[n] != '.' || e->d_name[n + 1] < '1' || e->d_name[n + 1] > '9')
			continue;
		number = strtoul(e->d_name + n + 1, &end, 10);
		if (!*end && number < 1u << 30)
			f(path, (unsigned)number, arg);
	}
	if (dir)
		closedir(dir);
	free(folder);
}

static void find_last(const char *path, unsigned number, void *arg)
{
	unsigned *last = arg;

	(void)path;
	if (number > *last)
		*last = number;
}

unsigned newlog_last(const char *path)
{
	unsigned last = 0;

	each_number(path, find_last, &last);
	return last;
}

static void remove_old(const char *path, unsigned number, void *arg)
{
	char *numbered = newlog_numbered(path, number);
	int fd = number <= *(unsigned *)arg ? open(numbered, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;

	/* What only looks like it is not ours. */
	if (fd >= 0 && is_log(fd))
		unlink(numbered);
	if (fd >= 0)
		close(fd);
	free(numbered);
}

void newlog_keep(const char *path, unsigned keep)
{
	unsigned last = newlog_last(path);

	if (!keep || last <= keep)
		return;
	last -= keep;
	each_number(path, remove_old, &last);
}

int newlog_rename(const char *from, const char *to)
{
	if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 1 /* RENAME_NOREPLACE */) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	/* A file system, or a kernel, that knows no such thing. */
	if (link(from, to) == 0)
		return unlink(from) == 0 ? 0 : errno;
	if (errno == EEXIST || access(to, F_OK) == 0)
		return EEXIST;
	return rename(from, to) == 0 ? 0 : errno;
}

static char *with(const char *path, const char *what)
{
	char *text;

	if (asprintf(&text, "%s.%s", path, what) < 0)
		fail("no memory");
	return text;
}

char *newlog_numbered(const char *path, unsigned number)
{
	char digits[12];

	snprintf(digits, sizeof digits, "%u", number);
	return with(path, digits);
}

char *newlog_next(const char *path)
{
	return with(path, "next");
}

char *newlog_copy(const char *path)
{
	return with(path, "unfinished");
}

/*
 * Is there a log that is to be kept? The time of its first event, if it can be told. Of a recorder that was killed it may
 * not be complete, and would not be found under another name: to open it completes it. What cannot be opened is kept.
 */
static bool to_be_kept(const char *path, struct timespec *first)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), unavailable;
	struct posix_trace_event_info event;
	struct stat st;
	trace_id_t trid;
	size_t length;
	bool keep = false;

	*first = (struct timespec){ 0, 0 };
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_log(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0) {
		keep = true;
		if (posix_trace_open(fd, &trid) == 0) {
			if (posix_trace_getnext_event(trid, &event, NULL, 0, &length, &unavailable) == 0) {
				keep = !unavailable;
				if (!unavailable)
					*first = event.posix_timestamp;
			}
			posix_trace_close(trid);
		}
	}
	close(fd);
	return keep;
}

static bool retire(const char *file, const char *path)
{
	char *numbered = newlog_numbered(path, newlog_last(path) + 1);
	int error = newlog_rename(file, numbered);

	free(numbered);
	if (error)
		complain("%s: what was in it cannot be kept: %s", file, strerror(error));
	return error == 0;
}

/* What it was copied from is there. */
static void remove_copy(const char *path)
{
	char *copy = newlog_copy(path);
	int fd = open(copy, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_size == 0 || is_log(fd)) &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlink(copy);
	if (fd >= 0)
		close(fd);
	free(copy);
}

bool newlog_retire(const char *path)
{
	char *next = newlog_next(path);
	struct timespec first, other;
	bool one = to_be_kept(path, &first), two = to_be_kept(next, &other), done = true;

	if (one && two && (other.tv_sec < first.tv_sec || (other.tv_sec == first.tv_sec && other.tv_nsec < first.tv_nsec))) {
		done = retire(next, path);
		two = false;
	}
	if (one)
		done = done && retire(path, path);
	if (two)
		done = done && retire(next, path);
	remove_copy(path);
	free(next);
	return done;
}
