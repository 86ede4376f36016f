/*
 * guard.h - memory that another may take away
 *
 * Who owns a file can cut it short, and the next touch of a mapping of it is a
 * SIGBUS: no harm among equals, but a traced process could end a controller that
 * has more rights than it has (H18). A guarded mapping is replaced by private
 * zeroed memory in that moment, the instruction goes on there, and guard_broken()
 * tells. What is read is nonsense then, as all there may be at any time.
 *
 * The first guarded mapping of a process installs a handler for SIGBUS, which
 * passes on what is not its own to the one that was there before. That is only
 * ever a controller that traces somebody with fewer rights; never a process
 * because it is traced, and none that traces itself or its equals.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_GUARD_H
#define BASE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* 0, or -ENOMEM: there are too many. */
int guard_add(void *at, size_t size);
void guard_remove(void *at);
/* Was any of it taken away? */
bool guard_broken(const void *at);
/* The application may have installed a handler of its own since: ours goes before it. */
void guard_renew(void);

#endif
