/*
 * floor.h - what an event costs at the least
 *
 * One call that reads the counter, writes a header of 16 bytes and copies the
 * data into a ring which nobody else looks at. No thread, process or signal
 * handler may come in between, nothing can be read back in time. A tracer
 * that does its work cannot be faster; how much slower it is, is the question.
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
