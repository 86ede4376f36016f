/*
 * unpack.h - the body of a segment becomes events again
 *
 * Two passes: the first checks all of it, so that either the whole segment
 * counts or nothing of it; the second, over what is known to be right, is fast.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOG_UNPACK_H
#define LOG_UNPACK_H

#include <stdbool.h>
#include <stdint.h>

#include "log/format.h"

struct unpack_thread {
	uint64_t pthread;
	uint32_t pid;
	uint32_t tid;
	char name[16];
};

struct unpack_shape {
	struct log_event event; /* all but the time */
	unsigned char *before;  /* data of its last event; null: its data is not packed */
};

struct unpack {
	const unsigned char *at, *end;
	uint64_t time;
	uint64_t latest; /* time of any event of the segment; that of the last one may be earlier */
	uint32_t shapes, threads;
	unsigned char *before; /* for the next shape */
	struct unpack_thread thread_of[THREADS_MAX];
	struct unpack_shape shape_of[SHAPES_MAX];
	unsigned char memory[SHAPES_MAX * PACKED_MAX];
};

/* So many bytes behind the body may be read, whatever they are. */
#define UNPACK_SLACK 8

/* Begins with the body of this segment. False: it is not what a segment should be. */
bool unpack_begin(struct unpack *u, const struct frame *frame, const unsigned char *body);
/* The next event; it and its data stay until the next call. Null: there is none. */
const struct log_event *unpack_next(struct unpack *u, const unsigned char **data);

#endif
