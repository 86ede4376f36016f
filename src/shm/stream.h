/*
 * stream.h - a stream's memory: how large, made, mapped, checked
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_STREAM_H
#define SHM_STREAM_H

#include <stddef.h>

#include "base/atomic.h"
#include "base/ident.h"
#include "model/attr.h"
#include "shm/layout.h"

/* A mapping. The figures are copies: what others may change in the header later does not count. */
struct stream {
	struct stream_header *header;
	struct seat *seats;
	struct chunk *chunks;
	unsigned char *memory; /* of all chunks, one after the other */
	uint32_t chunk_size;
	uint32_t chunk_count;
	uint32_t seat_count;
	uint32_t event_size_max;
	uint32_t clock_kind;
	size_t size;
};

static inline unsigned char *stream_chunk_memory(const struct stream *s, const struct chunk *c)
{
	return s->memory + (size_t)(c - s->chunks) * s->chunk_size;
}

/* Is this event type filtered out? */
static inline bool stream_filters(const struct stream_header *h, trace_event_id_t id)
{
	return load_relaxed(&h->filter[id / 32]) >> id % 32 & 1;
}

struct stream_origin {
	struct ident creator;
	uint64_t creator_image;
	struct ident target;
	uint32_t serial;
};

/* Creates it under its name, with all of its memory reserved. -EEXIST, -ENOMEM, ... */
int stream_create(int dir, const struct stream_origin *origin, const struct attr *attr, bool with_log, struct stream *s);
/* Maps an existing one; -EINVAL if it is not what its header says. */
int stream_map(int dir, struct ident creator, uint32_t serial, struct stream *s);
void stream_unmap(struct stream *s);
/* uid: in whose directory. */
void stream_unlink(unsigned uid, struct ident creator, uint32_t serial);

#endif
