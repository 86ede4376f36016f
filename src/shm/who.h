/*
 * who.h - a thread, in a word of shared memory: does it still live?
 *
 * Its id in its own pid namespace, and a mark if that is another than the
 * stream's or page's. One cannot ask the kernel about a thread of another
 * namespace: it passes for alive (H22). So between namespaces a claim of the dead stays
 * until one comes by who can tell, and readers wait a tenth of a second for it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_WHO_H
#define SHM_WHO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ident.h"

#define WHO_OUTSIDER 0x80000000u

/* A thread of one namespace, to be written where ids of another are expected. 0: unknown, so the same. */
static inline uint32_t who_make(uint32_t tid, uint32_t own_space, uint32_t space)
{
	return own_space == space || !own_space || !space ? tid : tid | WHO_OUTSIDER;
}

/* Is the thread in this word alive? asking: one's own word, or at least its mark. */
static inline bool who_alive(uint32_t who, uint32_t asking)
{
	return ((who | asking) & WHO_OUTSIDER) || thread_alive(who);
}

/* The same where one has waited already: a process that has ended, and only waits to be reaped, keeps its id. */
static inline bool who_lives(uint32_t who, uint32_t asking)
{
	return ((who | asking) & WHO_OUTSIDER) || thread_lives(who);
}

#endif
