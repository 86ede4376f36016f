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

struct check {
	const unsigned char *at, *end;
	uint32_t shapes, threads, events;
	uint64_t time, first, last, latest;
};

static inline bool number(struct check *c, uint64_t *v)
{
	if (c->at < c->end && *c->at < 0x80) {
		*v = *c->at++;
		return true;
	}
	c->at = get_varint(c->at, c->end, v);
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
		if (c->shapes == SHAPES_MAX || !number(c, &thread) || !number(c, &id) || !has(c, 1))
			return false;
		c->at++;
		if (!number(c, &length) || !has(c, 8) || thread >= c->threads ||
		    !eventtype_possible((trace_event_id_t)id) ||
		    id > UINT32_MAX || length > RECORD_DATA_MAX)
			return false;
		c->at += 8;
		u->shape_of[c->shapes++].event.length = (uint32_t)length;
		return true;
	case ITEM_BACK:
		if (!number(c, &back) || back > c->time)
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
static inline uint64_t packed_size(const struct check *c, uint32_t length)
{
	uint32_t whole = length / 8, rest = length % 8, counts = ((length + 7) / 8 + 1) / 2, i = 0;
	uint64_t size = counts;
	unsigned n;

	if (!has(c, counts))
		return UINT64_MAX;
	for (; i < whole; i++) {
		n = c->at[i / 2] >> (i & 1) * 4 & 15;
		if (n > 8)
			return UINT64_MAX;
		size += n;
	}
	if (rest) {
		n = c->at[i / 2] >> (i & 1) * 4 & 15;
		if (n > rest)
			return UINT64_MAX;
		size += n;
		i++;
	}
	/* An odd last word has an empty count beside it. */
	return i & 1 && c->at[i / 2] >> 4 ? UINT64_MAX : size;
}

static inline bool check_event(struct check *c, const struct unpack *u, uint64_t shape)
{
	uint64_t step, size;
	uint32_t length;

	if (shape >= c->shapes || !number(c, &step) || c->time + step < step)
		return false;
	c->time += step;
	if (c->events++ == 0)
		c->first = c->time;
	c->last = c->time;
	length = u->shape_of[shape].event.length;
	size = length > PACKED_MAX ? length : packed_size(c, length);
	if (!has(c, size))
		return false;
	c->at += size;
	return true;
}

static bool check(struct unpack *u, const struct frame *frame, const unsigned char *body)
{
	struct check c = { .at = body, .end = body + frame->size, .time = frame->first };
	uint64_t item;

	while (c.at < c.end) {
		if (!number(&c, &item))
			return false;
		if (item == ITEM_DEFINITION ? !check_definition(&c, u) : !check_event(&c, u, item - 1))
			return false;
	}
	u->latest = c.last > c.latest ? c.last : c.latest;
	return c.events == frame->events && (c.events == 0 || (c.first == frame->first && c.last == frame->last));
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

/* Reads a number that has been checked. */
static inline uint64_t next_number(struct unpack *u)
{
	uint64_t v = *u->at++, byte;
	unsigned shift = 7;

	if (v < 0x80)
		return v;
	v &= 0x7f;
	do {
		byte = *u->at++;
		v |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return v;
}

static void define_thread(struct unpack *u)
{
	struct unpack_thread *t = &u->thread_of[u->threads++];
	const struct thread_layout *l = (const struct thread_layout *)u->at;

	t->pid = GET_FIELD(l->pid);
	t->tid = GET_FIELD(l->tid);
	t->pthread = GET_FIELD(l->pthread);
	memset(t->name, 0, sizeof t->name);
	memcpy(t->name, l + 1, l->length);
	u->at += sizeof *l + l->length;
}

static void define_shape(struct unpack *u)
{
	struct unpack_shape *s = &u->shape_of[u->shapes++];
	const struct unpack_thread *t = &u->thread_of[next_number(u)];
	struct log_event *e = &s->event;

	e->id = (uint32_t)next_number(u);
	e->truncated = *u->at++ & SHAPE_TRUNCATED;
	e->length = (uint32_t)next_number(u);
	e->address = get64(u->at);
	u->at += 8;
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
}

static void unpack_data(struct unpack *u, unsigned char *before, uint32_t length)
{
	static const uint64_t mask[9] = {
		0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
		0xffffffffffffffff,
	};
	uint32_t words = (length + 7) / 8;
	const unsigned char *counts = u->at, *at = counts + (words + 1) / 2;

	for (uint32_t i = 0; i < words; i++) {
		unsigned n = counts[i / 2] >> (i & 1) * 4 & 15;

		/* Up to eight bytes after the body are read, but not used. */
		put64(before + 8 * i, get64(before + 8 * i) ^ (get64(at) & mask[n]));
		at += n;
	}
	u->at = at;
}

const struct log_event *unpack_next(struct unpack *u, const unsigned char **data)
{
	while (u->at < u->end) {
		uint64_t item = next_number(u);
		struct unpack_shape *s;

		if (item == ITEM_DEFINITION) {
			switch (*u->at++) {
			case ITEM_THREAD:
				define_thread(u);
				break;
			case ITEM_SHAPE:
				define_shape(u);
				break;
			default:
				u->time -= next_number(u);
				break;
			}
			continue;
		}
		s = &u->shape_of[item - 1];
		u->time += next_number(u);
		s->event.time = u->time;
		if (s->before) {
			unpack_data(u, s->before, s->event.length);
			*data = s->before;
		} else {
			*data = u->at;
			u->at += s->event.length;
		}
		return &s->event;
	}
	return NULL;
}
