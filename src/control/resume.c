/*
 * resume.c - lets a full stream go on when it has been read
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/resume.h"

#include "base/atomic.h"
#include "base/testpoint.h"
#include "base/ticks.h"
#include "control/filter.h"
#include "control/quiesce.h"
#include "read/live.h"
#include "shm/chunk.h"

void resume_note_stop(struct handle *h)
{
	struct stream_header *header = h->stream.header;
	uint32_t state = load_relaxed(&header->state);
	uint64_t none = 0;

	if (h->stream.stream_policy == POSIX_TRACE_LOOP || h->live.start_waits || h->live.stop_reported)
		return;
	if ((state & (STATE_RUNNING | STATE_FULL)) == STATE_FULL && !load_relaxed(&header->stopped_ticks))
		cas(&header->stopped_ticks, &none, ticks_read(h->stream.clock_kind));
}

void resume_drained(struct handle *h)
{
	struct stream_header *header = h->stream.header;
	uint32_t state = load_relaxed(&header->state);
	trace_event_set_t set;
	uint64_t stopped, started;
	bool by_itself;

	if (state & STATE_RUNNING)
		return;
	resume_note_stop(h);
	quiesce(h);
	if (!live_empty(&h->live))
		return;
	stopped = load_relaxed(&header->stopped_ticks);
	if (stopped)
		live_stopped(&h->live, stopped);
	/* The STOP has to be in the log before the stream restarts: only this process knows of the STOP. */
	if (h->flusher && !live_empty(&h->live))
		return;
	store_relaxed(&header->stopped_ticks, 0);
	h->live.stop_reported = 0;
	h->live.start_waits = false;
	TEST_POINT("drained_ticks");
	by_itself = stopped && h->live.stop_value;
	if (state & STATE_ARMED) {
		started = ticks_read(h->stream.clock_kind);
		/* Events lost while the log was written are reported in the log (SYS-20). */
		if (by_itself && h->stream.stream_policy == POSIX_TRACE_FLUSH)
			live_gap(&h->live, stopped, started);
		filter_load(h, &set);
		live_start(&h->live, &set, started);
		/*
		 * In one step: an event that found the stream neither running nor armed would be lost and not counted.
		 */
		while (!cas(&header->state, &state,
		            (state & ~(STATE_FULL | STATE_ARMED | STATE_LOSING)) | STATE_RUNNING))
			;
		TEST_POINT("drained_started");
	} else {
		fetch_and(&header->state, ~(STATE_FULL | STATE_LOSING));
	}
}

void resume_read(struct handle *h)
{
	struct stream_header *header = h->stream.header;
	uint32_t state = load_relaxed(&header->state);

	if (!(state & STATE_FULL) || (state & STATE_ARMED))
		return;
	resume_note_stop(h);
	for (uint32_t i = 0; i < h->stream.chunk_count; i++) {
		struct chunk *c = &h->stream.chunks[i];
		uint64_t p = load_acquire(&c->progress); /* PAIR(commit) */

		if (!owner_is(load_relaxed(&c->owner)) && chunk_unread(c, p) == 0) {
			fetch_and(&header->state, ~(STATE_FULL | STATE_LOSING));
			return;
		}
	}
	if (live_empty(&h->live))
		fetch_and(&header->state, ~(STATE_FULL | STATE_LOSING));
}
