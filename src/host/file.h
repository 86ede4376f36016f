/*
 * file.h - files in a user's directory of shared memory
 *
 * /dev/shm/posixtrace-UID, mode 0700, belongs to that user. It is checked at each use and never followed through a
 * link. A file gets its final name only when it is complete. Its space is reserved, so that touching it never fails
 * later (H12). A process that uses a file holds a lock on it (lock.h); a file without a holder is garbage.
 *
 * All files are named KIND-PID-START-NUMBER. PID and START are of the process they belong to; NUMBER is its pid
 * namespace, or a serial number.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOST_FILE_H
#define HOST_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "host/guard.h"
#include "host/ident.h"
#include "host/lock.h"

/*
 * Followed by the user's number. A library that is to be independent of the installed one is built with another name.
 */
#ifndef FILE_DIRECTORY
# define FILE_DIRECTORY "posixtrace-"
#endif

#define FILE_NAME_SIZE  80
#define SHM_DIR_SIZE 96

/* The directory of this process's user, or of a traced process's user. */
struct shm_dir {
	char path[SHM_DIR_SIZE];
	uint32_t owner; /* user id in this process's user namespace */
	uint32_t group; /* of the owner, for new files */
	bool guarded;   /* its writers may have fewer rights than this process (guard.h) */
	int error;      /* negative: an error kept the directory from being determined */
};

/*
 * Returns the directory of the effective user. UID is the user's id outside of this process's user namespace, so that
 * root inside is not mistaken for root.
 */
struct shm_dir shm_dir_own(void);
/*
 * Returns the directory of a process's effective user, as seen from that process: its mount namespace may have
 * another /dev/shm.
 */
struct shm_dir shm_dir_of(const struct proc *proc);

/* Returns another user's directory beside shm_dir, for reading. outside: the user id in the directory's name. */
struct shm_dir shm_dir_other(const struct shm_dir *shm_dir, uint32_t owner, uint32_t outside);
/* Does the same with the owner that the directory has. Sets error if there is none. */
struct shm_dir shm_dir_beside(const struct shm_dir *shm_dir, uint32_t outside);

void file_name(char name[FILE_NAME_SIZE], const char *kind, struct ident id, uint32_t number);
/* Like file_name(), for files of which a process has only one: the number is id.pidns. */
void file_name_once(char name[FILE_NAME_SIZE], const char *kind, struct ident id);
/*
 * Splits a name into its parts; kind is the part before the first dash. Returns false if the name is not of this
 * form.
 */
bool file_name_parse(const char *name, char kind[16], struct ident *id, uint32_t *number);

/* Returns whether an error means that descriptors or memory ran out, which says nothing about the file. */
bool file_is_want(int r);

/* Returns whether this process can open /dev/shm. */
bool file_possible(void);
/*
 * Opens the directory, and creates it if it is missing and create is true. For root, create also renames what another
 * user has put in its place. Returns a descriptor, or -ENOENT (no /dev/shm, or not created), -EACCES (the directory is
 * not the user's, others may enter it, or its name is a link), or another error of the system.
 */
int file_directory(const struct shm_dir *shm_dir, bool create);

/* The file that file_create() makes. */
struct file_new {
	const char *name;
	size_t size;
	enum lock_kind lock;
	int (*init)(void *map, void *arg); /* returns 0, or a negative error number: no file is made */
	void *arg;
};

/*
 * Creates a file of zeros, locks it, fills it by init, and finally sets the name. Returns 0, -EEXIST if the name is
 * taken, -ENOMEM if there is no space, or another error.
 */
int file_create(int dir, const struct shm_dir *shm_dir, const struct file_new *file, void **map, struct hold *hold);

/* An existing file, mapped. */
struct file_mapped {
	void *map;
	uint64_t size;  /* of the file */
	uint64_t inode; /* identifies the file */
};

/*
 * Maps a file that only its owner can access and that has at_least bytes. map_size 0: the length of the file; else
 * this length, whatever the file's size. hold not null: takes a shared lock. hold null: takes no lock, but returns
 * -ESTALE if the file has no holder.
 */
int file_map(int dir, const struct shm_dir *shm_dir, const char *name, size_t at_least, size_t map_size,
             struct file_mapped *mapped, struct hold *hold);
/*
 * Opens a file for reading, if only its owner can have written there. Returns the descriptor, or a negative error
 * number.
 */
int file_open_reading(int dir, const struct shm_dir *shm_dir, const char *name);
/*
 * Maps the first size bytes of a file that only its owner can access, for reading only: no process that has just this
 * mapping can make it writable. inode 0: the file must have these bytes. Else it must be the file with this inode, and
 * may be shorter; returns -ESTALE otherwise.
 */
int file_map_reading(int dir, const struct shm_dir *shm_dir, const char *name, uint64_t inode, size_t size,
                     void **map);
/* Takes a shared lock on the file, if the name still belongs to the file with this inode. */
int file_hold(int dir, const char *name, uint64_t inode, struct hold *hold);
/* Unmaps a mapping made by file_create() or file_map(). */
void file_unmap(void *map, size_t size);
/* Returns whether the file has a holder, or cannot be opened. False if there is no file. */
bool file_held(int dir, const char *name);
/* Maps all of an open file, without a lock. */
int file_map_open(int fd, const struct shm_dir *shm_dir, size_t at_least, struct file_mapped *mapped);
/*
 * Removes a file of this owner unless it has a holder. Before that it calls reap, unless null, with the file's
 * descriptor; if the process is killed in reap, the file is still there for the next one. If reap returns false the
 * file stays. Returns true if the file had no holder.
 */
bool file_remove_unused(int dir, const struct shm_dir *shm_dir, const char *name, bool (*reap)(int fd, void *arg),
                        void *arg);
/* Returns whether another process is about to remove a file of a kind that has one holder. */
bool file_removing(int dir, const char *name);
/* Returns the file's size; 0 if the name is missing or belongs to another inode. */
uint64_t file_size(int dir, const char *name, uint64_t inode);
/* Removes a file without using a descriptor, because there may be none left when a program ends. */
void file_unlink(const struct shm_dir *shm_dir, const char *name);
/* Makes the file at least this long, and reserves the space. Returns -ESTALE if the name is another file's now. */
int file_grow(int dir, const char *name, uint64_t inode, uint64_t size);

/* Returns at least the number of entries in the directory, by its size. Returns UINT64_MAX if it cannot be read. */
uint64_t file_count(int dir);

/* Calls f for each entry of the directory, until f returns false. Returns 0 or a negative error number. */
int file_each(int dir, bool (*f)(int dir, const char *name, void *arg), void *arg);

#endif
