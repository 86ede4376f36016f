/*
 * floor.h - the least that an event can cost
 *
 * One call reads the counter, writes a header of 16 bytes and copies the data into a private ring. It is not safe
 * against other threads, processes and signal handlers, and the ring cannot be read while it is written. A tracer that
 * does its work cannot be faster; the benchmarks show how much slower it is.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <stddef.h>
#include <stdint.h>

struct floor_ring {
	unsigned char *base;
	size_t size; /* at least the largest record */
	size_t at;   /* where the next record goes; a multiple of 8 */
};

#define FLOOR_HEADER 16

void floor_event(struct floor_ring *ring, uint32_t id, const void *data, size_t len);

#endif
