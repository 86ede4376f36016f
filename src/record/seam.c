/*
 * seam.c - streams that take turns
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/seam.h"

#include "base/atomic.h"
#include "base/testpoint.h"

/* Each further look is caused by a further stop. A hostile controller could go on without end (H18). */
#define SEAM_LOOKS 1000

const struct stream_header *seam_of_writer(const struct passage *passage, uint32_t n)
{
	const struct thread *t = passage->t;
	const struct writer *writer = n < load_relaxed(&t->count) ? load_relaxed(&t->order[n]) : NULL;

	return writer ? load_relaxed(&writer->header) : NULL;
}

static uint32_t stops_of(const struct passage *passage, seam_stream *stream, uint64_t set)
{
	uint32_t stops = 0;

	for (; set; set &= set - 1) {
		const struct stream_header *h = stream(passage, (uint32_t)__builtin_ctzll(set));

		stops += h ? load_relaxed(&h->stops) : 0;
	}
	return stops;
}

void seam_again(const struct passage *passage, seam_look *look, seam_stream *stream, uint64_t missed)
{
	for (int i = 0; i < SEAM_LOOKS && seam_several(missed); i++) {
		uint64_t set = missed;
		uint32_t stops;

		/*
		 * PAIR(seam): if a stream was seen stopped, the one that was started before the stop is seen running.
		 */
		fence_acquire();
		stops = stops_of(passage, stream, set);
		fence_acquire();
		TEST_POINT("seam_again");
		missed = look(passage, set);
		fence_acquire(); /* PAIR(seam): a stream that was seen stopped is seen with its new count */
		if (stops_of(passage, stream, set) == stops)
			return;
	}
}

/* Returns the number of the group of streams that stream n takes turns with, 0 if none. */
static uint32_t turns_of(const struct passage *passage, seam_stream *stream, uint32_t n)
{
	const struct stream_header *h = stream(passage, n);

	return h ? load_relaxed(&h->turns) : 0;
}

bool seam_taken_by(const struct passage *passage, seam_stream *stream, uint64_t took, uint32_t n)
{
	uint32_t turns = turns_of(passage, stream, n);

	for (; turns && took; took &= took - 1)
		if (turns_of(passage, stream, (uint32_t)__builtin_ctzll(took)) == turns)
			return true;
	return false;
}

uint64_t seam_missed(const struct passage *passage, seam_stream *stream, uint64_t took, uint64_t missed)
{
	uint64_t again = missed;

	for (uint64_t set = missed; took && set; set &= set - 1)
		if (seam_taken_by(passage, stream, took, (uint32_t)__builtin_ctzll(set)))
			again &= ~(set & -set);
	return again;
}
