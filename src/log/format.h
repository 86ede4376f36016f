/*
 * format.h - the numbers of docs/log-format.md
 *
 * A log is the same on every machine: all numbers are little-endian bytes. The layouts below consist of bytes only, so
 * no compiler pads or aligns them. Writers and readers share them, with PUT_FIELD() and GET_FIELD(), which take the
 * width of the number from the layout.
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
#define FORMAT_MINOR  4
#define FORMAT_LITTLE 1
#define FORMAT_BIG    2
#define FORMAT_BODY_MAX (UINT32_C(16) << 20)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
# define FORMAT_ORDER FORMAT_LITTLE
#else
# define FORMAT_ORDER FORMAT_BIG
#endif

/* -- Numbers ------------------------------------------------------------------ */

#define PUT_FIELD(field, v)                                                                             \
	_Generic(&(field), unsigned char(*)[2]: put16, unsigned char(*)[4]: put32,                       \
	         unsigned char(*)[8]: put64)((field), (v))
#define GET_FIELD(field)                                                                                \
	_Generic(&(field), const unsigned char(*)[2]: get16, const unsigned char(*)[4]: get32,           \
	         const unsigned char(*)[8]: get64)(field)

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
	FRAME_LAYOUTS,
	FRAME_LABELS,
	FRAME_CLOCK,
	FRAME_KINDS, /* this and later ones are unknown to this version */
};

/* Returns whether frames of this kind describe events or the log, and are never overwritten. */
static inline bool frame_describes(uint32_t kind)
{
	return kind == FRAME_TYPES || kind == FRAME_PROCESS || kind == FRAME_LAYOUTS || kind == FRAME_LABELS;
}

/* Returns whether a copy of the log needs frames of this kind. */
static inline bool frame_copied(uint32_t kind)
{
	return frame_describes(kind) || kind == FRAME_CLOCK;
}

/* Why a frame CLOCK was written. */
enum clock_reason {
	CLOCK_NONE, /* not written */
	CLOCK_BEGIN,
	CLOCK_PERIOD,
	CLOCK_STEP,
	CLOCK_END,
};

#define FRAME_BYTES 64
#define FRAME_ALIGN 8

struct frame_layout {
	unsigned char magic[4];
	unsigned char kind[2];
	unsigned char reserved_6[2];
	unsigned char log[8];
	unsigned char number[8];
	unsigned char size[4];
	unsigned char body_crc[4];
	unsigned char first[8];
	unsigned char last[8];
	unsigned char events[4];
	unsigned char lost[4];
	unsigned char reserved_56[4];
	unsigned char crc[4]; /* of all bytes before */
};

_Static_assert(sizeof(struct frame_layout) == FRAME_BYTES, "docs/log-format.md");
_Static_assert(offsetof(struct frame_layout, reserved_56) == 56, "docs/log-format.md");

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

/* The definition of a thread; its name follows. */
struct thread_layout {
	unsigned char pid[4];
	unsigned char tid[4];
	unsigned char pthread[8];
	unsigned char length; /* of the name */
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
#define INDEX_BEHIND 24 /* after its lists: unwritten, left_out, clock */
#define SUM_BYTES    64
#define CLOCK_BYTES  80
#define MARK_BYTES   24
#define MARKS_MAX    4096u

struct header_layout { /* strings follow */
	unsigned char magic[16];
	unsigned char major[2];
	unsigned char minor[2];
	unsigned char order;
	unsigned char word;
	unsigned char reserved_22[2];
	unsigned char created[8];
	unsigned char monotonic[8];
	unsigned char resolution[8];
	unsigned char stream_size[8];
	unsigned char log_size[8];
	unsigned char data_size[4];
	unsigned char stream_policy;
	unsigned char log_policy;
	unsigned char inheritance;
	unsigned char reserved_71;
	unsigned char target[4];
	unsigned char creator[4];
	unsigned char boot[16];
};

struct totals_layout {
	unsigned char events[8];
	unsigned char lost[8];
	unsigned char discarded[8];
};

struct index_layout { /* offsets of SLOT, offsets of frames that describe, marks, unwritten, left_out, clock follow */
	struct totals_layout totals;
	unsigned char status[4];
	unsigned char flush_error[4];
	unsigned char slots[4];
	unsigned char frames[4];
	unsigned char marks[4];
	unsigned char reserved_44[4];
};

struct mark_layout {
	unsigned char offset[8];
	unsigned char number[8];
	unsigned char first[8];
};

struct sum_layout {
	struct totals_layout totals;
	unsigned char unwritten[8];
	unsigned char status[4];
	unsigned char flush_error[4];
	unsigned char segments[8];
	unsigned char ended[4];
	unsigned char reserved_52[4];
	unsigned char left_out[8];
};

struct clock_layout {
	unsigned char monotonic[8];
	unsigned char realtime[8];
	unsigned char boottime[8];
	unsigned char took[8];
	unsigned char tai[4];
	unsigned char reason;
	unsigned char known;
	unsigned char state[2];
	unsigned char status[4];
	unsigned char reserved_44[4];
	unsigned char offset[8];
	unsigned char frequency[8];
	unsigned char max_error[8];
	unsigned char estimated_error[8];
};

_Static_assert(sizeof(struct clock_layout) == CLOCK_BYTES && offsetof(struct clock_layout, reserved_44) == 44,
               "docs/log-format.md");
_Static_assert(sizeof(struct header_layout) == HEADER_FIXED && sizeof(struct index_layout) == INDEX_FIXED &&
               sizeof(struct mark_layout) == MARK_BYTES && sizeof(struct sum_layout) == SUM_BYTES,
               "docs/log-format.md");
_Static_assert(offsetof(struct header_layout, reserved_22) == 22 && offsetof(struct header_layout, reserved_71) == 71 &&
               offsetof(struct index_layout, reserved_44) == 44 && offsetof(struct sum_layout, reserved_52) == 52,
               "docs/log-format.md");

#define INDEX_STREAM_FULL    1u
#define INDEX_STREAM_OVERRUN 2u
#define INDEX_LOG_OVERRUN    4u
#define INDEX_LOG_FULL       8u

#endif
