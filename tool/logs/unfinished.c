/*
 * unfinished.c - who can complete a log that was not closed
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/unfinished.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/message.h"
#include "host/file.h"

#define DIRECTORY "/dev/shm/" FILE_DIRECTORY

/* Returns whether the path, which may be anything, is that of a file in a user's directory. *user: its number. */
static bool is_stream(const char *path, uint32_t *user)
{
	const char *number = path + strlen(DIRECTORY);
	unsigned long n;
	char *end;

	if (strncmp(path, DIRECTORY, strlen(DIRECTORY)) != 0 || !isdigit((unsigned char)*number))
		return false;
	errno = 0;
	n = strtoul(number, &end, 10);
	if (errno || n > UINT32_MAX || *end != '/' || !end[1] || strchr(end + 1, '/'))
		return false;
	*user = (uint32_t)n;
	return true;
}

bool unfinished_owner(const struct log_header *h, uint32_t *user)
{
	const struct shm_dir own = shm_dir_own();
	size_t length = strlen(own.path);
	struct log_header now;
	struct stat st;
	bool alive;
	int fd;

	header_machine(&now);
	if (memcmp(h->boot, now.boot, sizeof now.boot) != 0 || !is_stream(h->stream, user) ||
	    (strncmp(h->stream, own.path, length) == 0 && h->stream[length] == '/'))
		return false;
	if (lstat(h->stream, &st) < 0)
		return errno == EACCES;
	if (!S_ISREG(st.st_mode))
		return false;
	fd = open(h->stream, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	alive = fd >= 0 && lock_held(fd);
	if (fd >= 0)
		close(fd);
	return !alive;
}

void unfinished_say(const struct logfile *f)
{
	uint32_t user;

	if (!f->in.ended && unfinished_owner(&f->in.header, &user))
		complain("%s: it was not closed; its stream belongs to user %u, who can complete it: "
		         "run 'posixtrace recover %s' as that user", f->path, user, f->path);
}

/* Returns whether a file is a log of the same recording. It may be anything. */
static bool same_recording(const char *path, const struct log_header *h)
{
	int entry = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW), fd;
	struct input *in = calloc(1, sizeof *in);
	bool same = false;
	char name[32];
	struct stat st;

	snprintf(name, sizeof name, "/proc/self/fd/%d", entry);
	fd = entry >= 0 && fstat(entry, &st) == 0 && S_ISREG(st.st_mode) ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	if (in && fd >= 0 && input_open_header(in, fd) == 0) {
		same = attr_created(&in->header.attr) == attr_created(&h->attr) &&
		       in->header.monotonic == h->monotonic && memcmp(in->header.boot, h->boot, sizeof h->boot) == 0;
		input_close(in);
	}
	if (fd >= 0)
		close(fd);
	if (entry >= 0)
		close(entry);
	free(in);
	return same;
}

void unfinished_say_beside(const struct logfile *f, const char *const *paths, unsigned count)
{
	static const char *const suffixes[] = { "kernel", "usdt" };

	for (unsigned i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		char path[PATH_MAX];
		bool given = snprintf(path, sizeof path, "%s.%s", f->path, suffixes[i]) >= (int)sizeof path;

		for (unsigned k = 0; k < count; k++)
			given |= strcmp(paths[k], path) == 0;
		if (!given && same_recording(path, &f->in.header))
			complain("%s: %s has further events of this recording, which are not merged into it: give "
			         "both files", f->path, path);
	}
}
