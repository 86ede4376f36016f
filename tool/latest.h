/*
 * latest.h - the latest events, whole
 *
 * A ring; an event is read right into its place, so keeping it costs nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LATEST_H
#define LATEST_H

#include <stddef.h>
#include <stdint.h>
#include <trace.h>

#define LATEST_EVENTS 2048
#define LATEST_DATA   4096 /* most bytes of data of an event */

struct latest_event {
	struct posix_trace_event_info info;
	uint64_t lost; /* OVERFLOW: events that are missing there, as far as was known when it was read */
	size_t length;
	unsigned char data[LATEST_DATA];
};

struct latest {
	uint64_t count; /* all that ever were kept: the newest is number count - 1 */
	struct latest_event *event;
};

/* 0 or -1: no memory. */
int latest_init(struct latest *l);
void latest_free(struct latest *l);
void latest_clear(struct latest *l);

/* Where the next event is read to; it counts with latest_keep(). */
static inline struct latest_event *latest_next(struct latest *l)
{
	return &l->event[l->count % LATEST_EVENTS];
}

static inline void latest_keep(struct latest *l)
{
	l->count++;
}

/* Number of the oldest that is still there; count if there is none. */
static inline uint64_t latest_first(const struct latest *l)
{
	/* One less: the oldest one's place is where the next is read to. */
	return l->count < LATEST_EVENTS ? 0 : l->count - LATEST_EVENTS + 1;
}

static inline const struct latest_event *latest_get(const struct latest *l, uint64_t number)
{
	return &l->event[number % LATEST_EVENTS];
}

#endif
