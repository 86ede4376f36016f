/*
 * names.h - what is behind descriptors: paths of files, addresses of peers
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NAMES_H
#define NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* Bytes of a name, with its null; a multiple of NAME_BLOCK. A longer path loses its beginning. */
#define NAME_SIZE 240
#define NAME_BLOCK 16

/*
 * Copies the name of a descriptor, and returns its length. Asks the kernel at the first use of a descriptor. The name is
 * empty if it cannot be found. May write to all bytes of `to`. Keeps errno.
 */
size_t names_get(int fd, char to[NAME_SIZE]);
/* Copies the name of a descriptor if it is in the table, without asking the kernel. Returns its length. */
size_t names_known(int fd, char to[NAME_SIZE]);
/* Notes the name of a new descriptor. */
void names_set(int fd, const char *name);
/* Writes the address of a socket. */
void names_address(const struct sockaddr *address, socklen_t size, char to[NAME_SIZE]);
/* Notes that another file may be behind a descriptor now; harmless if it is still the same file. */
void names_forget(int fd);
/* Notes the same for all descriptors from first to last. */
void names_forget_range(unsigned first, unsigned last);
/* Notes that the kernel may not be asked any more, because a seccomp filter may kill the process for it. */
void names_confined(void);
/* Returns whether that was noted. */
bool names_are_confined(void);
/* Returns whether this is the process whose descriptors the names are of: not in a child of vfork(). */
bool names_own_process(void);
/* Tells the names that this process is a forked child. */
void names_in_child(void);

#endif
