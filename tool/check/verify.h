/*
 * verify.h - a log, frame by frame, and all that is wrong with it
 *
 * Unlike the library's reader, which makes the best of a damaged log, this one checks every byte that
 * docs/log-format.md specifies, and does not rely on any part of the log. The file is only read.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef VERIFY_H
#define VERIFY_H

#include "check/frames.h"

/* Reads the whole log, and collects findings. Returns null if there is no memory. */
struct verify *verify_log(int fd, uint64_t size);
void verify_free(struct verify *v);

#endif
