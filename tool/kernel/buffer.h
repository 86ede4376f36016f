/*
 * buffer.h - the kernel's ring buffer of events, one for each processor
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KERNEL_BUFFER_H
#define KERNEL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_event_header;

struct buffer {
	int fd;
	struct perf_event_mmap_page *page; /* null: not mapped */
	unsigned char *data;
	size_t size;       /* of the data, a power of 2 */
	uint64_t tail;     /* of the next record to be read */
	uint64_t head;     /* the kernel had written up to here at the last look */
	unsigned char *whole; /* a record that goes around the end, put together */
};

#define BUFFER_RECORD_MAX 65536 /* the size is a u16 */

/* Maps the ring of an event. Returns 0 or an error number. */
int buffer_map(struct buffer *r, int fd, size_t size);
void buffer_unmap(struct buffer *r);
/* Looks at what the kernel has written. Returns how many bytes are in the ring, and were not read. */
uint64_t buffer_look(struct buffer *r);
/* Returns the next record, valid until the next call or its release; null if there is none. Looks if all were read. */
const struct perf_event_header *buffer_next(struct buffer *r);
/* Returns how many bytes were read, and not released. */
uint64_t buffer_held(const struct buffer *r);
/* Gives the records that were read back to the kernel, but for the last `kept` bytes. */
void buffer_release(struct buffer *r, size_t kept);

#endif
