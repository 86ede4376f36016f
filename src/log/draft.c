/*
 * draft.c - the segment that is being put together
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/draft.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/invariant.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "model/eventtype.h"
#include "shm/chunk.h"

#ifdef POSIXTRACE_CHECKS
static bool mark_holds(const struct draft *d, const struct log_mark *m)
{
	return m->users <= m->events && m->events <= m->position / 2 && m->position <= d->state->capacity &&
	       m->full <= 1;
}

void draft_check(const struct draft *d)
{
	const struct log_mark *m = draft_mark(d);

	INVARIANT(load_relaxed(&d->state->mark_now) <= 1);
	INVARIANT(mark_holds(d, m));
	INVARIANT(mark_holds(d, &d->next));
	/* The events added since the mark follow those that it covers. */
	INVARIANT(d->next.sequence == m->sequence);
	INVARIANT(d->next.position >= m->position && d->next.events - m->events <= d->next.position - m->position);
	INVARIANT(d->next.users - m->users <= d->next.events - m->events);
	INVARIANT(d->next.discarded >= m->discarded && d->next.unwritten >= m->unwritten &&
	          d->next.left_out >= m->left_out);
	/* While the segment is open, the packer is where the draft is, and can go back to the mark. */
	INVARIANT(d->ended || (d->pack->body == d->body && d->pack->position == d->next.position &&
	                       d->pack->capacity <= d->state->capacity && d->point.position == m->position));
}
#endif

int draft_init(struct draft *d, struct log_state *state)
{
	d->pack = sys_map(sizeof *d->pack, -1, 1);
	if (!d->pack)
		return -ENOMEM;
	d->state = state;
	d->body = (unsigned char *)state + LOG_BODY_OFFSET;
	d->next = *draft_mark(d);
	d->ended = true;
	return 0;
}

void draft_free(struct draft *d)
{
	if (d->pack)
		sys_unmap(d->pack, sizeof *d->pack);
	d->pack = NULL;
}

const struct log_mark *draft_mark(const struct draft *d)
{
	return &d->state->mark[load_relaxed(&d->state->mark_now) & 1];
}

bool draft_empty(const struct draft *d)
{
	return d->next.events == 0;
}

/* Writes the bytes before the mark, and the mark before its validity, because recovery must see them in this order. */
static void write_mark(struct draft *d)
{
	struct log_mark *other = &d->state->mark[~load_relaxed(&d->state->mark_now) & 1], next = d->next;

	/* A half-written mark must not look like the next one. So first remove its record, and set it at the end. */
	store_relaxed(&other->chunk, LOG_NO_CHUNK);
	fence_release();
	next.chunk = LOG_NO_CHUNK;
	*other = next;
	TEST_POINT("draft_written");
	store_release(&other->chunk, d->next.chunk);
	TEST_POINT("draft_marked");
}

void draft_begin(struct draft *d, uint64_t sequence, uint32_t room)
{
	d->next.sequence = sequence;
	d->next.position = d->next.events = d->next.users = 0;
	d->next.chunk = LOG_NO_CHUNK;
	d->ended = false;
	pack_begin(d->pack, d->body, room < d->state->capacity ? room : d->state->capacity, 0);
	write_mark(d);
	draft_commit(d);
}

void draft_extend(struct draft *d, uint64_t room)
{
	d->pack->capacity = room < d->state->capacity ? (uint32_t)room : d->state->capacity;
	d->ended = false;
	draft_check(d);
}

bool draft_add(struct draft *d, const struct log_event *event, const void *data, uint64_t ticks)
{
	if (d->ended)
		return false;
	if (d->next.events == 0)
		d->pack->time = d->next.first = event->time;
	if (!pack_event(d->pack, event, data)) {
		d->ended = true;
		return false;
	}
	d->next.position = d->pack->position;
	d->next.events++;
	d->next.users += !eventtype_system(event->id);
	d->next.last = event->time;
	d->next.last_ticks = ticks;
	draft_check(d);
	return true;
}

uint32_t draft_add_records(struct draft *d, struct pack_run *run)
{
	uint32_t n = d->ended || draft_empty(d) ? 0 : pack_records(d->pack, run);

	if (n) {
		d->next.position = d->pack->position;
		d->next.events += n;
		d->next.users += run->users;
		d->next.last = d->pack->time;
		d->next.last_ticks = run->ticks;
		draft_check(d);
	}
	return n;
}

void draft_prepare(struct draft *d, uint32_t chunk, uint32_t number, uint32_t count)
{
	d->next.chunk = chunk;
	d->next.number = number;
	d->next.records += count;
	write_mark(d);
	draft_check(d);
	if (chunk == LOG_NO_CHUNK)
		draft_commit(d);
}

void draft_commit(struct draft *d)
{
	store_release(&d->state->mark_now, ~load_relaxed(&d->state->mark_now) & 1);
	d->point = pack_point(d->pack);
	draft_check(d);
	TEST_POINT("draft_commit");
}

void draft_rollback(struct draft *d)
{
	d->next = *draft_mark(d);
	pack_back(d->pack, &d->point);
	draft_check(d);
}

void draft_abort(struct draft *d)
{
	d->next = *draft_mark(d);
	d->ended = true;
	draft_check(d);
}

void draft_skip(struct draft *d, uint32_t records, uint64_t discarded, uint64_t unwritten)
{
	d->next.records += records;
	d->next.discarded += discarded;
	d->next.unwritten += unwritten;
	draft_prepare(d, LOG_NO_CHUNK, 0, 0);
}

void draft_last(struct draft *d)
{
	d->next.full = 1;
	d->ended = true;
	draft_prepare(d, LOG_NO_CHUNK, 0, 0);
}

void draft_clear(struct draft *d, const struct stream *s)
{
	d->next = (struct log_mark){ .chunk = LOG_NO_CHUNK };
	for (uint32_t i = 0; i < s->chunk_count; i++)
		d->next.records += load_relaxed(&s->chunks[i].read);
	d->ended = true;
	write_mark(d);
	draft_commit(d);
}

void draft_recover(struct draft *d, const struct stream *s)
{
	const struct log_mark *now = draft_mark(d), *other = &d->state->mark[~d->state->mark_now & 1];

	/*
	 * The other mark is older, or it is the next one, which has more records, and its record was consumed. Only the
	 * creator consumes records while it lives.
	 */
	if (other->sequence == now->sequence && other->position >= now->position && other->chunk < s->chunk_count &&
	    (int32_t)(other->records - now->records) > 0) {
		const struct chunk *c = &s->chunks[other->chunk];
		uint32_t first = load_relaxed(&c->first), read = load_relaxed(&c->read);

		/*
		 * The record is between first and read. If the chunk was recycled since, this is unknown, and the
		 * record counts as overwritten.
		 */
		if (other->number - first < read - first) {
			d->next = *other;
			draft_commit(d);
		}
	}
	d->next = *draft_mark(d);
	d->ended = true;
}
