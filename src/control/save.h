/*
 * save.h - completes the log of a stream whose creator has died
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_SAVE_H
#define CONTROL_SAVE_H

#include <stdbool.h>
#include <stdint.h>

#include "host/file.h"

struct save {
	int dir; /* of the stream's file */
	const struct shm_dir *shm_dir;
	uint32_t own_pidns;
	const char *log; /* path of the log; null: as in the stream */
};

/*
 * Writes all events of the stream in this file to its log and completes the log, as the creator would have by
 * posix_trace_shutdown(). stream_reap() calls this with its lock, so one process at a time does it, and if that
 * process is killed, the next one continues. Returns false if the log cannot be found, opened or written now.
 */
bool save_stream(int fd, void *save);

#endif
