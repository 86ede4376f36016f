/*
 * output.h - writing a log
 *
 * Frames follow each other, or reuse a slot of a LOOP log. log_state.position says what has been written. It moves on
 * only when all of a frame is in the file. After a death or an error, such as a full disk, the same bytes are written
 * again to the same place.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOG_OUTPUT_H
#define LOG_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sys.h"
#include "log/draft.h"
#include "log/format.h"
#include "log/header.h"

struct output_mark {
	uint64_t offset;
	uint64_t number;
	uint64_t first;
};

struct output {
	int fd;
	bool seeks; /* a regular file, written by position; otherwise front to back */
	int policy; /* of the log */
	int error;  /* 0, or an error number: nothing can be written any more */
	int signalled; /* EPIPE or EFBIG: a write has failed with it, which causes a signal. Reset by the caller */
	bool shared; /* fd is in the application's table of descriptors: the application may close and reuse it */
	struct sys_stat file; /* if shared: the file of fd */
	struct output_sent *sent; /* of a pipe, else null: segment n is in n % OUTPUT_SENT */
	uint64_t bytes_sent;
	struct log_state *state;
	uint64_t lost_base; /* for output_begin(): as in struct log_position */
	/* For the index: */
	uint64_t *frame; /* offsets of TYPES and PROCESS */
	uint32_t frames, frames_max;
	struct output_mark *mark;
	uint32_t marks;
	uint64_t stride; /* of segments between two marks */
	uint64_t clock;  /* offset of the last frame CLOCK; 0: none */
};

/* The totals in a log about all recorded events. */
struct output_end {
	uint64_t lost;
	uint64_t discarded; /* because the log was full */
	uint64_t unwritten; /* user events missing from the log, because they could not be written */
	uint64_t left_out;  /* user events that the filter of the log did not select */
	uint64_t events;    /* in the log; only for the creator */
	uint64_t users;     /* user events among them */
	uint32_t status;    /* INDEX_... */
	uint32_t flush_error;
	uint32_t unnamed; /* event types with events but no name; only for the creator */
};

/* The newest segments sent into a pipe. At the end is checked whether the pipe's reader has taken them. */
#define OUTPUT_SENT 4096

struct output_sent {
	uint64_t end; /* of the segment, counted in bytes sent */
	uint32_t events, users;
};

/*
 * Returns 0 if this descriptor can be a log with this policy, -EBADF if it cannot be written, -EINVAL if the kind of
 * file does not allow it. Sets *seeks if it is a regular file.
 */
int output_possible(int fd, int policy, bool *seeks);
/* Returns the data size of the longest event of a stream with this max-data-size. */
uint32_t output_longest(uint32_t data_size);
/* Returns the size asked for, or the least log-max-size for events of this size if that is larger. */
uint64_t output_size(int policy, uint64_t asked, uint32_t data_size);
/* Returns the capacity of a segment's body in such a log. */
uint32_t output_capacity(int policy, uint64_t size, uint32_t data_size);
void output_plan(struct log_state *state, int policy, uint64_t size, uint32_t data_size);

/* All functions below return 0 or a negative error number. */

int output_init(struct output *o, int fd, bool seeks, int policy, struct log_state *state);
void output_free(struct output *o);
/* Marks the descriptor as shared with the application: its file is checked before each use. */
int output_share(struct output *o);
/* Closes the descriptor. */
void output_close(struct output *o);
/* Writes the header with nothing after it; again after posix_trace_clear(). */
int output_begin(struct output *o, const struct log_header *h);
/* Returns whether the file was truncated to nothing. */
bool output_cut(const struct output *o);
/* Begins a truncated log once more, with the segments that come from now on. */
int output_begin_again(struct output *o, const struct log_header *h);
/*
 * Writes a frame TYPES, with the names of the first `types` user event types, or a frame LAYOUTS, PROCESS,
 * LABELS or, when a log is copied, CLOCK.
 */
int output_frame(struct output *o, enum frame_kind kind, const void *body, size_t size, uint32_t types);
/*
 * Writes a frame CLOCK. The first one has to follow output_begin(): in a LOOP log it is written again for
 * CLOCK_PERIOD.
 */
int output_clock(struct output *o, const unsigned char body[CLOCK_BYTES]);
/* Returns the largest size of the next segment's body; 0 if the log is full. */
uint32_t output_room(const struct output *o);
/* Writes the draft's segment. lost: all losses of the stream so far. */
int output_segment(struct output *o, struct draft *d, uint64_t lost);
/* Updates the frame SUM in place, which needs no space. Not an error if the log has no frame SUM. */
int output_tell(struct output *o, const struct output_end *end);
/* Returns the number of user events in a pipe whose reader has gone. Sets *events to the number of all events. */
uint64_t output_abandoned(const struct output *o, uint64_t *events);
/*
 * Ends the log. If nothing is unwritten returns 0 even without space for the index, because the frame SUM says that
 * the log is whole.
 */
int output_end(struct output *o, const struct output_end *end);
/* Takes over after a death. The log in the file has this number, even if it was just begun anew. */
void output_resume(struct log_state *state, uint64_t log);
/* Remembers a frame written by another process, for the index. */
int output_recall(struct output *o, const struct frame *frame, uint64_t offset);
const struct log_position *output_position(const struct output *o);

#endif
