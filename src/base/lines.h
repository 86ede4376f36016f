/*
 * lines.h - a text file of the kernel's, line by line
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include <stddef.h>

/*
 * Calls f for each line, without its end; one of 4096 bytes or more is left
 * out. The kernel gives such a file in pieces, and it may change between two: first, less
 * than 4096, is the size of the first one, and 0 what it likes. 0 or a negative error number. Safe in handlers, but for the stack that it takes.
 */
int lines_each(const char *path, size_t first, void (*f)(const char *line, void *arg), void *arg);

#endif
