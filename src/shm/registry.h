/*
 * registry.h - names of user events and their ids, for a family of processes
 *
 * Append-only and without locks: an opener writes the name into a place of its
 * own and then appends the place to the index by one compare-and-swap. Who
 * loses that compares with the name that won, so a name never has two ids, and
 * one that is killed half way leaves an unused place behind and nothing else.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_REGISTRY_H
#define SHM_REGISTRY_H

#include <trace.h>

#include "base/file.h"
#include "shm/layout.h"

struct registry {
	struct registry_header *header;
	char file[FILE_NAME_SIZE]; /* "": memory of this process and its children, there is no tmpfs */
	struct place place;
	struct ident id; /* whose it is, or the first of its family's */
	uint64_t inode;
	uint64_t size; /* of the file, when it was last looked at */
	struct hold hold;
};

/*
 * Maps the registry with this name and holds it. Made if need be: then it
 * begins as a copy of seed, null for none. Safe in handlers. 0 or a negative error number.
 */
int registry_open(int dir, const struct place *place, struct ident id, const struct registry *seed, struct registry *r);
/* The same by the name of its file, and only if there is one. */
int registry_find(int dir, const struct place *place, const char *file, struct registry *r);
/* One in memory that forked children share, where there is no tmpfs; seed as above. 0 or -ENOMEM. */
int registry_open_private(const struct registry *seed, struct registry *r);
/* Holds, for this process, what it has mapped from a process that it was forked from. */
void registry_hold(int dir, struct registry *r);
void registry_close(struct registry *r);
/* Removes the file unless somebody holds it, or there is a stream whose log will need it. */
void registry_remove_unused(int dir, const struct place *place, const char *file);

/*
 * The id of a name of at most TRACE_EVENT_NAME_MAX bytes; the unnamed user event
 * if there is no room, or it would be the first behind so many others.
 */
trace_event_id_t registry_id(struct registry *r, const char *name, uint32_t limit);
/* Names in the registry that has this name, 0 if there is none. */
uint32_t registry_look(int dir, const struct place *place, struct ident id);
/* Number of names: ids EVENT_ID_USER .. EVENT_ID_USER + count - 1. */
uint32_t registry_count(const struct registry *r);
/* The name of a user event. False: it has none. */
bool registry_name(const struct registry *r, trace_event_id_t id, char name[REGISTRY_NAME_BYTES]);

#endif
