/*
 * stream.c - size, creation, mapping and validation of a stream's memory
 *
 * The size: a writer leaves a chunk when its next event does not fit, so up to one event of the largest size is
 * unused at each chunk's end. If C is the size of a chunk and M that of the largest event, n chunks hold at least n *
 * (C - M) bytes of events, whichever threads write them in which order. There are two more chunks: one that LOOP is
 * about to overwrite, and one for the events of posix_trace_start() and _stop().
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/sys.h"
#include "base/testpoint.h"
#include "base/ticks.h"
#include "host/file.h"
#include "host/thread_ref.h"
#include "model/record.h"

/* Each processor wants a chunk and one in reserve. The number of chunks hardly changes the total size. */
#define CHUNKS_MIN      16
#define CHUNKS_MAX      256
#define CHUNKS_SPARE    2
#define CHUNK_SIZE_MIN  4096
/* Bytes of the stream for each seat, and bounds. */
#define SEAT_PER        1024
#define SEATS_MIN       64
#define SEATS_MAX       1024
#define STREAM_SIZE_MAX (UINT64_C(1) << 40)
/* Bytes of the stream for each description of a program, in a stream with a log. */
#define PROGRAM_PER    16384

struct make {
	const struct stream_origin *origin;
	const struct attr *attr;
	uint32_t log_bytes;
	uint32_t chunk_size, chunk_count, seat_count, programs, event_size_max;
	uint64_t size;
	struct stream_header header; /* as it was written */
};

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

static uint64_t geometry_size(uint32_t seats, uint32_t chunks, uint32_t chunk_size, uint32_t programs,
                              uint64_t log_bytes)
{
	return STREAM_HEADER_BYTES + (uint64_t)seats * sizeof(struct seat) +
	       (uint64_t)chunks * (sizeof(struct chunk) + chunk_size) + (uint64_t)programs * PROGRAM_BYTES + log_bytes;
}

static uint32_t within(uint64_t n, uint32_t least, uint32_t most)
{
	return n < least ? least : n > most ? most : (uint32_t)n;
}

uint32_t stream_log_bytes(uint32_t capacity)
{
	return LOG_BODY_OFFSET + (uint32_t)round_up(capacity + 8, LINE); /* with the padding of a frame */
}

static int geometry(struct make *m)
{
	uint64_t want = m->attr->stream_size, chunk, count;
	uint32_t chunks;

	if (want > STREAM_SIZE_MAX)
		return -ENOMEM;
	m->event_size_max = attr_event_size_max(m->attr);
	chunks = 2 * sys_processors();
	if (chunks < CHUNKS_MIN)
		chunks = CHUNKS_MIN;
	if (chunks > CHUNKS_MAX)
		chunks = CHUNKS_MAX;
	chunk = want / chunks;
	if (chunk > CHUNK_SIZE_MAX - LINE)
		chunk = CHUNK_SIZE_MAX - LINE;
	if (chunk < CHUNK_SIZE_MIN)
		chunk = CHUNK_SIZE_MIN;
	if (chunk < 4 * m->event_size_max)
		chunk = 4 * m->event_size_max;
	chunk = round_up(chunk, LINE);
	count = want ? (want + chunk - m->event_size_max - 1) / (chunk - m->event_size_max) : 1;
	m->chunk_size = (uint32_t)chunk;
	m->chunk_count = (uint32_t)(count + CHUNKS_SPARE);
	m->seat_count = within(want / SEAT_PER, SEATS_MIN, SEATS_MAX);
	m->programs = m->log_bytes ? within(want / PROGRAM_PER, PROGRAMS_MIN, PROGRAMS_MAX) : 0;
	m->size = geometry_size(m->seat_count, m->chunk_count, m->chunk_size, m->programs, m->log_bytes);
	return m->size > SIZE_MAX / 2 ? -ENOMEM : 0;
}

uint64_t stream_file_size(const struct attr *attr, uint32_t log_bytes)
{
	struct make m = { .attr = attr, .log_bytes = log_bytes };

	return geometry(&m) == 0 ? m.size : UINT64_MAX;
}

static int init(void *map, void *arg)
{
	struct make *m = arg;
	const struct attr *a = m->attr;
	struct stream_header *h = &m->header;

	h->magic = STREAM_MAGIC;
	h->version = LAYOUT_VERSION;
	h->header_size = STREAM_HEADER_BYTES;
	h->chunk_size = m->chunk_size;
	h->chunk_count = m->chunk_count;
	h->seat_count = m->seat_count;
	h->programs = m->programs;
	h->event_size_max = m->event_size_max;
	h->file_size = m->size;

	h->creator_pid = m->origin->creator.pid;
	h->creator_start = m->origin->creator.start;
	h->pidns = m->origin->target.pidns;
	h->target_pid = m->origin->target.pid;
	h->target_start = m->origin->target.start;
	h->serial = m->origin->serial;
	h->turns = m->origin->turns;

	h->data_size = a->data_size;
	h->stream_policy = attr_stream_policy(a, m->log_bytes > 0);
	h->log_policy = a->log_policy;
	h->inheritance = a->inheritance;
	h->clock_kind = ticks_kind();
	h->stream_size = (uint64_t)(m->chunk_count - CHUNKS_SPARE) * (m->chunk_size - m->event_size_max);
	h->log_size = a->log_size;
	h->log_state = m->log_bytes;
	memcpy(h->version_string, a->version, sizeof h->version_string);
	memcpy(h->name, a->name, sizeof h->name);
	memcpy(map, h, sizeof *h);
	TEST_POINT("stream_header");
	return 0;
}

/* Fills in s from h, a copy of the header in private memory. own_pidns: of this process. */
static void set(struct stream *s, void *map, const struct stream_header *h, uint32_t own_pidns)
{
	s->header = map;
	s->seats = (struct seat *)((unsigned char *)map + STREAM_HEADER_BYTES);
	s->seat_count = h->seat_count;
	s->chunks = (struct chunk *)(s->seats + s->seat_count);
	s->chunk_size = h->chunk_size;
	s->chunk_count = h->chunk_count;
	s->event_size_max = h->event_size_max;
	s->clock_kind = h->clock_kind;
	s->data_size = h->data_size;
	s->stream_policy = h->stream_policy;
	s->log_policy = h->log_policy;
	s->made_size = h->stream_size;
	s->pidns = h->pidns;
	s->outsider = thread_ref_make(0, own_pidns, h->pidns);
	s->memory = (unsigned char *)(s->chunks + s->chunk_count);
	s->programs = h->programs;
	s->program = (struct program *)(void *)(s->memory + (size_t)s->chunk_count * s->chunk_size);
	s->log_bytes = (uint32_t)h->log_state;
	s->log = s->log_bytes ? (struct log_state *)(void *)(s->program + s->programs) : NULL;
	s->size = (size_t)h->file_size;
}

/* Checks the invariants S1 to S4 of shm/layout.h. */
static bool valid(const struct stream_header *h, uint64_t size)
{
	return h->magic == STREAM_MAGIC && h->version == LAYOUT_VERSION && h->header_size == STREAM_HEADER_BYTES &&
	       h->file_size == size && h->chunk_count > 0 && h->chunk_count <= CHUNK_COUNT_MAX &&
	       h->seat_count <= SEATS_MAX &&
	       h->log_state <= LOG_BYTES_MAX && h->log_state % LINE == 0 &&
	       (h->log_state == 0 || h->log_state > LOG_BODY_OFFSET) && h->programs <= PROGRAMS_MAX &&
	       size == geometry_size(h->seat_count, h->chunk_count, h->chunk_size, h->programs, h->log_state) &&
	       h->chunk_size % LINE == 0 && h->chunk_size <= CHUNK_SIZE_MAX &&
	       h->chunk_size / 2 >= h->event_size_max && h->data_size <= RECORD_DATA_MAX &&
	       h->event_size_max >= record_size_max(h->data_size) &&
	       (h->clock_kind == CLOCK_KIND_COUNTER || h->clock_kind == CLOCK_KIND_MONOTONIC);
}

void stream_name(char name[FILE_NAME_SIZE], struct ident creator, uint32_t serial)
{
	file_name(name, "stream", creator, serial);
}

int stream_create(int dir, const struct shm_dir *shm_dir, const struct stream_origin *origin, const struct attr *attr,
                  uint32_t log_bytes, struct stream *s, struct hold *hold)
{
	struct make m = { .origin = origin, .attr = attr, .log_bytes = log_bytes };
	char name[FILE_NAME_SIZE];
	struct file_new file = { name, 0, LOCK_STREAM, init, &m };
	void *map;
	int r = geometry(&m);

	if (r < 0)
		return r;
	stream_name(name, origin->creator, origin->serial);
	file.size = (size_t)m.size;
	r = file_create(dir, shm_dir, &file, &map, hold);
	if (r < 0)
		return r;
	/* The header is not read back from the file, which another user may have changed by now. */
	set(s, map, &m.header, origin->creator.pidns);
	return 0;
}

int stream_map(int dir, const struct shm_dir *shm_dir, struct ident creator, uint32_t serial, uint32_t pidns,
               struct stream *s)
{
	char name[FILE_NAME_SIZE];
	struct stream_header header;
	struct file_mapped mapped;
	int r;

	stream_name(name, creator, serial);
	r = file_map(dir, shm_dir, name, STREAM_HEADER_BYTES, 0, &mapped, NULL);
	if (r < 0)
		return r;
	memcpy(&header, mapped.map, sizeof header);
	TEST_POINT("stream_mapped");
	if (!valid(&header, mapped.size)) {
		file_unmap(mapped.map, (size_t)mapped.size);
		return -EINVAL;
	}
	set(s, mapped.map, &header, pidns);
	return 0;
}

/* Returns the address in a new mapping of what is at p in the old one. */
static void *moved(const void *p, const struct stream *before, void *map)
{
	return p ? (unsigned char *)map + ((const unsigned char *)p - (const unsigned char *)before->header) : NULL;
}

void stream_again(const struct stream *before, void *map, uint32_t pidns, struct stream *s)
{
	*s = *before;
	s->header = map;
	s->seats = moved(before->seats, before, map);
	s->chunks = moved(before->chunks, before, map);
	s->memory = moved(before->memory, before, map);
	s->program = moved(before->program, before, map);
	s->log = moved(before->log, before, map);
	s->outsider = thread_ref_make(0, pidns, s->pidns);
}

void stream_unmap(struct stream *s)
{
	file_unmap(s->header, s->size);
	s->header = NULL;
}

int stream_map_dead(int fd, const struct shm_dir *shm_dir, uint32_t pidns, struct stream *s)
{
	struct stream_header header;
	struct file_mapped mapped;
	int r = file_map_open(fd, shm_dir, STREAM_HEADER_BYTES, &mapped);

	if (r < 0)
		return r;
	memcpy(&header, mapped.map, sizeof header);
	if (!valid(&header, mapped.size)) {
		file_unmap(mapped.map, (size_t)mapped.size);
		return -EINVAL;
	}
	set(s, mapped.map, &header, pidns);
	return 0;
}

bool stream_other_layout(int fd, uint32_t magic)
{
	uint32_t begin[2];

	_Static_assert(offsetof(struct stream_header, magic) == 0 && offsetof(struct stream_header, version) == 4 &&
	                       sizeof ((struct stream_header *)0)->version == 4, "in all versions");
	_Static_assert(offsetof(struct registry_header, magic) == 0 && offsetof(struct registry_header, version) == 4 &&
	                       sizeof ((struct registry_header *)0)->version == 4, "in all versions");
	return sys_read_at(fd, begin, sizeof begin, 0) == (long)sizeof begin && begin[0] == magic &&
	       begin[1] != LAYOUT_VERSION;
}

bool stream_other_version(int dir, const char *name)
{
	int fd = sys_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	bool other = fd >= 0 && stream_other_layout(fd, STREAM_MAGIC);

	if (fd >= 0)
		sys_close(fd);
	return other;
}

bool stream_log_names(int dir, const char *name, char names[LOG_NAMES_BYTES])
{
	struct stream_header h;
	int fd = sys_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	bool known;

	if (fd < 0)
		return false;
	known = sys_read_at(fd, &h, sizeof h, 0) == (long)sizeof h && h.log_state != 0 &&
	        sys_read_at(fd, names, LOG_NAMES_BYTES,
	                    h.file_size - h.log_state + offsetof(struct log_state, names)) == LOG_NAMES_BYTES;
	sys_close(fd);
	names[known ? LOG_NAMES_BYTES - 1 : 0] = 0;
	return known;
}
