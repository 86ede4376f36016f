/*
 * seam.h - streams that take turns: no event is in neither, and none is in both
 *
 * Several streams may take turns: the next one is started before the current one is stopped (posixtrace record
 * --rotate). A thread that looks at the next one before the start and at the current one after the stop finds neither
 * running. So if two or more streams have not taken an event, because they do not run or filter it out, the trace point
 * looks at them again, until none of them has been stopped meanwhile: then there was a moment when none of them wanted
 * the event. A single stream is not looked at again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_SEAM_H
#define RECORD_SEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "record/put.h"
#include "record/self.h"

/*
 * A set of streams is a word: bit n stands for number n of thread.order, or for slot n of the page. Streams from
 * SEAM_END on are in no set.
 */
#define SEAM_END 63
#define SEAM_ALL UINT64_MAX

static inline uint64_t seam_bit(uint32_t n)
{
	return n < SEAM_END ? UINT64_C(1) << n : 0;
}

/* Returns whether stream n is to be looked at. The first time, all are. */
static inline bool seam_has(uint64_t among, uint32_t n)
{
	return among == SEAM_ALL || (seam_bit(n) & among);
}

static inline bool seam_several(uint64_t missed)
{
	return missed & (missed - 1);
}

/* One passage of a trace point: what it records, and in which thread and process. */
struct passage {
	const struct call *call;
	struct thread *t;
	/* Only where the trace point uses no writers: */
	struct self *self;
	const struct process *process;
	uint32_t depth;
};

/* Looks once at the streams of a set: records the event, and returns the streams that do not have it. */
typedef uint64_t seam_look(const struct passage *passage, uint64_t among);
/* Returns the header of stream n of a set, or null if there is none. */
typedef const struct stream_header *seam_stream(const struct passage *passage, uint32_t n);

/* Stream n of thread.order. */
const struct stream_header *seam_of_writer(const struct passage *passage, uint32_t n);

/* Looks again at the streams that missed the event, while that may still find one that wants it. */
void seam_again(const struct passage *passage, seam_look *look, seam_stream *stream, uint64_t missed);

/*
 * Returns whether one of the streams in `took` takes turns with stream n. Among such streams each event is recorded or
 * counted as lost only once, although two of them run for a moment. A thread that has recorded the event in one of them
 * leaves out the others, also a stream that has only just started.
 */
bool seam_taken_by(const struct passage *passage, seam_stream *stream, uint64_t took, uint32_t n);
static inline bool seam_taken(const struct passage *passage, seam_stream *stream, uint64_t took, uint32_t n)
{
	return took && seam_taken_by(passage, stream, took, n);
}

/*
 * Returns the streams in `missed` that are to be looked at again: all but those that take turns with a stream that took
 * the event.
 */
uint64_t seam_missed(const struct passage *passage, seam_stream *stream, uint64_t took, uint64_t missed);

#endif
