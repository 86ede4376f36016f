/*
 * cursor.c - the next record of one chunk
 *
 * SPDX-License-Identifier: MIT
 */
#include "read/cursor.h"

#include <string.h>

#include "base/atomic.h"
#include "base/shared.h"
#include "base/testpoint.h"
#include "shm/chunk.h"

/* Restarts in a chunk that was recycled since the cursor's last look. */
static void start_over(struct cursor *cur, struct chunk *c, uint32_t first)
{
	uint32_t lost = first - cur->next;

	if (lost) {
		uint64_t until = load_relaxed(&c->gap_until);

		cur->lost += lost;
		if (until != cur->given_up_until) {
			if (!cur->gap_from)
				cur->gap_from = load_relaxed(&c->gap_from);
			cur->gap_until = until;
		}
	}
	cur->given_up_until = 0;
	cur->first = cur->next = first;
	cur->at = 0;
	cur->unacknowledged = true;
}

bool cursor_give_up(struct cursor *cur, const struct chunk *c)
{
	uint64_t from, until;
	uint32_t end;

	if (cur->given_up_until)
		return true;
	/* PAIR(read): the acquirer noted the gap before it moved read, and the move has been seen. */
	fence_acquire();
	from = load_relaxed(&c->gap_from);
	until = load_relaxed(&c->gap_until);
	end = progress_records(load_relaxed(&c->progress));
	/* PAIR(recycle): while first is unchanged, so are the values read above. */
	fence_acquire();
	if (load_relaxed(&c->first) != cur->first)
		return false;
	cur->given_up = end;
	cur->given_up_until = cur->gap_until = until;
	cur->gap_from = from;
	return true;
}

void cursor_acknowledge(struct cursor *cur, struct chunk *c)
{
	cur->unacknowledged = false;
	store_release(&c->seen, cur->first); /* PAIR(seen) */
	TEST_POINT("read_seen");
}

uint64_t cursor_lost(const struct cursor *cur, const struct chunk *c)
{
	uint32_t first = load_acquire(&c->first); /* PAIR(recycle) */

	return cur->lost + (first != cur->first ? first - cur->next : cursor_given_up(cur));
}

/* An acquirer takes some 100 ns from moving read to changing first, unless it is interrupted. */
#define MOVING_LOOKS 300

/* Overwriting takes longer than looking, so this many overwrites in a row are made on purpose (H18). */
#define OVERWRITES_MAX 1000

/* Finds the next event before end, and its owner. Returns false if there is none; the cursor stays. */
static inline bool find_event(struct cursor *cur, const unsigned char *memory, uint32_t end)
{
	struct record_owner owner;
	uint32_t at = cur->at;
	bool another = false;

	/*
	 * A hostile position may be before the cursor, and the cursor anywhere (merge_reset()). So add nothing to
	 * either.
	 */
	while (at <= end && end - at >= sizeof cur->head) {
		shared_copy(&cur->head, memory + at, sizeof cur->head);
		if (!(cur->head.type & RECORD_OWNER)) {
			if (record_size(cur->head.length) > end - at)
				return false;
			if (another)
				cur->owner = owner;
			cur->at = at;
			return true;
		}
		if (end - at < sizeof owner)
			return false;
		shared_copy(&owner, memory + at, sizeof owner);
		at += (uint32_t)sizeof owner;
		another = true;
	}
	return false;
}

bool cursor_look(struct cursor *cur, const struct stream *s, struct chunk *c)
{
	int looks = 0;
	const unsigned char *memory = stream_chunk_memory(s, c);

	for (int try = 0; try < OVERWRITES_MAX; try++) {
		/* PAIR(recycle): first is read before the bytes that belong to it. */
		uint32_t first = load_acquire(&c->first);
		struct record_owner owner;
		uint64_t p;
		uint32_t at, end;

		cur->have = cur->moving = false;
		if (first != cur->first)
			start_over(cur, c, first);
		p = load_acquire(&c->progress); /* PAIR(commit) */
		if (progress_records(p) == cur->next)
			return false;
		/* An acquirer moves read first. The records left here are lost, as first will show in a moment. */
		if (load_relaxed(&c->read) != cur->next) {
			cur->moving = true;
			if (looks++ < MOVING_LOOKS) {
				spin_pause();
				continue;
			}
			return false;
		}
		end = progress_position(p);
		if (end > s->chunk_size)
			return false;

		/* Keep an owner only with an event after it: the chunk may be recycled to the same first. */
		owner = cur->owner;
		at = cur->at;
		cur->have = find_event(cur, memory, end);
		fence_acquire();
		if (load_relaxed(&c->first) == first)
			return cur->have;
		cur->owner = owner;
		cur->at = at;
		/* Overwritten during the copy: try again. */
	}
	cur->have = false;
	return false;
}

void cursor_resume(struct cursor *cur, const struct stream *s, struct chunk *c)
{
	const unsigned char *memory = stream_chunk_memory(s, c);
	uint32_t read, at = 0, end;
	uint64_t p;
	struct record head;

	memset(cur, 0, sizeof *cur);
	/* PAIR(recycle): first is read before read; otherwise records that came in between would be skipped. */
	cur->first = cur->next = load_acquire(&c->first);
	TEST_POINT("resume_first");
	read = load_relaxed(&c->read);
	/* Overwritten since the last look of the other reader, or before it could acknowledge the gap. */
	if (load_relaxed(&c->seen) != cur->first) {
		cur->gap_from = load_relaxed(&c->gap_from);
		cur->gap_until = load_relaxed(&c->gap_until);
		cur->unacknowledged = true;
	}
	p = load_acquire(&c->progress); /* PAIR(commit) */
	end = progress_position(p);
	if (end > s->chunk_size)
		return;
	while (cur->next != read && cur->next != progress_records(p) && at + sizeof head <= end) {
		shared_copy(&head, memory + at, sizeof head);
		if (head.type & RECORD_OWNER) {
			if (at + sizeof cur->owner > end)
				return;
			shared_copy(&cur->owner, memory + at, sizeof cur->owner);
			at += (uint32_t)sizeof cur->owner;
			continue;
		}
		at += record_size(head.length);
		cur->at = at;
		cur->next++;
	}
}

bool cursor_step(struct cursor *cur, const struct stream *s, struct chunk *c)
{
	return cursor_pass(cur, s, c, 1, record_size(cur->head.length));
}

bool cursor_pass(struct cursor *cur, const struct stream *s, struct chunk *c, uint32_t count, uint32_t bytes)
{
	uint64_t p = load_acquire(&c->progress); /* PAIR(commit) */

	cur->next += count;
	cur->at += bytes;
	cur->have = progress_records(p) != cur->next && progress_position(p) <= s->chunk_size &&
	            find_event(cur, stream_chunk_memory(s, c), progress_position(p));
	return cur->have;
}

uint32_t cursor_rest(const struct cursor *cur, const struct stream *s, struct chunk *c, const unsigned char **from,
                     const unsigned char **to)
{
	uint64_t p = load_acquire(&c->progress); /* PAIR(commit) */
	uint32_t end = progress_position(p);

	*from = *to = stream_chunk_memory(s, c);
	if (end > s->chunk_size || cur->at > end || cur->at % RECORD_ALIGN)
		return 0;
	*from += cur->at;
	*to += end;
	return progress_records(p) - cur->next;
}

bool cursor_consume(struct cursor *cur, struct chunk *c, const struct cursor *before)
{
	uint32_t next = before->next;

	/* PAIR(read): the copies come before the consume; full barrier. Other side: chunk_recycle(). */
	if (cas(&c->read, &next, cur->next)) {
		TEST_POINT("read_run");
		return true;
	}
	*cur = *before;
	cur->have = false;
	return false;
}

void cursor_copy(const struct cursor *cur, const struct stream *s, struct chunk *c, void *data, size_t size)
{
	if (size > cur->head.length)
		size = cur->head.length;
	if (size)
		shared_copy(data, stream_chunk_memory(s, c) + cur->at + sizeof cur->head, size);
}

bool cursor_read(struct cursor *cur, const struct stream *s, struct chunk *c, void *data, size_t size)
{
	uint32_t next = cur->next;

	cursor_copy(cur, s, c, data, size);
	TEST_POINT("read_copied");
	/* PAIR(read): the copy comes before the consume; full barrier. Other side: chunk_recycle(). */
	if (!cas(&c->read, &next, next + 1)) {
		cur->have = false;
		return false;
	}
	TEST_POINT("read_consumed");
	cur->next++;
	cur->at += record_size(cur->head.length);
	cur->have = false;
	return true;
}
