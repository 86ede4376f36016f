/*
 * floor.c - floor_event(), in a file of its own so that it stays a call
 *
 * SPDX-License-Identifier: MIT
 */
#include "floor.h"

#include <string.h>
#if !defined __x86_64__ && !defined __i386__ && !defined __aarch64__
# include <time.h>
#endif

struct header {
	uint64_t ticks;
	uint32_t id;
	uint32_t len;
};

_Static_assert(sizeof(struct header) == FLOOR_HEADER, "a header of 16 bytes");

static inline uint64_t counter(void)
{
#if defined __x86_64__ || defined __i386__
	return __builtin_ia32_rdtsc();
#elif defined __aarch64__
	uint64_t ticks;

	__asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
#endif
}

__attribute__((noinline)) void floor_event(struct floor_ring *ring, uint32_t id, const void *data, size_t len)
{
	size_t need = FLOOR_HEADER + ((len + 7) & ~(size_t)7);
	struct header *h;

	if (ring->size - ring->at < need)
		ring->at = 0;
	h = (struct header *)(ring->base + ring->at);
	h->ticks = counter();
	h->id = id;
	h->len = (uint32_t)len;
	memcpy(h + 1, data, len);
	ring->at += need;
}
