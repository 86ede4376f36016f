/*
 * identity.c - which logs are parts of one trace
 *
 * SPDX-License-Identifier: MIT
 */
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log/crc.h"
#include "log/format.h"

char *identity_text(char text[IDENTITY_BYTES], const struct log_header *h)
{
	char boot[2 * sizeof h->boot + 1];

	for (size_t i = 0; i < sizeof h->boot; i++)
		snprintf(boot + 2 * i, 3, "%02x", h->boot[i]);
	snprintf(text, IDENTITY_BYTES, "posixtrace %s %u %u %s %s", boot, h->creator, h->target, h->host, h->attr.name);
	return text;
}

int identity_open(const char *path)
{
	/* Opening a FIFO or a terminal must not wait or have side effects. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

bool identity_is_log(int fd)
{
	char magic[sizeof FORMAT_MAGIC - 1];

	return pread(fd, magic, sizeof magic, FRAME_BYTES) == (ssize_t)sizeof magic &&
	       memcmp(magic, FORMAT_MAGIC, sizeof magic) == 0;
}

bool identity_read(int fd, struct log_header *h)
{
	unsigned char bytes[FRAME_BYTES], *body;
	struct frame f;
	bool read;

	if (pread(fd, bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes || !frame_get(bytes, &f) ||
	    f.kind != FRAME_HEADER || f.size > FORMAT_BODY_MAX)
		return false;
	body = malloc(f.size);
	if (!body)
		return false;
	read = pread(fd, body, f.size, FRAME_BYTES) == (ssize_t)f.size && crc32c(body, f.size) == f.body_crc &&
	       header_get(h, body, f.size);
	free(body);
	return read;
}
