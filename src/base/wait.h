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

/* Once for each process that writes. False: membarrier() is not to be had, writers must use locked operations. */
bool barrier_register(void);
/* False: not to be had. */
bool barrier_everywhere(void);
/* Only for the threads of this process; registered or not. The first time may take 20 ms. False: not to be had. */
bool barrier_here(void);

#endif
