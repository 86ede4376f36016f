/*
 * fs_credentials.h - another user's rights in the file system, for a moment
 *
 * A controller with more rights makes and opens a traced process's files as that process's user. So the files belong
 * to that user from the start, even on a file system that knows only the users of a container; and no link, mount or
 * mode that the process has prepared leads where the process could not go itself (H18).
 *
 * Applies to the calling thread only. Signals are blocked meanwhile.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOST_FS_CREDENTIALS_H
#define HOST_FS_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

struct fs_credentials {
	bool on;
	uint64_t signals;
	int dumpable;
	int death_signal;
};

/* Takes on the user's rights. Does nothing if the user is the effective one already. */
void fs_credentials_use(struct fs_credentials *g, uint32_t uid, uint32_t gid);
void fs_credentials_restore(struct fs_credentials *g);

#endif
