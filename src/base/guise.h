/*
 * guise.h - with another user's rights in the file system, for a moment
 *
 * A controller with more rights makes and opens a traced process's files as
 * that process's user would: so they are that user's from the start, also on a
 * file system that knows only the users of a container; and no link, mount or
 * mode that the process has prepared leads where it could not go itself (H18).
 *
 * For the calling thread only. Signals are blocked meanwhile.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_GUISE_H
#define BASE_GUISE_H

#include <stdbool.h>
#include <stdint.h>

struct guise {
	bool on;
	uint64_t signals;
	int dumpable;
	int death_signal;
};

/* Nothing if the user is the effective one already. */
void guise_put_on(struct guise *g, uint32_t uid, uint32_t gid);
void guise_take_off(struct guise *g);

#endif
