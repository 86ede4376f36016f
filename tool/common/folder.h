/*
 * folder.h - the directory that a path leads to, found once and without trusting what other users have put there
 *
 * A path can change between two uses of it, and another user's link leads where that user likes. So a path is gone through
 * step by step, and what is done afterwards is done in the directory that was found.
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
	char *name;  /* of the file in it */
	uid_t owner; /* of the directory */
	bool shared; /* other users can put files there: world-writable, or sticky and group-writable */
	bool magic;  /* the name is a link of the kernel's own, like /proc/self/fd/1, and leads to what this process has open */
};

/*
 * Finds the directory of a file, which need not exist, by the rules of fs.protected_symlinks: in a shared directory, a link is
 * followed only if it belongs to this user or to the directory's owner. last: the file itself may be a link, too; otherwise
 * that one is not followed. Returns null, or what is wrong, as text that is good until the next call; then nothing is to be closed.
 */
const char *folder_find(struct folder *f, const char *path, bool last);
void folder_close(struct folder *f);

/*
 * Tells whether a file that is there may be written to or replaced, by the rules of fs.protected_regular and protected_fifos at
 * 2: in a shared directory, it must belong to this user or to the directory's owner, and have no other name. Returns null, or
 * what is wrong.
 */
const char *folder_objection(const struct folder *f, const struct stat *st);

/*
 * Opens a file that is there, without following a link and without waiting. A file that folder_objection() is against is EACCES.
 * Returns -1 and errno if it cannot.
 */
int folder_open(const struct folder *f, int flags);

/* Does the same, but waits for the other side of a FIFO unless flags have O_NONBLOCK. Returns -1, and in why what is wrong. */
int folder_open_there(const struct folder *f, int flags, const char **why);

/*
 * Opens a file for writing; one that is not there is made. Nothing is truncated. Waits for the reader of a FIFO. readable: for
 * reading, too, if it is a regular file. Returns -1, and in why what is wrong.
 */
int folder_write(const char *path, bool readable, mode_t mode, const char **why);

/*
 * Makes an empty file in the directory that only this user may read, whatever other users have put there. It has no name, and *name is null. On a
 * file system where each file has one, *name is that, to be freed: the preferred one, or, if that is taken or null, one that nobody can know before.
 * Returns -1 and errno if it cannot.
 */
int folder_make(const struct folder *f, int flags, const char *preferred, char **name);

/* Gives a file of folder_make() that has no name one, in the directory. Returns 0, or -1 and errno: EEXIST if anything has this name. */
int folder_give_name(const struct folder *f, int fd, const char *name);

/* Returns a name that nobody can know before, for a file beside the one that has the folder's name; to be freed. */
char *folder_random_name(const struct folder *f);

/* Removes the file, if it is the one that is open as fd. 0, or -1 and errno. */
int folder_remove(const struct folder *f, int fd);

#endif
