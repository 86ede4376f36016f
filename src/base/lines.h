/*
 * lines.h - a text file of the kernel's, line by line
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include <stddef.h>

/*
 * Calls f for each line, without its end; skips lines of 4096 bytes or more. The kernel returns the file in pieces, and
 * it may change between two pieces. first is the size of the first piece, below 4096; 0: the kernel decides. Returns 0
 * or a negative error number. Safe in handlers, except for its use of the stack.
 */
int lines_each(const char *path, size_t first, void (*f)(const char *line, void *arg), void *arg);
/* Does the same with a buffer of the caller's, of LINES_BUFFER bytes, and so with little of the stack. */
#define LINES_BUFFER (4096 + 1)
int lines_each_in(char *buf, const char *path, size_t first, void (*f)(const char *line, void *arg), void *arg);

#endif
