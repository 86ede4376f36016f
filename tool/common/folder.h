/*
 * folder.h - the directory that a path leads to, found once and without trusting what other users have put there
 *
 * A path can change between two uses, and a link may lead anywhere its owner likes. The path is resolved step by step,
 * and later operations use the directory that was found.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FOLDER_H
#define FOLDER_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct folder {
	int fd;      /* of the directory, for functions like openat() */
	char *name;  /* name of the file in the directory */
	uid_t owner; /* of the directory */
	bool shared; /* other users can create files in the directory: world-writable, or sticky and group-writable */
	bool magic;  /* the name is a link of the kernel to an open file of this process, like /proc/self/fd/1 */
};

/*
 * Finds the directory of a file, which need not exist, by the rules of fs.protected_symlinks: in a shared directory, a
 * link is followed only if it belongs to this user or to the owner of the directory. last: the file itself may be a
 * link. Returns null, or the reason why not, as text that is valid until this thread's next call, and sets errno; then
 * nothing is open.
 */
const char *folder_find(struct folder *f, const char *path, bool last);
void folder_close(struct folder *f);

/*
 * Checks whether an existing file may be written to or replaced, by the rules of fs.protected_regular and
 * protected_fifos at level 2: in a shared directory, the file must belong to this user or to the owner of the
 * directory, and have no other name. Returns null, or the reason why not.
 */
const char *folder_objection(const struct folder *f, const struct stat *st);

/*
 * Opens an existing file without following a link and without waiting. Returns -1 and sets errno on failure; EACCES if
 * folder_objection() has a reason.
 */
int folder_open(const struct folder *f, int flags);

/*
 * Does the same, but waits for the other side of a FIFO unless flags have O_NONBLOCK. Returns -1 and sets *why on
 * failure.
 */
int folder_open_there(const struct folder *f, int flags, const char **why);

/*
 * Opens a file for writing, which is created if necessary, and never truncated. flags: O_WRONLY; or O_RDWR, by which a
 * regular file is opened for reading too. Waits for the reader of a FIFO unless flags have O_NONBLOCK. Returns -1 and
 * sets *why and errno on failure.
 */
int folder_write(const char *path, int flags, mode_t mode, const char **why);

/* Removes the file if it is still the one that is open as fd. Returns 0, or -1 and sets errno. */
int folder_remove(const struct folder *f, int fd);

#endif
