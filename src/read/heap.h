/*
 * heap.h - the chunks with a record at hand, the one with the oldest record on top
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READ_HEAP_H
#define READ_HEAP_H

#include "read/cursor.h"

struct heap {
	const struct cursor *cursor; /* by chunk */
	uint32_t *chunk;             /* those under chunk[i] are chunk[2 i + 1] and chunk[2 i + 2] */
	uint32_t count;
};

static inline uint64_t heap_ticks(const struct heap *h, uint32_t i)
{
	return h->cursor[h->chunk[i]].head.ticks;
}

static inline void heap_add(struct heap *h, uint32_t chunk)
{
	uint64_t ticks = h->cursor[chunk].head.ticks;
	uint32_t i = h->count++;

	for (; i > 0 && ticks < heap_ticks(h, (i - 1) / 2); i = (i - 1) / 2)
		h->chunk[i] = h->chunk[(i - 1) / 2];
	h->chunk[i] = chunk;
}

/* Moves the top to its place, after its cursor has moved on. */
static inline void heap_sift_down(struct heap *h)
{
	uint32_t i = 0, child, chunk = h->chunk[0];
	uint64_t ticks = heap_ticks(h, 0);

	while ((child = 2 * i + 1) < h->count) {
		if (child + 1 < h->count && heap_ticks(h, child + 1) < heap_ticks(h, child))
			child++;
		if (heap_ticks(h, child) >= ticks)
			break;
		h->chunk[i] = h->chunk[child];
		i = child;
	}
	h->chunk[i] = chunk;
}

static inline void heap_remove_top(struct heap *h)
{
	h->chunk[0] = h->chunk[--h->count];
	if (h->count)
		heap_sift_down(h);
}

#endif
