/*
 * format.h - the numbers of docs/log-format.md
 *
 * A log consists of bytes, not structures. Written and read by these functions, a log is the same on every machine.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOG_FORMAT_H
#define LOG_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/little_endian.h"

#define FORMAT_MAGIC  "posixtrace log\n"
#define FORMAT_MAJOR  1
#define FORMAT_MINOR  1
#define FORMAT_LITTLE 1
#define FORMAT_BIG    2
#define FORMAT_BODY_MAX (UINT32_C(16) << 20)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
# define FORMAT_ORDER FORMAT_LITTLE
#else
# define FORMAT_ORDER FORMAT_BIG
#endif

/* -- Numbers ------------------------------------------------------------------ */

#define VARINT_BYTES 10

static inline unsigned char *put_varint(unsigned char *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (unsigned char)(v | 0x80);
		v >>= 7;
	}
	*p++ = (unsigned char)v;
	return p;
}

/* Returns the address after the number. Null if the number does not end before end, or is too large. */
static inline const unsigned char *get_varint(const unsigned char *p, const unsigned char *end, uint64_t *v)
{
	uint64_t n = 0;

	for (unsigned shift = 0; shift < 70 && p < end; shift += 7) {
		unsigned char byte = *p++;

		if (shift == 63 && byte > 1)
			return NULL;
		n |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*v = n;
			return p;
		}
	}
	return NULL;
}

/* -- Frames -------------------------------------------------------------------- */

enum frame_kind {
	FRAME_HEADER = 1,
	FRAME_TYPES,
	FRAME_PROCESS,
	FRAME_SLOT,
	FRAME_SEGMENT,
	FRAME_INDEX,
	FRAME_FOOTER,
	FRAME_SUM,
};

#define FRAME_BYTES 64
#define FRAME_ALIGN 8

struct frame {
	uint16_t kind;
	uint64_t log;
	uint64_t number;
	uint32_t size;
	uint32_t body_crc;
	uint64_t first;
	uint64_t last;
	uint32_t events;
	uint32_t lost;
};

/* Returns the size of a frame with its body, in the file. */
static inline uint64_t frame_bytes(uint64_t size)
{
	return FRAME_BYTES + ((size + FRAME_ALIGN - 1) & ~(uint64_t)(FRAME_ALIGN - 1));
}

void frame_put(unsigned char bytes[FRAME_BYTES], const struct frame *frame);
/* Parses a frame header. Returns false if the bytes are not valid. */
bool frame_get(const unsigned char bytes[FRAME_BYTES], struct frame *frame);

/* -- Segments --------------------------------------------------------------------- */

enum item {
	ITEM_DEFINITION, /* followed by an item of a kind below */
	ITEM_THREAD = 1,
	ITEM_SHAPE,
	ITEM_BACK,
};

#define SHAPE_TRUNCATED 1u
#define SHAPES_MAX      4096u
#define THREADS_MAX     4096u
/* The largest data that is packed. */
#define PACKED_MAX 256u

/* An event in a log, with a time instead of ticks. */
struct log_event {
	uint32_t id;
	bool truncated; /* when it was recorded */
	uint32_t pid;
	uint32_t tid;
	uint64_t pthread;
	uint64_t address;
	uint64_t time;   /* ns of CLOCK_REALTIME, as set when the stream was created */
	uint32_t length; /* of its data */
	char name[16];   /* of its thread */
};

/* -- The rest -------------------------------------------------------------------------- */

#define HEADER_FIXED 96
#define INDEX_FIXED  48
#define INDEX_BEHIND 8 /* after its lists: unwritten */
#define SUM_BYTES    64
#define MARK_BYTES   24
#define MARKS_MAX    4096u

#define INDEX_STREAM_FULL    1u
#define INDEX_STREAM_OVERRUN 2u
#define INDEX_LOG_OVERRUN    4u
#define INDEX_LOG_FULL       8u

#endif
