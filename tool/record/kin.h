/*
 * kin.h - finds the living descendants of a process, even if the processes in between have ended
 *
 * Descendants are found by the ancestor tag that they inherit from a traced process (host/ancestor_tag.h), and by their
 * parents.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KIN_H
#define KIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/ident.h"

#define KIN_SHOWN 4

struct kin {
	/* All processes ever found. The first is the ancestor of the others. */
	struct ident *ident;
	unsigned count, room;
	uint64_t began; /* a start time: processes that started earlier are no descendants, and are not recorded */
	/* Result of the last kin_look(), without the ancestor: */
	unsigned alive;
	bool unsure; /* processes began faster than they could be looked at: some of them may be descendants */
	uint32_t shown[KIN_SHOWN]; /* the first living descendants, as /proc calls them */
};

/* Begins with a living process. Its descendants count from now on. */
void kin_begin(struct kin *k, pid_t pid);
/* Returns whether the process lives, and is the ancestor or a descendant. */
bool kin_has(struct kin *k, uint32_t number, struct proc *p);
/* Calls f for the ancestor and each descendant that live now. */
void kin_each(struct kin *k, void (*f)(const struct proc *p, void *arg), void *arg);
/* Counts the descendants that live now. */
void kin_look(struct kin *k);

#endif
