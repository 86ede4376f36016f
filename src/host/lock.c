/*
 * lock.c - which files are still in use: locks kept by mappings, without a descriptor
 *
 * SPDX-License-Identifier: MIT
 */
#include "host/lock.h"

#include <errno.h>

#include "base/sys.h"
#include "base/testpoint.h"

/* "posixt" and two bytes: no file is that long, and no other program locks there. */
#define LOCK_BYTE   INT64_C(0x706f736978740000)
#define STREAM_BYTE LOCK_BYTE
#define SHARED_BYTE (LOCK_BYTE + 1)

#define HOLD_SIZE 4096

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

int lock_acquire(int fd, enum lock_kind kind)
{
	int r = take(fd, kind);

	/* ENOLCK: the kernel has no memory for another lock. */
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

void lock_pass_on(const struct hold *hold)
{
	/* If the kernel refuses, only this process keeps the lock. */
	if (hold->at)
		(void)sys_on_fork(hold->at, HOLD_SIZE);
}

bool lock_held(int fd)
{
	return sys_lock_probe(fd, LOCK_BYTE, 2) != 0;
}

bool lock_removing(int fd)
{
	return sys_lock_probe(fd, SHARED_BYTE, 1) > 0;
}
