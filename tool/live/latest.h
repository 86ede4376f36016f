/*
 * latest.h - keeps the latest events with their data
 *
 * A ring. An event is read directly into its slot, so no copy is made.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LATEST_H
#define LATEST_H

#include <stddef.h>
#include <stdint.h>
#include <trace.h>

#define LATEST_EVENTS 2048
#define LATEST_DATA   4096 /* limit of the data of an event */

struct latest_event {
	struct posix_trace_event_info info;
	uint64_t lost; /* for an OVERFLOW: number of lost events, as known when it was read */
	size_t length;
	unsigned char data[LATEST_DATA];
};

struct latest {
	uint64_t count; /* number of all events ever kept; the newest has the number count - 1 */
	struct latest_event *event;
};

/* Returns 0, or -1 if there is no memory. */
int latest_init(struct latest *l);
void latest_free(struct latest *l);
void latest_clear(struct latest *l);

/* Returns the slot for the next event. latest_keep() adds it. */
static inline struct latest_event *latest_next(struct latest *l)
{
	return &l->event[l->count % LATEST_EVENTS];
}

static inline void latest_keep(struct latest *l)
{
	l->count++;
}

/* Returns the number of the oldest event in the ring, or count if there is none. */
static inline uint64_t latest_first(const struct latest *l)
{
	/* One slot less: the next event is read into the slot of the oldest. */
	return l->count < LATEST_EVENTS ? 0 : l->count - LATEST_EVENTS + 1;
}

static inline const struct latest_event *latest_get(const struct latest *l, uint64_t number)
{
	return &l->event[number % LATEST_EVENTS];
}

#endif
