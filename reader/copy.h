/*
 * copy.h - files for logs that cannot be read by position: from pipes, and in memory
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READER_COPY_H
#define READER_COPY_H

#include <stddef.h>

/*
 * Reads a pipe, a FIFO or a socket to its end. Stores the descriptor of an unnamed file with its contents. name: for
 * messages. Returns 0 or an error number. Stops early if the contents are no log, because they may be endless.
 */
int copy_pipe(int from, const char *name, int *fd);
/* Stores the descriptor of an unnamed file with these bytes. */
int copy_memory(const void *bytes, size_t size, int *fd);

#endif
