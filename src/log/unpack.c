/*
 * unpack.c - unpacks the body of a segment into events
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/unpack.h"

#include <string.h>

#include "model/eventtype.h"
#include "model/record.h"

#define THREAD_NAME_MAX 15

/* -- The check ------------------------------------------------------------------- */

/* What is known before an event. The loop over the events keeps its position, time and counts in local variables. */
struct check {
	const unsigned char *at, *end;
	uint32_t shapes, threads;
	uint64_t time, last, latest;
};

/* Returns the address after the number. Null if there is no number before end. */
static inline const unsigned char *number(const unsigned char *at, const unsigned char *end, uint64_t *v)
{
	uint64_t large;

	if (at < end && *at < 0x80) {
		*v = *at;
		return at + 1;
	}
	at = get_varint(at, end, &large);
	*v = at ? large : 0;
	return at;
}

static bool next(struct check *c, uint64_t *v)
{
	c->at = number(c->at, c->end, v);
	return c->at != NULL;
}

static bool has(const struct check *c, uint64_t bytes)
{
	return (uint64_t)(c->end - c->at) >= bytes;
}

static bool check_thread(struct check *c)
{
	const struct thread_layout *l = (const struct thread_layout *)c->at;

	if (c->threads++ == THREADS_MAX || !has(c, sizeof *l) || l->length > THREAD_NAME_MAX ||
	    !has(c, sizeof *l + l->length))
		return false;
	c->at += sizeof *l + l->length;
	return true;
}

static bool check_definition(struct check *c, struct unpack *u)
{
	uint64_t thread, id, length, back;

	if (!has(c, 1))
		return false;
	switch (*c->at++) {
	case ITEM_THREAD:
		return check_thread(c);
	case ITEM_SHAPE:
		if (c->shapes == SHAPES_MAX || !next(c, &thread) || !next(c, &id) || !has(c, 1))
			return false;
		c->at++;
		if (!next(c, &length) || !has(c, 8) || thread >= c->threads ||
		    !eventtype_possible((trace_event_id_t)id) ||
		    id > UINT32_MAX || length > RECORD_DATA_MAX)
			return false;
		c->at += 8;
		u->shape_of[c->shapes++].event.length = (uint32_t)length;
		return true;
	case ITEM_BACK:
		if (!next(c, &back) || back > c->time)
			return false;
		if (c->last > c->latest)
			c->latest = c->last;
		c->time -= back;
		return true;
	default:
		return false;
	}
}

/* Returns the size of packed data, or UINT64_MAX if the counts are not valid. */
static inline uint64_t packed_size(const unsigned char *at, const unsigned char *end, uint32_t length)
{
	uint32_t size = ((length + 7) / 8 + 1) / 2;
	unsigned low, high;

	if (size > (size_t)(end - at))
		return UINT64_MAX;
	for (; length > 16; length -= 16) {
		low = *at & 15;
		high = *at++ >> 4;
		if (low > 8 || high > 8)
			return UINT64_MAX;
		size += low + high;
	}
	if (length) {
		low = *at & 15;
		high = *at >> 4;
		/* An odd last word has an empty count beside it. */
		if (low > (length < 8 ? length : 8) || high > (length < 8 ? 0 : length - 8))
			return UINT64_MAX;
		size += low + high;
	}
	return size;
}

static bool check(struct unpack *u, const struct frame *frame, const unsigned char *body)
{
	const unsigned char *at = body, *const end = body + frame->size;
	struct check c = { .end = end };
	uint64_t item, step, size, time = frame->first, first = 0, last = 0;
	uint32_t length, events = 0;

	while (at < end) {
		at = number(at, end, &item);
		if (!at)
			return false;
		if (item == ITEM_DEFINITION) {
			c.at = at;
			c.time = time;
			c.last = last;
			if (!check_definition(&c, u))
				return false;
			at = c.at;
			time = c.time;
			continue;
		}
		at = number(at, end, &step);
		if (!at || item > c.shapes || time + step < step)
			return false;
		last = time += step;
		if (events++ == 0)
			first = time;
		length = u->shape_of[item - 1].event.length;
		size = length > PACKED_MAX ? length : packed_size(at, end, length);
		if (size > (size_t)(end - at))
			return false;
		at += size;
	}
	u->latest = last > c.latest ? last : c.latest;
	return events == frame->events && (events == 0 || (first == frame->first && last == frame->last));
}

/* -- The events --------------------------------------------------------------------- */

bool unpack_begin(struct unpack *u, const struct frame *frame, const unsigned char *body)
{
	u->at = u->end = body;
	if (!check(u, frame, body))
		return false;
	u->end = body + frame->size;
	u->time = frame->first;
	u->shapes = u->threads = 0;
	u->before = u->memory;
	return true;
}

static const unsigned char *define_thread(struct unpack *u, const unsigned char *at)
{
	struct unpack_thread *t = &u->thread_of[u->threads++];
	const struct thread_layout *l = (const struct thread_layout *)at;

	t->pid = GET_FIELD(l->pid);
	t->tid = GET_FIELD(l->tid);
	t->pthread = GET_FIELD(l->pthread);
	memset(t->name, 0, sizeof t->name);
	memcpy(t->name, l + 1, l->length);
	return at + sizeof *l + l->length;
}

static const unsigned char *define_shape(struct unpack *u, const unsigned char *at)
{
	struct unpack_shape *s = &u->shape_of[u->shapes++];
	struct log_event *e = &s->event;
	const struct unpack_thread *t;
	uint64_t v;

	at = unpack_number(at, &v);
	t = &u->thread_of[v];
	at = unpack_number(at, &v);
	e->id = (uint32_t)v;
	e->truncated = *at++ & SHAPE_TRUNCATED;
	at = unpack_number(at, &v);
	e->length = (uint32_t)v;
	e->address = get64(at);
	e->pid = t->pid;
	e->tid = t->tid;
	e->pthread = t->pthread;
	memcpy(e->name, t->name, sizeof e->name);
	s->before = NULL;
	if (e->length <= PACKED_MAX) {
		s->before = u->before;
		u->before += (e->length + 7) & ~7u;
		memset(s->before, 0, (e->length + 7) & ~7u);
	}
	return at + 8;
}

const unsigned char *unpack_define(struct unpack *u, const unsigned char *at)
{
	uint64_t back;

	switch (*at++) {
	case ITEM_THREAD:
		return define_thread(u, at);
	case ITEM_SHAPE:
		return define_shape(u, at);
	default:
		at = unpack_number(at, &back);
		u->time -= back;
		return at;
	}
}
