/*
 * sched.c - what the kernel's scheduler did, as steps of each processor: for viewers that know such steps
 *
 * SPDX-License-Identifier: MIT
 */
#include "convert/sched.h"

#include <stdlib.h>

#include "common/message.h"

static void add(struct sched_steps *s, const struct sched_step *step)
{
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->step = realloc(s->step, s->room * sizeof *s->step);
		if (!s->step)
			fail("no memory");
	}
	s->step[s->count++] = *step;
}

/* Returns the state of a thread after a run that ended so. */
static uint32_t state_after(unsigned why)
{
	switch (why) {
	case LINUX_PREEMPTED:
		return SCHED_PREEMPTED;
	case LINUX_DISK:
		return SCHED_DISK;
	case LINUX_STOPPED:
		return SCHED_STOPPED;
	case LINUX_TRACED:
		return SCHED_TRACED;
	case LINUX_EXITED:
		return SCHED_DEAD;
	default:
		return SCHED_SLEEPING;
	}
}

uint32_t sched_cpu(const struct history_thread *t, uint64_t time, uint32_t otherwise)
{
	const struct history_slice *slice = t->slices.item;
	size_t i = history_slice_at(t, time);

	return i < t->slices.count && slice[i].state == HISTORY_RUNNING && slice[i].from <= time &&
	       slice[i].cpu != UINT32_MAX ? slice[i].cpu : otherwise;
}

static void add_waking(struct sched_steps *s, struct history *h, const struct history_thread *t, size_t index)
{
	const struct history_slice *slice = (const struct history_slice *)t->slices.item + index;
	bool runs = index + 1 < t->slices.count && slice[1].state == HISTORY_RUNNING && slice[1].cpu != UINT32_MAX;
	struct sched_step step = { .time = slice->from, .kind = SCHED_WAKING, .woken = t,
	                           .target = runs ? slice[1].cpu : 0 };

	if (slice->how == LINUX_PREEMPTED)
		return;
	if (slice->how == LINUX_NEW)
		step.kind = SCHED_WAKING_NEW;
	step.cpu = step.target;
	if (slice->waker_known && slice->waker) {
		step.waker = slice->waker;
		step.cpu = sched_cpu(history_thread(h, t->machine, slice->waker), slice->from, step.target);
	}
	add(s, &step);
}

static void add_thread(struct sched_steps *s, struct history *h, const struct history_thread *t)
{
	const struct history_slice *slice = t->slices.item;

	for (size_t i = 0; i < t->slices.count; i++) {
		if (slice[i].state == HISTORY_READY)
			add_waking(s, h, t, i);
		if (slice[i].state != HISTORY_RUNNING || slice[i].cpu == UINT32_MAX)
			continue;
		add(s, &(struct sched_step){ .time = slice[i].from, .cpu = slice[i].cpu, .next = t });
		/* It still runs where the recording ends. */
		if (slice[i].how != LINUX_RECORDED)
			add(s, &(struct sched_step){ .time = slice[i].until, .cpu = slice[i].cpu, .prev = t,
			                             .prev_state = state_after(slice[i].how) });
	}
}

/* A thread stops to run before another one begins. */
static int in_order(const void *a, const void *b)
{
	const struct sched_step *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (y->prev != NULL) - (x->prev != NULL);
}

/* Makes one switch of two at the same time. */
static void join(struct sched_steps *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		struct sched_step *last = n ? &s->step[n - 1] : NULL, *step = &s->step[i];

		if (last && last->cpu == step->cpu && last->time == step->time && last->kind == SCHED_SWITCH &&
		    step->kind == SCHED_SWITCH && last->prev && !last->next && step->next && !step->prev)
			last->next = step->next;
		else
			s->step[n++] = *step;
	}
	s->count = n;
}

void sched_collect(struct sched_steps *s, struct history *h, uint32_t machine)
{
	/* A waker may be new to the history, so the table must not grow meanwhile. */
	struct history_thread **threads = calloc(h->threads.count + 1, sizeof(struct history_thread *));
	size_t count = 0;

	if (!threads)
		fail("no memory");
	for (unsigned i = 0; i < h->threads.slots; i++) {
		struct history_thread *t = (struct history_thread *)(void *)h->threads.slot[i];

		if (t && t->machine == machine)
			threads[count++] = t;
	}
	*s = (struct sched_steps){ 0 };
	for (size_t i = 0; i < count; i++)
		add_thread(s, h, threads[i]);
	free((void *)threads);
	if (s->count)
		qsort(s->step, s->count, sizeof *s->step, in_order);
	join(s);
}

void sched_free(struct sched_steps *s)
{
	free(s->step);
	*s = (struct sched_steps){ 0 };
}
