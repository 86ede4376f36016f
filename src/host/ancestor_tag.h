/*
 * ancestor_tag.h - a word that all descendants inherit, through fork and exec
 *
 * The word is a resource limit that the kernel has not used since Linux 2.4.25, RLIMIT_LOCKS. It can be set from
 * outside, is inherited in every way of making a process, and is ignored by all programs. From it a descendant of a
 * traced process learns of its ancestor, even if all processes in between have ended and knew nothing of tracing
 * (shm/family.h). A limit that some other program has set is left alone.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOST_ANCESTOR_TAG_H
#define HOST_ANCESTOR_TAG_H

#include "host/ident.h"

/* Tags the process and its future descendants. number: the process as the caller sees it; 0: the caller. */
void ancestor_tag_set(uint32_t number, struct ident id);
/* Removes the tag from the process, if the tag names id. */
void ancestor_tag_clear(uint32_t number, struct ident id);
/* Returns the ancestor in the process's tag, without pid namespace; pid 0 if there is no tag. */
struct ident ancestor_tag_get(uint32_t number);

/* Returns the ancestor in a soft limit; pid 0 if the limit is no tag. */
struct ident ancestor_tag_of(uint64_t limit);

#endif
