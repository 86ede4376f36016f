/*
 * save.h - the log of a stream whose creator has died
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_SAVE_H
#define CONTROL_SAVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"

struct save {
	int dir; /* of the stream's file */
	const struct place *place;
	uint32_t own_space;
	const char *log; /* path of the log, if that is known better than by the stream; else null */
};

/*
 * Brings all that the stream in this file has to its log, and completes that;
 * as the creator would have by posix_trace_shutdown(). For stream_bury(): with its lock, so one
 * process at a time does this, and who is killed at it leaves it to the next. False: the log is
 * not to be had, or cannot be written now.
 */
bool save_stream(int fd, void *save);

#endif
