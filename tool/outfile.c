/*
 * outfile.c - a file or a directory that is written whole, or not at all
 *
 * SPDX-License-Identifier: MIT
 */
#include "outfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "log/format.h"
#include "logfile.h"
#include "out.h"

static struct {
	const char *path;
	char *unfinished; /* null: nothing is to be removed or renamed */
	bool directory, force;
	int fd;
	uint64_t size;
} outfile;

static volatile sig_atomic_t asked;

/* -- What goes ---------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
	return remove(path);
}

static int add_size(const char *path, const struct stat *st, int type, struct FTW *place)
{
	if (type == FTW_F)
		outfile.size += (uint64_t)st->st_size;
	return 0;
}

static void remove_all(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void give_up(void)
{
	if (outfile.unfinished)
		remove_all(outfile.unfinished);
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

static char *name_unfinished(const char *path)
{
	size_t length = strlen(path);
	char *name;

	/* "ctf/" is "ctf". */
	while (length > 1 && path[length - 1] == '/')
		length--;
	if (asprintf(&name, "%.*s.unfinished", (int)length, path) < 0)
		fail("no memory");
	return name;
}

static bool is_log(const char *path)
{
	char magic[sizeof FORMAT_MAGIC - 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool log = fd >= 0 && pread(fd, magic, sizeof magic, FRAME_BYTES) == sizeof magic && memcmp(magic, FORMAT_MAGIC, sizeof magic) == 0;

	if (fd >= 0)
		close(fd);
	return log;
}

void outfile_open(const char *path)
{
	bool regular;
	struct stat st;

	outfile.path = path;
	if (strcmp(path, "-") == 0) {
		outfile.fd = STDOUT_FILENO;
		return;
	}
	regular = stat(path, &st) != 0 || S_ISREG(st.st_mode);
	if (!regular && S_ISDIR(st.st_mode))
		fail("%s: is a directory", path);
	if (regular && is_log(path))
		fail("%s: is a log, and not overwritten: remove it, or take another file, -o OUT", path);
	if (regular)
		outfile.unfinished = name_unfinished(path);
	/* Another one's unfinished file, or a link, is not written through. */
	if (regular && unlink(outfile.unfinished) != 0 && errno != ENOENT)
		fail("%s: %s", outfile.unfinished, strerror(errno));
	/* Before there is anything that a signal would leave. */
	if (regular)
		begin();
	outfile.fd = regular ? open(outfile.unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
	                     : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (outfile.fd < 0) {
		/* It is not ours. */
		outfile.unfinished = NULL;
		fail("%s: %s", path, strerror(errno));
	}
	out_into(outfile.fd, path, give_up);
}

/* -- Directories -------------------------------------------------------------------------------- */

/* Made here before, or empty: it has metadata of a trace, or directories that do, and nothing is lost with it. */
static bool may_go(const char *path, bool force)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	bool empty = true, trace = false;

	while (dir && (e = readdir(dir)) != NULL) {
		char inner[4096];

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		empty = false;
		snprintf(inner, sizeof inner, "%s/%s/metadata", path, e->d_name);
		trace |= strcmp(e->d_name, "metadata") == 0 || access(inner, F_OK) == 0;
	}
	if (!dir)
		return errno == ENOENT;
	closedir(dir);
	return empty || (force && trace);
}

const char *outfile_directory(const char *path, bool force)
{
	if (strcmp(path, "-") == 0)
		fail("it is a directory, which standard output is not: -o OUT");
	if (!may_go(path, false) && !force)
		fail("%s: is there already; --force replaces it, if it is a trace", path);
	if (!may_go(path, force))
		fail("%s: is no trace, so it is not replaced: remove it, or take another name, -o OUT", path);
	outfile.path = path;
	outfile.directory = true;
	outfile.force = force;
	outfile.unfinished = name_unfinished(path);
	remove_all(outfile.unfinished);
	begin();
	if (mkdir(outfile.unfinished, 0700) != 0) {
		int error = errno;

		/* It is not ours. */
		path = outfile.unfinished;
		outfile.unfinished = NULL;
		fail("%s: %s", path, strerror(error));
	}
	return outfile.unfinished;
}

/* -- The end ------------------------------------------------------------------------------------ */

uint64_t outfile_done(void)
{
	struct stat st;

	out_flush();
	outfile_check();
	if (outfile.directory && outfile.unfinished)
		nftw(outfile.unfinished, add_size, 16, FTW_PHYS);
	else if (fstat(outfile.fd, &st) == 0 && S_ISREG(st.st_mode))
		outfile.size = (uint64_t)st.st_size;
	if (!outfile.unfinished)
		return outfile.size;
	if (outfile.directory && outfile.force)
		remove_all(outfile.path);
	if ((!outfile.directory && close(outfile.fd) != 0) || rename(outfile.unfinished, outfile.path) != 0)
		fail("%s: %s", outfile.path, strerror(errno));
	outfile.unfinished = NULL;
	return outfile.size;
}
