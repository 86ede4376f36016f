/*
 * stream.h - size, creation, mapping and validation of a stream's memory
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_STREAM_H
#define SHM_STREAM_H

#include <stddef.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "host/file.h"
#include "model/attr.h"
#include "shm/layout.h"

/* A mapping. The numbers are copies, so later changes to the header by other processes have no effect. */
struct stream {
	struct stream_header *header;
	struct seat *seats;
	struct chunk *chunks;
	unsigned char *memory; /* of all chunks, in order */
	struct log_state *log; /* null: there is no log */
	uint32_t log_bytes;
	uint32_t chunk_size;
	uint32_t chunk_count;
	uint32_t seat_count;
	uint32_t event_size_max;
	uint32_t clock_kind;
	uint32_t data_size;
	int32_t stream_policy, log_policy;
	uint64_t made_size; /* stream-min-size as in use */
	uint32_t pidns;     /* pid namespace of the ids in the stream */
	uint32_t outsider;  /* THREAD_REF_OUTSIDER if this process is in another pid namespace, else 0 */
	size_t size;
	struct program *program; /* shm/program.h */
	uint32_t programs;
};

static inline unsigned char *stream_chunk_memory(const struct stream *s, const struct chunk *c)
{
	return s->memory + (size_t)(c - s->chunks) * s->chunk_size;
}

/* Returns the calling thread as a word of this stream (host/thread_ref.h). */
static inline uint32_t stream_thread_ref(const struct stream *s)
{
	return (uint32_t)sys_gettid() | s->outsider;
}

/* Returns whether this event type is filtered out. */
static inline bool stream_filters(const struct stream_header *h, trace_event_id_t id)
{
	return load_relaxed(&h->filter[id / 32]) >> id % 32 & 1;
}

struct stream_origin {
	struct ident creator;
	struct ident target;
	uint32_t serial;
	uint32_t turns; /* stream_header.turns */
};

/* Returns the size of the part for a log, for bodies of up to `capacity` bytes. */
uint32_t stream_log_bytes(uint32_t capacity);
/* Returns the size of the file of a stream: more than its events, for a record that is being written must have room. */
uint64_t stream_file_size(const struct attr *attr, uint32_t log_bytes);
/*
 * Creates a stream's file with all of its memory reserved. The stream lives as long as its creator keeps the hold.
 * log_bytes 0: there is no log. Returns -EEXIST, -ENOMEM, ...
 */
int stream_create(int dir, const struct shm_dir *shm_dir, const struct stream_origin *origin, const struct attr *attr,
                  uint32_t log_bytes, struct stream *s, struct hold *hold);
/*
 * Maps an existing stream, for a process of this pid namespace. Returns -ESTALE if its creator has ended, and -EINVAL
 * if the header is not valid.
 */
int stream_map(int dir, const struct shm_dir *shm_dir, struct ident creator, uint32_t serial, uint32_t pidns,
               struct stream *s);
/* Makes s a copy of `before` for another mapping of the stream, at map, in a process of this pid namespace. */
void stream_again(const struct stream *before, void *map, uint32_t pidns, struct stream *s);
void stream_unmap(struct stream *s);
void stream_name(char name[FILE_NAME_SIZE], struct ident creator, uint32_t serial);
/* Maps a stream whose creator has died, by its open file. */
int stream_map_dead(int fd, const struct shm_dir *shm_dir, uint32_t pidns, struct stream *s);

/*
 * Returns whether a file with this magic number, a stream or a registry, belongs to a library with another layout.
 * The rest of such a file cannot be interpreted.
 */
bool stream_other_layout(int fd, uint32_t magic);
/* Returns whether the stream in this file belongs to a library with another layout. */
bool stream_other_version(int dir, const char *name);
/* Gets the name of the registry's file that the stream's log will need. Returns false if the stream has no log. */
bool stream_log_names(int dir, const char *name, char names[LOG_NAMES_BYTES]);

#endif
