/*
 * record.c - the functions that a provider's function calls to record an event
 *
 * The provider says how many bytes the fields have, writes one after the other, and says that it is done. Until then they
 * are in memory of the thread, above those of the events that a signal handler's event interrupts. Data that have no room
 * there get memory of their own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "record.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "thread.h"
#include "tracepoint.h"

/* The most data that an event can have. */
#define DATA_MOST 65535

/* An event that is being recorded. */
struct pending {
	struct event *event;
	struct thread *thread; /* null: in memory of its own */
	unsigned at, size; /* bytes written, and room for them */
	unsigned call; /* how many parts were written, for events with swapped fields */
	unsigned char data[];
};

static inline struct pending *pending_of(const struct ust_ring_buffer_ctx *ctx)
{
	return (struct pending *)ctx->priv;
}

static struct event *event_of(struct ust_event_recorder *recorder)
{
	return (struct event *)((char *)recorder - offsetof(struct event, recorder));
}

/* -- Begin and end ------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) struct pending *reserve_apart(size_t size)
{
	int kept = errno;
	void *memory = mmap(NULL, sizeof(struct pending) + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                    -1, 0);
	struct pending *p = (struct pending *)memory;

	errno = kept;
	if (memory == MAP_FAILED)
		return NULL;
	p->thread = NULL;
	return p;
}

static int reserve(struct ust_ring_buffer_ctx *ctx)
{
	size_t size = ctx->data_size < DATA_MOST ? ctx->data_size : DATA_MOST;
	size_t whole = (sizeof(struct pending) + size + 15) & ~(size_t)15;
	struct thread *t;
	struct pending *p;

	if (!posixtrace_enabled()) {
		tracepoint_not_recorded();
		return -1;
	}
	t = thread_own();
	if (__builtin_expect(whole <= t->room - t->top, 1)) {
		p = (struct pending *)(t->data + t->top);
		t->top += (unsigned)whole;
		/* A handler from here on has its events above this one. */
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		p->thread = t;
	} else {
		p = reserve_apart(size);
		if (!p)
			return -1;
	}
	p->event = event_of((struct ust_event_recorder *)ctx->client_priv);
	p->at = 0;
	p->size = (unsigned)size;
	p->call = 0;
	ctx->priv = p;
	return 0;
}

static __attribute__((noinline)) void free_apart(struct pending *p)
{
	int kept = errno;

	munmap(p, sizeof(struct pending) + p->size);
	errno = kept;
}

static void commit(struct ust_ring_buffer_ctx *ctx)
{
	struct pending *p = pending_of(ctx);
	struct posixtrace_event *type = &p->event->type;
	trace_event_id_t id = __atomic_load_n(&type->__id, __ATOMIC_ACQUIRE);

	if (__builtin_expect(id == 0, 0))
		id = posixtrace_event_open(type);
	if (id)
		posixtrace_event_at(id, p->data, p->at, (char *)ctx->probe_ctx->ip + p->event->beyond);
	if (__builtin_expect(!p->thread, 0)) {
		free_apart(p);
		return;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	p->thread->top = (unsigned)((unsigned char *)p - p->thread->data);
}

/* -- Parts of the data ----------------------------------------------------------------------------------------- */

/* Takes room for `length` bytes, of which *length remain: the provider has counted them before, but data are cut. */
static inline unsigned char *take(struct pending *p, size_t *length)
{
	unsigned char *to = p->data + p->at;

	if (__builtin_expect(*length > p->size - p->at, 0))
		*length = p->size - p->at;
	p->at += (unsigned)*length;
	return to;
}

static inline void append(struct pending *p, const void *from, size_t length)
{
	unsigned char *to = take(p, &length);

	/* Most fields are numbers. */
	if (length == 4)
		memcpy(to, from, 4);
	else if (length == 8)
		memcpy(to, from, 8);
	else if (length > 0)
		memcpy(to, from, length);
}

static void write_bytes(struct ust_ring_buffer_ctx *ctx, const void *src, size_t len, size_t alignment)
{
	append(pending_of(ctx), src, len);
}

/* Copies a text of `len` bytes with its null. If another thread has made it shorter meanwhile, fills it up, as LTTng. */
static void write_string(struct ust_ring_buffer_ctx *ctx, const char *src, size_t len)
{
	struct pending *p = pending_of(ctx);
	unsigned char *to = p->data + p->at, *end;

	append(p, src, len);
	len = (size_t)(p->data + p->at - to);
	if (len == 0)
		return;
	to[len - 1] = '\0';
	end = (unsigned char *)memchr(to, '\0', len);
	if (__builtin_expect(end != to + len - 1, 0))
		memset(end, '#', (size_t)(to + len - 1 - end));
}

/* Copies a text that has no null if it fills its room. */
static void write_text(struct ust_ring_buffer_ctx *ctx, const char *src, size_t len)
{
	struct pending *p = pending_of(ctx);
	unsigned char *to = take(p, &len);
	size_t length = len > 0 ? strnlen(src, len) : 0;

	memcpy(to, src, length);
	memset(to + length, 0, len - length);
}

/* -- Network byte order -------------------------------------------------------------------------------------------- */

static void write_swapped(struct ust_ring_buffer_ctx *ctx, const void *src, size_t len, size_t alignment)
{
	struct pending *p = pending_of(ctx);
	unsigned char *to = p->data + p->at;
	unsigned call = p->call++;
	unsigned size = call < p->event->swaps.count ? p->event->swaps.sizes[call] : 0;

	append(p, src, len);
	if (size == 0)
		return;
	for (; to + size <= p->data + p->at; to += size)
		for (unsigned i = 0; i < size / 2; i++) {
			unsigned char first = to[i];

			to[i] = to[size - 1 - i];
			to[size - 1 - i] = first;
		}
}

static void write_string_counted(struct ust_ring_buffer_ctx *ctx, const char *src, size_t len)
{
	pending_of(ctx)->call++;
	write_string(ctx, src, len);
}

static void write_text_counted(struct ust_ring_buffer_ctx *ctx, const char *src, size_t len)
{
	pending_of(ctx)->call++;
	write_text(ctx, src, len);
}

/* -- What the provider finds -------------------------------------------------------------------------------------------- */

static struct ust_session session = { .struct_size = sizeof session, .active = 1 };
static struct ust_channel_common channel = {
	.struct_size = sizeof channel, .type = ust_channel_type_buffer, .enabled = 1, .session = &session,
};

static struct ust_channel_buffer_ops plain_ops = {
	.struct_size = sizeof plain_ops, .event_reserve = reserve, .event_commit = commit, .event_write = write_bytes,
	.event_strcpy = write_string, .event_pstrcpy_pad = write_text,
};
static struct ust_channel_buffer plain = { .struct_size = sizeof plain, .parent = &channel, .ops = &plain_ops };

static struct ust_channel_buffer_ops swapped_ops = {
	.struct_size = sizeof swapped_ops, .event_reserve = reserve, .event_commit = commit,
	.event_write = write_swapped, .event_strcpy = write_string_counted, .event_pstrcpy_pad = write_text_counted,
};
static struct ust_channel_buffer swapped = { .struct_size = sizeof swapped, .parent = &channel, .ops = &swapped_ops };

void record_set_up(struct event *e)
{
	e->recorder = (struct ust_event_recorder){
		.struct_size = sizeof e->recorder, .parent = &e->common, .chan = e->swaps.count ? &swapped : &plain,
	};
	e->common = (struct ust_event_common){
		.struct_size = sizeof e->common, .type = ust_event_type_recorder, .child = &e->recorder, .enabled = 1,
	};
}
