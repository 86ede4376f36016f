/*
 * mapped_file.h - the file that a process has mapped
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MAPPED_FILE_H
#define MAPPED_FILE_H

#include <stdint.h>

/*
 * Opens the file that a process has, or had, mapped at these addresses, for reading. The path is the process's own word
 * for it, and may lead anywhere by now: only the mapping itself is opened, or a regular file with this inode number.
 * Returns a descriptor, or -1 if the file cannot be found.
 */
int mapped_file_open(uint32_t pid, uint64_t start, uint64_t end, uint64_t inode, const char *path);

#endif
