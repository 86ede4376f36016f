/*
 * wait.h - barriers on other processors
 *
 * The writer of a trace point uses plain stores and loads; whoever needs to
 * know what it has done calls barrier_everywhere() in between, which makes
 * every registered process on every processor pass a full barrier. So
 *
 *     writer:  store A; load B          other:  store B; barrier; load A
 *
 * at least one of the two sees the other's store, and the writer pays nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_WAIT_H
#define BASE_WAIT_H

#include <stdbool.h>

/* Registers a process that writes, once. Returns false without membarrier(): writers must use locked operations. */
bool barrier_register(void);
/* Returns false without membarrier(). */
bool barrier_everywhere(void);
/* Reaches only this process's threads, registered or not. The first call may take 20 ms. False without membarrier(). */
bool barrier_here(void);

#endif
