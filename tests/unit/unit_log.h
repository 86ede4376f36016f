/*
 * unit_log.h - for the tests of src/log: events of all kinds, logs made of any frames, memory with a guard page
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef UNIT_LOG_H
#define UNIT_LOG_H

#include <sys/mman.h>

#include "log/crc.h"
#include "log/format.h"
#include "log/input.h"
#include "log/output.h"
#include "unit.h"

/* Returns size bytes followed by an unmapped page, so that an access beyond them ends the test. */
static inline unsigned char *log_memory(size_t size)
{
	size_t pages = (size + 4095) & ~(size_t)4095;
	unsigned char *map = mmap(NULL, pages + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(map != MAP_FAILED && (pages == 0 || mprotect(map, pages, PROT_READ | PROT_WRITE) == 0));
	return map + pages - size;
}

/* -- Events ------------------------------------------------------------------------ */

/* Makes an event with up to most bytes of data, determined by the seed. Two seeds rarely give the same event. */
static inline uint32_t log_random(unsigned *seed, unsigned below)
{
	return (unsigned)rand_r(seed) % below;
}

static inline void log_event_make(struct log_event *e, unsigned char *data, unsigned *seed, uint32_t most)
{
	memset(e, 0, sizeof *e);
	e->id = 1 + log_random(seed, log_random(seed, 4) ? 5 : EVENT_ID_END - 1);
	e->truncated = log_random(seed, 8) == 0;
	e->pid = log_random(seed, 3);
	e->tid = e->pid + log_random(seed, 3);
	e->pthread = log_random(seed, 2) ? (uint64_t)e->tid << 40 | 0x700 : 0;
	e->address = log_random(seed, 5) * UINT64_C(0x100000001001);
	e->length = log_random(seed, 4) ? log_random(seed, 40) : log_random(seed, most + 1);
	if (e->length > most)
		e->length = most;
	snprintf(e->name, sizeof e->name, "%.*s", (int)e->tid * 5, "many a thread");
	/* Data in which few bytes change, as in counters and pointers. */
	for (uint32_t i = 0; i < e->length; i++)
		data[i] = log_random(seed, 4) ? (unsigned char)(i % 3) : (unsigned char)log_random(seed, 256);
}

static inline bool log_event_same(const struct log_event *a, const void *data_a, const struct log_event *b,
                                  const void *data_b)
{
	return a->id == b->id && a->truncated == b->truncated && a->pid == b->pid && a->tid == b->tid &&
		a->pthread == b->pthread &&
	       a->address == b->address && a->time == b->time && a->length == b->length &&
	       memcmp(a->name, b->name, sizeof a->name) == 0 &&
	       (a->length == 0 || memcmp(data_a, data_b, a->length) == 0);
}

/* -- A log made by the library's own writer ---------------------------------------------- */

#define LOG_WRITER_CREATED UINT64_C(1700000000123456789)

struct log_writer {
	struct output output;
	struct draft draft;
	struct log_state *state;
	struct log_header header;
	int fd;
};

static inline void log_header_make(struct log_header *h, int policy, uint64_t size, uint32_t data_size)
{
	memset(h, 0, sizeof *h);
	attr_init(&h->attr);
	attr_set_name(&h->attr, "unit");
	h->attr.log_policy = policy;
	h->attr.stream_policy = POSIX_TRACE_FLUSH;
	h->attr.log_size = size;
	h->attr.data_size = data_size;
	h->attr.create_sec = (int64_t)(LOG_WRITER_CREATED / NS_PER_S);
	h->attr.create_nsec = (int64_t)(LOG_WRITER_CREATED % NS_PER_S);
	h->attr.resolution_nsec = 1;
	h->target = 11;
	h->creator = 12;
	strcpy(h->host, "host");
}

/*
 * Writes to fd, or to a new file in memory if fd is negative. size is rounded up as the library does. The state has
 * more memory than that, for tests that change its fields.
 */
static inline void log_writer_begin(struct log_writer *w, int fd, int policy, uint64_t size, uint32_t data_size)
{
	bool seeks;

	memset(w, 0, sizeof *w);
	w->fd = fd >= 0 ? fd : memfd_create("unit log", MFD_CLOEXEC);
	MUST(w->fd >= 0 && output_possible(w->fd, policy, &seeks) == 0);
	size = output_size(policy, size, data_size);
	w->state = (struct log_state *)(void *)log_memory(stream_log_bytes(output_capacity(policy, size, data_size)) +
	                                                  4096);
	output_plan(w->state, policy, size, data_size);
	MUST(draft_init(&w->draft, w->state) == 0);
	MUST(output_init(&w->output, w->fd, seeks, policy, w->state) == 0);
	log_header_make(&w->header, policy, size, data_size);
	MUST(output_begin(&w->output, &w->header) == 0);
	draft_begin(&w->draft, output_position(&w->output)->sequence, output_room(&w->output));
}

/* Writes the segment as it is, and begins the next. */
static inline int log_writer_segment(struct log_writer *w)
{
	int r = draft_empty(&w->draft) ? 0 : output_segment(&w->output, &w->draft, output_position(&w->output)->lost);

	if (r == 0)
		draft_begin(&w->draft, output_position(&w->output)->sequence, output_room(&w->output));
	return r;
}

static inline void log_writer_add(struct log_writer *w, const struct log_event *e, const void *data)
{
	if (!draft_add(&w->draft, e, data, e->time)) {
		MUST(log_writer_segment(w) == 0);
		MUST(draft_add(&w->draft, e, data, e->time));
	}
	draft_prepare(&w->draft, LOG_NO_CHUNK, 0, 0);
}

/* Adds an event whose data is the number and whose time is the creation plus the number. */
static inline void log_writer_number(struct log_writer *w, uint64_t number)
{
	struct log_event e = { .id = 70, .pid = 11, .tid = 11, .pthread = 7, .address = 0x1000,
	                       .time = LOG_WRITER_CREATED + number,
	                       .length = sizeof number, .name = "unit" };

	log_writer_add(w, &e, &number);
}

static inline void log_writer_type(struct log_writer *w, uint16_t id, const char *name)
{
	unsigned char body[3 + 255];
	size_t length = strlen(name);

	put16(body, id);
	body[2] = (unsigned char)length;
	memcpy(body + 3, name, length);
	MUST(output_frame(&w->output, FRAME_TYPES, body, 3 + length, output_position(&w->output)->types + 1) == 0);
}

static inline void log_writer_end(struct log_writer *w)
{
	static const struct output_end end = { 0 };

	MUST(log_writer_segment(w) == 0);
	MUST(output_end(&w->output, &end) == 0);
}

static inline void log_writer_free(struct log_writer *w)
{
	draft_free(&w->draft);
	output_free(&w->output);
}

/* -- A log made of any frames -------------------------------------------------------------- */

struct log_bytes {
	unsigned char *bytes;
	uint64_t size;
	uint64_t log; /* number in the frames */
};

/*
 * Adds a frame with its CRCs. If frame.body_crc is set, the CRC of the body stays as it is. Returns the frame's
 * offset.
 */
static inline uint64_t log_put_frame(struct log_bytes *b, struct frame frame, const void *body, size_t size)
{
	uint64_t at = b->size;

	b->size += frame_bytes(size);
	b->bytes = realloc(b->bytes, b->size);
	MUST(b->bytes);
	memset(b->bytes + at, 0, b->size - at);
	if (size)
		memcpy(b->bytes + at + FRAME_BYTES, body, size);
	if (!frame.size)
		frame.size = (uint32_t)size;
	if (!frame.body_crc)
		frame.body_crc = crc32c(b->bytes + at + FRAME_BYTES, size);
	if (!frame.log)
		frame.log = b->log;
	frame_put(b->bytes + at, &frame);
	return at;
}

static inline struct log_bytes log_bytes_begin(int policy)
{
	struct log_bytes b = { NULL, 0, 0x4711 };
	unsigned char body[HEADER_BODY_MAX];
	struct log_header h;

	log_header_make(&h, policy, 65536, 1024);
	log_put_frame(&b, (struct frame){ .kind = FRAME_HEADER }, body, header_put(body, &h));
	return b;
}

/* Packs events of one shape with the numbers from ... from + count - 1 as data. Returns the size of the body. */
static inline size_t log_numbers(unsigned char *body, uint32_t capacity, uint64_t from, uint32_t count, struct frame *f)
{
	struct pack *p = malloc(sizeof *p);
	struct log_event e = { .id = 70, .pid = 11, .tid = 11, .length = 8, .name = "unit" };
	size_t size;

	MUST(p);
	f->first = LOG_WRITER_CREATED + from;
	f->last = f->first + count - 1;
	f->events = count;
	pack_begin(p, body, capacity, f->first);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t number = from + i;

		e.time = f->first + i;
		MUST(pack_event(p, &e, &number));
	}
	size = p->position;
	free(p);
	return size;
}

/* Adds a segment with numbered events and this sequence number. Returns the offset of the segment. */
static inline uint64_t log_put_numbers(struct log_bytes *b, uint64_t number, uint64_t from, uint32_t count)
{
	struct frame f = { .kind = FRAME_SEGMENT, .number = number };
	uint32_t capacity = 1000 + 20 * count;
	unsigned char *body = malloc(capacity);
	uint64_t at;
	size_t size;

	MUST(body);
	size = log_numbers(body, capacity, from, count, &f);
	at = log_put_frame(b, f, body, size);
	free(body);
	return at;
}

static inline int log_file(const void *bytes, size_t size)
{
	int fd = memfd_create("unit log", MFD_CLOEXEC);

	MUST(fd >= 0 && (size == 0 || pwrite(fd, bytes, size, 0) == (ssize_t)size));
	return fd;
}

/* Adds an index with these slots and frames, and a footer that points to it. */
static inline void log_put_end(struct log_bytes *b, const uint64_t *slots, uint32_t slot_count, const uint64_t *frames,
                               uint32_t frame_count)
{
	size_t size = INDEX_FIXED + 8 * ((size_t)slot_count + frame_count);
	unsigned char *body = calloc(1, size), *p = body + INDEX_FIXED;
	uint64_t at;

	MUST(body);
	put32(body + 32, slot_count);
	put32(body + 36, frame_count);
	for (uint32_t i = 0; i < slot_count; i++, p += 8)
		put64(p, slots[i]);
	for (uint32_t i = 0; i < frame_count; i++, p += 8)
		put64(p, frames[i]);
	at = log_put_frame(b, (struct frame){ .kind = FRAME_INDEX }, body, size);
	log_put_frame(b, (struct frame){ .kind = FRAME_FOOTER, .number = at }, NULL, 0);
	free(body);
}

#endif
