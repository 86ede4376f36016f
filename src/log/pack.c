/*
 * pack.c - packs events into the body of a segment
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/pack.h"

#include <string.h>

#include "base/shared.h"
#include "model/record.h"

#define THREAD_SIZE_MAX (2 + (uint32_t)sizeof(struct thread_layout) + 15)
#define SHAPE_SIZE_MAX  (2 + 5 + 5 + 1 + 5 + 8)
#define EVENT_SIZE_MAX  (2 + VARINT_BYTES + 5 + VARINT_BYTES)
/* Words are stored whole, however few of their bytes count. */
#define SLACK 8

inline uint32_t pack_size_max(uint32_t length)
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
	memset(p->bucket, 0, sizeof p->bucket);
}

static bool is_thread(const struct pack_thread *t, const struct log_event *e)
{
	return t->tid == e->tid && t->pid == e->pid && t->pthread == e->pthread &&
	       memcmp(t->name, e->name, sizeof t->name) == 0;
}

/* Returns the thread's number, or PACK_THREADS if the thread is new. */
static inline uint32_t find_thread(const struct pack *p, const struct log_event *e)
{
	/* Nearly always the thread of the event before. */
	if (p->thread < p->threads && is_thread(&p->thread_of[p->thread], e))
		return p->thread;
	for (uint32_t i = 0; i < p->threads; i++)
		if (is_thread(&p->thread_of[i], e))
			return i;
	return PACK_THREADS;
}

/* Gives the thread the next number, and writes its definition to *to. */
static uint32_t define_thread(struct pack *p, const struct log_event *e, unsigned char **to)
{
	struct pack_thread *t = &p->thread_of[p->threads];
	struct thread_layout *l = (struct thread_layout *)(*to + 2);
	size_t name = strnlen(e->name, sizeof e->name - 1);

	t->pid = e->pid;
	t->tid = e->tid;
	t->pthread = e->pthread;
	memcpy(t->name, e->name, sizeof t->name);
	(*to)[0] = ITEM_DEFINITION;
	(*to)[1] = ITEM_THREAD;
	PUT_FIELD(l->pid, e->pid);
	PUT_FIELD(l->tid, e->tid);
	PUT_FIELD(l->pthread, e->pthread);
	l->length = (unsigned char)name;
	memcpy(l + 1, e->name, name);
	*to += 2 + sizeof *l + name;
	return p->threads++;
}

static inline uint64_t key_of(const struct log_event *e, uint32_t thread)
{
	uint32_t type = e->id | (e->truncated ? RECORD_TRUNCATED : 0);

	return (uint64_t)thread << 32 | type << 16 | e->length;
}

static inline uint32_t bucket_of(uint64_t address, uint64_t key)
{
	uint64_t x = address ^ (key << 36 | key >> 28);

	return (uint32_t)(x * UINT64_C(0x9e3779b97f4a7c15) >> 53) % PACK_BUCKETS;
}

/* Returns the shape's number, or PACK_SHAPES if the shape is new. */
static inline uint32_t find_shape(const struct pack *p, uint64_t address, uint64_t key)
{
	for (uint32_t i = p->bucket[bucket_of(address, key)]; i; i = p->shape_of[i - 1].next)
		if (p->shape_of[i - 1].address == address && p->shape_of[i - 1].key == key)
			return i - 1;
	return PACK_SHAPES;
}

/* Gives the shape the next number, and writes its definition to *to. */
static uint32_t define_shape(struct pack *p, const struct log_event *e, uint32_t thread, unsigned char **to)
{
	uint64_t key = key_of(e, thread);
	uint16_t *bucket = &p->bucket[bucket_of(e->address, key)];
	unsigned char *at = *to;

	p->shape_of[p->shapes] = (struct pack_shape){ e->address, key, *bucket };
	memset(p->before[p->shapes], 0, e->length > PACKED_MAX ? 0 : (e->length + 7) & ~7u);
	*bucket = (uint16_t)(p->shapes + 1);
	*at++ = ITEM_DEFINITION;
	*at++ = ITEM_SHAPE;
	at = put_varint(at, thread);
	at = put_varint(at, e->id);
	*at++ = e->truncated ? SHAPE_TRUNCATED : 0;
	at = put_varint(at, e->length);
	put64(at, e->address);
	*to = at + 8;
	return p->shapes++;
}

/* Returns up to eight bytes of data as a number. */
typedef uint64_t load_word(const unsigned char *p, uint32_t bytes);

static uint64_t load_some(const unsigned char *p, uint32_t bytes)
{
	unsigned char word[8] = { 0 };

	memcpy(word, p, bytes);
	return get64(word);
}

static inline uint64_t load_own(const unsigned char *p, uint32_t bytes)
{
	return bytes == 8 ? get64(p) : load_some(p, bytes);
}

/* In a record, whole words are there. */
static inline uint64_t load_shared(const unsigned char *p, uint32_t bytes)
{
	return LITTLE_SWAP(64, shared_word(p)) & UINT64_MAX >> (64 - 8 * bytes);
}

/* Stores the changes in a word, and returns how many bytes count. No branch, because changes are unpredictable. */
static inline unsigned pack_word(unsigned char *to, unsigned char *before, uint64_t word)
{
	uint64_t changed = word ^ get64(before);

	put64(before, word);
	put64(to, changed);
	return 8 - (unsigned)__builtin_clzll(changed | 1) / 8 - (changed == 0);
}

static inline __attribute__((always_inline)) unsigned char *
pack_data(unsigned char *to, unsigned char *before, const unsigned char *data, uint32_t length, load_word *load)
{
	unsigned char *counts = to;
	unsigned low, high;

	to += ((length + 7) / 8 + 1) / 2;
	for (; length >= 16; length -= 16, data += 16, before += 16) {
		low = pack_word(to, before, load(data, 8));
		to += low;
		high = pack_word(to, before + 8, load(data + 8, 8));
		to += high;
		*counts++ = (unsigned char)(low | high << 4);
	}
	if (length) {
		low = pack_word(to, before, load(data, length >= 8 ? 8 : length));
		to += low;
		high = length > 8 ? pack_word(to, before + 8, load(data + 8, length - 8)) : 0;
		to += high;
		*counts = (unsigned char)(low | high << 4);
	}
	return to;
}

bool pack_event(struct pack *p, const struct log_event *e, const void *data)
{
	uint32_t thread = find_thread(p, e), shape = find_shape(p, e->address, key_of(e, thread));
	unsigned char *to = p->body + p->position;

	if (p->capacity - p->position < pack_size_max(e->length))
		return false;
	if (shape == PACK_SHAPES) {
		if (p->shapes == PACK_SHAPES || (thread == PACK_THREADS && p->threads == PACK_THREADS))
			return false;
		if (thread == PACK_THREADS)
			thread = define_thread(p, e, &to);
		shape = define_shape(p, e, thread, &to);
	}
	p->thread = thread;
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
		to = pack_data(to, p->before[shape], data, e->length, load_own);
	}
	p->position = (uint32_t)(to - p->body);
	return true;
}

/* Writes a number that is nearly always less than 2^14, and so often on either side of 2^7 that a branch costs more. */
static inline unsigned char *put_step(unsigned char *to, uint64_t v)
{
	unsigned two = v >= 0x80;

	if (v >= 0x4000)
		return put_varint(to, v);
	put16(to, (uint16_t)((v & 0x7f) | two << 7 | v >> 7 << 8));
	return to + 1 + two;
}

static inline __attribute__((always_inline)) uint32_t add_records(struct pack *p, struct pack_run *run)
{
	uint32_t thread = find_thread(p, run->owner), most = pack_size_max(PACKED_MAX), n = 0, users = 0;
	const unsigned char *at = run->at, *end = run->end;
	unsigned char *to = p->body + p->position, *last;
	int64_t time = (int64_t)p->time, least = time > run->least ? time : run->least, now;
	const struct anchor anchor = run->line->anchor;
	const double slope = run->line->slope;
	const int64_t offset = anchor.monotonic + run->offset;
	uint64_t ticks = run->ticks, limit = run->limit;

	if (thread == PACK_THREADS || p->capacity < most)
		return 0;
	last = p->body + p->capacity - most;
	while (n < run->count && to <= last && (size_t)(end - at) >= sizeof(struct record)) {
		uint32_t kind = record_kind(shared_word(at)), length = kind & 0xffff, size = record_size(length);
		uint64_t then = shared_word(at + offsetof(struct record, ticks));
		uint64_t address = shared_word(at + offsetof(struct record, address));
		uint32_t shape = find_shape(p, address, (uint64_t)thread << 32 | kind);

		if (shape == PACK_SHAPES || length > PACKED_MAX || size > (size_t)(end - at) ||
		    then - ticks > limit - ticks)
			break;
		now = (int64_t)anchor_since(&anchor, slope, then) + offset;
		now = now > least ? now : least;
		to = put_varint(to, shape + 1);
		to = put_step(to, (uint64_t)(now - time));
		to = pack_data(to, p->before[shape], at + sizeof(struct record), length, load_shared);
		time = now;
		ticks = then;
		at += size;
		users += !eventtype_system(kind >> 16 & RECORD_TYPE_MASK);
		n++;
	}
	p->position = (uint32_t)(to - p->body);
	p->thread = thread;
	p->time = (uint64_t)time;
	run->users = users;
	run->at = at;
	run->ticks = ticks;
	return n;
}

#ifdef __x86_64__
/* Counts bits by an instruction that older processors lack. Those without lzcnt have no bmi2 either. */
__attribute__((target("lzcnt,bmi2"))) static uint32_t add_records_lzcnt(struct pack *p, struct pack_run *run)
{
	return add_records(p, run);
}
#endif

uint32_t pack_records_plain(struct pack *p, struct pack_run *run)
{
	return add_records(p, run);
}

uint32_t pack_records(struct pack *p, struct pack_run *run)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("bmi2"))
		return add_records_lzcnt(p, run);
#endif
	return pack_records_plain(p, run);
}

struct pack_point pack_point(const struct pack *p)
{
	return (struct pack_point){ p->time, p->position, p->shapes, p->threads };
}

void pack_back(struct pack *p, const struct pack_point *point)
{
	/* Newest first, so each shape is the first in its bucket when its turn comes. */
	while (p->shapes > point->shapes) {
		const struct pack_shape *s = &p->shape_of[--p->shapes];

		p->bucket[bucket_of(s->address, s->key)] = s->next;
	}
	p->threads = point->threads;
	p->position = point->position;
	p->time = point->time;
	p->thread = PACK_THREADS;
}
