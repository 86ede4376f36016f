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
		unsigned digit = (unsigned)(**p | 32);

		digit = digit >= 'a' ? digit - 'a' + 10 : digit - '0';
		if (digit >= base)
			return n;
		n = n * base + digit;
	}
}

/* "1: OFDLCK ADVISORY  WRITE -1 00:1b:819446 8101826367803850752 8101826367803850752" */
static bool is_stream(const char *line, uint32_t major, uint32_t minor)
{
	const char *p = strstr(line, "OFDLCK");

	if (!p || !(p = strstr(p, " WRITE ")))
		return false;
	p = strchr(p + strlen(" WRITE "), ' ');
	if (!p)
		return false;
	p++;
	if (number(&p, 16) != major || *p++ != ':' || number(&p, 16) != minor || *p++ != ':')
		return false;
	number(&p, 10); /* the inode */
	if (*p++ != ' ' || number(&p, 10) != (uint64_t)STREAM_BYTE || *p++ != ' ')
		return false;
	return number(&p, 10) == (uint64_t)STREAM_BYTE;
}

int lock_count_streams(uint32_t major, uint32_t minor)
{
	int fd = sys_open(AT_FDCWD, "/proc/locks", O_RDONLY, 0), count = 0;
	char buf[4096 + 1];
	size_t have = 0;
	long n;

	if (fd < 0)
		return -1;
	while ((n = sys_read(fd, buf + have, sizeof buf - 1 - have)) > 0) {
		char *line = buf, *end;

		have += (size_t)n;
		buf[have] = 0;
		while ((end = strchr(line, '\n'))) {
			*end = 0;
			count += is_stream(line, major, minor);
			line = end + 1;
		}
		have -= (size_t)(line - buf);
		if (have == sizeof buf - 1)
			have = 0; /* no line is that long */
		memmove(buf, line, have);
	}
	sys_close(fd);
	return n < 0 ? -1 : count;
}
