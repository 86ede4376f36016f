/*
 * input.h - reading a log
 *
 * Everything is copied by pread() and checked in the copy. The file may belong to any user, have any contents, and be
 * truncated or written to meanwhile (H26).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOG_INPUT_H
#define LOG_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "log/header.h"
#include "log/unpack.h"
#include "model/eventtype.h"
#include "model/data_layout.h"
#include "shm/layout.h"

/* Where to look for the next segment. */
struct input_position {
	uint64_t at;
	uint64_t end;     /* of the file, or of the slot */
	uint32_t slot;    /* of a LOOP log: index in input.slot */
	uint64_t follows; /* number of the next segment in this slot, or the slot ends; 0: none was read yet */
};

struct input {
	int fd;
	uint64_t size;
	uint64_t inode;
	uint32_t device_major, device_minor;
	uint64_t log;
	uint64_t begin; /* after the HEADER */
	struct log_header header;
	bool complete; /* the log was closed, and has an index */
	/*
	 * The creator reached the end: the log has an index, or the frame SUM says so. Then the numbers below are
	 * exact; otherwise unwritten is a lower bound.
	 */
	bool ended;
	uint64_t skipped; /* bytes that belong to no frame, without an index */
	/* From the index, or as far as known. */
	uint64_t events, lost, discarded;
	uint64_t unwritten; /* user events missing from the log, because they could not be written */
	uint64_t left_out;  /* user events that record --where did not select */
	uint64_t segments;  /* number of the last segment if ended by the frame SUM; else 0 */
	uint32_t status;    /* INDEX_... */
	uint32_t flush_error;
	uint64_t slot[LOG_SLOTS]; /* offsets of frames, oldest first */
	uint32_t slots;
	/* Event types, by id; a name may be empty. */
	bool type[EVENT_ID_END];
	char (*name)[TRACE_EVENT_NAME_MAX + 1];
	/* Their declared layouts: where in the file. */
	struct input_layout {
		uint64_t at;
		uint16_t length; /* 0: none */
	} *layout;

	struct frame segment; /* the current segment, or the next one after a hole; kind 0: none yet */
	struct input_position position;
	uint64_t expected; /* number of the next segment; 0: any */
	uint64_t last;     /* time of the last event returned */
	bool end_reported; /* whether events are missing at the end has been dealt with */
	bool at_end;       /* there are no more segments */
	bool cut;          /* a segment counts as a frame even if the file ends in its body */
	uint64_t patience; /* bytes that may still be read without result */
	int error;         /* negative: last error of reading or of memory, so frames may seem to be missing */
	unsigned char *body;
	size_t body_size;
	struct unpack *unpack;
	/*
	 * What is known of the segments missing directly before the current one, or at the end: how many, those whose
	 * frames can be read although their bodies are damaged or cut off, and the events and losses that these frames
	 * tell of.
	 */
	struct input_hole {
		uint64_t missing, known, events, lost;
		struct frame last; /* the last of these frames */
	} hole;
	/* Events that report a hole, still to be returned. */
	struct log_event gap[2];
	unsigned gaps;
};

/* Opens a log, which is only read by position. Returns 0, -EINVAL if the file is not a log, or -ENOMEM. */
int input_open(struct input *in, int fd);
/*
 * Reads only the beginning (header, log, begin), and whether the log is complete. Returns 0, or a negative error
 * number if the file cannot be read.
 */
int input_open_header(struct input *in, int fd);
/* Reads all the rest after input_open_header(). Returns 0, or -ENOMEM after closing. */
int input_open_rest(struct input *in);
/* Finds the frame at *at, outside of slots, or the next one after damage. Returns false if there is none. */
bool input_frame(struct input *in, struct frame *f, uint64_t *at);
void input_close(struct input *in);
/*
 * Copies the declared layout of an event type, with a null. Returns its length, or 0 if the log has none. It is as the
 * program has declared it, and may be any bytes.
 */
size_t input_layout(struct input *in, trace_event_id_t id, char layout[LAYOUT_TEXT_SIZE]);
/* Returns the number of events that the stream of a LOOP log lost before the oldest remaining segment. */
uint64_t input_lost_early(struct input *in);
/* Goes back to the oldest segment. */
void input_rewind(struct input *in);
/*
 * Returns whether an event is the OVERFLOW after the last event, which the reader makes if events at the end could
 * not be written. The log has no such event.
 */
static inline bool input_end_gap(const struct input *in, const struct log_event *e)
{
	return e == &in->gap[0] && e->id == POSIX_TRACE_OVERFLOW;
}
/* Does input_next() if the next event may not be the next one in the segment. */
const struct log_event *input_next_elsewhere(struct input *in, const unsigned char **data);
/* Returns the next event, which stays valid with its data until the next call. Null at the end. */
static inline const struct log_event *input_next(struct input *in, const unsigned char **data)
{
	const struct log_event *e = in->gaps ? NULL : unpack_next(in->unpack, data);

	if (!e)
		return input_next_elsewhere(in, data);
	in->last = e->time;
	return e;
}

#endif
