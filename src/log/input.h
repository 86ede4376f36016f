/*
 * input.h - a log as it is read
 *
 * Everything is copied by pread() and checked in the copy: the file may be anybody's, be
 * anything, be cut short or written on meanwhile (H26).
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
#include "shm/layout.h"

/* Where the next segment is looked for. */
struct input_place {
	uint64_t at;
	uint64_t end;  /* of what belongs together: the file, or a slot */
	uint32_t slot; /* of a LOOP log: index in input.slot */
	uint64_t follows; /* what follows in this slot has this number, or ends it; 0: nothing has been there */
};

struct input {
	int fd;
	uint64_t size;
	uint64_t inode;
	uint32_t device_major, device_minor;
	uint64_t log;
	uint64_t begin; /* behind the HEADER */
	struct log_header header;
	bool complete; /* it was closed: it has an index */
	uint64_t skipped; /* bytes that are no frames, where there is no index */
	/* From the index, or as far as it can be told. */
	uint64_t events, lost, discarded;
	uint32_t status; /* INDEX_... */
	uint32_t flush_error;
	uint64_t slot[LOG_SLOTS]; /* offsets of frames, oldest first */
	uint32_t slots;
	/* Event types, by id; a name may be empty. */
	bool type[EVENT_ID_END];
	char (*name)[TRACE_EVENT_NAME_MAX + 1];

	struct frame segment; /* whose events are given now, or come next behind a hole; kind 0: none yet */
	struct input_place place;
	uint64_t expected; /* number of the next segment; 0: any */
	uint64_t last;     /* time of the last event given */
	uint64_t patience; /* bytes that may still be read in vain */
	int error;         /* the last of reading, or for want of memory: what seems not to be there may be; negative */
	unsigned char *body;
	size_t body_size;
	struct unpack *unpack;
	/* Events that tell of a hole, still to be given. */
	struct log_event gap[2];
	unsigned gaps;
};

/* 0; -EINVAL: this is not a log; -ENOMEM. The descriptor is only read by position. */
int input_open(struct input *in, int fd);
/* Only what is at its beginning: header, log, begin; and whether it is complete. Also negative: why it cannot be read. */
int input_open_header(struct input *in, int fd);
/* And then all the rest, for events to be read. 0, or closed: -ENOMEM. */
int input_open_rest(struct input *in);
/* The frame at *at, outside of slots, or the next one behind damage. False: there is none. */
bool input_frame(struct input *in, struct frame *f, uint64_t *at);
void input_close(struct input *in);
/* Of a LOOP log: events that the stream lost before the oldest segment that is there. */
uint64_t input_lost_early(struct input *in);
/* The next event comes from the oldest segment. */
void input_rewind(struct input *in);
/* The next event; it and its data stay until the next call. Null: there is none. */
const struct log_event *input_next(struct input *in, const unsigned char **data);

#endif
