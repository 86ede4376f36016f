/*
 * buffer.c - the kernel's ring buffer of events
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernel/buffer.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int buffer_map(struct buffer *r, int fd, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *all = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (all == MAP_FAILED)
		return errno;
	*r = (struct buffer){ .fd = fd, .page = all, .data = (unsigned char *)all + page, .size = size };
	r->whole = malloc(BUFFER_RECORD_MAX);
	if (r->whole)
		return 0;
	buffer_unmap(r);
	return ENOMEM;
}

void buffer_unmap(struct buffer *r)
{
	if (r->page)
		munmap(r->page, (size_t)sysconf(_SC_PAGESIZE) + r->size);
	free(r->whole);
	r->page = NULL;
	r->whole = NULL;
}

const struct perf_event_header *buffer_next(struct buffer *r)
{
	/* The kernel has written everything before the head. */
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	size_t at = (size_t)(r->tail & (r->size - 1)), first = r->size - at;
	const struct perf_event_header *h = (const void *)(r->data + at);

	/* Records are multiples of 8 bytes, so the header is in one piece. */
	if (head - r->tail < sizeof *h || h->size < sizeof *h || head - r->tail < h->size)
		return NULL;
	r->tail += h->size;
	if (h->size <= first)
		return h;
	memcpy(r->whole, h, first);
	memcpy(r->whole + first, r->data, h->size - first);
	return (const void *)r->whole;
}

uint64_t buffer_there(const struct buffer *r)
{
	return __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE) - r->tail;
}

void buffer_release(struct buffer *r)
{
	/* The records were read before the kernel may overwrite them. */
	__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
}
