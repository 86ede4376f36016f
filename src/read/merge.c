/*
 * merge.c - the records of all chunks, in the order of their times
 *
 * SPDX-License-Identifier: MIT
 */
#include "read/merge.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/wait.h"
#include "shm/chunk.h"

/* How often to look at the clock. */
#define LOOKS_PER_TIME 64

static size_t memory_size(const struct stream *s)
{
	return s->chunk_count * (sizeof(struct cursor) + sizeof(struct held_up_writer) + sizeof(uint32_t)) +
	       s->seat_count * sizeof(struct held_up_writer);
}

int merge_init(struct merge *m, struct stream *s, struct anchor anchor)
{
	void *p = sys_map(memory_size(s), -1, 1);

	if (!p)
		return ENOMEM;
	memset(m, 0, sizeof *m);
	m->stream = s;
	m->cursor = p;
	m->held_up.stream = s;
	m->held_up.writer = (struct held_up_writer *)(m->cursor + s->chunk_count);
	m->heap.cursor = m->cursor;
	m->heap.chunk = (uint32_t *)(m->held_up.writer + s->seat_count + s->chunk_count);
	times_start(&m->times, anchor);
	return 0;
}

void merge_free(struct merge *m)
{
	if (m->cursor)
		sys_unmap(m->cursor, memory_size(m->stream));
	m->cursor = NULL;
}

void merge_reset(struct merge *m, struct anchor anchor)
{
	times_start(&m->times, anchor);
	for (uint32_t i = 0; i < m->stream->chunk_count; i++) {
		struct chunk *c = &m->stream->chunks[i];
		struct cursor *cur = &m->cursor[i];
		/* In this order; an acquirer goes the opposite way. PAIR(recycle), PAIR(reset), PAIR(commit) */
		uint32_t first = load_acquire(&c->first), read = load_acquire(&c->read);
		uint64_t p = load_acquire(&c->progress);

		TEST_POINT("reset_progress");
		/*
		 * A chunk could not be emptied if a thread is stuck in the middle of a record: go past the records,
		 * but remember their owner. If the thread goes on right now, an acquirer may have emptied the chunk
		 * since, and moved read further than here: read is not moved back.
		 */
		cas(&c->read, &read, progress_records(p));
		TEST_POINT("reset_past");
		cursor_resume(cur, m->stream, c);
		/*
		 * If an acquirer turns out to have overwritten the chunk, the loss counts from here on, not from
		 * first.
		 */
		if (cur->first == first && cur->next != progress_records(p)) {
			cur->next = progress_records(p);
			cur->at = progress_position(p);
		}
		cur->gap_from = cur->gap_until = 0;
		cursor_acknowledge(cur, c);
	}
	m->gaps = (struct gaps){ 0 };
	m->heap.count = 0;
	m->watermark = m->taken = 0;
	m->waiting = false;
}

void merge_resume(struct merge *m, const struct gaps *known)
{
	for (uint32_t i = 0; i < m->stream->chunk_count; i++)
		cursor_resume(&m->cursor[i], m->stream, &m->stream->chunks[i]);
	m->gaps = *known;
}

/*
 * Looks for the chunk's next record, and takes over the gap that its cursor has found. Returns true if there is a
 * record.
 */
static bool look(struct merge *m, uint32_t chunk)
{
	struct cursor *cur = &m->cursor[chunk];
	bool have = cursor_look(cur, m->stream, &m->stream->chunks[chunk]);

	gaps_take(&m->gaps, cur);
	if (cur->unacknowledged && m->stream->log)
		m->gaps.unacknowledged = true;
	else if (cur->unacknowledged)
		cursor_acknowledge(cur, &m->stream->chunks[chunk]);
	/* The place of the loss is not known yet: report nothing before refill() has handled it. */
	if (cur->moving)
		m->watermark = 0;
	return have;
}

/* Puts the chunk's next record, or another chunk, in the place of the top, whose record was taken or is gone. */
static void replace_top(struct merge *m)
{
	if (look(m, m->heap.chunk[0]))
		heap_sift_down(&m->heap);
	else
		heap_remove_top(&m->heap);
}

/*
 * Moves read back after the death of an acquirer that had moved it and had not overwritten the unread records yet.
 * Under the lock no other thread moves it. Returns false if the lock is held.
 */
static bool put_back(struct merge *m, uint32_t i)
{
	struct chunk *c = &m->stream->chunks[i];
	const struct cursor *cur = &m->cursor[i];

	if (!chunk_trylock(m->stream, c, stream_thread_ref(m->stream), true))
		return false;
	if (load_relaxed(&c->first) == cur->first && load_relaxed(&c->read) != cur->next)
		exchange(&c->read, cur->next);
	chunk_unlock(c);
	return true;
}

/*
 * Deals with a chunk whose acquirer is about to overwrite the record at the cursor. Returns true if the reader has to
 * wait for the acquirer, and until then reports no younger record.
 */
static bool waits_for_acquirer(struct merge *m, uint32_t chunk)
{
	struct cursor *cur = &m->cursor[chunk];

	if (held_up_waits(&m->held_up, chunk))
		return true;
	if (!put_back(m, chunk)) {
		/* If another thread has the lock for a moment, or the acquirer has gone on. */
		if (!held_up_too_long(&m->held_up, chunk) || !cursor_give_up(cur, &m->stream->chunks[chunk]))
			return true;
		/*
		 * The acquirer is stopped. The records that it is about to overwrite are lost, even if it ends now
		 * and overwrites nothing.
		 */
		gaps_take(&m->gaps, cur);
	} else if (look(m, chunk)) {
		/* Records older than those already reported are dropped, and counted. */
		if (cur->head.ticks < m->taken && !cursor_given_up(cur))
			gaps_add(&m->gaps, cur->head.ticks, m->taken);
		heap_add(&m->heap, chunk);
	}
	return false;
}

/* Looks at all chunks again, and sets the watermark. */
static void refill(struct merge *m)
{
	struct anchor now = anchor_now(m->stream->clock_kind);
	/* Include this very tick: a clock may tick seldom, and records that are still to come are not older. */
	uint64_t watermark = now.ticks + 1;

	times_add(&m->times, now);
	barrier_everywhere();
	m->waiting = held_up_look(&m->held_up, &watermark);
	TEST_POINT("read_writers");
	gaps_take_lost(&m->gaps, m->stream->header);
	for (uint32_t i = 0; i < m->stream->chunk_count; i++) {
		struct cursor *cur = &m->cursor[i];

		if (!cur->have && look(m, i))
			heap_add(&m->heap, i);
		if (cur->moving && waits_for_acquirer(m, i)) {
			m->waiting = true;
			if (cur->head.ticks < watermark)
				watermark = cur->head.ticks;
		}
	}
	m->watermark = watermark;
	TEST_POINT("read_watermark");
}

/* Takes the top's record, which is in this chunk, and finds the next. Returns false if the record was overwritten. */
static bool take_top(struct merge *m, uint32_t chunk, void *data, size_t size)
{
	bool taken = cursor_read(&m->cursor[chunk], m->stream, &m->stream->chunks[chunk], data, size);

	replace_top(m);
	return taken;
}

bool merge_read(struct merge *m, uint32_t chunk, void *data, size_t size)
{
	uint64_t ticks = m->cursor[chunk].head.ticks;
	bool taken = take_top(m, chunk, data, size);

	if (taken && ticks > m->taken)
		m->taken = ticks;
	return taken;
}

uint64_t merge_limit(const struct merge *m)
{
	uint64_t limit = m->watermark;

	if (m->gaps.from || m->gaps.unsure_until || m->watermark == 0)
		return 0;
	for (uint32_t child = 1; child <= 2 && child < m->heap.count; child++)
		if (heap_ticks(&m->heap, child) < limit)
			limit = heap_ticks(&m->heap, child);
	return limit - 1;
}

bool merge_consume(struct merge *m, uint32_t chunk, const struct cursor *before, uint64_t last)
{
	struct cursor *cur = &m->cursor[chunk];
	bool taken = cursor_consume(cur, &m->stream->chunks[chunk], before);

	if (taken && last > m->taken)
		m->taken = last;
	if (cur->have)
		heap_sift_down(&m->heap);
	else
		replace_top(m);
	return taken;
}

bool merge_late(int64_t *until)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!*until)
		*until = now + MERGE_CALL_NS;
	return now > *until;
}

/*
 * Returns whether ticks are in the future. No writer's clock is further ahead than the reader waits, so the record is
 * corrupt or the counter was reset. Waiting for that time could take forever.
 */
static bool is_to_come(const struct merge *m, uint64_t ticks)
{
	return times_after(&m->times, ticks, HELD_UP_PATIENCE_NS);
}

/* Returns the ticks of the newest event taken, or of the stream's creation. */
static uint64_t newest_taken(const struct merge *m)
{
	return m->taken ? m->taken : m->times.creation.ticks;
}

enum merge_result merge_next(struct merge *m, uint32_t *chunk)
{
	int64_t until = 0;

	for (unsigned i = 0;; i++) {
		uint64_t ticks = m->heap.count ? heap_ticks(&m->heap, 0) : UINT64_MAX;
		bool reported;

		if (ticks >= m->watermark) {
			refill(m);
			if (m->heap.count == 0)
				return m->waiting ? MERGE_HELD_UP : MERGE_NONE;
			ticks = heap_ticks(&m->heap, 0);
			if (ticks >= m->watermark && !is_to_come(m, ticks))
				return MERGE_HELD_UP;
		}
		*chunk = m->heap.chunk[0];
		if (ticks < m->watermark && ticks > m->gaps.until)
			return MERGE_RECORD;
		/* Drop a record that is older than an overwritten one, or has an impossible time. */
		reported = cursor_given_up(&m->cursor[*chunk]);
		if (take_top(m, *chunk, NULL, 0)) {
			m->gaps.dropped++;
			if (!reported)
				gaps_add(&m->gaps, ticks < m->watermark ? ticks : newest_taken(m), 0);
		}
		if (i % LOOKS_PER_TIME == LOOKS_PER_TIME - 1 && merge_late(&until))
			return MERGE_AGAIN;
	}
}

bool merge_keeps_back(const struct merge *m)
{
	return m->heap.count != 0;
}

bool merge_empty(const struct merge *m)
{
	for (uint32_t i = 0; i < m->stream->chunk_count; i++) {
		struct chunk *c = &m->stream->chunks[i];

		if (chunk_unread(c, load_acquire(&c->progress)) != 0) /* PAIR(commit) */
			return false;
	}
	return true;
}

uint64_t merge_unread(const struct merge *m)
{
	uint64_t unread = 0;

	for (uint32_t i = 0; i < m->stream->chunk_count; i++) {
		const struct chunk *c = &m->stream->chunks[i];

		unread += chunk_unread(c, load_acquire(&c->progress)); /* PAIR(commit) */
	}
	return unread;
}

void merge_acknowledge(struct merge *m)
{
	for (uint32_t i = 0; i < m->stream->chunk_count; i++)
		if (m->cursor[i].unacknowledged)
			cursor_acknowledge(&m->cursor[i], &m->stream->chunks[i]);
	m->gaps.unacknowledged = false;
}

uint64_t merge_lost(const struct merge *m)
{
	uint64_t lost = m->gaps.dropped;

	for (uint32_t i = 0; i < m->stream->chunk_count; i++)
		lost += cursor_lost(&m->cursor[i], &m->stream->chunks[i]);
	return lost;
}
