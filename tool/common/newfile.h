/*
 * newfile.h - files that get their name when they are complete
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NEWFILE_H
#define NEWFILE_H

#include "common/folder.h"

/*
 * Makes an empty file in the directory, readable by this user only, whatever files of other users are there. The file
 * has no name, and *name is null, unless the file system requires a name. *name is then to be freed: it is the
 * preferred name or, if this is null or in use, an unpredictable one. Returns -1 and sets errno on failure.
 */
int newfile_make(const struct folder *f, int flags, const char *preferred, char **name);

/*
 * Gives a name to a file of newfile_make() without one. Returns 0, or -1 and sets errno: EEXIST if the name is in use.
 */
int newfile_give_name(const struct folder *f, int fd, const char *name);

/* Returns an unpredictable name, to be freed, for a file in the same directory. */
char *newfile_random_name(const struct folder *f);

#endif
