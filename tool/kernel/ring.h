/*
 * ring.h - the kernel's ring buffer of events, one for each processor
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KERNEL_RING_H
#define KERNEL_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_event_header;

struct ring {
	int fd;
	struct perf_event_mmap_page *page; /* null: not mapped */
	unsigned char *data;
	size_t size;       /* of the data, a power of 2 */
	uint64_t tail;
	unsigned char *whole; /* a record that goes around the end, put together */
};

#define RING_RECORD_MAX 65536 /* the size is a u16 */

/* Maps the ring of an event. Returns 0 or an error number. */
int ring_map(struct ring *r, int fd, size_t size);
void ring_unmap(struct ring *r);
/* Returns the next record, valid until the next call or ring_release(); null if there is none now. */
const struct perf_event_header *ring_next(struct ring *r);
/* Returns how many bytes are in the ring now. */
uint64_t ring_there(const struct ring *r);
/* Gives the records read so far back to the kernel. */
void ring_release(struct ring *r);

#endif
