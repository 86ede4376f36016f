/*
 * logpipe.c - reads logs from pipes
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/logpipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/message.h"
#include "log/format.h"

#define PIECE (1u << 16)
#define MAGIC_END (FRAME_BYTES + sizeof FORMAT_MAGIC - 1)

/* Copies of the data from pipes. */
static struct copy {
	struct copy *next;
	dev_t dev;
	ino_t ino;
	int fd;
} *copies;

static int unnamed_file(void)
{
	const char *directory = getenv("TMPDIR");
	char *path;
	int fd;

	if (!directory || !*directory)
		directory = "/tmp";
	fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	/* Not every file system supports O_TMPFILE. */
	if (asprintf(&path, "%s/posixtrace-XXXXXX", directory) < 0)
		fail("no memory");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		fail("%s: cannot create a file for the data of the pipe: %s", directory, strerror(errno));
	unlink(path);
	free(path);
	return fd;
}

static void write_all(int fd, const unsigned char *piece, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, piece, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail("the copy of the data of the pipe, in $TMPDIR or /tmp: %s", strerror(errno));
		piece += n;
		size -= (size_t)n;
	}
}

/* Reads until the piece has at least `wanted` bytes, or to the end. Returns the number of bytes in it. */
static size_t read_piece(int fd, const char *path, unsigned char *piece, size_t have, size_t wanted)
{
	while (have < wanted) {
		ssize_t n = read(fd, piece + have, PIECE - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail("%s: %s", path, strerror(errno));
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return have;
}

/* Copies the log into a file. Does not copy other data, which may be endless. */
static int copy_all(int fd, const char *path)
{
	static unsigned char piece[PIECE];
	size_t have = read_piece(fd, path, piece, 0, MAGIC_END);
	int to;

	if (have == 0)
		fail("%s: the pipe is empty", path);
	if (have < MAGIC_END || memcmp(piece + FRAME_BYTES, FORMAT_MAGIC, sizeof FORMAT_MAGIC - 1) != 0)
		fail("%s: not a posixtrace log", path);
	for (to = unnamed_file(); have > 0; have = read_piece(fd, path, piece, 0, 1))
		write_all(to, piece, have);
	return to;
}

int logpipe_open(const char *path)
{
	bool standard = strcmp(path, "-") == 0;
	const char *name = standard ? "standard input" : path;
	struct copy *c;
	struct stat st;
	int fd;

	/* Opening a FIFO waits for its writer. Opening a device must not wait: it is refused later. */
	if (standard)
		fd = dup(STDIN_FILENO);
	else
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (stat(path, &st) == 0 && S_ISFIFO(st.st_mode) ? 0 :
		                                                   O_NONBLOCK));
	if (fd < 0 || fstat(fd, &st) != 0)
		fail("%s: %s", name, strerror(errno));
	if (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode))
		return fd;
	for (c = copies; c && (c->dev != st.st_dev || c->ino != st.st_ino); c = c->next)
		;
	if (!c) {
		c = malloc(sizeof *c);
		if (!c)
			fail("no memory");
		*c = (struct copy){ copies, st.st_dev, st.st_ino, copy_all(fd, name) };
		copies = c;
	}
	close(fd);
	fd = dup(c->fd);
	if (fd < 0)
		fail("%s: %s", name, strerror(errno));
	return fd;
}
