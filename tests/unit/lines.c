/*
 * lines.c - src/base/lines.c: a file of the kernel read line by line
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#define LONGEST 4096

struct got {
	int count;
	size_t bytes, longest;
	char last[64];
};

static void line(const char *text, void *arg)
{
	struct got *g = arg;
	size_t n = strlen(text);

	g->count++;
	g->bytes += n;
	g->longest = n > g->longest ? n : g->longest;
	strncpy(g->last, text, sizeof g->last - 1);
}

/* Returns what is read from count lines of n bytes each, followed by rest. */
static struct got each(size_t n, int count, const char *rest)
{
	char path[] = "/tmp/linesXXXXXX", *text = malloc(n + 1);
	int fd = mkstemp(path);
	static const size_t firsts[] = { 1, 7, 331, 4095, 0 };
	struct got g = { .count = 0 };

	MUST(fd >= 0 && text);
	memset(text, 'x', n);
	text[n] = '\n';
	for (int i = 0; i < count; i++)
		MUST(write(fd, text, n + 1) == (ssize_t)n + 1);
	MUST(write(fd, rest, strlen(rest)) == (ssize_t)strlen(rest));
	close(fd);
	for (unsigned i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
		struct got before = g;

		memset(&g, 0, sizeof g);
		CHECK_EQ("-", lines_each(path, firsts[i], line, &g), 0);
		CHECK("-", i == 0 || memcmp(&g, &before, sizeof g) == 0);
	}
	unlink(path);
	free(text);
	return g;
}

TEST(whole_lines)
{
	/* Lines of every length, so that the end of the read buffer falls on each place in a line. */
	for (size_t n = 0; n < 300; n++) {
		struct got g = each(n, 100, "last\n");

		CHECK_EQ("-", g.count, 101);
		CHECK_EQ("-", g.bytes, 100 * n + 4);
		CHECK_STR("-", g.last, "last");
	}
}

TEST(without_an_end)
{
	CHECK_EQ("-", each(10, 3, "").count, 3);
	CHECK_EQ("-", each(10, 3, "rest").count, 3);
	CHECK_EQ("-", each(0, 0, "").count, 0);
}

TEST(too_long)
{
	struct got g = each(LONGEST - 1, 3, "last\n");

	CHECK_EQ("-", g.count, 4);
	CHECK_EQ("-", g.longest, LONGEST - 1);
	/* A line that is too long is skipped entirely, and no part of it is returned as a line. */
	for (size_t n = LONGEST; n < 3 * LONGEST; n += 117) {
		g = each(n, 2, "last\n");
		CHECK_EQ("-", g.count, 1);
		CHECK_STR("-", g.last, "last");
	}
}

TEST(no_file)
{
	struct got g = { .count = 0 };

	CHECK_EQ("-", lines_each("/nowhere/at/all", 0, line, &g), -ENOENT);
	CHECK_EQ("-", lines_each("/tmp", 0, line, &g), -EISDIR);
	CHECK_EQ("-", g.count, 0);
}

TEST_MAIN(TEST_ENTRY(whole_lines), TEST_ENTRY(without_an_end), TEST_ENTRY(too_long), TEST_ENTRY(no_file))
