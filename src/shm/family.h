/*
 * family.h - what a process inherits from its ancestors
 *
 * None of our code runs when a process forks or executes another program, and the processes in between may know
 * nothing of tracing. So inheritance is worked out when a process's page is made. The nearest ancestor that has a
 * page has in it all streams that may be inherited, because that page was made in the same way. A stream is inherited
 * if the branch that leads to the process began after the stream was entered.
 *
 * The ancestor is found by following the parents. Where a parent has ended, there are two other ways: a forked child
 * has in its memory the page of the last ancestor that attached, and controllers give a process the ancestor tag
 * (host/ancestor_tag.h) with its first inherited stream. The nearer of the two ancestors counts.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_FAMILY_H
#define SHM_FAMILY_H

#include "shm/procpage.h"

struct family {
	int dir;
	const struct shm_dir *shm_dir;
	uint32_t number; /* pid of the process in this /proc; 0: the caller */
	struct ident ident;
	/* The page, in inherited memory, of the last ancestor that attached; null if there is none. */
	const struct procpage *known;
	struct ident above; /* out: the nearest ancestor that has a page; pid 0: not found */
	int error; /* out: 0, or a negative error number if descriptors or memory ran out before there was an answer */
};

/* Returns whether a page has anything that children inherit. */
bool family_passes_on(const struct procpage *page);
/*
 * Fills in a page that is being made, for procpage_open(). arg: a struct family. Returns 0, or family.error: then no
 * page is made, rather than a page that has inherited nothing.
 */
int family_inherit(struct procpage *page, void *arg);

#endif
