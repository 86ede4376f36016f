/*
 * emit.c - one event into one stream, without a writer; and what follows when an event finds no room
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/emit.h"

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/ticks.h"
#include "record/acquire.h"
#include "shm/chunk.h"

/*
 * Each failed CAS is another thread's success, so honest writers never fail this often. A hostile process could keep
 * the loop going without end (H18).
 */
#define STATE_TRIES 1000

void emit_wake(struct stream_header *h)
{
	uint32_t waiting = load_relaxed(&h->waiting);

	/*
	 * Wakes first and clears `waiting` afterwards: if this thread is killed in between, the next event wakes. A
	 * reader that began to wait meanwhile has set another number, so the CAS does not clear it.
	 */
	TEST_POINT("wake_seen");
	fetch_add(&h->wakeups, 1);
	TEST_POINT("wake_risen");
	sys_futex_wake(&h->wakeups);
	TEST_POINT("wake_woken");
	cas(&h->waiting, &waiting, 0);
}

void emit_overrun(const struct stream *s)
{
	struct stream_header *h = s->header;

	if (!(load_relaxed(&h->state) & STATE_OVERRUN))
		fetch_or(&h->state, STATE_OVERRUN);
}

void emit_lost(const struct stream *s)
{
	struct stream_header *h = s->header;

	/*
	 * Under LOOP, readers get the times of the loss. Otherwise the stream has stopped, which says as much. The last
	 * time is set before the first, both by locked instructions: a reader that takes the first away and then looks
	 * at the last misses no loss.
	 */
	if (s->stream_policy == POSIX_TRACE_LOOP) {
		uint64_t ticks = ticks_read(s->clock_kind), none = 0, last = load_relaxed(&h->lost_last);

		for (int try = 0; try < STATE_TRIES && last < ticks && !cas(&h->lost_last, &last, ticks); try++)
			;
		TEST_POINT("lost_last");
		cas(&h->lost_ticks, &none, ticks);
	}
	fetch_add(&h->lost, 1);
	TEST_POINT("lost_counted");
	emit_overrun(s);
}

bool emit_full(const struct stream *s)
{
	struct stream_header *h = s->header;
	uint32_t state = load_relaxed(&h->state);
	uint64_t none = 0;

	if (!(state & (STATE_RUNNING | STATE_LOSING)))
		return false; /* stopped by a call meanwhile */
	emit_lost(s);
	if (s->stream_policy == POSIX_TRACE_LOOP)
		return true; /* no chunk could be overwritten just now; the next event tries again */

	/* The time before the state: a reader that sees the stream stopped also sees when. */
	cas(&h->stopped_ticks, &none, ticks_read(s->clock_kind));
	TEST_POINT("full_ticks");
	for (int try = 0; try < STATE_TRIES && state & STATE_RUNNING; try++) {
		if (cas(&h->state, &state, (state & ~STATE_RUNNING) | STATE_FULL | STATE_ARMED | STATE_LOSING)) {
			TEST_POINT("full_stopped");
			emit_wake(h); /* the STOP can be read */
			return true;
		}
	}
	return true;
}

/* Returns the call as it is recorded in the stream: with its data cut to the stream's size, and the id saying so. */
static struct call fit(const struct stream *s, const struct call *call)
{
	struct call c = *call;

	if (!c.data)
		c.length = 0;
	if (!eventtype_system(c.id) && c.length > s->data_size) {
		c.length = s->data_size;
		c.id |= RECORD_TRUNCATED;
	}
	return c;
}

enum emit_outcome emit_alone(struct stream *s, const struct owner_id *w, bool always, const struct call *call)
{
	const struct call fitting = fit(s, call);
	struct stream_header *h = s->header;
	uint64_t p, ticks;
	struct chunk *c = acquire_chunk(s, w->tid | s->outsider, false, &p);
	unsigned char *memory;
	uint32_t position, state;

	if (!c)
		return EMIT_NO_ROOM;
	position = progress_position(p);
	TEST_POINT("alone_locked");
	memory = stream_chunk_memory(s, c);
	/*
	 * The lock is taken before the state and the ticks are read: posix_trace_stop() changes the state and then
	 * waits for the lock, and a reader waits for the lock as it does for `busy`.
	 */
	fence_full();
	state = load_relaxed(&h->state);
	/* filtered since the caller looked; posix_trace_set_filter() waits for the lock, too */
	if (!always && stream_filters(h, call->id)) {
		chunk_unlock(c);
		return EMIT_MISSED;
	}
	if (!always && !(state & STATE_RUNNING)) {
		chunk_unlock(c);
		if (!(state & STATE_LOSING))
			return EMIT_MISSED;
		emit_lost(s);
		return EMIT_DONE;
	}
	ticks = ticks_read_in_order(s->clock_kind);
	TEST_POINT("alone_ticks");
	position += put_owner(memory + position, w);
	put(memory + position, fitting, ticks);
	TEST_POINT("alone_written");
	position += record_size((uint32_t)fitting.length);

	store_relaxed(&c->last_ticks, ticks);
	store_release(&c->progress, progress_make(progress_records(p) + 1, position)); /* PAIR(commit) */
	TEST_POINT("alone_committed");
	chunk_unlock(c);
	fence_full();
	TEST_POINT("alone_unlocked");
	if (load_relaxed(&h->waiting))
		emit_wake(h);
	return EMIT_DONE;
}
