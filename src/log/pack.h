/*
 * pack.h - packs events into the body of a segment
 *
 * Events of the same thread, place and data length have a common shape, which is written once in each segment. An
 * event then is the number of its shape, the time since the event before, and the changes in its data.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOG_PACK_H
#define LOG_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ticks.h"
#include "log/format.h"

/* As many as are worth a table; a segment that needs more ends. */
#define PACK_SHAPES  1024u
#define PACK_THREADS 256u
#define PACK_BUCKETS 2048u

struct pack_shape {
	uint64_t address;
	uint64_t key;  /* the rest of the shape: the thread, and as in a record type, truncated and length */
	uint16_t next; /* in its bucket, + 1 */
};

struct pack_thread {
	uint64_t pthread;
	uint32_t pid;
	uint32_t tid;
	char name[16];
};

struct pack {
	unsigned char *body;
	uint32_t capacity;
	uint32_t position;
	uint64_t time; /* of the event before */
	uint32_t shapes, threads;
	uint32_t thread; /* of the event before */
	uint16_t bucket[PACK_BUCKETS]; /* shape + 1 */
	struct pack_thread thread_of[PACK_THREADS];
	struct pack_shape shape_of[PACK_SHAPES];
	unsigned char before[PACK_SHAPES][PACKED_MAX]; /* data of the last event of each shape */
};

/* A state of a body, for going back. */
struct pack_point {
	uint64_t time;
	uint32_t position, shapes, threads;
};

/* Consecutive records of one thread, in memory where another process may write at the same time. */
struct pack_run {
	const struct log_event *owner;   /* the thread */
	const unsigned char *at, *end;   /* the bytes of the records */
	uint32_t count;                  /* at most so many of them */
	uint64_t ticks, limit;           /* none is older or newer */
	const struct ticks_line *line;   /* near for all ticks between these two */
	int64_t offset;                  /* from the line's times to those of the log */
	int64_t least;                   /* time of an event: the line may give less to the first ones */
	uint32_t users;                  /* set: how many of the records added are user events */
};

/* Returns the largest packed size of an event. */
uint32_t pack_size_max(uint32_t length);
/* Begins a body of up to capacity bytes, whose first event has this time. */
void pack_begin(struct pack *p, unsigned char *body, uint32_t capacity, uint64_t time);
/* Adds an event. Returns false, with nothing changed, if the largest event of this length does not fit. */
bool pack_event(struct pack *p, const struct log_event *event, const void *data);
/*
 * Adds records, up to one that pack_event() has to add: the first one of its shape in the segment, or with large data,
 * or for which there may be no room. Returns how many were added; moves run->at past them, and run->ticks to the last.
 */
uint32_t pack_records(struct pack *p, struct pack_run *run);
/* Does the same without special instructions, for tests. */
uint32_t pack_records_plain(struct pack *p, struct pack_run *run);
struct pack_point pack_point(const struct pack *p);
/* Removes the events added since the point, which must have no data. */
void pack_back(struct pack *p, const struct pack_point *point);

#endif
