/*
 * frames.h - the frames of a log, and what is wrong with them
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FRAMES_H
#define FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "log/header.h"
#include "log/unpack.h"
#include "model/eventtype.h"
#include "shm/layout.h"

enum finding_kind {
	FINDING_HEADER,   /* the log's beginning */
	FINDING_FRAME,    /* bytes that are not a frame of the log */
	FINDING_CHECKSUM, /* of a body */
	FINDING_CONTENT,  /* of a body whose checksum is right */
	FINDING_PADDING,  /* padding of a body that is not zero */
	FINDING_SEQUENCE, /* segments are missing */
	FINDING_TIME,
	FINDING_TYPE,     /* an event type without a name */
	FINDING_INDEX,    /* contradicts the frames */
	FINDING_END,      /* the log has no end, or continues after it */
	FINDING_UNWRITTEN, /* events that could not be written to the log */
};

#define EVENTS_UNKNOWN UINT64_MAX

struct finding {
	enum finding_kind kind;
	bool note; /* not a problem */
	uint64_t offset, size; /* size 0: the whole frame at this offset */
	uint64_t segment, last_segment; /* 0: not about segments */
	uint64_t events; /* missing events, or EVENTS_UNKNOWN */
	char text[240];
};

struct verify_slot {
	uint64_t offset; /* of the SLOT frame */
	uint64_t end;    /* after the last segment */
	uint64_t first_number, next_number; /* 0: the slot has no segment */
	uint64_t least;       /* one more than the number of the last valid segment; 0: none is valid */
	uint64_t first, last; /* times */
	uint64_t events, system, segments;
};

/* Numbers of segments that are missing in a log without slots. */
struct verify_gap {
	uint64_t first, last;
};

struct verify_clock {
	uint64_t offset; /* of the frame CLOCK */
	uint64_t before; /* of the one before it, as it says */
};

struct verify_list {
	void *item;
	size_t count;
};

struct verify {
	int fd;
	uint64_t size;
	/* A window of the file. */
	unsigned char *window;
	uint64_t window_from;
	size_t window_size, window_room;
	uint64_t data_from, data_end; /* a part of the file without a hole, as far as known */
	uint64_t patience; /* bytes of bodies that may still be read and are not events */

	uint64_t log; /* random number of the log; 0: unknown yet */
	bool has_header, loop;
	struct log_header header;
	uint16_t minor;
	bool has_index, has_footer; /* a complete log has both */
	uint64_t index_at, index_events, index_lost, index_discarded; /* index_at 0: no index */
	uint32_t index_error;
	/*
	 * The index was read or, in a log without an index, a SUM frame that marks the end; index_... has its numbers.
	 */
	bool ended;
	uint64_t unwritten; /* user events that could not be written; a lower bound unless ended */
	uint64_t left_out;  /* user events that record --where did not select, if ended */
	unsigned char sum[SUM_BYTES]; /* its body */
	bool has_sum;
	unsigned char *index; /* its body */
	size_t index_size;
	uint64_t index_clock; /* offset of the last frame CLOCK, as the index says; 0: none */

	/* The readable part: */
	uint64_t events, segments, lost;
	uint64_t system; /* events of the recording itself */
	bool lost_saturated;
	uint64_t begin, end; /* times of the first and the last event */
	uint64_t late;       /* events that are older than their predecessors */
	uint64_t missing;    /* number of missing events, or EVENTS_UNKNOWN */

	/* While the log is read: */
	uint64_t expected;   /* number of the next segment; 0: any */
	uint64_t least;      /* one more than the number of the last valid segment */
	uint64_t last;       /* time of the last event of the segment before */
	uint64_t bad_events; /* in segments with damaged bodies */
	uint64_t torn_events; /* in the segment in whose middle the file ends */
	uint64_t hole, hole_size; /* bytes since the last segment that are not frames; size 0: none */
	uint64_t bad_number, bad_number_events; /* the last segment with a damaged body */
	struct verify_list gap; /* struct verify_gap, ascending */
	struct verify_list finding, frame, slot, clock;
	bool named[EVENT_ID_END];
	struct { uint64_t offset, segment; } used[EVENT_ID_END]; /* the first use; segment 0: unused */
	struct unpack unpack;
};

/* Returns the number of findings that are problems, not notes. */
size_t verify_problems(const struct verify *v);

static inline const struct finding *verify_finding(const struct verify *v, size_t i)
{
	return (const struct finding *)v->finding.item + i;
}

/*
 * Returns size bytes from this offset on, followed by UNPACK_SLACK readable bytes of any value. Valid until the next
 * call. Returns null if the file ends earlier.
 */
const unsigned char *verify_bytes(struct verify *v, uint64_t offset, size_t size);
/*
 * Reads the frame header at this offset. Returns false if it is not a frame of this log. The body may go beyond the end
 * of the file.
 */
bool verify_frame(struct verify *v, uint64_t offset, struct frame *f);
/* Does the same without moving the window. */
bool verify_peek(struct verify *v, uint64_t offset, struct frame *f);
/* Returns whether the frame's body is in the file completely. The body of a slot may be cut off. */
bool verify_fits(const struct verify *v, uint64_t at, const struct frame *f);
/*
 * Finds the next frame from *at on. In a LOOP log skips segments, which outside of slots remain of a slot that cannot
 * be read. Returns false if there are no more frames.
 */
bool verify_search(struct verify *v, uint64_t *at, struct frame *f);
/*
 * Checks the frame's body and padding, and adds findings. Returns the body, or null if it is wrong. Bodies beyond the
 * limit of patience are not read.
 */
const unsigned char *verify_body(struct verify *v, const struct frame *f, uint64_t at, const char *what);
/* Adds a finding, and returns it. */
struct finding *verify_add(struct verify *v, enum finding_kind kind, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Appends an item of zeros to a list, and returns it. Ends the program if there is no memory. */
void *verify_append(struct verify_list *list, size_t size);

#endif
