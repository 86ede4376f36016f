/*
 * rates.h - counts events of each type, with their current rate and their history
 *
 * Counting an event takes two additions. Everything else is computed at each look, a few times a second.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RATES_H
#define RATES_H

#include <stdint.h>

#include "model/eventtype.h"

#define RATES_SECONDS 60

/* Event type 0 does not exist. Its slot has the sum of all types. */
#define RATES_ALL 0

struct rates_sum {
	uint64_t events;
	uint64_t bytes;
};

/* The rate of the last second or, if longer, of the time since the previous look. */
struct rates_figures {
	struct rates_sum sum;
	double events_per_s;
	double bytes_per_s;
};

struct rates_past;

struct rates {
	struct rates_sum now[EVENT_ID_END];
	struct rates_past *past;
};

/* Returns null if there is no memory. Times are ns of any steady clock. */
struct rates *rates_new(uint64_t time);
void rates_free(struct rates *r);

static inline void rates_add(struct rates *r, uint32_t id, uint64_t bytes)
{
	if (id < EVENT_ID_END) {
		r->now[id].events++;
		r->now[id].bytes += bytes;
	}
}

/*
 * Ends a second of the history. Must be called at least once a second: events counted so far belong to earlier seconds.
 */
void rates_tick(struct rates *r, uint64_t time);
/* Updates the figures and the history that the functions below return. */
void rates_look(struct rates *r, uint64_t time);
struct rates_figures rates_of(const struct rates *r, uint32_t id);
/*
 * Returns the events in each second of the last minute, oldest first; the last second is not over yet. The function's
 * value is that second's number, which grows by one each second.
 */
uint64_t rates_history(const struct rates *r, uint32_t id, uint64_t seconds[RATES_SECONDS]);
/* Counts from 0 again. */
void rates_reset(struct rates *r, uint64_t time);

#endif
