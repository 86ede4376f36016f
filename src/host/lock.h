/*
 * lock.h - which files are still in use: locks kept by mappings, without a descriptor
 *
 * A lock of an open file description stays as long as a descriptor or a mapping refers to it. So a process locks the
 * file, maps one page of it which it never touches, and closes the descriptor. The lock goes with the mapping: at
 * exit, at exec, by any signal, whatever the process wanted. A forked child does not get the page, and so not the
 * lock. To find out whether a file is in use, a process probes the lock, from any pid namespace and as any user.
 *
 * A stream's file is locked by its creator alone, a page and a registry by all their users. A file without a lock is
 * garbage.
 *
 * The locks are on bytes far beyond each file's end.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOST_LOCK_H
#define HOST_LOCK_H

#include <stdbool.h>
#include <stdint.h>

enum lock_kind {
	LOCK_STREAM, /* one holder */
	LOCK_SHARED, /* any number */
	LOCK_REMOVE, /* excludes both */
};

/* The mapping that keeps a lock. at is null if nothing is held. */
struct hold {
	void *at;
};

/* Locks an open file. Returns 0, or -EAGAIN if the lock is not available now. */
int lock_acquire(int fd, enum lock_kind kind);
/* Keeps the lock even after fd is closed. Returns 0 or -ENOMEM. */
int lock_hold(int fd, struct hold *hold);
void lock_release(struct hold *hold);
/* Lets children forked from now on keep the lock as well, until they execute another file or end. */
void lock_pass_on(const struct hold *hold);
/* Returns whether a lock is held on this file. */
bool lock_held(int fd);
/* Returns whether a process removes this file, or prepares its removal. For files of a kind that has one holder. */
bool lock_removing(int fd);

#endif
