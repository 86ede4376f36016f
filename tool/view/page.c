/*
 * page.c - a web page that has everything in it: the program that shows it, and data
 *
 * SPDX-License-Identifier: MIT
 */
#include "view/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "common/message.h"
#include "common/out.h"
#include "logs/outfile.h"
#include "view/page_parts.h"

/* Identifies the pages of this command. */
static const char mark[] = "<!DOCTYPE html>\n<!-- posixtrace view -->\n";

/* Returns whether the file is a page of posixtrace view. */
static bool is_page(int fd)
{
	char head[sizeof mark - 1];

	return pread(fd, head, sizeof head, 0) == sizeof head && memcmp(head, mark, sizeof head) == 0;
}

void page_begin(const char *path, bool force)
{
	if (strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
		fail("refusing to write a web page to a terminal; use -o PAGE");
	outfile_open(path, force ? NULL : is_page,
	             "already exists, and is not a page of posixtrace view; --force replaces it");
	out_bytes(mark, sizeof mark - 1);
	out_bytes(page_head, page_head_size);
}

uint64_t page_end(void)
{
	out_bytes(page_tail, page_tail_size);
	return outfile_done();
}

/* -- Blocks --------------------------------------------------------------------------------------- */

static void put_base64(const unsigned char *bytes, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[4 * 4096];
	size_t n = 0;

	for (size_t i = 0; i < size; i += 3) {
		size_t there = size - i < 3 ? size - i : 3;
		uint32_t three = (uint32_t)bytes[i] << 16 | (there > 1 ? (uint32_t)bytes[i + 1] << 8 :
		                                             0) | (there > 2 ? bytes[i + 2] : 0);

		text[n++] = digits[three >> 18];
		text[n++] = digits[three >> 12 & 63];
		text[n++] = there > 1 ? digits[three >> 6 & 63] : '=';
		text[n++] = there > 2 ? digits[three & 63] : '=';
		if (n == sizeof text) {
			out_bytes(text, n);
			n = 0;
		}
	}
	out_bytes(text, n);
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
	outfile_check();
	out_printf("<script type=\"application/octet-stream\" data-kind=\"%s\" "
	           "data-packing=\"" PACKING "\" data-size=\"%zu\">",
	           kind, size);
	put_packed(bytes, size);
	out_text("</script>\n");
}
