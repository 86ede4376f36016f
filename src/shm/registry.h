/*
 * registry.h - names of user events and their ids, for a family of processes
 *
 * Append-only and without locks: an opener writes the name into an entry of its own and then appends the entry to the
 * index by one compare-and-swap. An opener that loses the race compares its name with the winner's, so a name never
 * has two ids. An opener that is killed half way leaves an unused entry behind and nothing else.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_REGISTRY_H
#define SHM_REGISTRY_H

#include <trace.h>

#include "host/file.h"
#include "model/data_layout.h"
#include "shm/layout.h"

struct registry {
	struct registry_header *header;
	/*
	 * The same memory, mapped for reading only. Forked children have this mapping instead of header, so that a
	 * child that becomes another user cannot change its parent's names (H20). Null: header is in children, too.
	 */
	const struct registry_header *seen;
	char file[FILE_NAME_SIZE]; /* "": memory of this process, because it could not open a file */
	struct shm_dir shm_dir;
	struct ident id; /* of the process that the registry is named after, the first of its family */
	uint64_t inode;
	uint64_t size;  /* of the file when last checked */
	uint64_t asked; /* header.bytes just before that check; 0: none yet */
	struct hold hold;
};

/*
 * Maps and holds the registry with this name. If there is none, makes an empty one, or a copy of seed if seed is not
 * null. Safe in handlers. Returns 0 or a negative error number.
 */
int registry_open(int dir, const struct shm_dir *shm_dir, struct ident id, const struct registry *seed,
                  struct registry *r);
/* Maps and holds the registry with this file name, if there is one. Returns 0 or a negative error number. */
int registry_find(int dir, const struct shm_dir *shm_dir, const char *file, struct registry *r);
/* Makes a registry in memory of this process alone, for systems without tmpfs. Returns 0 or -ENOMEM. */
int registry_open_private(const struct registry *seed, struct registry *r);
/*
 * Appends the names of seed to a registry that is empty or has the first of them, so that each name keeps its id.
 * Returns false if an id is already in use for another name, or there is no space; the names before it are appended.
 */
bool registry_append(struct registry *r, const struct registry *seed);
/*
 * Keeps forked children from writing to the registry: they get a mapping for reading in place of the writable one, and
 * the hold, so that the file stays for as long as one of them may need its names. A registry without a file stays as it
 * is. Returns 0 or a negative error number.
 */
int registry_protect(int dir, struct registry *r);
/* Returns the registry as a forked child has it: for reading only. */
struct registry registry_in_child(const struct registry *r);
/* Puts the mappings of another registry in the place of this one's, which may be in use. Returns false on failure. */
bool registry_move_over(struct registry *r, struct registry *fresh);
void registry_close(struct registry *r);
/*
 * Reads a registry of another user's process into private memory of REGISTRY_BYTES_MAX bytes, for registry_count()
 * registry_name() and registry_layout(). Names and layouts are read only if there are more than so many of either.
 * Returns false if the registry cannot be read.
 */
bool registry_read(int dir, const struct shm_dir *shm_dir, struct ident id, uint32_t names, uint32_t layouts,
                   void *memory, struct registry *r);

/* Returns the process that a note names. */
static inline struct ident names_moved_ident(const struct names_moved *m)
{
	return (struct ident){ m->pid, m->start, m->pidns };
}

/* Returns whether a note names the registry of this user and process. */
static inline bool names_moved_is(const struct names_moved *m, uint32_t user, struct ident id)
{
	return m->user == user && ident_same(names_moved_ident(m), id);
}

/* Records where the names of a process are from now on, in its former registry or page. */
void names_moved_tell(struct names_moved *moved, unsigned count, const struct shm_dir *shm_dir, uint32_t outside,
                      struct ident id);
/* Returns the notes of processes whose names were in this registry. */
const struct names_moved *registry_moved(const struct registry *r);
/* Removes the file unless the registry has a holder, or a stream exists whose log will need the names. */
void registry_remove_unused(int dir, const struct shm_dir *shm_dir, const char *file);

/*
 * Returns the id of a name of at most TRACE_EVENT_NAME_MAX bytes, and appends the name if it is new. Returns the
 * unnamed user event if there is no room, or the name is new and `limit` names come before it.
 */
trace_event_id_t registry_id(struct registry *r, const char *name, uint32_t limit);
/*
 * Declares the layout of a user event that has a name (model/data_layout.h). Returns 0, also if the same layout has
 * been declared before; -EEXIST if another one has; -ENOMEM if there is no room.
 */
int registry_declare(struct registry *r, trace_event_id_t id, const char *layout);
/*
 * Copies the declared layout of a user event, with a null. Returns its length, or 0 if none was declared. Another
 * process may have declared it: it may be any bytes.
 */
size_t registry_layout(const struct registry *r, trace_event_id_t id, char layout[LAYOUT_TEXT_SIZE]);
/* Returns the number of layouts. */
uint32_t registry_layouts(const struct registry *r);
/* Returns the number of names in the registry of this identity, 0 if there is no registry. */
uint32_t registry_look(int dir, const struct shm_dir *shm_dir, struct ident id);
/* Counts a name that is longer than TRACE_EVENT_NAME_MAX, and keeps the beginning of the first one. */
void registry_refuse(struct registry *r, const char *name);
/* Returns the number of refused names, and copies the beginning of the first. */
uint64_t registry_refused(const struct registry *r, char name[REGISTRY_NAME_BYTES]);
/* Counts a name for which there is no room. */
void registry_note_full(struct registry *r);
/* Returns how often there was no room for a name. */
uint64_t registry_full(const struct registry *r);
/* Returns the number of names; their ids are EVENT_ID_USER .. EVENT_ID_USER + count - 1. */
uint32_t registry_count(const struct registry *r);
/* Copies the name of a user event. Returns false if the event has no name. */
bool registry_name(const struct registry *r, trace_event_id_t id, char name[REGISTRY_NAME_BYTES]);

#endif
