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

#include "base/atomic.h"

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

uint64_t buffer_look(struct buffer *r)
{
	/* The kernel has written everything before the head. */
	r->head = load_acquire(&r->page->data_head);
	return r->head - r->tail;
}

const struct perf_event_header *buffer_next(struct buffer *r)
{
	size_t at = (size_t)(r->tail & (r->size - 1)), first = r->size - at;
	const struct perf_event_header *h = (const void *)(r->data + at);

	if (r->tail == r->head)
		buffer_look(r);
	/* Records are multiples of 8 bytes, so the header is in one piece. */
	if (r->head - r->tail < sizeof *h || h->size < sizeof *h || r->head - r->tail < h->size)
		return NULL;
	r->tail += h->size;
	if (h->size <= first)
		return h;
	memcpy(r->whole, h, first);
	memcpy(r->whole + first, r->data, h->size - first);
	return (const void *)r->whole;
}

uint64_t buffer_held(const struct buffer *r)
{
	return r->tail - r->page->data_tail;
}

void buffer_release(struct buffer *r, size_t kept)
{
	/* The records were read before the kernel may overwrite them. */
	store_release(&r->page->data_tail, r->tail - kept);
}
