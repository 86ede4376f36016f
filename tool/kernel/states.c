/*
 * states.c - when threads run, and when and why they do not: from switches, wakings, births and ends
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernel/states.h"

#include <stdlib.h>
#include <string.h>

enum phase { UNKNOWN, RUNNING, OFF };

/*
 * A thread that has decided to wait can be woken before the kernel records that it has left the processor. A waking
 * that is not older than this may be the one that ends the wait, if there is no other.
 */
#define EARLY_NS 100000

struct thread {
	struct state_thread t; /* first, so that a pointer to it is one to this */
	struct thread *next;   /* in its bucket */
	enum phase phase;
	uint64_t generation;   /* the phase is known only if no gap was between */
	uint64_t since;
	uint32_t cpu;
	enum off_state state;
	bool waits; /* how it will wait is known before it stops to run */
	enum off_state waits_how;
	bool woken, has_waker;
	bool woken_early; /* while it was running */
	uint64_t woken_at;
	struct waker waker;
};

struct states {
	const struct state_calls *calls;
	void *arg;
	struct thread **bucket;
	unsigned buckets, count;
	uint64_t generation; /* goes on with each gap */
	unsigned gaps;       /* that have begun, and not ended */
};

/* -- Threads --------------------------------------------------------------------------------- */

struct states *states_new(const struct state_calls *calls, void *arg)
{
	struct states *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->calls = calls;
	s->arg = arg;
	s->buckets = 256;
	s->bucket = calloc(s->buckets, sizeof *s->bucket);
	if (s->bucket)
		return s;
	free(s);
	return NULL;
}

void states_free(struct states *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->buckets; i++)
		while (s->bucket[i]) {
			struct thread *t = s->bucket[i];

			s->bucket[i] = t->next;
			free(t);
		}
	free((void *)s->bucket);
	free(s);
}

static struct thread **place(const struct states *s, uint32_t tid)
{
	struct thread **p = &s->bucket[tid & (s->buckets - 1)];

	while (*p && (*p)->t.tid != tid)
		p = &(*p)->next;
	return p;
}

/* Doubles the buckets. Without memory for that, it is only slower. */
static void grow(struct states *s)
{
	struct thread **old = s->bucket, **more = calloc(2 * (size_t)s->buckets, sizeof *more);
	unsigned count = s->buckets;

	if (!more)
		return;
	s->bucket = more;
	s->buckets *= 2;
	for (unsigned i = 0; i < count; i++)
		while (old[i]) {
			struct thread *t = old[i];

			old[i] = t->next;
			t->next = s->bucket[t->t.tid & (s->buckets - 1)];
			s->bucket[t->t.tid & (s->buckets - 1)] = t;
		}
	free((void *)old);
}

/* Forgets what a gap has made unsure. Returns the thread. */
static struct thread *current(const struct states *s, struct state_thread *of)
{
	struct thread *t = (struct thread *)of;

	if (t->generation == s->generation)
		return t;
	t->phase = UNKNOWN;
	t->waits = t->woken = t->woken_early = t->has_waker = t->t.call.open = false;
	t->generation = s->generation;
	return t;
}

struct state_thread *states_thread(struct states *s, uint32_t pid, uint32_t tid)
{
	struct thread **p = place(s, tid), *t = *p;

	if (t) {
		/* The id belongs to another thread by now, and the end of the old one was lost. */
		if (t->t.pid != pid) {
			t->t.pid = pid;
			memset(t->t.name, 0, sizeof t->t.name);
			t->phase = UNKNOWN;
			t->waits = t->woken = t->has_waker = t->woken_early = t->t.call.open = false;
		}
		return &current(s, &t->t)->t;
	}
	t = calloc(1, sizeof *t);
	if (!t)
		return NULL;
	t->t.pid = pid;
	t->t.tid = tid;
	t->generation = s->generation;
	*p = t;
	if (++s->count > 2 * s->buckets)
		grow(s);
	return &t->t;
}

struct state_thread *states_known(const struct states *s, uint32_t tid)
{
	struct thread *t = *place(s, tid);

	return t ? &current(s, &t->t)->t : NULL;
}

void states_each(const struct states *s, void (*each)(void *arg, struct state_thread *t), void *arg)
{
	for (unsigned i = 0; i < s->buckets; i++)
		for (struct thread *t = s->bucket[i]; t; t = t->next)
			each(arg, &current(s, &t->t)->t);
}

bool states_sure(const struct states *s)
{
	return s->gaps == 0;
}

/* -- Phases -------------------------------------------------------------------------------------- */

static void begin(const struct states *s, struct thread *t, enum phase phase, uint64_t time)
{
	t->phase = s->gaps ? UNKNOWN : phase;
	t->since = time;
	t->woken = t->woken_early = t->has_waker = false;
}

static void end_run(const struct states *s, struct thread *t, uint64_t time, unsigned why)
{
	const struct state_run run = { .since = t->since, .until = time, .cpu = t->cpu, .why = why };

	if (t->phase == RUNNING)
		s->calls->run(s->arg, &t->t, &run);
}

static void end_off(const struct states *s, struct thread *t, uint64_t time)
{
	struct state_off off = { .since = t->since, .until = time, .state = t->state };

	if (t->phase != OFF)
		return;
	if (t->state == OFF_PREEMPTED || t->state == OFF_NEW) {
		off.ready_known = true;
		off.ready = time - t->since;
	} else if (t->woken || t->woken_early) {
		off.ready_known = true;
		off.ready = time - t->woken_at;
		off.waker = t->has_waker ? &t->waker : NULL;
	}
	s->calls->off(s->arg, &t->t, &off);
}

void states_birth(struct states *s, struct state_thread *of, uint64_t time)
{
	struct thread *t = current(s, of);

	begin(s, t, OFF, time);
	t->state = OFF_NEW;
}

void states_waits(struct states *s, struct state_thread *of, enum off_state state)
{
	struct thread *t = current(s, of);

	t->waits = !s->gaps;
	t->waits_how = state;
}

void states_out(struct states *s, struct state_thread *of, uint64_t time, uint32_t cpu, bool preempted)
{
	struct thread *t = current(s, of);
	enum off_state state = preempted ? OFF_PREEMPTED : t->waits ? t->waits_how : OFF_BLOCKED;
	bool early = t->woken_early && t->phase == RUNNING && !preempted && time - t->woken_at <= EARLY_NS;
	bool has_waker = t->has_waker;

	/* If the last known run was on another processor, records of the thread are missing. */
	if (t->phase == RUNNING && t->cpu == cpu)
		end_run(s, t, time, state);
	begin(s, t, OFF, time);
	t->state = state;
	t->waits = false;
	if (early && t->phase == OFF) {
		t->woken_early = true;
		t->has_waker = has_waker;
		t->woken_at = time;
	}
}

void states_in(struct states *s, struct state_thread *of, uint64_t time, uint32_t cpu)
{
	struct thread *t = current(s, of);

	end_off(s, t, time);
	begin(s, t, RUNNING, time);
	t->cpu = cpu;
	t->waits = false;
}

void states_runs(struct states *s, struct state_thread *of, uint64_t time, uint32_t cpu)
{
	if (current(s, of)->phase != RUNNING)
		states_in(s, of, time, cpu);
}

void states_woken(struct states *s, struct state_thread *of, uint64_t time, uint32_t cpu, const struct waker *waker)
{
	struct thread *t = current(s, of);

	/*
	 * A thread that is woken before it has left the processor does not leave it; or another processor has woken it,
	 * see EARLY_NS. Interrupts of its own processor are off at that time.
	 */
	if (t->phase == UNKNOWN || t->woken || (t->phase == RUNNING && t->cpu == cpu))
		return;
	t->woken = t->phase == OFF;
	t->woken_early = t->phase == RUNNING;
	t->woken_at = time;
	t->has_waker = waker != NULL;
	if (waker)
		t->waker = *waker;
}

void states_exit(struct states *s, struct state_thread *of, uint64_t time)
{
	struct thread *t = current(s, of), **p = place(s, t->t.tid);

	end_run(s, t, time, RUN_EXITED);
	*p = t->next;
	s->count--;
	free(t);
}

void states_gap_begins(struct states *s)
{
	s->gaps++;
	s->generation++;
}

void states_gap_ends(struct states *s)
{
	s->gaps--;
	s->generation++;
}

void states_end(struct states *s, uint64_t time)
{
	for (unsigned i = 0; i < s->buckets; i++)
		for (struct thread *t = s->bucket[i]; t; t = t->next) {
			current(s, &t->t);
			end_run(s, t, time, RUN_RECORDED);
			end_off(s, t, time);
			t->phase = UNKNOWN;
		}
}
