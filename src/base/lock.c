/*
 * lock.c - who still uses a file, told by the kernel, without a descriptor
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/lock.h"

#include <errno.h>
#include <string.h>

#include "base/lines.h"
#include "base/sys.h"
#include "base/testpoint.h"

/* "posixt" and two bytes: no file is that long, and nobody else locks there. */
#define LOCK_BYTE   INT64_C(0x706f736978740000)
#define STREAM_BYTE LOCK_BYTE
#define SHARED_BYTE (LOCK_BYTE + 1)

#define HOLD_SIZE 4096

/* More than there may be. */
#define SEEN_MAX 512

static int take(int fd, enum lock_kind kind)
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

int lock_take(int fd, enum lock_kind kind)
{
	int r = take(fd, kind);

	/* It has no memory for one more. */
	return r == -ENOLCK ? -ENOMEM : r;
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

bool lock_removing(int fd)
{
	return sys_lock_probe(fd, SHARED_BYTE, 1) > 0;
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

#define LOOKS_MIN 3
#define LOOKS_MAX 12
#define PIECE_STEP 331 /* about four lines */

/* The streams of one file system that have been seen. */
struct seen {
	uint32_t major, minor;
	uint64_t inode[SEEN_MAX];
	int count;
};

/* "1: OFDLCK ADVISORY  WRITE -1 00:1b:819446 8101826367803850752 8101826367803850752" */
static void count_line(const char *line, void *arg)
{
	struct seen *seen = arg;
	const char *p = strstr(line, "OFDLCK");
	uint64_t inode;

	if (!p || !(p = strstr(p, " WRITE ")) || !(p = strchr(p + strlen(" WRITE "), ' ')))
		return;
	p++;
	if (number(&p, 16) != seen->major || *p++ != ':' || number(&p, 16) != seen->minor || *p++ != ':')
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

int lock_count_streams(uint32_t major, uint32_t minor)
{
	struct seen seen = { .major = major, .minor = minor, .count = 0 };
	int before = -1;

	/*
	 * The kernel gives the list in pieces, and goes on at a position: what
	 * is locked and unlocked meanwhile moves lines over the border, so that some
	 * come twice and some never. Each counts once; and what one look misses, others see, whose borders are elsewhere: three at
	 * least, more as long as they tell something new.
	 */
	for (int look = 0; look < LOOKS_MIN || (look < LOOKS_MAX && seen.count != before); look++) {
		before = seen.count;
		if (lines_each("/proc/locks", (size_t)look * PIECE_STEP, count_line, &seen) < 0)
			return -1;
	}
	return seen.count;
}
