/*
 * unfinished.c - who can complete a log that was not closed
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/unfinished.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
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
