/*
 * lock.h - who still uses a file, told by the kernel, without a descriptor
 *
 * A lock of an open file description stays as long as something refers to
 * that: a descriptor, or a mapping. So a process locks the file, maps one page
 * of it which it never touches, and closes the descriptor. The lock goes with
 * the mapping: at exit, at exec, by any signal, whatever the process wanted;
 * and not in a forked child, which does not get the page. Who wants to know
 * asks for the lock, from whatever pid namespace and as whatever user.
 *
 * A stream's file is locked by its creator alone, a page and a registry by all
 * that use them. What nobody has locked is garbage.
 *
 * The locks are on bytes far behind each file's end, by which the kernel's
 * list of all locks tells how many streams there are in the system.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

enum lock_kind {
	LOCK_STREAM, /* one holder */
	LOCK_SHARED, /* any number */
	LOCK_REMOVE, /* excludes both */
};

/* What keeps a lock: a mapping. At null: nothing is held. */
struct hold {
	void *at;
};

/* Takes it for this open file; -EAGAIN if that is not possible now. */
int lock_take(int fd, enum lock_kind kind);
/* From now on the lock stays although fd is closed. -ENOMEM. */
int lock_hold(int fd, struct hold *hold);
void lock_release(struct hold *hold);
/* Does anybody hold one on this file? */
bool lock_held(int fd);
/* Is somebody about to remove it, or to do what comes before that? Of a file that is locked by one holder. */
bool lock_removing(int fd);
/*
 * Streams that exist on a file system, of all users; -1 if the kernel does not
 * tell. May take 10 ms, while nobody in the system can lock a file: only where it matters.
 */
int lock_count_streams(uint32_t device_major, uint32_t device_minor);

#endif
