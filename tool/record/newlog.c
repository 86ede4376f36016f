/*
 * newlog.c - the file for a new log
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/newlog.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <trace.h>
#include <unistd.h>

#include "common/folder.h"
#include "common/message.h"
#include "common/newfile.h"
#include "logs/logfile.h"
#include "model/eventtype.h"
#include "record/copied.h"

#define NUMBER_MAX ((1u << 30) - 1) /* largest N of a FILE.N */
#define BESIDE_MAX 1024 /* how many names to try for a file that another one is made of */
#define IN_USE "another recorder writes to it: choose another file, -o FILE"

/*
 * Returns whether a log has an event of its program. Opening the log completes it if its recorder was killed; that is
 * not possible after the file is renamed. A log that cannot be opened counts as having events.
 */
static bool has_events(int fd)
{
	struct posix_trace_event_info event;
	int unavailable = 0;
	trace_id_t trid;
	size_t length;
	bool some = false;

	if (posix_trace_open(fd, &trid) != 0)
		return true;
	while (!some && posix_trace_getnext_event(trid, &event, NULL, 0, &length, &unavailable) == 0 && !unavailable)
		some = !eventtype_system(event.posix_event_id);
	posix_trace_close(trid);
	return some;
}

/* -- What was there before ---------------------------------------------------------------- */

static char *with(const char *path, const char *what)
{
	char *text;

	if (asprintf(&text, "%s.%s", path, what) < 0)
		fail("no memory");
	return text;
}

/* Returns null if the file does not exist or is a log that may be replaced; else the reason why not. */
static const char *not_replaceable(const struct folder *f, const char *name)
{
	struct stat st;
	const char *why;
	static char text[PATH_MAX + 400];
	bool log;
	int fd;

	if (fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? NULL : strerror(errno);
	why = folder_objection(f, &st);
	fd = !why && S_ISREG(st.st_mode) ? openat(f->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	log = fd >= 0 && (st.st_size == 0 || logfile_is_log(fd));
	if (fd >= 0)
		close(fd);
	if (log)
		return NULL;
	snprintf(text, sizeof text, why ? "%s, which it would replace: %s"
	                                : "%s is not a log, and this log would replace it: remove it, "
	                                  "or choose another file, -o FILE",
	                                        name, why);
	return text;
}

/*
 * Renames FILE to FILE.old, and a previous FILE.old to FILE.older. newlog_settle() removes FILE.older, so nothing is
 * gone before the new recording has an event. Returns a descriptor of the new FILE, or -1 and the reason.
 */
static int keep_old(const struct folder *f, const char **why)
{
	char *old = with(f->name, "old"), *older = with(f->name, "older");
	int fd = -1;

	*why = not_replaceable(f, old);
	if (!*why)
		*why = not_replaceable(f, older);
	if (!*why && renameat(f->fd, old, f->fd, older) != 0 && errno != ENOENT)
		*why = strerror(errno);
	if (!*why && renameat(f->fd, f->name, f->fd, old) != 0)
		*why = strerror(errno);
	if (!*why) {
		fd = openat(f->fd, f->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			*why = strerror(errno);
		else if (flock(fd, LOCK_EX | LOCK_NB) != 0)
			*why = IN_USE;
	}
	free(old);
	free(older);
	return fd;
}

/* Does the same as keep_old(), if the log that is open as fd still has this name. */
static int replace(const char *path, int fd, const char **why)
{
	struct stat here, open;
	struct folder folder;
	int fresh = -1;

	*why = folder_find(&folder, path, true);
	if (*why)
		return -1;
	if (folder.magic || fstat(fd, &open) != 0 || fstatat(folder.fd, folder.name, &here, AT_SYMLINK_NOFOLLOW) != 0 ||
	    here.st_dev != open.st_dev || here.st_ino != open.st_ino)
		*why = "it is a log that cannot be renamed here: give its path, or choose another file, -o FILE";
	else
		fresh = keep_old(&folder, why);
	folder_close(&folder);
	return fresh;
}

/*
 * Removes FILE, which has no event, and gives FILE.old and FILE.older their names back. Other users may have put other
 * files there during the recording: these keep their names. Returns false if FILE.old cannot be FILE.
 */
static bool put_back(const struct folder *f, int fd, const char *old, const char *older)
{
	if (not_replaceable(f, old) || folder_remove(f, fd) != 0 || renameat(f->fd, old, f->fd, f->name) != 0)
		return false;
	if (!not_replaceable(f, older))
		renameat(f->fd, older, f->fd, old);
	return true;
}

bool newlog_settle(const char *path, int fd, bool empty)
{
	struct folder f;
	char *old, *older;
	bool done = true;

	if (folder_find(&f, path, true))
		return false;
	old = with(f.name, "old");
	older = with(f.name, "older");
	if (empty)
		done = put_back(&f, fd, old, older);
	else if (!not_replaceable(&f, older))
		unlinkat(f.fd, older, 0);
	free(old);
	free(older);
	folder_close(&f);
	return done;
}

/* -- The file ----------------------------------------------------------------------------- */

static const char *in_the_way(int fd, const struct stat *st)
{
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return IN_USE;
	if (st->st_size > 0 && !logfile_is_log(fd))
		return "it exists and is not a log, so it is not overwritten: remove it, "
		       "or choose another file, -o FILE";
	return NULL;
}

static int open_file(const char *path, bool *kept, const char **why)
{
	int fd = folder_write(path, O_RDWR, 0600, why), fresh;
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) != 0)
		*why = strerror(errno);
	else if (S_ISREG(st.st_mode))
		*why = in_the_way(fd, &st);
	if (*why || !S_ISREG(st.st_mode) || st.st_size == 0)
		return fd;
	if (!has_events(fd)) {
		if (ftruncate(fd, 0) != 0)
			*why = strerror(errno);
		return fd;
	}
	fresh = replace(path, fd, why);
	*kept = fresh >= 0;
	close(fd);
	return fresh;
}

int newlog_open(const char *path, bool *kept)
{
	const char *why = NULL;
	struct stat st;
	int fd;

	*kept = false;
	if (strcmp(path, "-") == 0) {
		if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
			complain("standard output is a file that is not empty, and is not overwritten: use -o FILE");
		else if (isatty(STDOUT_FILENO))
			complain("refusing to write a log to a terminal; to watch events use 'posixtrace live'");
		else
			return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return -1;
	}
	fd = open_file(path, kept, &why);
	if (!why)
		return fd;
	complain("%s: %s", path, why);
	if (fd >= 0)
		close(fd);
	return -1;
}

int newlog_wait_for_reader(const char *path)
{
	struct folder folder;
	const char *why;
	struct stat st;
	int fd = -1;

	if (strcmp(path, "-") == 0 || folder_find(&folder, path, true))
		return -1;
	/* Errors are left to newlog_open(), which reports them. */
	if (fstatat(folder.fd, folder.name, &st, folder.magic ? 0 : AT_SYMLINK_NOFOLLOW) == 0 && S_ISFIFO(st.st_mode))
		fd = folder_open_there(&folder, O_WRONLY, &why);
	folder_close(&folder);
	return fd;
}

/* -- Files beside it -------------------------------------------------------------------------- */

/*
 * Opens a file that an earlier recording may have left. Does not follow a link, because no recording leaves one, and
 * does not open a file that another user may have put there. *folder: the file's directory, to be closed by the caller
 * unless -1 is returned.
 */
static int open_left(struct folder *folder, const char *path)
{
	int fd;

	if (folder_find(folder, path, false))
		return -1;
	fd = folder_open(folder, O_RDONLY);
	if (fd < 0)
		folder_close(folder);
	return fd;
}

/* Returns the part of the path after its last slash. Without strrchr(): gcc 12 then warns of a dangling pointer. */
static const char *base_name(const char *path)
{
	size_t at = strlen(path);

	while (at > 0 && path[at - 1] != '/')
		at--;
	return path + at;
}

static char *beside(const char *path, const char *name)
{
	char *made;

	if (asprintf(&made, "%.*s%s", (int)(base_name(path) - path), path, name) < 0)
		fail("no memory");
	return made;
}

int newlog_make(const char *copy, char **meanwhile)
{
	char *name = NULL;
	struct folder f;
	int fd, error;

	*meanwhile = NULL;
	if (folder_find(&f, copy, false)) {
		errno = EACCES;
		return -1;
	}
	fd = newfile_make(&f, O_RDWR, f.name, &name);
	error = errno;
	folder_close(&f);
	if (name)
		*meanwhile = beside(copy, name);
	free(name);
	/* A recorder that starts meanwhile sees the file in use. */
	if (fd >= 0)
		flock(fd, LOCK_EX | LOCK_NB);
	errno = error;
	return fd;
}

void newlog_remove(const char *path, int fd)
{
	struct folder folder;

	if (folder_find(&folder, path, true))
		return;
	folder_remove(&folder, fd);
	folder_close(&folder);
}

/*
 * Returns whether the file is a log of this user. Any other file may have the name of a FILE.N by chance, or because
 * another user wants the numbers to be wrong.
 */
static bool is_own_log(const struct folder *f, const char *name)
{
	struct stat st;
	bool log;
	int fd;

	/* Do not open a FIFO or a device. */
	if (fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) || folder_objection(f, &st))
		return false;
	fd = openat(f->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	log = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !folder_objection(f, &st) &&
	      logfile_is_log(fd);
	if (fd >= 0)
		close(fd);
	return log;
}

/* Calls f for the number of each existing FILE.N that is a log of this user. */
static void each_number(const char *path, void (*f)(unsigned number, void *arg), void *arg)
{
	const char *name = base_name(path);
	struct folder folder;
	int fd = folder_find(&folder, path, false) ? -1 : openat(folder.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	size_t n = strlen(name);
	struct dirent *e;

	while (dir && (e = readdir(dir)) != NULL) {
		char *end;
		unsigned long number;

		if (strncmp(e->d_name, name, n) != 0 || e->d_name[n] != '.' || e->d_name[n + 1] < '1' ||
		    e->d_name[n + 1] > '9')
			continue;
		number = strtoul(e->d_name + n + 1, &end, 10);
		if (!*end && number <= NUMBER_MAX && is_own_log(&folder, e->d_name))
			f((unsigned)number, arg);
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	folder_close(&folder);
}

static void find_last(unsigned number, void *arg)
{
	unsigned *last = arg;

	if (number > *last)
		*last = number;
}

unsigned newlog_last(const char *path)
{
	unsigned last = 0;

	each_number(path, find_last, &last);
	return last;
}

struct numbers {
	unsigned *item;
	size_t count;
};

static void collect(unsigned number, void *arg)
{
	struct numbers *n = arg;

	/* Double the room when the list is full. */
	if ((n->count & (n->count - 1)) == 0) {
		unsigned *more = realloc(n->item, (n->count ? 2 * n->count : 1) * sizeof *more);

		if (!more)
			fail("no memory");
		n->item = more;
	}
	n->item[n->count++] = number;
}

static int larger_first(const void *a, const void *b)
{
	const unsigned *x = a, *y = b;

	return *x > *y ? -1 : *x < *y;
}

static void remove_numbered(const char *path, unsigned number)
{
	char *numbered = newlog_numbered(path, number);
	struct folder folder;
	int fd = open_left(&folder, numbered);

	/* Another file may have the name by now. */
	if (fd >= 0 && logfile_is_log(fd))
		folder_remove(&folder, fd);
	if (fd >= 0) {
		close(fd);
		folder_close(&folder);
	}
	free(numbered);
}

void newlog_keep(const char *path, unsigned keep)
{
	struct numbers n = { NULL, 0 };

	if (!keep)
		return;
	each_number(path, collect, &n);
	if (n.item && n.count > keep) {
		qsort(n.item, n.count, sizeof *n.item, larger_first);
		for (size_t i = keep; i < n.count; i++)
			remove_numbered(path, n.item[i]);
	}
	free(n.item);
}

static int rename_new(int dir, const char *from, const char *to)
{
	if (syscall(SYS_renameat2, dir, from, dir, to, 1 /* RENAME_NOREPLACE */) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return errno;
	/* The file system or the kernel does not support RENAME_NOREPLACE. */
	if (linkat(dir, from, dir, to, 0) == 0)
		return unlinkat(dir, from, 0) == 0 ? 0 : errno;
	if (errno == EEXIST || faccessat(dir, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return EEXIST;
	return renameat(dir, from, dir, to) == 0 ? 0 : errno;
}

int newlog_rename(const char *from, const char *to)
{
	struct folder folder;
	int error;

	if (folder_find(&folder, from, false))
		return EACCES;
	error = renameat(folder.fd, folder.name, folder.fd, base_name(to)) == 0 ? 0 : errno;
	folder_close(&folder);
	return error;
}

int newlog_beside(const char *path, char **made)
{
	struct folder folder;
	int fd = -1;

	*made = NULL;
	if (folder_find(&folder, path, false)) {
		errno = EACCES;
		return -1;
	}
	for (unsigned n = 1; fd < 0 && n <= BESIDE_MAX; n++) {
		char *name = newlog_numbered(folder.name, n);

		fd = openat(folder.fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			*made = newlog_numbered(path, n);
		free(name);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	folder_close(&folder);
	if (fd < 0)
		return newlog_make(path, made);
	flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

/* Names the file in the folder, for a moment. Returns the name, to be freed, or null and errno. */
static char *name_for_now(const struct folder *f, int fd, const char *meanwhile)
{
	char *name = meanwhile ? strdup(base_name(meanwhile)) : newfile_random_name(f);
	int error;

	if (!name || meanwhile || newfile_give_name(f, fd, name) == 0)
		return name;
	error = errno;
	free(name);
	errno = error;
	return NULL;
}

int newlog_replace(const char *path, int old, int fd, const char *meanwhile)
{
	struct stat here, open;
	struct folder folder;
	char *name = NULL;
	int error = 0;

	if (folder_find(&folder, path, true))
		return EACCES;
	if (folder.magic || fstat(old, &open) != 0 ||
	    fstatat(folder.fd, folder.name, &here, AT_SYMLINK_NOFOLLOW) != 0 || here.st_dev != open.st_dev ||
	    here.st_ino != open.st_ino)
		error = ESTALE;
	else if (fchown(fd, open.st_uid, open.st_gid) != 0 || fchmod(fd, open.st_mode & 0777) != 0)
		error = errno;
	else if (!(name = name_for_now(&folder, fd, meanwhile)))
		error = errno;
	else if (renameat(folder.fd, name, folder.fd, folder.name) != 0)
		error = errno;
	/* Another user may have put another file there, if the directory is that user's. */
	if (error && name && fstat(fd, &open) == 0 &&
	    fstatat(folder.fd, name, &here, AT_SYMLINK_NOFOLLOW) == 0 && here.st_ino == open.st_ino)
		unlinkat(folder.fd, name, 0);
	free(name);
	folder_close(&folder);
	return error;
}

int newlog_name(int fd, const char *from, const char *path, unsigned *number)
{
	struct folder folder;
	int error = EEXIST;

	if (folder_find(&folder, path, false))
		return EACCES;
	for (unsigned n = *number; error == EEXIST && n <= NUMBER_MAX; n++) {
		char *name = newlog_numbered(folder.name, n);

		*number = n;
		if (from)
			error = rename_new(folder.fd, base_name(from), name);
		else
			error = newfile_give_name(&folder, fd, name) == 0 ? 0 : errno;
		free(name);
	}
	folder_close(&folder);
	return error;
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
 * Returns whether the file is a log to be kept, because it has events or reports lost ones. Sets *first to the time of
 * its first event, or to 0 if it has none or cannot be read. Opening the log completes it if its recorder was killed;
 * that is not possible after the file is renamed. A log that cannot be opened is kept.
 */
static bool to_be_kept(const char *path, struct timespec *first)
{
	struct posix_trace_event_info event;
	struct posix_trace_status_info status;
	struct folder folder;
	struct stat st;
	trace_id_t trid;
	size_t length;
	bool keep = false;
	int fd = open_left(&folder, path), unavailable;

	*first = (struct timespec){ 0, 0 };
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && logfile_is_log(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0) {
		keep = true;
		if (posix_trace_open(fd, &trid) == 0) {
			if (posix_trace_getnext_event(trid, &event, NULL, 0, &length, &unavailable) == 0) {
				keep = !unavailable;
				if (!unavailable)
					*first = event.posix_timestamp;
			}
			if (posix_trace_get_status(trid, &status) == 0 && status.__posix_lost_events)
				keep = true;
			posix_trace_close(trid);
		}
	}
	close(fd);
	folder_close(&folder);
	return keep;
}

/*
 * Returns whether all events of a log are in FILE.N too; then removes one of the two. A recorder that is killed after
 * it has written a part to the last FILE.N, and before it has cleared the part, leaves both. The log replaces FILE.N if
 * it reports more lost events.
 */
static bool drop_copied(const char *file, const char *path, unsigned number)
{
	char *numbered = newlog_numbered(path, number);
	struct folder folder, other;
	bool dropped = false, more;
	int fd = open_left(&folder, file), copy = -1;

	if (fd >= 0) {
		copy = open_left(&other, numbered);
		if (copy >= 0 && copied(fd, copy, &more))
			dropped = more ? newlog_rename(file, numbered) == 0 : folder_remove(&folder, fd) == 0;
		if (copy >= 0) {
			close(copy);
			folder_close(&other);
		}
		close(fd);
		folder_close(&folder);
	}
	free(numbered);
	return dropped;
}

static bool retire(const char *file, const char *path)
{
	unsigned number = newlog_last(path);
	int error;

	if (number && drop_copied(file, path, number))
		return true;
	number++;
	error = newlog_name(-1, file, path, &number);
	if (error)
		complain("%s: its old contents cannot be kept: %s", file, strerror(error));
	return error == 0;
}

/* Removes an unfinished copy. The log it was copied from still exists. */
static void remove_copy(const char *path)
{
	char *copy = newlog_copy(path);
	struct folder folder;
	int fd = open_left(&folder, copy);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_size == 0 || logfile_is_log(fd)) &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0)
		folder_remove(&folder, fd);
	if (fd >= 0) {
		close(fd);
		folder_close(&folder);
	}
	free(copy);
}

bool newlog_retire(const char *path)
{
	char *next = newlog_next(path);
	struct timespec first, other;
	bool one = to_be_kept(path, &first), two = to_be_kept(next, &other), done = true;

	if (one && two &&
	    (other.tv_sec < first.tv_sec || (other.tv_sec == first.tv_sec && other.tv_nsec < first.tv_nsec))) {
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
