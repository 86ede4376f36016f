/*
 * stream.h - a stream's memory: how large, made, mapped, checked
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_STREAM_H
#define SHM_STREAM_H

#include <stddef.h>

#include "base/atomic.h"
#include "base/file.h"
#include "base/sys.h"
#include "model/attr.h"
#include "shm/layout.h"
#include "shm/procpage.h"

/* A mapping. The figures are copies: what others change in the header later does not count. */
struct stream {
	struct stream_header *header;
	struct seat *seats;
	struct chunk *chunks;
	unsigned char *memory; /* of all chunks, one after the other */
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
	uint32_t space;    /* pid namespace of the ids in it */
	uint32_t outsider; /* WHO_OUTSIDER if this process is of another one, else 0 */
	size_t size;
};

static inline unsigned char *stream_chunk_memory(const struct stream *s, const struct chunk *c)
{
	return s->memory + (size_t)(c - s->chunks) * s->chunk_size;
}

/* The calling thread, in a word of this stream (shm/who.h). */
static inline uint32_t stream_who(const struct stream *s)
{
	return (uint32_t)sys_gettid() | s->outsider;
}

/* Is this event type filtered out? */
static inline bool stream_filters(const struct stream_header *h, trace_event_id_t id)
{
	return load_relaxed(&h->filter[id / 32]) >> id % 32 & 1;
}

struct stream_origin {
	struct ident creator;
	struct ident target;
	uint32_t serial;
};

/* What the part for a log takes, for bodies of so many bytes. */
uint32_t stream_log_bytes(uint32_t capacity);
/*
 * Creates it under its name, with all of its memory reserved; it exists while
 * the creator has the hold. log_bytes 0: there is no log. -EEXIST, -ENOMEM, ...
 */
int stream_create(int dir, const struct place *place, const struct stream_origin *origin, const struct attr *attr,
                  uint32_t log_bytes, struct stream *s, struct hold *hold);
/* Maps an existing one, for a process of this namespace; -ESTALE if its creator has ended; -EINVAL if it is not what its header says. */
int stream_map(int dir, const struct place *place, struct ident creator, uint32_t serial, uint32_t space,
               struct stream *s);
void stream_unmap(struct stream *s);
void stream_name(char name[FILE_NAME_SIZE], struct ident creator, uint32_t serial);
/* Maps one whose creator has died, by its open file. */
int stream_map_dead(int fd, const struct place *place, uint32_t space, struct stream *s);
/*
 * Unless its creator lives: who still records there stops, no page names it any
 * more, and its file goes, in this order. own_space: the caller's pid namespace. Before the
 * file goes, save brings what is in it to its log, if it has one; false: it could not, and
 * the file stays for one who can. save null: that is nothing for this caller. One of another version stays as it is.
 * False: the creator lives, or there is no file.
 */
bool stream_bury(int dir, const struct place *place, uint32_t own_space, const struct page_entry *entry,
                 bool (*save)(int fd, void *arg), void *arg);

/* Is that file, a stream or a registry by its magic number, of a library with another layout? What is in it, and where, only that knows. */
bool stream_other_layout(int fd, uint32_t magic);
/* Is the stream in this file one of a library with another layout? */
bool stream_other_version(int dir, const char *name);
/* The file of the registry that the log of the stream in this file will need. False: it has no log. */
bool stream_log_names(int dir, const char *name, char names[LOG_NAMES_BYTES]);

#endif
