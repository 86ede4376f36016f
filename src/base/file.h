/*
 * file.h - files in a user's directory of shared memory
 *
 * /dev/shm/posixtrace-UID, mode 0700, belongs to that user. It is checked at
 * each use and never followed through a link. A file appears under its name
 * only when it is whole; its space is reserved, so that touching it never
 * fails later (H12). Who uses a file holds a lock on it (lock.h), and what
 * nobody holds is garbage.
 *
 * All files are named KIND-PID-START-NUMBER: which process they belong to, and
 * the number of its pid namespace, or a serial number.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/guard.h"
#include "base/ident.h"
#include "base/lock.h"

/* The user's number follows. Who builds a library that is to know nothing of the installed one chooses another. */
#ifndef FILE_DIRECTORY
# define FILE_DIRECTORY "posixtrace-"
#endif

#define FILE_NAME_SIZE  80
#define FILE_PLACE_SIZE 96

/* A directory, of this process's user or of a traced process's. */
struct place {
	char path[FILE_PLACE_SIZE];
	uint32_t owner; /* user id, as this process sees it */
	uint32_t group; /* of the owner, for new files */
	bool guarded;   /* who can write there may have fewer rights than this process (guard.h) */
	int error;      /* negative: what was missing to find out which directory it is */
};

/*
 * Of the effective user. UID is what the user is called outside of this
 * process's user namespace, so that root in there is not taken for root.
 */
struct place place_own(void);
/* Of a process's effective user; where that process sees it: its /dev/shm may be another one. */
struct place place_of(const struct proc *proc);

void file_name(char name[FILE_NAME_SIZE], const char *kind, struct ident id, uint32_t number);
/* For what exists once for a process: the number is id.space. */
void file_name_once(char name[FILE_NAME_SIZE], const char *kind, struct ident id);
/* The reverse; kind gets the part before the first dash. False if it is not such a name. */
bool file_name_parse(const char *name, char kind[16], struct ident *id, uint32_t *number);

/* Want of descriptors or memory, which says nothing about what was asked for. */
bool file_is_want(int r);

/*
 * Opens the directory; created if it is missing and create is true. Returns a
 * descriptor or -ENOENT (no /dev/shm, or not created), -EACCES (it is not the
 * user's, others may enter, or a link leads there), or what the system says.
 */
int file_directory(const struct place *place, bool create);

/* What file_create() makes. */
struct file_new {
	const char *name;
	size_t size;
	enum lock_kind lock;
	int (*init)(void *map, void *arg); /* 0 or a negative error number: there will be no file */
	void *arg;
};

/*
 * Creates the file, all zero, fills it through init, locks it, and then gives
 * it its name. -EEXIST if the name is taken, -ENOMEM for no space.
 */
int file_create(int dir, const struct place *place, const struct file_new *file, void **map, struct hold *hold);

/* A file that exists, mapped. */
struct file_mapped {
	void *map;
	uint64_t size;  /* of the file */
	uint64_t inode; /* which file */
};

/*
 * Maps a file that is its owner's alone; at_least bytes. map_size 0: as long
 * as the file is; else that, whatever the file's size. hold null: without a
 * lock, but -ESTALE if nobody else has one; else with one that is shared.
 */
int file_map(int dir, const struct place *place, const char *name, size_t at_least, size_t map_size,
             struct file_mapped *mapped, struct hold *hold);
/* Takes a shared lock on the file, if it is still that one. */
int file_hold(int dir, const char *name, uint64_t inode, struct hold *hold);
/* What file_create() or file_map() has mapped. */
void file_unmap(void *map, size_t size);
/* Does somebody hold it? False also if there is no such file. */
bool file_held(int dir, const char *name);
/* The same for a file that is open: all of it, without a lock. */
int file_map_open(int fd, const struct place *place, size_t at_least, struct file_mapped *mapped);
/*
 * Removes a file of its owner's unless somebody holds it; bury, with the file's descriptor,
 * comes before, so that who is killed in it leaves all to the next one; false: it is not to
 * be removed yet. bury may be null. True if nobody holds it.
 */
bool file_remove_unused(int dir, const struct place *place, const char *name, bool (*bury)(int fd, void *arg), void *arg);
/* Is somebody else about to remove a file that had one holder? */
bool file_removing(int dir, const char *name);
/* 0: there is no such file, or another one. */
uint64_t file_size(int dir, const char *name, uint64_t inode);
/* Removes a file without a descriptor: there may be none left when a program ends. */
void file_unlink(const struct place *place, const char *name);
/* Makes the file at least this long, with its space. -ESTALE: by that name there is another one now. */
int file_grow(int dir, const char *name, uint64_t inode, uint64_t size);

/*
 * At least as many files as there are in the directories of all users, without
 * entering them. UINT64_MAX if that cannot be told.
 */
uint64_t file_count_all(const struct place *place);

/* What the directory contains, one after the other; f returns false to end it. */
int file_each(int dir, bool (*f)(int dir, const char *name, void *arg), void *arg);

#endif
