/*
 * lock.c - who still uses a file, told by the kernel, without a descriptor
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/sys.h"
#include "base/testpoint.h"
#include "base/text.h"

/* "posixt" and two bytes: no file is that long, and nobody else locks there. */
#define LOCK_BYTE   INT64_C(0x706f736978740000)
#define STREAM_BYTE LOCK_BYTE
#define SHARED_BYTE (LOCK_BYTE + 1)

#define HOLD_SIZE 4096

/* More than there may be. */
#define SEEN_MAX 512

int lock_take(int fd, enum lock_kind kind)
{
	switch (kind) {
	case LOCK_STREAM:
		return sys_lock(fd, true, STREAM_BYTE, 1);
	case LOCK_SHARED:
		return sys_lock(fd, false, SHARED_BYTE, 1);
	default:
		return sys_lock(fd, true, LOCK_BYTE, 2);
	}
}

int lock_hold(int fd, struct hold *hold)
{
	void *at = sys_map_untouched(HOLD_SIZE, fd);

	if (!at)
		return -ENOMEM;
	TEST_POINT("lock_mapped");
	if (sys_not_on_fork(at, HOLD_SIZE) < 0) {
		sys_unmap(at, HOLD_SIZE);
		return -ENOMEM;
	}
	hold->at = at;
	return 0;
}

void lock_release(struct hold *hold)
{
	if (hold->at)
		sys_unmap(hold->at, HOLD_SIZE);
	hold->at = NULL;
}

bool lock_held(int fd)
{
	return sys_lock_probe(fd, LOCK_BYTE, 2) != 0;
}

/* A number in base 16 or 10; *p moves behind it. */
static uint64_t number(const char **p, unsigned base)
{
	uint64_t n = 0;

	for (;; ++*p) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = **p ? strchr(digits, **p) : NULL;

		if (!digit || digit - digits >= (long)base)
			return n;
		n = n * base + (unsigned)(digit - digits);
	}
}

/* Inodes that have been seen. */
struct seen {
	uint64_t inode[SEEN_MAX];
	int count;
};

/* "1: OFDLCK ADVISORY  WRITE -1 00:1b:819446 8101826367803850752 8101826367803850752" */
static void count_line(struct seen *seen, const char *line, uint32_t major, uint32_t minor)
{
	const char *p = strstr(line, "OFDLCK");
	uint64_t inode;

	if (!p || !(p = strstr(p, " WRITE ")) || !(p = strchr(p + strlen(" WRITE "), ' ')))
		return;
	p++;
	if (number(&p, 16) != major || *p++ != ':' || number(&p, 16) != minor || *p++ != ':')
		return;
	inode = number(&p, 10);
	if (*p++ != ' ' || number(&p, 10) != (uint64_t)STREAM_BYTE || *p++ != ' ' || number(&p, 10) != (uint64_t)STREAM_BYTE)
		return;
	for (int i = 0; i < seen->count; i++)
		if (seen->inode[i] == inode)
			return;
	if (seen->count < SEEN_MAX)
		seen->inode[seen->count++] = inode;
}

static int look(struct seen *seen, uint32_t major, uint32_t minor)
{
	int fd = sys_open(AT_FDCWD, "/proc/locks", O_RDONLY, 0);
	char buf[4096 + 1];
	size_t have = 0;
	long n;

	if (fd < 0)
		return fd;
	while ((n = sys_read(fd, buf + have, sizeof buf - 1 - have)) > 0) {
		char *line = buf, *end;

		have += (size_t)n;
		buf[have] = 0;
		while ((end = strchr(line, '\n'))) {
			*end = 0;
			count_line(seen, line, major, minor);
			line = end + 1;
		}
		have -= (size_t)(line - buf);
		if (have == sizeof buf - 1)
			have = 0; /* no line is that long */
		memmove(buf, line, have);
	}
	sys_close(fd);
	return (int)n;
}

int lock_count_streams(uint32_t major, uint32_t minor)
{
	struct seen seen = { .count = 0 };

	/*
	 * The kernel gives the list in pieces, and goes on at a position: what
	 * is locked and unlocked meanwhile moves lines over the border, so that some
	 * come twice and some never. Each counts once; and two looks miss less.
	 */
	if (look(&seen, major, minor) < 0 || look(&seen, major, minor) < 0)
		return -1;
	return seen.count;
}
