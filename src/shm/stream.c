/*
 * stream.c - a stream's memory: how large, made, mapped, checked
 *
 * How large: a writer leaves a chunk when its next event does not fit, so up
 * to one event, of the largest size, is unused at each chunk's end. With C the
 * size of a chunk and M that of the largest event, n chunks hold at least
 * n * (C - M) bytes of events, whichever threads write them in which order.
 * Two more chunks than that: one that LOOP is about to overwrite, and one for
 * the events of posix_trace_start() and _stop().
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/ticks.h"
#include "model/record.h"
#include "shm/chunk.h"
#include "shm/who.h"

/* Each processor wants a chunk and one in reserve; the memory is the same, in larger or smaller pieces. */
#define CHUNKS_MIN      16
#define CHUNKS_MAX      256
#define CHUNKS_SPARE    2
#define CHUNK_SIZE_MIN  4096
/* One for each so many bytes of the stream, within bounds. */
#define SEAT_PER        1024
#define SEATS_MIN       64
#define SEATS_MAX       1024
#define STREAM_SIZE_MAX (UINT64_C(1) << 40)

struct make {
	const struct stream_origin *origin;
	const struct attr *attr;
	uint32_t log_bytes;
	uint32_t chunk_size, chunk_count, seat_count, event_size_max;
	uint64_t size;
	struct stream_header header; /* as it was made */
};

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

static uint64_t geometry_size(uint32_t seats, uint32_t chunks, uint32_t chunk_size, uint64_t log_bytes)
{
	return STREAM_HEADER_BYTES + (uint64_t)seats * sizeof(struct seat) +
	       (uint64_t)chunks * (sizeof(struct chunk) + chunk_size) + log_bytes;
}

uint32_t stream_log_bytes(uint32_t capacity)
{
	return LOG_BODY_OFFSET + (uint32_t)round_up(capacity + 8, LINE); /* with what fills a frame up */
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
	m->seat_count = want / SEAT_PER < SEATS_MIN ? SEATS_MIN : want / SEAT_PER > SEATS_MAX ? SEATS_MAX : (uint32_t)(want / SEAT_PER);
	m->size = geometry_size(m->seat_count, m->chunk_count, m->chunk_size, m->log_bytes);
	return m->size > SIZE_MAX / 2 ? -ENOMEM : 0;
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
	h->event_size_max = m->event_size_max;
	h->file_size = m->size;

	h->creator_pid = m->origin->creator.pid;
	h->creator_start = m->origin->creator.start;
	h->space = m->origin->target.space;
	h->target_pid = m->origin->target.pid;
	h->target_start = m->origin->target.start;
	h->serial = m->origin->serial;

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

/* h: what the header says, in memory that nobody else writes. own_space: of this process. */
static void set(struct stream *s, void *map, const struct stream_header *h, uint32_t own_space)
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
	s->space = h->space;
	s->outsider = who_make(0, own_space, h->space);
	s->memory = (unsigned char *)(s->chunks + s->chunk_count);
	s->log_bytes = (uint32_t)h->log_state;
	s->log = s->log_bytes ? (struct log_state *)(s->memory + (size_t)s->chunk_count * s->chunk_size) : NULL;
	s->size = (size_t)h->file_size;
}

/* The invariants S1 to S3 of shm/layout.h. */
static bool valid(const struct stream_header *h, uint64_t size)
{
	return h->magic == STREAM_MAGIC && h->version == LAYOUT_VERSION && h->header_size == STREAM_HEADER_BYTES &&
	       h->file_size == size && h->chunk_count > 0 && h->seat_count <= SEATS_MAX &&
	       h->log_state <= LOG_BYTES_MAX && h->log_state % LINE == 0 &&
	       (h->log_state == 0 || h->log_state > LOG_BODY_OFFSET) &&
	       size == geometry_size(h->seat_count, h->chunk_count, h->chunk_size, h->log_state) &&
	       h->chunk_size % LINE == 0 && h->chunk_size <= CHUNK_SIZE_MAX &&
	       h->chunk_size / 2 >= h->event_size_max && h->data_size <= RECORD_DATA_MAX &&
	       h->event_size_max >= record_size_max(h->data_size) &&
	       (h->clock_kind == CLOCK_KIND_COUNTER || h->clock_kind == CLOCK_KIND_MONOTONIC);
}

void stream_name(char name[FILE_NAME_SIZE], struct ident creator, uint32_t serial)
{
	file_name(name, "stream", creator, serial);
}

int stream_create(int dir, const struct place *place, const struct stream_origin *origin, const struct attr *attr,
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
	r = file_create(dir, place, &file, &map, hold);
	if (r < 0)
		return r;
	/* Not from the file: that may be another user's by now. */
	set(s, map, &m.header, origin->creator.space);
	return 0;
}

int stream_map(int dir, const struct place *place, struct ident creator, uint32_t serial, uint32_t space,
               struct stream *s)
{
	char name[FILE_NAME_SIZE];
	struct stream_header header;
	struct file_mapped mapped;
	int r;

	stream_name(name, creator, serial);
	r = file_map(dir, place, name, STREAM_HEADER_BYTES, 0, &mapped, NULL);
	if (r < 0)
		return r;
	memcpy(&header, mapped.map, sizeof header);
	TEST_POINT("stream_mapped");
	if (!valid(&header, mapped.size)) {
		file_unmap(mapped.map, (size_t)mapped.size);
		return -EINVAL;
	}
	set(s, mapped.map, &header, space);
	return 0;
}

void stream_unmap(struct stream *s)
{
	file_unmap(s->header, s->size);
	s->header = NULL;
}

int stream_map_dead(int fd, const struct place *place, uint32_t space, struct stream *s)
{
	struct stream_header header;
	struct file_mapped mapped;
	int r = file_map_open(fd, place, STREAM_HEADER_BYTES, &mapped);

	if (r < 0)
		return r;
	memcpy(&header, mapped.map, sizeof header);
	if (!valid(&header, mapped.size)) {
		file_unmap(mapped.map, (size_t)mapped.size);
		return -EINVAL;
	}
	set(s, mapped.map, &header, space);
	return 0;
}

struct burial {
	int dir;
	const struct place *place;
	uint32_t own_space;
	const struct page_entry *entry;
	bool (*save)(int fd, void *arg);
	void *arg;
};

/* Nobody records there any more, but who is in the middle of a record. False: that cannot be said now. */
static bool end(int fd)
{
	const uint64_t at = offsetof(struct stream_header, state);
	uint32_t state = 0;
	long n = sys_read_at(fd, &state, sizeof state, at);

	if (n != (long)sizeof state)
		return n >= 0; /* it has none */
	if (state & STATE_RUNNING)
		state |= STATE_CUT;
	state = (state & ~(STATE_RUNNING | STATE_ARMED | STATE_FLUSHING)) | STATE_ENDED;
	return sys_size_allowed(at + sizeof state) && sys_write_at(fd, &state, sizeof state, at) >= 0;
}

/* Also if that cannot be told. */
static bool has_log(int fd)
{
	uint64_t log = 0;
	long n = sys_read_at(fd, &log, sizeof log, offsetof(struct stream_header, log_state));

	return n < 0 || (n == (long)sizeof log && log);
}

bool stream_other_layout(int fd, uint32_t magic)
{
	uint32_t begin[2];

	_Static_assert(offsetof(struct stream_header, magic) == 0 && offsetof(struct stream_header, version) == 4 &&
	                       sizeof ((struct stream_header *)0)->version == 4, "in all versions");
	_Static_assert(offsetof(struct registry_header, magic) == 0 && offsetof(struct registry_header, version) == 4 &&
	                       sizeof ((struct registry_header *)0)->version == 4, "in all versions");
	return sys_read_at(fd, begin, sizeof begin, 0) == (long)sizeof begin && begin[0] == magic && begin[1] != LAYOUT_VERSION;
}

static bool bury(int fd, void *arg)
{
	const struct burial *b = arg;

	if (stream_other_layout(fd, STREAM_MAGIC) || !end(fd))
		return false;
	TEST_POINT("bury_ended");
	procpage_forget(b->dir, b->place, b->own_space, b->entry);
	TEST_POINT("bury_forgotten");
	return !has_log(fd) || (b->save && b->save(fd, b->arg));
}

bool stream_bury(int dir, const struct place *place, uint32_t own_space, const struct page_entry *entry,
                 bool (*save)(int fd, void *arg), void *arg)
{
	struct burial b = { dir, place, own_space, entry, save, arg };
	char name[FILE_NAME_SIZE];

	stream_name(name, entry->creator, entry->serial);
	return file_remove_unused(dir, place, name, bury, &b);
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
	        sys_read_at(fd, names, LOG_NAMES_BYTES, h.file_size - h.log_state + offsetof(struct log_state, names)) == LOG_NAMES_BYTES;
	sys_close(fd);
	names[known ? LOG_NAMES_BYTES - 1 : 0] = 0;
	return known;
}
