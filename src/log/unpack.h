/*
 * unpack.h - unpacks the body of a segment into events
 *
 * Two passes: the first one checks everything, so that either the whole segment counts or none of it. The second one
 * relies on the check, and is fast.
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
	unsigned char *before;  /* data of the shape's last event; null: the data are not packed */
};

struct unpack {
	const unsigned char *at, *end;
	uint64_t time;
	uint64_t latest; /* the latest time in the segment; the last event may be earlier */
	uint32_t shapes, threads;
	unsigned char *before; /* for the next shape */
	struct unpack_thread thread_of[THREADS_MAX];
	struct unpack_shape shape_of[SHAPES_MAX];
	unsigned char memory[SHAPES_MAX * PACKED_MAX];
};

/* Number of bytes after the body that may be read, whatever their values. */
#define UNPACK_SLACK 8

/* Begins with the body of this segment. Returns false if the body is not valid. */
bool unpack_begin(struct unpack *u, const struct frame *frame, const unsigned char *body);
/* Returns the next event, which stays valid with its data until the next call. Null at the end. */
const struct log_event *unpack_next(struct unpack *u, const unsigned char **data);

#endif
