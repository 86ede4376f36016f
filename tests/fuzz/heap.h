/*
 * heap.h - the library's memory, so that a byte too many is seen
 *
 * Of its own memory (the linker calls this, --wrap) each piece comes from the heap, where AddressSanitizer looks after it.
 * What it maps of a file stands alone, with nothing before and behind that could be touched.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HEAP_H
#define HEAP_H

/* A /dev/shm of this process's own, where that is possible. */
void heap_own_shm(void);
/* From now on. What lives longer than that is made before: the library wants pages for it. */
void heap_begin(void);
/* Pieces that there are now. */
unsigned heap_pieces(void);

#endif
