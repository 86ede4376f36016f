/*
 * kernel.c - a trace of the kernel beside that of the program, in CTF, with the events of LTTng's kernel tracer
 *
 * SPDX-License-Identifier: MIT
 */
#include "convert/ctf/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/history.h"
#include "common/message.h"
#include "convert/ctf/metadata.h"
#include "convert/ctf/packet.h"
#include "convert/sched.h"

#define NAME 16
/* The priority of an ordinary thread. */
#define PRIORITY 20
/* A packet has about as many bytes. */
#define PACKET   (UINT32_C(1) << 20)
#define EVENT_MAX 512
#define HEADER   (4 + 16 + 4 + 6 * 8 + 4)
/* Offset in a packet of what is known at its end: end, content, size. */
#define LATER    (4 + 16 + 4 + 8)

/* A system call. */
struct call {
	uint64_t from, until;
	int64_t result;
	bool returns;
	uint32_t id; /* of its type */
	struct history_thread *thread;
	uint32_t size;       /* of the arguments */
	size_t arguments;    /* offset in kernel_trace.data */
};

/* An event of the new trace. */
struct record {
	uint64_t time;
	uint32_t cpu, event;
	const struct sched_step *step; /* null: a system call */
	size_t call;
};

struct kernel_trace {
	struct history history;
	bool calls_of[EVENT_ID_END];
	struct call *call;
	size_t calls, call_room;
	unsigned char *data;
	size_t size, room;
	struct record *record;
	size_t records, record_room;
	/* The stream of a processor: */
	int fd;
	const char *path;
	unsigned char uuid[16], *packet, *at;
	uint64_t number;
};

static void *more(void *list, size_t count, size_t *room, size_t size)
{
	if (count <= *room)
		return list;
	*room = 2 * count;
	list = realloc(list, *room * size);
	if (!list)
		fail("no memory");
	return list;
}

struct kernel_trace *kernel_trace_begin(const struct sources *logs, const struct tasks *tasks)
{
	struct kernel_trace *k = calloc(1, sizeof *k);

	if (!k)
		fail("no memory");
	history_begin(&k->history, logs, tasks);
	return k;
}

/* Returns whether a layout has only single numbers, as that of a system call has. A log may have any. */
static bool is_plain(const struct layout *l)
{
	uint32_t size = 0;

	for (unsigned i = 0; l && i < l->count; i++) {
		if (l->field[i].count != 1 || l->field[i].counter || !layout_is_number(&l->field[i]))
			return false;
		size += l->field[i].size;
	}
	return l && size <= EVENT_MAX / 2;
}

static void add_call(struct kernel_trace *k, const struct source *s, bool returns)
{
	uint32_t head = returns ? 16 : 8, length = s->event->length;
	struct call *call;
	uint64_t took;
	int64_t result;

	if (!is_plain(layouts_find(s->layouts, s->event->id)) || length < head ||
	    !linux_read_call(&took, &result, s->data, length) || took > s->event->time)
		return;
	k->call = more(k->call, k->calls + 1, &k->call_room, sizeof *k->call);
	k->data = more(k->data, k->size + length, &k->room, 1);
	call = &k->call[k->calls++];
	*call = (struct call){ .from = s->event->time - took, .until = s->event->time, .result = result,
	                       .returns = returns, .id = s->event->id, .size = length - head, .arguments = k->size,
	                       .thread = history_thread(&k->history, k->history.tasks->machine[s->index],
	                                                s->event->tid) };
	memcpy(k->data + k->size, s->data + head, length - head);
	k->size += length - head;
	k->calls_of[s->event->id] = true;
}

void kernel_trace_event(struct kernel_trace *k, const struct source *s)
{
	const char *name = layouts_name(s->layouts, s->event->id);
	enum linux_kind kind;

	if (!name || strncmp(name, "linux_", 6) != 0)
		return;
	history_event(&k->history, s);
	kind = linux_kind(name, layouts_text(s->layouts, s->event->id));
	if (kind == LINUX_CALL || kind == LINUX_LAST_CALL)
		add_call(k, s, kind == LINUX_CALL);
}

/* -- Order ------------------------------------------------------------------------------------------------ */

static void add_record(struct kernel_trace *k, const struct record *r)
{
	k->record = more(k->record, k->records + 1, &k->record_room, sizeof *k->record);
	k->record[k->records++] = *r;
}

static void add_steps(struct kernel_trace *k, const struct sched_steps *steps)
{
	static const uint32_t events[] = { [SCHED_SWITCH] = KERNEL_SWITCH, [SCHED_WAKING] = KERNEL_WAKING,
	                                   [SCHED_WAKING_NEW] = KERNEL_WAKEUP_NEW };

	for (size_t i = 0; i < steps->count; i++) {
		const struct sched_step *step = &steps->step[i];
		struct record r = { step->time, step->cpu, events[step->kind], step, 0 };

		add_record(k, &r);
		/* Older viewers know the second half of a waking only. */
		r.event = KERNEL_WAKEUP;
		if (step->kind == SCHED_WAKING)
			add_record(k, &r);
	}
}

static void add_calls(struct kernel_trace *k)
{
	for (size_t i = 0; i < k->calls; i++) {
		const struct call *call = &k->call[i];
		uint32_t event = KERNEL_CALLS + 2 * call->id;

		add_record(k, &(struct record){ call->from, sched_cpu(call->thread, call->from, 0), event, NULL, i });
		if (call->returns)
			add_record(k, &(struct record){ call->until, sched_cpu(call->thread, call->until, 0),
			                                event + 1, NULL, i });
	}
}

static int in_order(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->event > y->event) - (x->event < y->event);
}

/* -- Writing ------------------------------------------------------------------------------------------------- */

static void put(struct kernel_trace *k, const void *bytes, size_t size)
{
	memcpy(k->at, bytes, size);
	k->at += size;
}

static void put_word(struct kernel_trace *k, uint32_t n)
{
	put(k, &n, 4);
}

static void put_long(struct kernel_trace *k, uint64_t n)
{
	put(k, &n, 8);
}

static void put_thread(struct kernel_trace *k, const struct history_thread *t, uint32_t cpu)
{
	char name[NAME + 16] = "";

	if (t)
		memcpy(name, t->name, NAME);
	else
		snprintf(name, sizeof name, "swapper/%" PRIu32, cpu);
	put(k, name, NAME);
	put_word(k, t ? t->tid : 0);
	put_word(k, PRIORITY);
}

static void put_step(struct kernel_trace *k, const struct sched_step *step)
{
	if (step->kind != SCHED_SWITCH) {
		put_thread(k, step->woken, 0);
		put_word(k, step->target);
		return;
	}
	put_thread(k, step->prev, step->cpu);
	put_long(k, step->prev_state);
	put_thread(k, step->next, step->cpu);
}

/* Puts the arguments, as many bytes as the layout has. */
static void put_arguments(struct kernel_trace *k, const struct call *call, const struct source *s)
{
	const struct layout *l = layouts_find(s->layouts, call->id);
	uint32_t size = 0;

	for (unsigned i = linux_first_argument(call->returns ? LINUX_CALL : LINUX_LAST_CALL); i < l->count; i++)
		size += l->field[i].size;
	memset(k->at, 0, size);
	memcpy(k->at, k->data + call->arguments, call->size < size ? call->size : size);
	k->at += size;
}

static void put_record(struct kernel_trace *k, const struct record *r, const struct source *s)
{
	put_word(k, r->event);
	put_long(k, r->time < CTF_TIME_MAX ? r->time : CTF_TIME_MAX);
	if (r->step)
		put_step(k, r->step);
	else if ((r->event - KERNEL_CALLS) & 1)
		put_long(k, (uint64_t)k->call[r->call].result);
	else
		put_arguments(k, &k->call[r->call], s);
}

static void begin_packet(struct kernel_trace *k, uint64_t time, uint32_t cpu)
{
	k->at = k->packet;
	put_word(k, UINT32_C(0xc1fc1fc1));
	put(k, k->uuid, 16);
	put_word(k, 0);
	put_long(k, time);
	put(k, (const uint64_t[3]){ 0 }, 24);
	put_long(k, k->number++);
	put_long(k, 0);
	put_word(k, cpu);
}

static void end_packet(struct kernel_trace *k, uint64_t time)
{
	uint64_t bits = 8 * (uint64_t)(k->at - k->packet);
	const unsigned char *p = k->packet;

	memcpy(k->packet + LATER, (const uint64_t[]){ time, bits, bits }, 24);
	while (p < k->at) {
		ssize_t n = write(k->fd, p, (size_t)(k->at - p));

		if (n < 0 && errno != EINTR)
			fail("%s: %s", k->path, strerror(errno));
		p += n > 0 ? n : 0;
	}
}

/* Writes the stream of a processor. Returns the records behind it. */
static const struct record *write_stream(struct kernel_trace *k, int directory, const struct record *r,
                                         const struct record *end, const struct source *s)
{
	uint32_t cpu = r->cpu;
	char name[24];

	snprintf(name, sizeof name, "cpu_%" PRIu32, cpu);
	k->fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (k->fd < 0)
		fail("%s: %s", k->path, strerror(errno));
	k->number = 0;
	while (r < end && r->cpu == cpu) {
		begin_packet(k, r->time, cpu);
		for (; r < end && r->cpu == cpu && k->at < k->packet + PACKET; r++)
			put_record(k, r, s);
		end_packet(k, r[-1].time);
	}
	if (close(k->fd) != 0)
		fail("%s: %s", k->path, strerror(errno));
	return r;
}

static void write_trace(struct kernel_trace *k, int directory, const struct source *s)
{
	int inner;

	if (mkdirat(directory, "kernel", 0700) != 0)
		fail("%s: %s", k->path, strerror(errno));
	inner = openat(directory, "kernel", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (inner < 0)
		fail("%s: %s", k->path, strerror(errno));
	for (const struct record *r = k->record; r < k->record + k->records;)
		r = write_stream(k, inner, r, k->record + k->records, s);
	ctf_kernel_metadata(inner, k->path, s->file, s->layouts, k->uuid, k->calls_of);
	close(inner);
}

void kernel_trace_end(struct kernel_trace *k, int directory, const char *path, const struct source *s,
                      const unsigned char uuid[16])
{
	struct sched_steps steps;

	k->path = path;
	memcpy(k->uuid, uuid, 16);
	k->uuid[0] ^= 0xff;
	k->packet = malloc(HEADER + PACKET + EVENT_MAX);
	if (!k->packet)
		fail("no memory");
	sched_collect(&steps, &k->history, k->history.tasks->machine[s->index]);
	add_steps(k, &steps);
	add_calls(k);
	if (k->records) {
		qsort(k->record, k->records, sizeof *k->record, in_order);
		write_trace(k, directory, s);
	}
	sched_free(&steps);
	free(k->packet);
	free(k->record);
	free(k->call);
	free(k->data);
	free(k);
}
