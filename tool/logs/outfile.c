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

/* Opens a subdirectory. Returns null if it cannot be read, is not a directory, or is a symbolic link. */
static DIR *open_directory(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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

/*
 * Goes through the files of a trace directory and, to this depth, of the traces in it. Removes them, or returns their
 * size in bytes.
 */
static uint64_t go_through(int dir, const char *name, bool removed, int depth)
{
	DIR *d = open_directory(dir, name);
	uint64_t size = 0;
	const char *inner;
	struct stat st;

	while (d && (inner = next_name(d)) != NULL) {
		if (fstatat(dirfd(d), inner, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth > 0)
			size += go_through(dirfd(d), inner, removed, depth - 1);
		else if (removed)
			unlinkat(dirfd(d), inner, 0);
		else if (S_ISREG(st.st_mode))
			size += (uint64_t)st.st_size;
	}
	if (d)
		closedir(d);
	if (removed)
		unlinkat(dir, name, AT_REMOVEDIR);
	return size;
}

/* Removes the output of this process, unless the name belongs to another file now. */
static void give_up(void)
{
	struct stat made, there;

	if (!outfile.unfinished)
		return;
	if (fstat(outfile.fd, &made) == 0 &&
	    fstatat(outfile.folder.fd, outfile.unfinished, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    made.st_dev == there.st_dev && made.st_ino == there.st_ino) {
		if (outfile.directory)
			go_through(outfile.folder.fd, outfile.unfinished, true, 1);
		else
			unlinkat(outfile.folder.fd, outfile.unfinished, 0);
	}
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
	outfile.fd = outfile.whole ? folder_make(&outfile.folder, O_WRONLY, NULL, &outfile.unfinished) :
	             folder_open_there(&outfile.folder, O_WRONLY, &why);
	if (outfile.fd < 0)
		fail("%s: %s", path, why ? why : strerror(errno));
	out_into(outfile.fd, path, give_up);
}

/* -- Directories -------------------------------------------------------------------------------- */

enum kind { KIND_NOTHING, KIND_EMPTY, KIND_TRACE, KIND_OTHER };

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

/*
 * Tells what a directory contains. A trace contains only its own files; a directory of traces contains only traces.
 * Only these are ever removed.
 */
static enum kind kind_of(int dir, const char *name, int depth)
{
	DIR *d = open_directory(dir, name);
	bool empty = true, other = false;
	const char *inner;

	if (!d)
		return errno == ENOENT ? KIND_NOTHING : KIND_OTHER;
	while (!other && (inner = next_name(d)) != NULL) {
		empty = false;
		if (strcmp(inner, "metadata") == 0 || strcmp(inner, "events") == 0)
			other = !is_trace(dirfd(d));
		else
			other = depth == 0 || kind_of(dirfd(d), inner, depth - 1) != KIND_TRACE;
	}
	closedir(d);
	return empty ? KIND_EMPTY : other ? KIND_OTHER : KIND_TRACE;
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

	if (strcmp(path, "-") == 0)
		fail("the output is a directory, and cannot go to standard output: use -o OUT");
	find(path);
	if (fstatat(f->fd, f->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (why = folder_objection(f, &st)) != NULL)
		fail("%s: %s", path, why);
	kind = kind_of(f->fd, f->name, 1);
	if (kind == KIND_OTHER)
		fail("%s already exists, and is not a trace%s; choose another OUT", path,
		     S_ISDIR(st.st_mode) ? ", or has other files in it" : "");
	if (kind == KIND_TRACE && !force)
		fail("%s already exists; --force replaces it", path);
	outfile.directory = outfile.whole = true;
	outfile.force = force;
	begin();
	for (int i = 0; i < TRIES && outfile.fd < 0; i++) {
		char *name = folder_random_name(f);

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
	if (folder_give_name(&outfile.folder, outfile.fd, outfile.folder.name) == 0)
		return true;
	for (int i = 0; i < TRIES && errno == EEXIST; i++) {
		char *name = folder_random_name(&outfile.folder);

		if (folder_give_name(&outfile.folder, outfile.fd, name) == 0) {
			outfile.unfinished = name;
			return true;
		}
		free(name);
	}
	return false;
}

/* Renames the new directory to its final name. Replaces an existing trace. */
static bool replace_directory(void)
{
	const struct folder *f = &outfile.folder;
	char *old = outfile.unfinished;
	int dir = f->fd;

	if (!outfile.force || kind_of(dir, f->name, 1) <= KIND_EMPTY)
		return renameat(dir, old, dir, f->name) == 0;
	/* Exchange both directories; if the kernel cannot, rename the old one to another name first. */
	if (syscall(SYS_renameat2, dir, old, dir, f->name, 2 /* RENAME_EXCHANGE */) != 0) {
		char *aside = folder_random_name(f);

		if (renameat(dir, f->name, dir, aside) != 0 || renameat(dir, old, dir, f->name) != 0)
			return false;
		old = aside;
	}
	outfile.unfinished = NULL;
	/* The old directory now has an unpredictable name, but its contents may have changed: remove only a trace. */
	if (kind_of(dir, old, 1) <= KIND_TRACE)
		go_through(dir, old, true, 1);
	else
		complain("%s was replaced in the meantime, and is now %s", outfile.path, old);
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
		size = go_through(f->fd, outfile.unfinished, false, 1);
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
