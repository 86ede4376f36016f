/*
 * held_up.h - the writers in the middle of a record, and how long a reader waits for them
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READ_HELD_UP_H
#define READ_HELD_UP_H

#include "shm/stream.h"

/*
 * A thread held up for longer than this inside a trace point may have its event reported after younger ones: the
 * resolution of READ-21.
 */
#define HELD_UP_PATIENCE_NS 100000000

/* The limit if the caller does not wait and the kernel reports the thread as stopped, by a signal or a debugger. */
#define HELD_UP_STOPPED_NS 10000000

/*
 * The time between two looks counts as at most this much. When the whole machine stands still, or the reader gets no
 * processor, the writers have not had that time either.
 */
#define HELD_UP_LOOK_NS 10000000

/* A writer in the middle of a record. */
struct held_up_writer {
	uint32_t ref;      /* chunk that a seat is busy with, or thread that locks a chunk; 0: none */
	uint64_t progress; /* of the chunk; a change means another record */
	uint64_t from;     /* ticks of the last look before the writer was first seen: its record is not older */
	int64_t looked;    /* ns of CLOCK_MONOTONIC, at the last look */
	int64_t waited;    /* ns so far, see HELD_UP_LOOK_NS */
	bool waiting;      /* the reader waits for the writer */
};

struct held_up {
	const struct stream *stream;
	struct held_up_writer *writer; /* by seat, then by chunk */
	uint64_t looked; /* *watermark of the last look: records begun later are not older */
	bool hurry;      /* the caller does not wait, or has no time left (HELD_UP_STOPPED_NS) */
};

/*
 * Looks at all writers, after a barrier everywhere that came after all ticks before *watermark. Lowers *watermark for
 * those that it waits for: older records are all there, newer ones may still come. Returns true if it waits for any.
 */
bool held_up_look(struct held_up *h, uint64_t *watermark);
/* Returns whether the reader waits for the thread that has the chunk's lock. */
bool held_up_waits(const struct held_up *h, uint32_t chunk);
/* Returns whether a thread has had the chunk's lock for longer than the reader waits. */
bool held_up_too_long(const struct held_up *h, uint32_t chunk);

#endif
