/*
 * output.h - a log as it is written
 *
 * Frames one after the other, and where LOOP reuses a slot, there. What has been written is told
 * by log_state.place; it moves on only when all of a frame is in the file, so who is killed
 * in between, or finds the disk full, or comes after a death, writes the same bytes to the same
 * place again.
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
	int error;  /* nothing can be written any more: 0 or an error number */
	bool shared; /* the number is in the application's table of descriptors: it may close it, and open something else */
	struct sys_stat file; /* then: what it stands for */
	struct log_state *state;
	/* For the index: */
	uint64_t *frame; /* offsets of TYPES and PROCESS */
	uint32_t frames, frames_max;
	struct output_mark *mark;
	uint32_t marks;
	uint64_t stride; /* of segments between two marks */
};

/* What the log says when it is complete. */
struct output_end {
	uint64_t lost;
	uint64_t discarded; /* because the log was full */
	uint32_t status; /* INDEX_... */
	uint32_t flush_error;
};

/*
 * Can this descriptor be a log with this policy? 0; -EBADF: it cannot be
 * written; -EINVAL: not such a file. *seeks: it is a regular file.
 */
int output_possible(int fd, int policy, bool *seeks);
/* Data of the longest event of a stream with this max-data-size. */
uint32_t output_longest(uint32_t data_size);
/* The least that log-max-size can be for events of this size, or what is asked for; and what follows from it. */
uint64_t output_size(int policy, uint64_t asked, uint32_t data_size);
/* Bytes of a body that is put together for it. */
uint32_t output_capacity(int policy, uint64_t size, uint32_t data_size);
void output_plan(struct log_state *state, int policy, uint64_t size, uint32_t capacity);

/* All functions below return 0 or a negative error number. */

int output_init(struct output *o, int fd, bool seeks, int policy, struct log_state *state);
void output_free(struct output *o);
/* The descriptor is one in the application's table: from now on, what it stands for is looked at before each use. */
int output_share(struct output *o);
/* Closes the descriptor. */
void output_close(struct output *o);
/* The header, and nothing behind it; again after posix_trace_clear(). */
int output_begin(struct output *o, const struct log_header *h);
/* Has somebody cut the file to nothing? */
bool output_cut(const struct output *o);
/* Then the log begins once more, with the segments that come now. */
int output_begin_again(struct output *o, const struct log_header *h);
/* TYPES, with names up to so many user event types; or PROCESS. */
int output_frame(struct output *o, enum frame_kind kind, const void *body, size_t size, uint32_t types);
/* Bytes that the next segment's body can have; 0: the log is full. */
uint32_t output_room(const struct output *o);
/* The draft's segment. lost: what the stream has lost, all so far. */
int output_segment(struct output *o, struct draft *d, uint64_t lost);
/* All that makes it complete. */
int output_end(struct output *o, const struct output_end *end);
/* After a death: the log in the file is this one, which may just have been begun anew. */
void output_resume(struct log_state *state, uint64_t log);
/* A frame that another has written before: for the index. */
int output_recall(struct output *o, const struct frame *frame, uint64_t offset);
const struct log_place *output_place(const struct output *o);

#endif
