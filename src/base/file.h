/*
 * file.h - files in the user's own directory of shared memory
 *
 * /dev/shm/posixtrace-UID, mode 0700, belongs to the effective user. It is
 * checked at each use and never followed through a link. A file appears under
 * its name only when it is whole; its space is reserved, so that touching it
 * never fails later (H12).
 *
 * All files are named KIND-PID-START[-SERIAL] after the process that they
 * belong to, so whoever comes by can tell which ones a dead process has left.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/ident.h"

#define FILE_NAME_SIZE 80

/* serial 0: none. */
void file_name(char name[FILE_NAME_SIZE], const char *kind, struct ident id, uint32_t serial);
/* The reverse; kind gets the part before the first dash. False if it is not such a name. */
bool file_name_parse(const char *name, char kind[16], struct ident *id, uint32_t *serial);

/*
 * Opens the directory; created if it is missing and create is true. Returns a
 * descriptor or -ENOENT (no /dev/shm, or not created), -EACCES (it is not
 * ours, or others may enter), or what the system says.
 */
int file_directory(bool create);

/*
 * Creates the file and maps it, all zero, then fills it through init, then
 * gives it its name. -EEXIST if the name is taken, -ENOMEM for no space.
 */
int file_create(int dir, const char *name, size_t size, void (*init)(void *map, void *arg), void *arg, void **map);
/* Maps an existing file; at_least bytes. With reserve, map may be longer than the file. */
int file_map(int dir, const char *name, size_t at_least, size_t map_size, void **map, uint64_t *file_size);
/*
 * Removes a file from the directory of a user, without a descriptor: there may
 * be none left when a program ends.
 */
void file_unlink(unsigned uid, const char *name);
/* Makes the file at least this long, with its space. */
int file_grow(int dir, const char *name, uint64_t size);

#endif
