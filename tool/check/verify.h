/*
 * verify.h - a log, frame by frame, and all that is wrong with it
 *
 * Unlike the library's reader, which makes the best of a damaged log, this one looks at every byte
 * that docs/log-format.md says something about, and needs nothing of the log to be right. The file is only read.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef VERIFY_H
#define VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "log/header.h"
#include "log/unpack.h"
#include "model/eventtype.h"
#include "shm/layout.h"

enum finding_kind {
	FINDING_HEADER,   /* the log's beginning */
	FINDING_FRAME,    /* bytes that are no frame of this log */
	FINDING_CHECKSUM, /* of a body */
	FINDING_CONTENT,  /* of a body whose checksum is right */
	FINDING_PADDING,  /* bytes behind a body that are not zero */
	FINDING_SEQUENCE, /* segments are missing */
	FINDING_TIME,
	FINDING_TYPE,     /* an event type without a name */
	FINDING_INDEX,    /* it says something else than the frames */
	FINDING_END,      /* the end is missing, or is not the end */
	FINDING_UNWRITTEN, /* events that could not be written */
};

#define EVENTS_UNKNOWN UINT64_MAX

struct finding {
	enum finding_kind kind;
	bool note; /* nothing is wrong, but it is good to know */
	uint64_t offset, size; /* size 0: of what stands there */
	uint64_t segment, last_segment; /* 0: not about segments */
	uint64_t events; /* missing because of it; EVENTS_UNKNOWN */
	char text[240];
};

struct verify_slot {
	uint64_t offset; /* of its frame */
	uint64_t end;    /* behind its last segment */
	uint64_t first_number, next_number; /* 0: it has none */
	uint64_t least;       /* behind the last that counts; 0: none does */
	uint64_t first, last; /* times */
	uint64_t events, segments;
};

struct verify_list {
	void *item;
	size_t count;
};

struct verify {
	int fd;
	uint64_t size;
	/* Bytes of the file, as far as they are in memory. */
	unsigned char *window;
	uint64_t window_from;
	size_t window_size, window_room;

	uint64_t log; /* its random number; 0: not known yet */
	bool has_header, loop;
	struct log_header header;
	uint16_t minor;
	bool has_index, has_footer; /* with both it is complete */
	uint64_t index_at, index_events, index_lost, index_discarded; /* index_at 0: there is none */
	uint32_t index_error;
	/* Of the index, or where there is none of the frame SUM if that is the end: its numbers are in index_... then. */
	bool ended;
	uint64_t unwritten; /* user events that could not be written: all, if ended, otherwise at least so many */
	unsigned char sum[SUM_BYTES]; /* its body */
	bool has_sum;
	unsigned char *index; /* its body */
	size_t index_size;

	/* What can be read: */
	uint64_t events, segments, lost;
	bool lost_saturated;
	uint64_t begin, end; /* times of the first and the last event */
	uint64_t late;       /* events that are older than the one before them */
	uint64_t missing;    /* events that are known to be missing, or EVENTS_UNKNOWN */

	/* On the way: */
	uint64_t expected;   /* number of the next segment; 0: any */
	uint64_t least;      /* numbers from here on are higher than that of the last segment that counts */
	uint64_t last;       /* time of the last event of the segment before */
	uint64_t bad_events; /* in segments whose bodies are wrong */
	uint64_t hole, hole_size; /* bytes that are no frames, since the last segment; size 0: none */
	struct verify_list finding, frame, slot;
	bool named[EVENT_ID_END];
	struct { uint64_t offset, segment; } used[EVENT_ID_END]; /* where first; segment 0: nowhere */
	struct unpack unpack;
};

/* Looks at all of it. Null: no memory. Otherwise to be freed. */
struct verify *verify_log(int fd, uint64_t size);
void verify_free(struct verify *v);
/* How many findings are no notes. */
size_t verify_problems(const struct verify *v);

static inline const struct finding *verify_finding(const struct verify *v, size_t i)
{
	return (const struct finding *)v->finding.item + i;
}

/* -- For verify.c and verify_index.c ------------------------------------------------------------- */

/* size bytes from there on, and UNPACK_SLACK to be read in vain, until the next call. Null: they are not all there. */
const unsigned char *verify_bytes(struct verify *v, uint64_t offset, size_t size);
/* The frame there, if it is one of this log, whether or not its body fits into the file. */
bool verify_frame(struct verify *v, uint64_t offset, struct frame *f);
/* The same, away from where one reads. */
bool verify_peek(struct verify *v, uint64_t offset, struct frame *f);
struct finding *verify_add(struct verify *v, enum finding_kind kind, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void *verify_append(struct verify_list *list, size_t size);
/* The body of an INDEX. */
void verify_index(struct verify *v, const struct frame *f, uint64_t at);
/* The body of a SUM. */
void verify_sum(struct verify *v, const struct frame *f, uint64_t at);
/* What the index, and the frames among themselves, say of the whole; at the end. */
void verify_whole(struct verify *v);

#endif
