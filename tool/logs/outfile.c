/*
 * outfile.c - writes a file or a directory completely, or not at all
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/outfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/folder.h"
#include "common/message.h"
#include "common/newfile.h"
#include "common/out.h"
#include "logs/logfile.h"

#define TRIES 8 /* to find an unused name */

static struct {
	const char *path;
	struct folder folder;
	char *unfinished; /* name in the folder; null: nothing to remove or rename */
	bool whole;       /* the output replaces an existing file of its name when it is complete */
	bool directory, force;
	int fd; /* of the file or the directory */
} outfile = { .folder = { .fd = -1 }, .fd = -1 };

static volatile sig_atomic_t asked;

/* -- Removal ------------------------------------------------------------------------------------ */

/* Opens a subdirectory. Returns -1 if it cannot be read, is not a directory, or is a symbolic link. */
static int open_directory(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Returns a stream of the entries of an open directory, from the first one. The descriptor stays open. */
static DIR *entries(int dir)
{
	int fd = open_directory(dir, ".");
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;

	if (fd >= 0 && !stream)
		close(fd);
	return stream;
}

static const char *next_name(DIR *dir)
{
	struct dirent *e;

	while ((e = readdir(dir)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			return e->d_name;
	return NULL;
}

/* Returns the size of the files in an open directory and, to this depth, in its subdirectories. */
static uint64_t size_of(int dir, int depth)
{
	DIR *d = entries(dir);
	uint64_t size = 0;
	const char *inner;
	struct stat st;

	while (d && (inner = next_name(d)) != NULL) {
		if (fstatat(dirfd(d), inner, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (S_ISREG(st.st_mode))
			size += (uint64_t)st.st_size;
		if (S_ISDIR(st.st_mode) && depth > 0) {
			int fd = open_directory(dirfd(d), inner);

			size += fd >= 0 ? size_of(fd, depth - 1) : 0;
			if (fd >= 0)
				close(fd);
		}
	}
	if (d)
		closedir(d);
	return size;
}

/* Directories inside of the output: several traces, and in each one of the kernel. */
#define DEPTH 2

enum kind { KIND_NOTHING, KIND_EMPTY, KIND_TRACE, KIND_OTHER };

static bool is_file_of_trace(const char *name)
{
	/* In the trace of the kernel, each processor has a file. */
	return strcmp(name, "metadata") == 0 || strcmp(name, "events") == 0 ||
	       (strncmp(name, "cpu_", 4) == 0 && name[4] && name[4 + strspn(name + 4, "0123456789")] == '\0');
}

/* Returns whether the directory has a file "metadata" that begins like the output of `convert`. */
static bool is_trace(int dir)
{
	static const char mark[] = "/* CTF 1.8 */";
	char head[sizeof mark - 1];
	int fd = openat(dir, "metadata", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool trace = fd >= 0 && read(fd, head, sizeof head) == sizeof head && memcmp(head, mark, sizeof head) == 0;

	if (fd >= 0)
		close(fd);
	return trace;
}

static bool same_owner(int one, int other)
{
	struct stat a, b;

	return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_uid == b.st_uid;
}

static enum kind kind_of(int dir, int depth);

/*
 * Opens one of several traces in a directory. Returns -1 if it is anything else. It must belong to the owner of the
 * directory, because that user can put directories of others there.
 */
static int open_trace(int dir, const char *name, int depth)
{
	int fd = open_directory(dir, name);

	if (fd >= 0 && same_owner(dir, fd) && kind_of(fd, depth) == KIND_TRACE)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/*
 * Returns what an open directory contains. A trace contains only its own files, and perhaps a trace of the kernel; a
 * directory of traces contains only traces. Only these are ever removed.
 */
static enum kind kind_of(int dir, int depth)
{
	DIR *d = entries(dir);
	bool empty = true, other = !d;
	const char *inner;

	while (!other && (inner = next_name(d)) != NULL) {
		empty = false;
		if (is_file_of_trace(inner)) {
			other = !is_trace(dir);
		} else {
			int fd = depth > 0 ? open_trace(dir, inner, depth - 1) : -1;

			other = fd < 0;
			if (fd >= 0)
				close(fd);
		}
	}
	if (d)
		closedir(d);
	return other ? KIND_OTHER : empty ? KIND_EMPTY : KIND_TRACE;
}

/*
 * Removes the files of a trace from an open directory and, to this depth, the traces in it; nothing else, whatever the
 * directory contains by now. Each directory is opened once, and what is removed from it is what was found in it: its
 * name may belong to another directory meanwhile. made: this process made the directories, so they need not be whole
 * traces.
 */
static void empty_trace(int dir, int depth, bool made)
{
	DIR *d = entries(dir);
	const char *inner;

	while (d && (inner = next_name(d)) != NULL) {
		int fd;

		if (is_file_of_trace(inner)) {
			unlinkat(dir, inner, 0);
			continue;
		}
		fd = depth == 0 ? -1 : made ? open_directory(dir, inner) : open_trace(dir, inner, depth - 1);
		if (fd < 0)
			continue;
		empty_trace(fd, depth - 1, made);
		close(fd);
		unlinkat(dir, inner, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
}

/* Returns whether the name in the output's directory belongs to the open file. */
static bool has_name(int fd, const char *name)
{
	struct stat open, there;

	return fstat(fd, &open) == 0 && fstatat(outfile.folder.fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       open.st_dev == there.st_dev && open.st_ino == there.st_ino;
}

/* Removes the output of this process. Its name is left alone if it belongs to another file now. */
static void give_up(void)
{
	char *name = outfile.unfinished;

	if (!name)
		return;
	if (outfile.directory)
		empty_trace(outfile.fd, DEPTH, true);
	if (has_name(outfile.fd, name))
		unlinkat(outfile.folder.fd, name, outfile.directory ? AT_REMOVEDIR : 0);
	outfile.unfinished = NULL;
}

static void ask(int signal)
{
	asked = signal;
}

static void begin(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction a = { .sa_handler = ask, .sa_flags = (int)SA_RESETHAND }, before;

	for (unsigned i = 0; i < 3; i++)
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &a, NULL);
	atexit(give_up);
}

void outfile_check(void)
{
	if (!asked)
		return;
	give_up();
	signal(asked, SIG_DFL);
	raise(asked);
	_exit(128 + asked); /* reached if the signal is blocked */
}

/* -- Names -------------------------------------------------------------------------------------- */

char *outfile_name(const char *log, const char *suffix)
{
	size_t length;
	char *name;

	if (strcmp(log, "standard input") == 0)
		log = LOGFILE_DEFAULT;
	length = strlen(log);
	if (length > 4 && strcmp(log + length - 4, ".log") == 0)
		length -= 4;
	if (asprintf(&name, "%.*s%s", (int)length, log, suffix) < 0)
		fail("no memory");
	return name;
}

/* -- Files -------------------------------------------------------------------------------------- */

static void find(const char *path)
{
	size_t length = strlen(path);
	char *name = strdup(path);
	const char *why;

	if (!name)
		fail("no memory");
	/* "ctf/" means "ctf". */
	while (length > 1 && name[length - 1] == '/')
		name[--length] = 0;
	why = folder_find(&outfile.folder, name, true);
	if (why)
		fail("%s: %s", path, why);
	free(name);
	outfile.path = path;
}

/* Checks the existing file. Returns true if a new file will replace it, false if it is written to in place. */
static bool look(bool (*ours)(int fd), const char *instead)
{
	const struct folder *f = &outfile.folder;
	struct stat st;
	const char *why;
	int fd;

	if (fstatat(f->fd, f->name, &st, f->magic ? 0 : AT_SYMLINK_NOFOLLOW) != 0) {
		if (errno != ENOENT)
			fail("%s: %s", outfile.path, strerror(errno));
		return true;
	}
	if (S_ISDIR(st.st_mode))
		fail("%s is a directory", outfile.path);
	why = folder_objection(f, &st);
	if (why)
		fail("%s: %s", outfile.path, why);
	if (!S_ISREG(st.st_mode))
		return false;
	fd = folder_open(f, O_RDONLY);
	if (fd >= 0 && logfile_is_log(fd))
		fail("%s is a log, which is never overwritten: remove it, or choose another file, -o OUT",
		     outfile.path);
	if (ours && st.st_size > 0 && (fd < 0 || !ours(fd)))
		fail("%s %s", outfile.path, instead);
	if (fd >= 0)
		close(fd);
	return !f->magic;
}

void outfile_open(const char *path, bool (*ours)(int fd), const char *instead)
{
	const char *why = NULL;

	if (strcmp(path, "-") == 0) {
		outfile.path = path;
		outfile.fd = STDOUT_FILENO;
		return;
	}
	find(path);
	outfile.whole = look(ours, instead);
	/* Set the signal handlers before there is a file to remove. */
	if (outfile.whole)
		begin();
	outfile.fd = outfile.whole ? newfile_make(&outfile.folder, O_WRONLY, NULL, &outfile.unfinished) :
	             folder_open_there(&outfile.folder, O_WRONLY, &why);
	if (outfile.fd < 0)
		fail("%s: %s", path, why ? why : strerror(errno));
	out_into(outfile.fd, path, give_up);
}

/* -- Directories -------------------------------------------------------------------------------- */

/*
 * Opens the existing directory of the output's name. Returns what it contains; its descriptor is -1 if it cannot be
 * opened, and is to be closed by the caller.
 */
static enum kind open_existing(int *fd)
{
	*fd = open_directory(outfile.folder.fd, outfile.folder.name);
	if (*fd < 0)
		return errno == ENOENT ? KIND_NOTHING : KIND_OTHER;
	return kind_of(*fd, DEPTH);
}

static int make_directory(int dir, const char *name)
{
	if (mkdirat(dir, name, 0700) != 0)
		return -1;
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int outfile_directory(const char *path, bool force)
{
	const struct folder *f = &outfile.folder;
	struct stat st = { 0 };
	const char *why;
	enum kind kind;
	int there;

	if (strcmp(path, "-") == 0)
		fail("the output is a directory, and cannot go to standard output: use -o OUT");
	find(path);
	if (fstatat(f->fd, f->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (why = folder_objection(f, &st)) != NULL)
		fail("%s: %s", path, why);
	kind = open_existing(&there);
	if (there >= 0)
		close(there);
	if (kind == KIND_OTHER)
		fail("%s already exists, and is not a trace%s; choose another OUT", path,
		     S_ISDIR(st.st_mode) ? ", or has other files in it" : "");
	if (kind == KIND_TRACE && !force)
		fail("%s already exists; --force replaces it", path);
	outfile.directory = outfile.whole = true;
	outfile.force = force;
	begin();
	for (int i = 0; i < TRIES && outfile.fd < 0; i++) {
		char *name = newfile_random_name(f);

		outfile.fd = make_directory(f->fd, name);
		if (outfile.fd >= 0)
			outfile.unfinished = name;
		else
			free(name);
		if (outfile.fd < 0 && errno != EEXIST)
			break;
	}
	if (outfile.fd < 0)
		fail("%s: %s", path, strerror(errno));
	return outfile.fd;
}

const char *outfile_path(void)
{
	return outfile.path;
}

int outfile_inner(const char *name)
{
	int fd = make_directory(outfile.fd, name);

	if (fd < 0)
		fail("%s/%s: %s", outfile.path, name, strerror(errno));
	return fd;
}

/* -- The end ------------------------------------------------------------------------------------ */

static bool name_file(void)
{
	if (outfile.unfinished)
		return true;
	if (newfile_give_name(&outfile.folder, outfile.fd, outfile.folder.name) == 0)
		return true;
	for (int i = 0; i < TRIES && errno == EEXIST; i++) {
		char *name = newfile_random_name(&outfile.folder);

		if (newfile_give_name(&outfile.folder, outfile.fd, name) == 0) {
			outfile.unfinished = name;
			return true;
		}
		free(name);
	}
	return false;
}

/* Exchanges the new directory and the existing one. Returns the name of the existing one, or null and errno. */
static char *exchange(char *made)
{
	const struct folder *f = &outfile.folder;
	char *aside;
	int error;

	if (syscall(SYS_renameat2, f->fd, made, f->fd, f->name, 2 /* RENAME_EXCHANGE */) == 0)
		return made;
	/* The kernel or the file system cannot: rename the existing one to another name first. */
	aside = newfile_random_name(f);
	if (renameat(f->fd, f->name, f->fd, aside) == 0) {
		if (renameat(f->fd, made, f->fd, f->name) == 0)
			return aside;
		error = errno;
		renameat(f->fd, aside, f->fd, f->name);
		errno = error;
	}
	free(aside);
	return NULL;
}

/*
 * Renames the new directory to its final name. Replaces an existing trace: it is opened before it is checked, and what
 * is removed is in the directory that was opened, whatever other users do with its names meanwhile.
 */
static bool replace_directory(void)
{
	const struct folder *f = &outfile.folder;
	char *made = outfile.unfinished, *old;
	enum kind kind;
	int existing = -1;

	kind = outfile.force ? open_existing(&existing) : KIND_NOTHING;
	if (kind == KIND_OTHER)
		fail("%s was replaced meanwhile, and is not a trace; choose another OUT", outfile.path);
	if (kind == KIND_NOTHING)
		return renameat(f->fd, made, f->fd, f->name) == 0;
	old = exchange(made);
	if (!old)
		return false;
	outfile.unfinished = NULL;
	if (has_name(existing, old)) {
		empty_trace(existing, DEPTH, false);
		if (unlinkat(f->fd, old, AT_REMOVEDIR) != 0)
			complain("%s was changed while it was replaced: the rest is now %s", outfile.path, old);
	} else {
		complain("%s was replaced by another process meanwhile; the directory before that may now be %s",
		         outfile.path, old);
	}
	close(existing);
	return true;
}

uint64_t outfile_done(void)
{
	const struct folder *f = &outfile.folder;
	uint64_t size = 0;
	struct stat st;

	out_flush();
	outfile_check();
	if (outfile.directory)
		size = size_of(outfile.fd, 1);
	else if (fstat(outfile.fd, &st) == 0 && S_ISREG(st.st_mode))
		size = (uint64_t)st.st_size;
	if (!outfile.whole)
		return size;
	if (outfile.directory ? !replace_directory() : !name_file())
		fail("%s: %s", outfile.path, strerror(errno));
	if (!outfile.directory && outfile.unfinished && renameat(f->fd, outfile.unfinished, f->fd, f->name) != 0)
		fail("%s: %s", outfile.path, strerror(errno));
	outfile.unfinished = NULL;
	if (close(outfile.fd) != 0)
		fail("%s: %s", outfile.path, strerror(errno));
	return size;
}
