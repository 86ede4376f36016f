/*
 * lines.h - a text file of the kernel's, line by line
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_LINES_H
#define BASE_LINES_H

/*
 * Calls f for each line, without its end; one of 4096 bytes or more is left
 * out. 0 or a negative error number. Safe in handlers, but for the stack that it takes.
 */
int lines_each(const char *path, void (*f)(const char *line, void *arg), void *arg);

#endif
