/*
 * probe_samples.c - the samples of the kernel for record --usdt, in the order of their times, into the log
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/probe_samples.h"

#include <linux/perf_event.h>
#include <posixtrace/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "common/unaligned.h"
#include "kernel/buffer.h"
#include "kernel/uprobe.h"
#include "record/probe_events.h"
#include "record/probe_processes.h"
#include "record/probe_state.h"
#include "usdt/arguments.h"

#define TEXT_MOST 255 /* bytes of a text */

/* The fields that the kernel has fetched for a sample. */
struct fetched {
	const unsigned char *data;
	size_t size;
};

static const unsigned char *body_of(const struct waiting *w)
{
	return (const unsigned char *)(w->record + 1);
}

static size_t body_size(const struct waiting *w)
{
	return w->record->size - sizeof *w->record;
}

static void wait_in_order(struct probes *p, const struct waiting *w)
{
	if (p->waiting_count == p->waiting_room) {
		p->waiting_room = p->waiting_room ? 2 * p->waiting_room : 1024;
		p->waiting = realloc(p->waiting, p->waiting_room * sizeof *p->waiting);
		if (!p->waiting)
			fail("no memory");
	}
	p->waiting[p->waiting_count++] = *w;
}

/* Keeps a record until its turn. */
static void keep(struct probes *p, unsigned ring, const struct perf_event_header *h)
{
	const unsigned char *body = (const unsigned char *)(h + 1);
	size_t size = h->size - sizeof *h;
	uint64_t time = 0;
	struct waiting w = { .from = p->ring_time[ring], .number = p->number++ };

	/* A sample begins with identifier, address, thread, time. Other records end with thread, time, identifier. */
	if (h->type == PERF_RECORD_SAMPLE && size >= 32)
		time = unaligned_u64(body + 24);
	else if (h->type != PERF_RECORD_SAMPLE && size >= 24)
		time = unaligned_u64(body + size - 16);
	else
		return;
	time += (uint64_t)p->clock_offset;
	w.time = time < p->ring_time[ring] ? p->ring_time[ring] : time;
	p->ring_time[ring] = w.time;
	w.record = malloc(h->size);
	if (!w.record)
		fail("no memory");
	memcpy(w.record, h, h->size);
	wait_in_order(p, &w);
}

static void name_thread(struct probes *p, uint32_t pid, uint32_t tid, const char *name)
{
	struct named *n = NULL;

	for (unsigned i = 0; i < p->named_count && !n; i++)
		if (p->named[i].tid == tid)
			n = &p->named[i];
	if (!n) {
		p->named = probes_more(p->named, p->named_count, sizeof *p->named);
		n = &p->named[p->named_count++];
		n->tid = tid;
	}
	snprintf(n->name, sizeof n->name, "%s", name);
	posixtrace_log_name_thread(p->log.writer, pid, tid, n->name);
}

/* Reads the name of a thread that had started before the recording. */
static void know_thread(struct probes *p, uint32_t pid, uint32_t tid)
{
	char path[64], name[16] = "";
	FILE *f;

	/* The last one named is the most likely. */
	for (unsigned i = p->named_count; i > 0; i--)
		if (p->named[i - 1].tid == tid)
			return;
	snprintf(path, sizeof path, "/proc/%u/task/%u/comm", pid, tid);
	f = fopen(path, "re");
	if (f && fgets(name, sizeof name, f))
		name[strcspn(name, "\n")] = '\0';
	if (f)
		fclose(f);
	name_thread(p, pid, tid, name);
}

/* Finds what the kernel has fetched in a sample, if it fetches something, and moves *at behind it. */
static bool find_fetched(const struct location *l, const unsigned char **at, const unsigned char *end,
                         struct fetched *fetched)
{
	*fetched = (struct fetched){ 0 };
	if (!l->where.tracepoint)
		return true;
	if (end - *at < 4)
		return false;
	fetched->size = unaligned_u32(*at);
	fetched->data = *at + 4;
	if (fetched->size > (size_t)(end - fetched->data))
		return false;
	*at = fetched->data + fetched->size;
	return true;
}

/* Appends a text to the data of an event. Returns its length with the null byte. */
static size_t put_text(unsigned char *to, const struct fetched *fetched, unsigned place)
{
	uint32_t where = place && place + 4 <= fetched->size ? unaligned_u32(fetched->data + place) : 0;
	size_t offset = where & 0xffff, length = where >> 16;

	/* A text that is not in memory has no length. */
	if (offset > fetched->size || length > fetched->size - offset)
		length = 0;
	if (length > TEXT_MOST)
		length = TEXT_MOST;
	length = length ? strnlen((const char *)fetched->data + offset, length) : 0;
	if (length)
		memcpy(to, fetched->data + offset, length);
	to[length] = '\0';
	return length + 1;
}

/* Finds the registers and the stack in a sample. Returns false if they are cut off. */
static bool find_state(const struct location *l, const unsigned char *at, const unsigned char *end,
                       struct argument_sample *s)
{
	size_t count = (size_t)__builtin_popcountll(l->where.registers);

	*s = (struct argument_sample){ .stack_register = l->stack_register };
	if (count) {
		if (end - at < 8)
			return false;
		/* 0: a thread of the kernel has none. */
		if (unaligned_u64(at) != 0) {
			if ((size_t)(end - at) < 8 + 8 * count)
				return false;
			s->mask = l->where.registers;
			s->registers = at + 8;
			at += 8 * count;
		}
		at += 8;
	}
	if (l->where.stack) {
		uint64_t size, copied;

		if (end - at < 8)
			return false;
		size = unaligned_u64(at);
		at += 8;
		if (size == 0)
			return true;
		if (size > (uint64_t)(end - at) || (uint64_t)(end - at) - size < 8)
			return false;
		copied = unaligned_u64(at + size);
		s->stack = at;
		s->stack_size = copied < size ? copied : size;
	}
	return true;
}

static void put_sample(struct probes *p, const struct waiting *w)
{
	const unsigned char *body = body_of(w), *end = body + body_size(w);
	const struct opened *o = probe_event_find(p, unaligned_u64(body));
	uint64_t address = unaligned_u64(body + 8);
	uint32_t pid = unaligned_u32(body + 16), tid = unaligned_u32(body + 20);
	unsigned char data[(TEXT_MOST + 1) * ARGUMENTS_MAX];
	struct fetched fetched;
	struct argument_sample state;
	const struct location *l;
	size_t size = 0;

	if (!o || !o->location)
		return;
	if (!probed_process_find(p, pid)) {
		p->foreign++;
		return;
	}
	l = o->location;
	if (l->probe->type == UINT32_MAX)
		return;
	know_thread(p, pid, tid);
	body += 32;
	if (!find_fetched(l, &body, end, &fetched) || !find_state(l, body, end, &state))
		state = (struct argument_sample){ .stack_register = l->stack_register };
	for (unsigned i = 0; i < l->probe->count; i++) {
		uint64_t value = 0;

		if (l->probe->is_text[i]) {
			size += put_text(data + size, &fetched, i < l->count ? l->text_at[i] : 0);
			continue;
		}
		if (!l->probe->size[i])
			continue;
		/* Data may end before the last field. */
		if (i >= l->count || !argument_value(&l->argument[i], &state, &value)) {
			l->probe->cut++;
			break;
		}
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
		value <<= 64 - 8 * l->probe->size[i];
#endif
		memcpy(data + size, &value, l->probe->size[i]);
		size += l->probe->size[i];
	}
	l->probe->events++;
	probelog_put(&p->log, w->time, pid, tid, address, l->probe->type, data, size);
}

/* Handles a record in the order of times. */
static void put_record(struct probes *p, const struct waiting *w)
{
	const unsigned char *body;
	size_t size;

	if (!w->record) {
		probelog_lose(&p->log, w->from, w->time, w->lost);
		return;
	}
	body = body_of(w);
	size = body_size(w);
	switch (w->record->type) {
	case PERF_RECORD_SAMPLE:
		put_sample(p, w);
		return;
	case PERF_RECORD_LOST:
		/* look_for_losses() has reported it: this record only comes with the next sample of its ring. */
		if (!p->how.no_lost)
			return;
		p->lost += unaligned_u64(body + 8);
		probelog_lose(&p->log, w->from, w->time, unaligned_u64(body + 8));
		return;
	case PERF_RECORD_COMM:
		if (size > 24)
			name_thread(p, unaligned_u32(body), unaligned_u32(body + 4), (const char *)body + 8);
		return;
	}
}

/* Handles what tells of files and processes: probes cannot wait for their turn. */
static void follow(struct probes *p, const struct waiting *w)
{
	const struct perf_event_header *h = w->record;
	const unsigned char *body;
	size_t size;

	if (!h)
		return;
	body = body_of(w);
	size = body_size(w);
	if (h->type == PERF_RECORD_FORK && size >= 24) {
		if (unaligned_u32(body) == unaligned_u32(body + 4) || !p->wanted->children ||
		    !probed_process_find(p, unaligned_u32(body + 4)))
			return;
		probed_process_add(p, (pid_t)unaligned_u32(body));
		probed_process_look(p, (pid_t)unaligned_u32(body), w->time);
	} else if (h->type == PERF_RECORD_COMM && h->misc & PERF_RECORD_MISC_COMM_EXEC && size > 24) {
		struct probed_process *process = probed_process_find(p, unaligned_u32(body));

		/* It executes another file from now on. */
		if (process)
			process->described = false;
	} else if (h->type == PERF_RECORD_MMAP2 && size > 64 + 24) {
		/* pid, tid, address, length, offset, device or build-id, inode, generation, rights, flags, path */
		struct mapping m = { .start = unaligned_u64(body + 8), .offset = unaligned_u64(body + 24),
		                     .inode = unaligned_u64(body + 40), .path = (const char *)body + 64 };

		m.end = m.start + unaligned_u64(body + 16);
		probed_process_mapped(p, (pid_t)unaligned_u32(body), w->time, &m);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Puts the records up to a time; they are sorted. */
static void put_until(struct probes *p, uint64_t time)
{
	size_t n = 0;

	for (; n < p->waiting_count && p->waiting[n].time < time; n++) {
		put_record(p, &p->waiting[n]);
		free(p->waiting[n].record);
	}
	p->waiting_count -= n;
	if (p->waiting_count)
		memmove(p->waiting, p->waiting + n, p->waiting_count * sizeof *p->waiting);
}

/* Reports the samples that a ring had no room for since it was looked at. from: the time of the last one before. */
static void look_for_losses(struct probes *p, unsigned ring, uint64_t from)
{
	struct waiting w = { .from = from, .time = probes_now(), .number = p->number++ };
	uint64_t lost = 0;

	for (unsigned i = 0; i < p->opened_count; i++) {
		uint64_t own = 0;

		if (p->opened[i].ring == ring && p->opened[i].location)
			uprobe_count(&p->how, p->opened[i].fd, &own);
		lost += own;
	}
	w.lost = lost - p->ring_lost[ring];
	if (lost <= p->ring_lost[ring])
		return;
	p->ring_lost[ring] = lost;
	wait_in_order(p, &w);
}

void probe_samples_take(struct probes *p)
{
	uint64_t begin = probes_now();
	const struct perf_event_header *h;

	for (unsigned i = 0; i < p->rings; i++) {
		uint64_t there = buffer_look(&p->ring[i]), end = p->ring[i].tail + there, from = p->ring_time[i];

		while ((h = buffer_next(&p->ring[i])) != NULL) {
			keep(p, i, h);
			/* What was lost came after what had filled the ring. */
			if (p->ring[i].tail <= end)
				from = p->ring_time[i];
			buffer_release(&p->ring[i], 0);
		}
		if (there > PROBE_RING_BYTES / 2)
			look_for_losses(p, i, from);
	}
	/* In the order of their times: a process begins in one ring, and maps a file in another. */
	qsort(p->waiting, p->waiting_count, sizeof *p->waiting, by_time);
	for (size_t i = 0; i < p->waiting_count; i++) {
		if (!p->waiting[i].followed)
			follow(p, &p->waiting[i]);
		p->waiting[i].followed = true;
	}
	put_until(p, p->watermark);
	if (begin - p->watermark > 10 * UINT64_C(1000000))
		p->watermark = begin;
}

/*
 * Reports samples that were lost after the last record of a ring, on a kernel that does not count them: nothing else
 * tells of them.
 */
static void count_lost(struct probes *p)
{
	uint64_t hits = 0, samples = p->foreign + p->lost, none;

	for (unsigned i = 0; i < p->opened_count; i++)
		hits += p->opened[i].location ? uprobe_count(&p->how, p->opened[i].fd, &none) : 0;
	for (unsigned i = 0; i < p->probe_count; i++)
		samples += p->probe[i]->events;
	if (hits > samples)
		probelog_lose(&p->log, p->log.last - (uint64_t)p->log.offset, probes_now(), hits - samples);
}

void probe_samples_finish(struct probes *p)
{
	probe_samples_take(p);
	for (unsigned i = 0; i < p->rings && !p->how.no_lost; i++)
		look_for_losses(p, i, p->ring_time[i]);
	qsort(p->waiting, p->waiting_count, sizeof *p->waiting, by_time);
	put_until(p, UINT64_MAX);
	if (p->how.no_lost)
		count_lost(p);
}
