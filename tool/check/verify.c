/*
 * verify.c - a log, frame by frame, and all that is wrong with it
 *
 * SPDX-License-Identifier: MIT
 */
#include "check/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/message.h"
#include "log/crc.h"

#define WINDOW (1u << 20)
#define FRAME_MAGIC_TEXT "PTLF"

/* -- Findings ----------------------------------------------------------------------------------------- */

void *verify_append(struct verify_list *list, size_t size)
{
	unsigned char *item = list->item;

	/* Doubled whenever it is full. */
	if ((list->count & (list->count - 1)) == 0) {
		item = realloc(item, (list->count ? 2 * list->count : 1) * size);
		if (!item)
			fail("no memory");
		list->item = item;
	}
	return memset(item + size * list->count++, 0, size);
}

struct finding *verify_add(struct verify *v, enum finding_kind kind, uint64_t offset, const char *format, ...)
{
	struct finding *f = verify_append(&v->finding, sizeof *f);
	va_list arguments;

	f->kind = kind;
	f->offset = offset;
	va_start(arguments, format);
	vsnprintf(f->text, sizeof f->text, format, arguments);
	va_end(arguments);
	return f;
}

size_t verify_problems(const struct verify *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->finding.count; i++)
		n += !verify_finding(v, i)->note;
	return n;
}

/* -- Bytes and frames ------------------------------------------------------------------------------------ */

static bool fill(struct verify *v, uint64_t offset, size_t size)
{
	size_t want = size < WINDOW ? WINDOW : size, have = 0;

	if (want > v->window_room) {
		free(v->window);
		v->window = malloc(want + UNPACK_SLACK);
		v->window_room = v->window ? want : 0;
		if (!v->window)
			fail("no memory");
	}
	while (have < want) {
		ssize_t n = pread(v->fd, v->window + have, want - have, (off_t)(offset + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			complain("offset %" PRIu64 ": %s", offset + have, strerror(errno));
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	v->window_from = offset;
	v->window_size = have;
	return have >= size;
}

const unsigned char *verify_bytes(struct verify *v, uint64_t offset, size_t size)
{
	if (offset > v->size || size > v->size - offset)
		return NULL;
	if (offset < v->window_from || offset + size > v->window_from + v->window_size)
		if (!fill(v, offset, size))
			return NULL;
	return v->window + (offset - v->window_from);
}

static bool of_this_log(struct verify *v, const unsigned char *bytes, struct frame *f)
{
	if (!frame_get(bytes, f) || f->log == 0 || (v->log && f->log != v->log))
		return false;
	return f->kind == FRAME_SLOT || f->size <= FORMAT_BODY_MAX;
}

bool verify_frame(struct verify *v, uint64_t offset, struct frame *f)
{
	const unsigned char *bytes = verify_bytes(v, offset, FRAME_BYTES);

	return bytes && of_this_log(v, bytes, f);
}

bool verify_peek(struct verify *v, uint64_t offset, struct frame *f)
{
	unsigned char bytes[FRAME_BYTES];

	return offset <= INT64_MAX && pread(v->fd, bytes, sizeof bytes, (off_t)offset) == (ssize_t)sizeof bytes &&
	       of_this_log(v, bytes, f);
}

/* Is the body all there? That of a slot may be cut off. */
static bool fits(const struct verify *v, uint64_t at, const struct frame *f)
{
	return f->kind == FRAME_SLOT || f->size <= v->size - at - FRAME_BYTES;
}

/* Returns the next offset where the file has data: a hole reads as zeros, and may be larger than anybody waits for (H26). */
static uint64_t skip_hole(const struct verify *v, uint64_t offset)
{
	/* The position may be that of standard input, which others go on reading. */
	off_t before = lseek(v->fd, 0, SEEK_CUR), data;
	int error;

	if (before < 0)
		return offset;
	data = lseek(v->fd, (off_t)offset, SEEK_DATA);
	error = errno;
	lseek(v->fd, before, SEEK_SET);
	if (data < 0)
		return error == ENXIO ? v->size : offset;
	/* It is a frame's alignment, too, but for file systems of very small blocks. */
	data -= data % FRAME_ALIGN;
	return (uint64_t)data > offset ? (uint64_t)data : offset;
}

/* The next frame from *at on; in a LOOP log segments outside of slots are what an unreadable slot has. */
static bool search(struct verify *v, uint64_t *at, struct frame *f)
{
	for (uint64_t block = *at; (block = skip_hole(v, block)) < v->size;) {
		size_t size = v->size - block < WINDOW ? (size_t)(v->size - block) : WINDOW;
		const unsigned char *bytes = verify_bytes(v, block, size);

		if (!bytes)
			return false;
		for (size_t i = 0; i + FRAME_BYTES <= size; i += FRAME_ALIGN)
			if (memcmp(bytes + i, FRAME_MAGIC_TEXT, 4) == 0 && of_this_log(v, bytes + i, f) &&
			    fits(v, block + i, f) && !(v->loop && f->kind == FRAME_SEGMENT)) {
				*at = block + i;
				return true;
			}
		if (size < WINDOW)
			return false;
		block += size - FRAME_BYTES;
	}
	return false;
}

/* The body, its checksum and what fills it up. Null: it is not right, and that was said. */
static const unsigned char *body_of(struct verify *v, const struct frame *f, uint64_t at, const char *what)
{
	size_t all = (size_t)frame_bytes(f->size) - FRAME_BYTES;
	bool whole = all <= v->size - at - FRAME_BYTES;
	const unsigned char *body = verify_bytes(v, at + FRAME_BYTES, whole ? all : f->size);
	struct finding *finding;

	if (!body) {
		verify_add(v, FINDING_END, at, "%s: its body cannot be read", what);
		return NULL;
	}
	if (crc32c(body, f->size) != f->body_crc) {
		finding = verify_add(v, FINDING_CHECKSUM, at, "%s: the body does not match its checksum", what);
		if (f->kind == FRAME_SEGMENT) {
			finding->segment = finding->last_segment = f->number;
			finding->events = f->events;
		}
		return NULL;
	}
	for (size_t i = f->size; whole && i < all; i++)
		if (body[i]) {
			verify_add(v, FINDING_PADDING, at + FRAME_BYTES + i,
			           "%s: the bytes after the body are not zero", what);
			break;
		}
	return body;
}

/* It is about this segment, of which nothing is missing. */
static void about(const struct frame *f, struct finding *finding)
{
	finding->segment = finding->last_segment = f->number;
}

/* -- Segments ---------------------------------------------------------------------------------------------- */

static void read_events(struct verify *v, const struct frame *f, uint64_t at)
{
	const struct log_event *e;
	const unsigned char *data;
	uint64_t time = 0;

	while ((e = unpack_next(&v->unpack, &data))) {
		v->late += e->time < time;
		time = e->time;
		if (!v->used[e->id].segment) {
			v->used[e->id].offset = at;
			v->used[e->id].segment = f->number;
		}
	}
}

static bool segment_body(struct verify *v, const struct frame *f, uint64_t at)
{
	struct finding *finding;
	const unsigned char *body;
	char what[40];

	snprintf(what, sizeof what, "segment %" PRIu64, f->number);
	body = body_of(v, f, at, what);
	if (body && unpack_begin(&v->unpack, f, body)) {
		read_events(v, f, at);
		v->events += f->events;
		v->segments++;
		if (!v->begin || f->first < v->begin)
			v->begin = f->first;
		if (f->last > v->end)
			v->end = f->last;
		return true;
	}
	if (body) {
		finding = verify_add(v, FINDING_CONTENT, at, "%s: the checksum matches, but the events are invalid",
		                     what);
		finding->segment = finding->last_segment = f->number;
		finding->events = f->events;
	}
	v->bad_events += f->events;
	return false;
}

/* One event may be late, of a thread that was held up in a trace point. */
static void check_time(struct verify *v, const struct frame *f, uint64_t at)
{
	if (f->events > 1 && f->last < v->last)
		about(f, verify_add(v, FINDING_TIME, at,
		                    "segment %" PRIu64 ": its events are older than those of the segment before",
		                            f->number));
	else if (f->events && f->first < v->last)
		v->late++;
	if (f->last > v->last)
		v->last = f->last;
}

/* False: it does not count. */
static bool add_segment(struct verify *v, const struct frame *f, uint64_t at)
{
	v->lost += f->lost;
	v->lost_saturated |= f->lost == UINT32_MAX;
	return segment_body(v, f, at);
}

/* Bytes that were no frames since the last segment; and numbers that are missing, before this one or, 0, at the end. */
static void end_hole(struct verify *v, uint64_t at, uint64_t number)
{
	bool missing = number && v->expected && number > v->expected;
	struct finding *f = NULL;

	if (v->hole_size) {
		f = verify_add(v, FINDING_FRAME, v->hole,
		               v->hole + v->hole_size == v->size && !v->has_index
		                       ? "the frames end here; the %" PRIu64 " bytes after them are damaged, unfinished, or of an older log"
		                       : "%" PRIu64 " bytes that are not a frame of this log", v->hole_size);
		f->size = v->hole_size;
		f->events = missing || !number ? EVENTS_UNKNOWN : 0;
	} else if (missing) {
		f = verify_add(v, FINDING_SEQUENCE, at, "before it %s missing",
		               number == v->expected + 1 ? "a segment is" : "segments are");
		f->events = EVENTS_UNKNOWN;
	}
	if (f && missing) {
		f->segment = v->expected;
		f->last_segment = number - 1;
	}
	v->hole_size = 0;
}

/* In a log without slots. */
static void in_file(struct verify *v, const struct frame *f, uint64_t at)
{
	end_hole(v, at, f->number);
	if (f->number == 0 || f->number == UINT64_MAX || f->number < v->least) {
		about(f, verify_add(v, FINDING_SEQUENCE, at,
		                    "segment %" PRIu64 " where %" PRIu64 " should be: it is ignored",
		                    f->number, v->expected));
		v->bad_events += f->events;
		return;
	}
	v->expected = f->number + 1;
	check_time(v, f, at);
	if (add_segment(v, f, at))
		v->least = v->expected;
}

/* -- Slots --------------------------------------------------------------------------------------------------- */

/* Where the slot's room ends: before the index, if that is inside. */
static uint64_t slot_end(const struct verify *v, uint64_t at, const struct frame *f)
{
	uint64_t begin = at + FRAME_BYTES, end = v->size - begin < f->size ? v->size : begin + f->size;

	return v->index_at >= begin && v->index_at < end ? v->index_at : end;
}

/* Its segments, as long as their numbers go on. Returns where the frames go on. */
static uint64_t in_slot(struct verify *v, const struct frame *slot, uint64_t at)
{
	uint64_t end = slot_end(v, at, slot);
	struct verify_slot *s = verify_append(&v->slot, sizeof *s);
	struct frame f;

	*s = (struct verify_slot){ .offset = at, .end = at + FRAME_BYTES, .events = v->events, .segments = v->segments };
	v->last = 0;
	while (s->end + FRAME_BYTES <= end && verify_frame(v, s->end, &f) && f.kind == FRAME_SEGMENT && f.number > 0 &&
	       f.number < UINT64_MAX && (!s->first_number || f.number == s->next_number) &&
	       f.size <= end - s->end - FRAME_BYTES) {
		if (!s->first_number) {
			s->first_number = f.number;
			s->first = f.first;
		}
		s->next_number = f.number + 1;
		check_time(v, &f, s->end);
		if (add_segment(v, &f, s->end))
			s->least = s->next_number;
		s->end += frame_bytes(f.size);
	}
	s->last = v->last;
	s->events = v->events - s->events;
	s->segments = v->segments - s->segments;
	if (v->index_at == end)
		return end;
	/* The last one ends with the file: what is behind its segments is the index, or was. */
	return at + frame_bytes(slot->size) <= v->size ? at + frame_bytes(slot->size) : s->end;
}

/* -- The other frames -------------------------------------------------------------------------------------------- */

static void types(struct verify *v, const struct frame *f, uint64_t at)
{
	const unsigned char *p = body_of(v, f, at, "TYPES"), *end;

	*(uint64_t *)verify_append(&v->frame, sizeof(uint64_t)) = at;
	if (!p)
		return;
	end = p + f->size;
	while (p < end) {
		if (end - p < 3 || end - p < 3 + p[2] || p[2] > TRACE_EVENT_NAME_MAX || !eventtype_possible(get16(p))) {
			verify_add(v, FINDING_CONTENT, at,
			           "TYPES: the checksum matches, but the list of event types is invalid");
			return;
		}
		v->named[get16(p)] = true;
		p += 3 + p[2];
	}
}

/* Returns what follows a path; null: it is cut off, or has a null byte in it. */
static const unsigned char *skip_path(const unsigned char *p, const unsigned char *end)
{
	return p && end - p >= 2 && end - p - 2 >= get16(p) && !memchr(p + 2, 0, get16(p)) ? p + 2 + get16(p) : NULL;
}

static const unsigned char *skip_string(const unsigned char *p, const unsigned char *end)
{
	return p && end - p >= 2 && end - p - 2 >= get16(p) ? p + 2 + get16(p) : NULL;
}

static void process(struct verify *v, const struct frame *f, uint64_t at)
{
	const unsigned char *body = body_of(v, f, at, "PROCESS"), *end, *p;
	uint32_t count;

	*(uint64_t *)verify_append(&v->frame, sizeof(uint64_t)) = at;
	if (!body)
		return;
	end = body + f->size;
	count = f->size >= 16 ? get32(body + 4) : 0;
	p = f->size >= 16 ? skip_path(body + 16, end) : NULL;
	for (uint32_t i = 0; p && i < count; i++) {
		p = end - p >= 24 ? skip_path(p + 24, end) : NULL;
		p = skip_string(p, end);
	}
	if (!p)
		verify_add(v, FINDING_CONTENT, at,
		           "PROCESS: the checksum matches, but the list of mappings is invalid");
}

/* Returns where the frames go on: nowhere, but if it is not the end. */
static uint64_t footer(struct verify *v, const struct frame *f, uint64_t at)
{
	uint64_t end = at + FRAME_BYTES, next = end;
	struct frame more;

	v->has_footer = true;
	if (f->number != v->index_at || !v->index_at)
		verify_add(v, FINDING_INDEX, at, "FOOTER: the index should be at offset %" PRIu64 ", but is not there",
		           f->number);
	if (end == v->size)
		return end;
	if (!search(v, &next, &more)) {
		verify_add(v, FINDING_END, end, "%" PRIu64 " bytes after the end of the log",
		           v->size - end)->size = v->size - end;
		return v->size;
	}
	verify_add(v, FINDING_END, end, "the log continues after its end, at offset %" PRIu64, next)->size = next - end;
	return next;
}

/* Returns where the next one should be. */
static uint64_t frame(struct verify *v, const struct frame *f, uint64_t at)
{
	switch (f->kind) {
	case FRAME_TYPES:
		types(v, f, at);
		break;
	case FRAME_PROCESS:
		process(v, f, at);
		break;
	case FRAME_SLOT:
		/* Where there is no header, this tells of what kind the log is. */
		v->loop |= !v->has_header;
		if (v->loop)
			return in_slot(v, f, at);
		verify_add(v, FINDING_FRAME, at, "a SLOT in a log without slots")->events = EVENTS_UNKNOWN;
		break;
	case FRAME_SEGMENT:
		if (v->loop)
			verify_add(v, FINDING_FRAME, at, "segment %" PRIu64 " outside of a slot: it is ignored",
			           f->number);
		else
			in_file(v, f, at);
		break;
	case FRAME_INDEX: {
		const unsigned char *body = body_of(v, f, at, "INDEX");

		if (body)
			verify_index(v, f, at);
		break;
	}
	case FRAME_SUM:
		if (body_of(v, f, at, "SUM"))
			verify_sum(v, f, at);
		break;
	case FRAME_FOOTER:
		return footer(v, f, at);
	case FRAME_HEADER:
		verify_add(v, FINDING_FRAME, at, "a HEADER in the middle of the log");
		break;
	default:
		body_of(v, f, at, "a frame of a kind unknown to this version");
		verify_add(v, FINDING_FRAME, at, "a frame of kind %u, unknown to this version", f->kind)->note = true;
	}
	return at + frame_bytes(f->size);
}

/* -- The whole ------------------------------------------------------------------------------------------------------ */

static void say_header(struct verify *v, const unsigned char *body, size_t size)
{
	if (size < HEADER_FIXED || memcmp(body, FORMAT_MAGIC, sizeof FORMAT_MAGIC - 1) != 0)
		verify_add(v, FINDING_HEADER, 0, "HEADER: it does not begin like the header of a log");
	else if (get16(body + 16) != FORMAT_MAJOR)
		verify_add(v, FINDING_HEADER, 0, "HEADER: format %u.%u; this version reads %u", get16(body + 16),
		           get16(body + 18), FORMAT_MAJOR);
	else if (body[20] != FORMAT_ORDER)
		verify_add(v, FINDING_HEADER, 0, "HEADER: the log is from a machine with another byte order");
	else
		verify_add(v, FINDING_HEADER, 0, "HEADER: the checksum matches, but the contents are invalid");
}

/* Returns where the frames behind it begin. */
static uint64_t header(struct verify *v)
{
	const unsigned char *body;
	struct frame f;

	if (!verify_frame(v, 0, &f) || f.kind != FRAME_HEADER || !fits(v, 0, &f)) {
		uint64_t next = FRAME_ALIGN;

		if (!search(v, &next, &f))
			next = v->size;
		verify_add(v, FINDING_HEADER, 0,
		           "HEADER: not a frame; without a header the log cannot be opened")->size = next;
		return next;
	}
	v->log = f.log;
	body = body_of(v, &f, 0, "HEADER");
	if (body && header_get(&v->header, body, f.size)) {
		v->has_header = true;
		v->minor = get16(body + 18);
		v->loop = v->header.attr.log_policy == POSIX_TRACE_LOOP;
		v->expected = v->loop ? 0 : 1;
	} else if (body) {
		say_header(v, body, f.size);
	}
	return frame_bytes(f.size);
}

/* Where the index is, before the frames: it may be inside of the last slot. */
static void find_index(struct verify *v)
{
	struct frame foot, index;

	if (v->size % FRAME_ALIGN == 0 && v->size >= FRAME_BYTES && verify_frame(v, v->size - FRAME_BYTES, &foot) &&
	    foot.kind == FRAME_FOOTER && verify_frame(v, foot.number, &index) && index.kind == FRAME_INDEX) {
		v->index_at = foot.number;
		v->log = foot.log;
	}
}

/* A frame whose body goes beyond the end of the file. */
static void cut_off(struct verify *v, const struct frame *f, uint64_t at)
{
	uint64_t there = v->size - at - FRAME_BYTES;
	struct finding *finding;

	if (f->kind != FRAME_SEGMENT) {
		verify_add(v, FINDING_END, at, "the file ends in the middle of a frame, %" PRIu64 " bytes too early",
		           f->size - there);
		return;
	}
	finding = verify_add(v, FINDING_END, at,
	                     "the file ends in the middle of segment %" PRIu64 ", %" PRIu64 " bytes too early",
	                     f->number, f->size - there);
	about(f, finding);
	finding->events = f->events;
	v->bad_events += f->events;
}

static void walk(struct verify *v, uint64_t at)
{
	struct frame f;

	while (at < v->size) {
		uint64_t from = at;

		if (verify_frame(v, at, &f) && !fits(v, at, &f)) {
			end_hole(v, at, f.kind == FRAME_SEGMENT ? f.number : 0);
			cut_off(v, &f, at);
			return;
		}
		if (!verify_frame(v, at, &f)) {
			bool found = search(v, &at, &f);

			if (v->hole_size)
				end_hole(v, from, 0);
			v->hole = from;
			v->hole_size = (found ? at : v->size) - from;
			if (!found)
				break;
			/* Which numbers are missing tells the next segment; in a LOOP log only all slots together. */
			if (v->loop)
				end_hole(v, from, 0);
		}
		v->log = f.log;
		at = frame(v, &f, at);
	}
	end_hole(v, v->size, 0);
}

static int by_offset(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

struct verify *verify_log(int fd, uint64_t size)
{
	struct verify *v = calloc(1, sizeof *v);
	uint64_t at;

	if (!v)
		return NULL;
	v->fd = fd;
	v->size = size;
	for (unsigned i = 0; i < EVENTTYPE_PREDEFINED; i++)
		v->named[eventtype_predefined(i)] = true;
	at = header(v);
	find_index(v);
	walk(v, at);
	verify_whole(v);
	if (v->finding.count)
		qsort(v->finding.item, v->finding.count, sizeof(struct finding), by_offset);
	return v;
}

void verify_free(struct verify *v)
{
	free(v->finding.item);
	free(v->frame.item);
	free(v->slot.item);
	free(v->index);
	free(v->window);
	free(v);
}
