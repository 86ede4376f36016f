/*
 * recover.h - cleans up what dead processes have left behind
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_RECOVER_H
#define CONTROL_RECOVER_H

#include "host/file.h"

/* The streams that the calling process has created since its last exec. They live, so no check is needed. */
struct recover_own {
	struct ident creator;
	uint32_t first, last; /* serial numbers */
};

/*
 * Removes the files in the directory that no process holds. For a stream whose
 * creator has died, first completes its log and removes the stream from the pages
 * of live processes.
 */
void recover_directory(int dir, const struct shm_dir *shm_dir, uint32_t own_pidns, const struct recover_own *own);
/*
 * Completes the log of a stream whose creator has died. stream: path of the stream's file, in this user's directory.
 * log: path of the log. Returns false if there was no such stream, or if its creator lives.
 */
bool recover_stream(const char *stream, const char *log);
/* Returns the number of streams in the directory that a process holds; stops above most. own may be null. */
int recover_count(int dir, int most, const struct recover_own *own);

#endif
