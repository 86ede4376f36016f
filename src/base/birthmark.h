/*
 * birthmark.h - a word that every descendant inherits, through fork and exec
 *
 * A resource limit that the kernel has had no use for since Linux 2.4.25,
 * RLIMIT_LOCKS. It can be set from outside, takes part in everything that makes
 * a process, and nobody looks at it. So one who is born to a traced process finds
 * out whom it descends from, even if all in between have ended and knew nothing
 * of tracing (shm/family.h). Where the limit was set to something by others, it is
 * left alone.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_BIRTHMARK_H
#define BASE_BIRTHMARK_H

#include "base/ident.h"

/* Marks the process, and all that descend from it from now on. number 0: the caller; else as the caller sees it. */
void birthmark_set(uint32_t number, struct ident id);
/* Takes the mark away, if it is this one. */
void birthmark_clear(uint32_t number, struct ident id);
/* pid 0: none. The pid namespace is not in it. */
struct ident birthmark_get(uint32_t number);

#endif
