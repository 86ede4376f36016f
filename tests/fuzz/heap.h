/*
 * heap.h - the library's memory, with accesses beyond its ends detected
 *
 * The linker's --wrap replaces the library's mappings. Anonymous memory comes from the heap, where AddressSanitizer
 * checks it. A mapping of a file has unmapped memory before and after it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HEAP_H
#define HEAP_H

/* Makes a /dev/shm of this process's own, if possible. */
void heap_own_shm(void);
/* Begins the replacement. Long-lived memory must be made before, because the library needs whole pages for it. */
void heap_begin(void);
/* Returns the current number of pieces. */
unsigned heap_pieces(void);

#endif
