/*
 * frames.c - the frames of a log, and what is wrong with them
 *
 * SPDX-License-Identifier: MIT
 */
#include "check/frames.h"

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

	/* Double the room when the list is full. */
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

/*
 * Calls lseek() for data or a hole. Restores the position: other processes may read the same standard input. Returns a
 * negative error number on failure.
 */
static off_t seek(const struct verify *v, uint64_t from, int whence)
{
	off_t before = lseek(v->fd, 0, SEEK_CUR), to;
	int error;

	if (before < 0)
		return -errno;
	to = lseek(v->fd, (off_t)from, whence);
	error = errno;
	lseek(v->fd, before, SEEK_SET);
	return to < 0 ? -error : to;
}

/* Returns the next offset where the file has data. A hole reads as zeros, and may take hours to read (H26). */
static uint64_t next_data(const struct verify *v, uint64_t offset)
{
	off_t data = seek(v, offset, SEEK_DATA);

	return data == -ENXIO ? v->size : data > (off_t)offset ? (uint64_t)data : offset;
}

/* Returns the offset of the next hole, which is `offset` if that is in a hole. */
static uint64_t next_hole(struct verify *v, uint64_t offset)
{
	/* The answer is kept, because a file system may go through all data up to the hole for it. */
	if (offset < v->data_from || offset >= v->data_end) {
		off_t hole = seek(v, offset, SEEK_HOLE);

		v->data_from = offset;
		v->data_end = hole < 0 ? v->size : (uint64_t)hole;
	}
	return v->data_end;
}

static bool fill(struct verify *v, uint64_t offset, size_t size)
{
	size_t want = size < WINDOW ? WINDOW : size, have = 0;
	uint64_t hole;

	if (want > v->window_room) {
		free(v->window);
		v->window = malloc(want + UNPACK_SLACK);
		v->window_room = v->window ? want : 0;
		if (!v->window)
			fail("no memory");
	}
	/* Read no more of a hole than is asked for: a sparse file may have any number of holes. */
	hole = want > size ? next_hole(v, offset) : 0;
	if (want > size && hole < offset + want)
		want = hole > offset + size ? (size_t)(hole - offset) : size;
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

bool verify_fits(const struct verify *v, uint64_t at, const struct frame *f)
{
	return f->kind == FRAME_SLOT || f->size <= v->size - at - FRAME_BYTES;
}

/*
 * Returns how many bytes from this offset on to search at once. The piece ends with the data or with the window: a
 * frame may begin before the hole, and have zeros at its end.
 */
static size_t piece(struct verify *v, uint64_t block, uint64_t data)
{
	uint64_t end = next_hole(v, data) + FRAME_BYTES;

	if (end < block + FRAME_BYTES + FRAME_ALIGN)
		end = block + FRAME_BYTES + FRAME_ALIGN;
	end += (block - end) % FRAME_ALIGN;
	if (end > block + WINDOW)
		end = block + WINDOW;
	return (size_t)((end < v->size ? end : v->size) - block);
}

bool verify_search(struct verify *v, uint64_t *at, struct frame *f)
{
	uint64_t block = *at, data;

	while ((data = next_data(v, block)) < v->size) {
		const unsigned char *bytes;
		size_t size;

		/* Data begins at a block of the file system, which may be smaller than the alignment of frames. */
		if (data - data % FRAME_ALIGN > block)
			block = data - data % FRAME_ALIGN;
		size = piece(v, block, data);
		bytes = verify_bytes(v, block, size);
		if (!bytes)
			return false;
		for (size_t i = 0; i + FRAME_BYTES <= size; i += FRAME_ALIGN)
			if (memcmp(bytes + i, FRAME_MAGIC_TEXT, 4) == 0 && of_this_log(v, bytes + i, f) &&
			    verify_fits(v, block + i, f) && !(v->loop && f->kind == FRAME_SEGMENT)) {
				*at = block + i;
				return true;
			}
		if (block + size == v->size)
			return false;
		block += size - FRAME_BYTES;
	}
	return false;
}

/* Counts bytes to be read. Returns false if the limit is reached, and then adds a finding, once. */
static bool may_read(struct verify *v, const struct frame *f, uint64_t at, const char *what)
{
	if (f->size <= v->patience) {
		v->patience -= f->size;
		return true;
	}
	if (v->patience)
		verify_add(v, FINDING_CONTENT, at, "%s: its body is not checked, nor are later ones: the file has far "
		           "less data than it is long, and most of it is no event", what);
	v->patience = 0;
	return false;
}

const unsigned char *verify_body(struct verify *v, const struct frame *f, uint64_t at, const char *what)
{
	size_t all = (size_t)frame_bytes(f->size) - FRAME_BYTES;
	bool whole = all <= v->size - at - FRAME_BYTES;
	const unsigned char *body;
	struct finding *finding;

	if (!may_read(v, f, at, what))
		return NULL;
	body = verify_bytes(v, at + FRAME_BYTES, whole ? all : f->size);
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
