/*
 * family.h - what a process inherits from those that it descends from
 *
 * Nothing of ours runs when a process forks or executes another program, and
 * what is in between may know nothing of tracing. So the question is asked
 * when a process's page is made: the nearest process above it that has a page
 * has in it all streams that may be inherited, because that page was made in
 * the same way. A stream counts if the branch that leads to the process began
 * after it was entered.
 *
 * Up the parents, or, where those in between have ended, by the page of the last
 * one before it that attached, which a forked child has in its memory, or by the
 * birthmark (base/birthmark.h), which controllers give to a process with its first
 * inherited stream; whichever of the two is nearer.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_FAMILY_H
#define SHM_FAMILY_H

#include "shm/procpage.h"

struct family {
	int dir;
	const struct place *place;
	uint32_t number; /* of the process, as /proc calls it; 0: the caller */
	struct ident ident;
	/* The page of the last one above it that attached, if that is known: forked, and from its memory. Else null. */
	const struct procpage *known;
	struct ident above; /* out: the nearest that has a page; pid 0: not found */
	int error; /* out: for want of a descriptor or memory it cannot be told now, a negative number; else 0 */
};

/* Is there anything in a page that children inherit? */
bool family_passes_on(const struct procpage *page);
/* For procpage_open(): fills a page that is being made. arg: a struct family. 0, or its error: then there is no page, rather than one that has inherited nothing. */
int family_inherit(struct procpage *page, void *arg);

#endif
