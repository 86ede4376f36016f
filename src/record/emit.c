/*
 * emit.c - one event into one stream, without a lane; and what is said to all when one finds no room
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/emit.h"

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/ticks.h"
#include "record/take.h"
#include "shm/chunk.h"

void emit_wake(struct stream_header *h)
{
	uint32_t waiting = load_relaxed(&h->waiting);

	/*
	 * Woken first, forgotten then: if this thread is killed in between, the
	 * next event wakes. Not forgotten is who has begun to wait meanwhile: with
	 * another number.
	 */
	TEST_POINT("wake_seen");
	fetch_add(&h->wakeups, 1);
	TEST_POINT("wake_risen");
	sys_futex_wake(&h->wakeups);
	TEST_POINT("wake_woken");
	cas(&h->waiting, &waiting, 0);
}

void emit_lost(const struct stream *s)
{
	struct stream_header *h = s->header;

	/*
	 * Under LOOP readers are told where; otherwise the stream has stopped,
	 * which tells as much. The last before the first, and both locked: who
	 * takes the first away, and then looks at the last, misses none.
	 */
	if (s->stream_policy == POSIX_TRACE_LOOP) {
		uint64_t ticks = ticks_read(s->clock_kind), none = 0, last = load_relaxed(&h->lost_last);

		while (last < ticks && !cas(&h->lost_last, &last, ticks))
			;
		TEST_POINT("lost_last");
		cas(&h->lost_ticks, &none, ticks);
	}
	fetch_add(&h->lost, 1);
	TEST_POINT("lost_counted");
	if (!(load_relaxed(&h->state) & STATE_OVERRUN))
		fetch_or(&h->state, STATE_OVERRUN);
}

void emit_full(const struct stream *s)
{
	struct stream_header *h = s->header;
	uint32_t state = load_relaxed(&h->state);
	uint64_t none = 0;

	if (!(state & (STATE_RUNNING | STATE_ARMED)))
		return; /* stopped by a call meanwhile */
	emit_lost(s);
	if (s->stream_policy == POSIX_TRACE_LOOP)
		return; /* nobody could be overwritten just now; the next one tries again */

	/* The time before the state: who sees the stream stopped knows when. */
	cas(&h->stopped_ticks, &none, ticks_read(s->clock_kind));
	TEST_POINT("full_ticks");
	while (state & STATE_RUNNING) {
		if (cas(&h->state, &state, (state & ~STATE_RUNNING) | STATE_FULL | STATE_ARMED)) {
			TEST_POINT("full_stopped");
			emit_wake(h); /* the STOP can be read */
			return;
		}
	}
}

bool emit_alone(struct stream *s, const struct writer *w, bool always, trace_event_id_t id,
                const void *data, size_t length, const void *address)
{
	struct stream_header *h = s->header;
	struct chunk *c = take_chunk(s, w->tid | s->outsider);
	unsigned char *memory;
	uint64_t p, ticks;
	uint32_t position, type = id, state;

	if (!c)
		return false;
	/* Looked at again: between two looks a hostile process may have changed it (H18). */
	p = load_relaxed(&c->progress);
	if (!chunk_has_room(s, p)) {
		chunk_unclaim(c);
		return false;
	}
	position = progress_position(p);
	TEST_POINT("alone_claimed");
	memory = stream_chunk_memory(s, c);
	/*
	 * The claim before the look at the state, and before the ticks: who
	 * stops the stream changes the state and then waits for the claim, and
	 * a reader waits for it as it does for busy.
	 */
	fence_full();
	state = load_relaxed(&h->state);
	if (!always && stream_filters(h, id)) { /* since the caller looked; who changes it waits for the claim, too */
		chunk_unclaim(c);
		return true;
	}
	if (!always && !(state & STATE_RUNNING)) {
		chunk_unclaim(c);
		if (state & STATE_ARMED)
			emit_lost(s);
		return true;
	}
	ticks = ticks_read(s->clock_kind);
	TEST_POINT("alone_ticks");
	position += put_owner(memory + position, w);
	if (!data)
		length = 0;
	if (!eventtype_system(id) && length > s->data_size) {
		length = s->data_size;
		type |= RECORD_TRUNCATED;
	}
	put(memory + position, type, (uint32_t)length, ticks, address, data);
	TEST_POINT("alone_written");
	position += record_size((uint32_t)length);

	store_relaxed(&c->last_ticks, ticks);
	store_release(&c->progress, progress_make(progress_records(p) + 1, position)); /* PAIR(commit) */
	TEST_POINT("alone_committed");
	chunk_unclaim(c);
	fence_full();
	TEST_POINT("alone_unclaimed");
	if (load_relaxed(&h->waiting))
		emit_wake(h);
	return true;
}
