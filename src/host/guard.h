/*
 * guard.h - memory that another process may take away
 *
 * The owner of a file can truncate it, and the next access to a mapping of the file is a SIGBUS. Among equals that is
 * no threat, but a traced process could end a controller that has more rights (H18). When this happens to a guarded
 * mapping, private zeroed memory takes its place, the instruction is repeated there, and guard_broken() returns true.
 * The data read is meaningless then; data from such a process can be meaningless at any time.
 *
 * The first guarded mapping of a process installs a handler for SIGBUS, which passes foreign signals on to the
 * handler that was there before. Only controllers that trace a process with fewer rights do that: never a process
 * because it is traced, nor a controller that traces itself or its equals.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOST_GUARD_H
#define HOST_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Guards a mapping. Returns 0, or -ENOMEM if there are too many. */
int guard_add(void *at, size_t size);
void guard_remove(void *at);
/* Returns whether any part of the mapping was taken away. */
bool guard_broken(const void *at);
/* Puts our handler in front again if the application has installed its own since. */
void guard_renew(void);

#endif
