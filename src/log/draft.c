/*
 * draft.c - the segment that is being put together
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/draft.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "shm/chunk.h"

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

/* Bytes, then the mark, then that it counts: who comes after a death must not see a later one without an earlier. */
static void write_mark(struct draft *d)
{
	struct log_mark *other = &d->state->mark[~load_relaxed(&d->state->mark_now) & 1], next = d->next;

	/* Half of it written, it must not look like the next one: so first and last, whose record it is about. */
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
	d->next.position = d->next.events = 0;
	d->next.chunk = LOG_NO_CHUNK;
	d->ended = false;
	pack_begin(d->pack, d->body, room < d->state->capacity ? room : d->state->capacity, 0);
	write_mark(d);
	draft_done(d);
}

void draft_extend(struct draft *d, uint64_t room)
{
	d->pack->capacity = room < d->state->capacity ? (uint32_t)room : d->state->capacity;
	d->ended = false;
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
	d->next.last = event->time;
	d->next.last_ticks = ticks;
	return true;
}

void draft_intend(struct draft *d, uint32_t chunk, uint32_t number, uint32_t count)
{
	d->next.chunk = chunk;
	d->next.number = number;
	d->next.records += count;
	write_mark(d);
	if (chunk == LOG_NO_CHUNK)
		draft_done(d);
}

void draft_done(struct draft *d)
{
	store_release(&d->state->mark_now, ~load_relaxed(&d->state->mark_now) & 1);
	d->point = pack_point(d->pack);
	TEST_POINT("draft_done");
}

void draft_back(struct draft *d)
{
	d->next = *draft_mark(d);
	pack_back(d->pack, &d->point);
}

void draft_forget(struct draft *d)
{
	d->next = *draft_mark(d);
	d->ended = true;
}

void draft_skip(struct draft *d, uint32_t records, uint64_t events)
{
	d->next.records += records;
	d->next.discarded += events;
	draft_intend(d, LOG_NO_CHUNK, 0, 0);
}

void draft_last(struct draft *d)
{
	d->next.full = 1;
	d->ended = true;
	draft_intend(d, LOG_NO_CHUNK, 0, 0);
}

void draft_clear(struct draft *d, const struct stream *s)
{
	d->next = (struct log_mark){ .chunk = LOG_NO_CHUNK };
	for (uint32_t i = 0; i < s->chunk_count; i++)
		d->next.records += load_relaxed(&s->chunks[i].read);
	d->ended = true;
	write_mark(d);
	draft_done(d);
}

void draft_recover(struct draft *d, const struct stream *s)
{
	const struct log_mark *now = draft_mark(d), *other = &d->state->mark[~d->state->mark_now & 1];

	/* The other one is older, or it is the next, of a record that was taken; by whom else, while its creator lived? */
	if (other->sequence == now->sequence && other->position > now->position && other->chunk < s->chunk_count) {
		const struct chunk *c = &s->chunks[other->chunk];
		uint32_t first = load_relaxed(&c->first), read = load_relaxed(&c->read);

		/* Between first and read; if the chunk has been used again since, nobody can tell, and it passes for overwritten. */
		if (other->number - first < read - first)
			draft_done(d);
	}
	d->next = *draft_mark(d);
	d->ended = true;
}
