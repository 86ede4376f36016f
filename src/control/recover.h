/*
 * recover.h - what the dead left behind
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_RECOVER_H
#define CONTROL_RECOVER_H

#include "base/file.h"

/*
 * Removes from the directory the files that nobody holds, and streams that
 * have ended so from the pages of those that live; brings what such a stream has
 * to its log.
 */
void recover_directory(int dir, const struct place *place, uint32_t own_space);
/*
 * Brings what a stream has to its log, if its creator has died: path of the stream's file, of this
 * user's directory, and of the log. False: there was no such stream, or its creator lives.
 */
bool recover_stream(const char *stream, const char *log);
/* Streams in the directory that exist. */
int recover_count(int dir);

#endif
