/*
 * pack.c - events become the body of a segment
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/pack.h"

#include <string.h>

#define THREAD_SIZE_MAX (2 + 4 + 4 + 8 + 1 + 15)
#define SHAPE_SIZE_MAX  (2 + 5 + 5 + 1 + 5 + 8)
#define EVENT_SIZE_MAX  (2 + VARINT_BYTES + 5 + VARINT_BYTES)
/* Words are stored whole, whatever of them counts. */
#define SLACK 8

uint32_t pack_size_max(uint32_t length)
{
	uint32_t words = (length + 7) / 8, data = length > PACKED_MAX ? length : (words + 1) / 2 + words * 8;

	return THREAD_SIZE_MAX + SHAPE_SIZE_MAX + EVENT_SIZE_MAX + data + SLACK;
}

void pack_begin(struct pack *p, unsigned char *body, uint32_t capacity, uint64_t time)
{
	p->body = body;
	p->capacity = capacity;
	p->position = 0;
	p->time = time;
	p->shapes = p->threads = 0;
	p->thread = PACK_THREADS;
	p->shape = PACK_SHAPES;
	memset(p->bucket, 0, sizeof p->bucket);
}

static bool is_thread(const struct pack_thread *t, const struct log_event *e)
{
	return t->tid == e->tid && t->pid == e->pid && t->pthread == e->pthread &&
	       memcmp(t->name, e->name, sizeof t->name) == 0;
}

/* Its number; what is written when it is new goes to *to. PACK_THREADS: there are too many. */
static uint32_t find_thread(struct pack *p, const struct log_event *e, unsigned char **to)
{
	unsigned char *at = *to;
	struct pack_thread *t;
	size_t name;

	if (p->thread < p->threads && is_thread(&p->thread_of[p->thread], e))
		return p->thread;
	for (uint32_t i = 0; i < p->threads; i++)
		if (is_thread(&p->thread_of[i], e))
			return i;
	if (p->threads == PACK_THREADS)
		return PACK_THREADS;
	t = &p->thread_of[p->threads];
	t->pid = e->pid;
	t->tid = e->tid;
	t->pthread = e->pthread;
	memcpy(t->name, e->name, sizeof t->name);
	*at++ = ITEM_DEFINITION;
	*at++ = ITEM_THREAD;
	put32(at, e->pid);
	put32(at + 4, e->tid);
	put64(at + 8, e->pthread);
	name = strnlen(e->name, sizeof e->name - 1);
	at[16] = (unsigned char)name;
	memcpy(at + 17, e->name, name);
	*to = at + 17 + name;
	return p->threads++;
}

static bool is_shape(const struct pack_shape *s, const struct log_event *e, uint32_t thread)
{
	return s->address == e->address && s->id == e->id && s->length == e->length && s->thread == thread &&
	       s->truncated == e->truncated;
}

static uint32_t bucket_of(uint64_t address, uint32_t id, uint32_t length, uint32_t thread)
{
	uint64_t x = address ^ (uint64_t)id << 40 ^ (uint64_t)thread << 52 ^ (uint64_t)length << 20;

	return (uint32_t)(x * UINT64_C(0x9e3779b97f4a7c15) >> 53) % PACK_BUCKETS;
}

/* As find_thread(). */
static uint32_t find_shape(struct pack *p, const struct log_event *e, uint32_t thread, unsigned char **to)
{
	uint32_t bucket = bucket_of(e->address, e->id, e->length, thread);
	unsigned char *at = *to;
	struct pack_shape *s;

	for (uint32_t i = p->bucket[bucket]; i; i = p->shape_of[i - 1].next)
		if (is_shape(&p->shape_of[i - 1], e, thread))
			return i - 1;
	if (p->shapes == PACK_SHAPES)
		return PACK_SHAPES;
	s = &p->shape_of[p->shapes];
	*s = (struct pack_shape){ e->address, thread, e->id, e->length, e->truncated, p->bucket[bucket] };
	memset(p->before[p->shapes], 0, e->length > PACKED_MAX ? 0 : (e->length + 7) & ~7u);
	p->bucket[bucket] = (uint16_t)++p->shapes;
	*at++ = ITEM_DEFINITION;
	*at++ = ITEM_SHAPE;
	at = put_varint(at, thread);
	at = put_varint(at, e->id);
	*at++ = e->truncated ? SHAPE_TRUNCATED : 0;
	at = put_varint(at, e->length);
	put64(at, e->address);
	*to = at + 8;
	return p->shapes - 1;
}

static uint64_t load_word(const unsigned char *p, uint32_t bytes)
{
	unsigned char word[8] = { 0 };

	memcpy(word, p, bytes);
	return get64(word);
}

static unsigned char *pack_data(unsigned char *to, unsigned char *before, const unsigned char *data, uint32_t length)
{
	uint32_t words = (length + 7) / 8;
	unsigned char *counts = to;

	memset(counts, 0, (words + 1) / 2);
	to += (words + 1) / 2;
	for (uint32_t i = 0; i < words; i++) {
		uint32_t left = length - 8 * i;
		uint64_t word = left >= 8 ? get64(data + 8 * i) : load_word(data + 8 * i, left);
		uint64_t changed = word ^ get64(before + 8 * i);
		unsigned bytes = changed ? 8 - (unsigned)__builtin_clzll(changed) / 8 : 0;

		put64(before + 8 * i, word);
		put64(to, changed);
		to += bytes;
		counts[i / 2] |= (unsigned char)(bytes << (i & 1) * 4);
	}
	return to;
}

bool pack_event(struct pack *p, const struct log_event *e, const void *data)
{
	unsigned char *to = p->body + p->position;
	uint32_t thread, shape = p->shape;

	if (p->capacity - p->position < pack_size_max(e->length))
		return false;
	/* Nearly always the same as before. */
	if (shape >= p->shapes || !is_shape(&p->shape_of[shape], e, p->thread) || !is_thread(&p->thread_of[p->thread], e)) {
		if (p->shapes == PACK_SHAPES || p->threads == PACK_THREADS)
			return false;
		thread = find_thread(p, e, &to);
		shape = find_shape(p, e, thread, &to);
		p->thread = thread;
		p->shape = shape;
	}
	if (e->time < p->time) {
		*to++ = ITEM_DEFINITION;
		*to++ = ITEM_BACK;
		to = put_varint(to, p->time - e->time);
		p->time = e->time;
	}
	to = put_varint(to, shape + 1);
	to = put_varint(to, e->time - p->time);
	p->time = e->time;
	if (e->length > PACKED_MAX) {
		memcpy(to, data, e->length);
		to += e->length;
	} else if (e->length) {
		to = pack_data(to, p->before[shape], data, e->length);
	}
	p->position = (uint32_t)(to - p->body);
	return true;
}

struct pack_point pack_point(const struct pack *p)
{
	return (struct pack_point){ p->time, p->position, p->shapes, p->threads };
}

void pack_back(struct pack *p, const struct pack_point *point)
{
	/* Each is the first in its bucket when those behind it are gone. */
	while (p->shapes > point->shapes) {
		const struct pack_shape *s = &p->shape_of[--p->shapes];

		p->bucket[bucket_of(s->address, s->id, s->length, s->thread)] = s->next;
	}
	p->threads = point->threads;
	p->position = point->position;
	p->time = point->time;
	p->thread = PACK_THREADS;
	p->shape = PACK_SHAPES;
}
