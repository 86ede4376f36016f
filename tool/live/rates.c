/*
 * rates.c - counts events of each type, with their current rate and their history
 *
 * SPDX-License-Identifier: MIT
 */
#include "live/rates.h"

#include <stdlib.h>
#include <string.h>

#define NS 1000000000u
#define LOOKS 16 /* looks to remember: covers a second, unless looks come faster */

struct rates_past {
	uint32_t end;     /* types from this id on have had no events */
	uint64_t second;  /* number of the current second */
	struct rates_sum before[EVENT_ID_END]; /* sums at the beginning of the current second */
	uint32_t history[RATES_SECONDS][EVENT_ID_END];
	/* The history as of the last look, including its current second. */
	uint64_t seen_second;
	uint32_t seen[RATES_SECONDS][EVENT_ID_END];
	/* A ring of the last looks; the newest has the number looks - 1. */
	uint64_t looks;
	uint64_t time[LOOKS];
	struct rates_sum look[LOOKS][EVENT_ID_END];
};

struct rates *rates_new(uint64_t time)
{
	struct rates *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->past = calloc(1, sizeof *r->past);
	if (!r->past) {
		free(r);
		return NULL;
	}
	rates_reset(r, time);
	return r;
}

void rates_free(struct rates *r)
{
	if (r)
		free(r->past);
	free(r);
}

void rates_reset(struct rates *r, uint64_t time)
{
	struct rates_past *p = r->past;

	memset(r->now, 0, sizeof r->now);
	memset(p, 0, sizeof *p);
	p->second = time / NS;
	p->end = 1;
	rates_look(r, time);
}

static void sum_up(struct rates *r)
{
	struct rates_sum all = { 0, 0 };

	for (uint32_t id = 1; id < EVENT_ID_END; id++) {
		if (!r->now[id].events)
			continue;
		all.events += r->now[id].events;
		all.bytes += r->now[id].bytes;
		if (id >= r->past->end)
			r->past->end = id + 1;
	}
	r->now[RATES_ALL] = all;
}

static uint32_t as_history(uint64_t events)
{
	return events > UINT32_MAX ? UINT32_MAX : (uint32_t)events;
}

void rates_tick(struct rates *r, uint64_t time)
{
	struct rates_past *p = r->past;
	uint64_t second = time / NS, passed = second - p->second;

	if (second <= p->second)
		return;
	sum_up(r);
	if (passed > RATES_SECONDS)
		passed = RATES_SECONDS;
	/* If several seconds have passed since the last call, the events are spread evenly over them. */
	for (uint64_t s = second - passed; s < second; s++) {
		for (uint32_t id = 0; id < p->end; id++) {
			p->history[s % RATES_SECONDS][id] =
				as_history((r->now[id].events - p->before[id].events) / passed);
		}
	}
	memcpy(p->before, r->now, p->end * sizeof p->before[0]);
	p->second = second;
}

static void see_history(const struct rates *r)
{
	struct rates_past *p = r->past;

	for (unsigned s = 0; s < RATES_SECONDS; s++)
		memcpy(p->seen[s], p->history[s], p->end * sizeof p->seen[s][0]);
	for (uint32_t id = 0; id < p->end; id++)
		p->seen[p->second % RATES_SECONDS][id] = as_history(r->now[id].events - p->before[id].events);
	p->seen_second = p->second;
}

void rates_look(struct rates *r, uint64_t time)
{
	struct rates_past *p = r->past;
	unsigned at = p->looks++ % LOOKS;

	rates_tick(r, time);
	sum_up(r);
	p->time[at] = time;
	memcpy(p->look[at], r->now, p->end * sizeof r->now[0]);
	/* A type that did not exist at the time of an old look still has the 0 from the beginning there. */
	see_history(r);
}

/*
 * Returns the index of the look that the rate counts from: a second before the newest look, or else the previous look.
 */
static unsigned look_before(const struct rates_past *p)
{
	uint64_t newest = p->looks - 1, n = newest;

	while (n > 0 && n + LOOKS - 1 > newest && p->time[newest % LOOKS] - p->time[n % LOOKS] < NS)
		n--;
	return n % LOOKS;
}

struct rates_figures rates_of(const struct rates *r, uint32_t id)
{
	const struct rates_past *p = r->past;
	unsigned now = (p->looks - 1) % LOOKS, then = look_before(p);
	double seconds = (double)(p->time[now] - p->time[then]) / NS;
	struct rates_figures f = { p->look[now][id], 0, 0 };

	if (seconds > 0) {
		f.events_per_s = (double)(p->look[now][id].events - p->look[then][id].events) / seconds;
		f.bytes_per_s = (double)(p->look[now][id].bytes - p->look[then][id].bytes) / seconds;
	}
	return f;
}

uint64_t rates_history(const struct rates *r, uint32_t id, uint64_t seconds[RATES_SECONDS])
{
	const struct rates_past *p = r->past;

	for (unsigned i = 0; i < RATES_SECONDS; i++)
		seconds[i] = p->seen[(p->seen_second + 1 + i) % RATES_SECONDS][id];
	return p->seen_second;
}
