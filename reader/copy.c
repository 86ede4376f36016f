/*
 * copy.c - files for logs that cannot be read by position: from pipes, and in memory
 *
 * SPDX-License-Identifier: MIT
 */
#include "copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "error.h"
#include "log/format.h"

#define PIECE (64 << 10)
#define MAGIC_END (FRAME_BYTES + sizeof FORMAT_MAGIC - 1)

static int unnamed_file(int *fd)
{
	const char *directory = getenv("TMPDIR");
	char path[4096];

	if (!directory || !*directory)
		directory = "/tmp";
	*fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (*fd >= 0)
		return 0;
	/* Not every file system supports O_TMPFILE. */
	snprintf(path, sizeof path, "%s/posixtrace-XXXXXX", directory);
	*fd = mkostemp(path, O_CLOEXEC);
	if (*fd < 0)
		return error_system(errno, "%s: cannot create a file for the contents of the log", directory);
	unlink(path);
	return 0;
}

/* Returns 0 or an error number. */
static int write_bytes(int fd, const unsigned char *bytes, size_t size, uint64_t at)
{
	while (size > 0) {
		long n = sys_write_at(fd, bytes, size, at);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? (int)-n : EIO;
		bytes += n;
		at += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static int write_all(int fd, const unsigned char *bytes, size_t size, uint64_t at)
{
	struct sys_spared spared = sys_spare_begin();
	int error = write_bytes(fd, bytes, size, at);

	sys_spare_end(&spared, error);
	return error ? error_system(error, "the copy of the log, in $TMPDIR or /tmp") : 0;
}

/* Reads until the piece has at least `least` bytes, or to the end. */
static int read_piece(int fd, const char *name, unsigned char *piece, size_t *have, size_t least)
{
	while (*have < least) {
		ssize_t n = read(fd, piece + *have, PIECE - *have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_system(errno, "%s", name);
		if (n == 0)
			break;
		*have += (size_t)n;
	}
	return 0;
}

static int copy_all(int from, const char *name, unsigned char *piece, int *fd)
{
	uint64_t at = 0;
	size_t have = 0;
	int error = read_piece(from, name, piece, &have, MAGIC_END);

	if (error == 0 && have == 0)
		error = error_say(EINVAL, "%s: the pipe is empty", name);
	if (error == 0 && (have < MAGIC_END || memcmp(piece + FRAME_BYTES, FORMAT_MAGIC, sizeof FORMAT_MAGIC - 1) != 0))
		error = error_say(EINVAL, "%s: not a posixtrace log", name);
	if (error == 0)
		error = unnamed_file(fd);
	while (error == 0 && have > 0) {
		error = write_all(*fd, piece, have, at);
		at += have;
		have = 0;
		if (error == 0)
			error = read_piece(from, name, piece, &have, 1);
	}
	return error;
}

int copy_pipe(int from, const char *name, int *fd)
{
	unsigned char *piece = malloc(PIECE);
	int error;

	*fd = -1;
	error = piece ? copy_all(from, name, piece, fd) : error_memory();
	free(piece);
	if (error && *fd >= 0)
		close(*fd);
	return error;
}

int copy_memory(const void *bytes, size_t size, int *fd)
{
	int error = unnamed_file(fd);

	if (error)
		return error;
	error = write_all(*fd, bytes, size, 0);
	if (error)
		close(*fd);
	return error;
}
