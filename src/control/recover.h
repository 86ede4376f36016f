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
 * have ended so from the pages of those that live.
 */
void recover_directory(int dir, const struct place *place, uint32_t own_space);
/* Streams in the directory that exist. */
int recover_count(int dir);

#endif
