/*
 * page.c - a web page that has everything in it: the program that shows it, and data
 *
 * SPDX-License-Identifier: MIT
 */
#include "page.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "command.h"
#include "log/format.h"
#include "page_parts.h"

/* By this line a page of ours is known. */
static const char mark[] = "<!DOCTYPE html>\n<!-- posixtrace view -->\n";

static const char *name;      /* of what it will be; for messages */
static const char *final;     /* the file; null: standard output */
static char *meanwhile;       /* its name until it is whole */
static int fd = -1;
static uint64_t written;

/* -- Files ------------------------------------------------------------------------------------- */

/* By exit(), and by signals. */
static void remove_unfinished(void)
{
	if (meanwhile)
		unlink(meanwhile);
}

static void end_by(int signal_number)
{
	remove_unfinished();
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void check_replaced(const char *path, bool force)
{
	char head[FRAME_BYTES + sizeof FORMAT_MAGIC] = "";
	struct stat st;
	int old;

	/* Neither a FIFO nor a device is waited for. */
	if (stat(path, &st) != 0) {
		if (errno != ENOENT)
			fail("%s: %s", path, strerror(errno));
		return;
	}
	if (!S_ISREG(st.st_mode))
		fail("%s: not a regular file", path);
	old = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (old < 0 || read(old, head, sizeof head - 1) < 0)
		fail("%s: %s", path, strerror(errno));
	close(old);
	if (memcmp(head + FRAME_BYTES, FORMAT_MAGIC, sizeof FORMAT_MAGIC - 1) == 0)
		fail("%s: this is a log, which is not overwritten", path);
	if (!force && st.st_size > 0 && memcmp(head, mark, sizeof mark - 1) != 0)
		fail("%s: there is something else, which --force would overwrite", path);
}

static void put(const char *bytes, size_t size)
{
	written += size;
	while (size > 0) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail("%s: %s", name, strerror(errno));
		bytes += n;
		size -= (size_t)n;
	}
}

void page_begin(const char *path, bool force)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGTERM };

	if (strcmp(path, "-") == 0) {
		name = "standard output";
		fd = STDOUT_FILENO;
		/* Whoever does not want all of it is no trouble of ours, but it is not done. */
		signal(SIGPIPE, SIG_IGN);
	} else {
		check_replaced(path, force);
		name = final = path;
		if (asprintf(&meanwhile, "%s.%d", path, (int)getpid()) < 0)
			fail("no memory");
		fd = open(meanwhile, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0) {
			int error = errno;

			meanwhile = NULL;
			fail("%s: %s", path, strerror(error));
		}
		atexit(remove_unfinished);
		for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++)
			if (signal(ends[i], end_by) == SIG_IGN)
				signal(ends[i], SIG_IGN);
	}
	put(mark, sizeof mark - 1);
	put(page_head, page_head_size);
}

uint64_t page_end(void)
{
	put(page_tail, page_tail_size);
	if (final && (close(fd) != 0 || rename(meanwhile, final) != 0))
		fail("%s: %s", final, strerror(errno));
	meanwhile = NULL;
	return written;
}

/* -- Blocks --------------------------------------------------------------------------------------- */

static void put_base64(const unsigned char *bytes, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[4 * 4096];
	size_t n = 0;

	for (size_t i = 0; i < size; i += 3) {
		size_t there = size - i < 3 ? size - i : 3;
		uint32_t three = (uint32_t)bytes[i] << 16 | (there > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (there > 2 ? bytes[i + 2] : 0);

		text[n++] = digits[three >> 18];
		text[n++] = digits[three >> 12 & 63];
		text[n++] = there > 1 ? digits[three >> 6 & 63] : '=';
		text[n++] = there > 2 ? digits[three & 63] : '=';
		if (n == sizeof text) {
			put(text, n);
			n = 0;
		}
	}
	put(text, n);
}

#ifdef HAVE_ZLIB

static void put_packed(const void *bytes, size_t size)
{
	uLongf packed = compressBound((uLong)size);
	unsigned char *to = malloc(packed);

	if (!to || compress2(to, &packed, bytes, (uLong)size, 6) != Z_OK)
		fail("no memory");
	put_base64(to, packed);
	free(to);
}

#define PACKING "deflate"

#else

static void put_packed(const void *bytes, size_t size)
{
	put_base64(bytes, size);
}

#define PACKING "none"

#endif

void page_block(const char *kind, const void *bytes, size_t size)
{
	char begin[160];

	put(begin, (size_t)snprintf(begin, sizeof begin, "<script type=\"application/octet-stream\" data-kind=\"%s\" data-packing=\"" PACKING
		"\" data-size=\"%zu\">", kind, size));
	put_packed(bytes, size);
	put("</script>\n", 10);
}
