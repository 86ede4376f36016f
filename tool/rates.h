/*
 * rates.h - how many events of each type there are, how fast they come, and how fast they came
 *
 * Counting an event is two additions; all else is done at each look, some times a second.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RATES_H
#define RATES_H

#include <stdint.h>

#include "model/eventtype.h"

#define RATES_SECONDS 60

/* Event type 0 does not exist: that is where all types together are. */
#define RATES_ALL 0

struct rates_sum {
	uint64_t events;
	uint64_t bytes;
};

/* A rate is that of the last second, or of the time since the last look, if that is longer. */
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

/* Times are ns of any clock that goes evenly. */
struct rates *rates_new(uint64_t time);
void rates_free(struct rates *r);

static inline void rates_add(struct rates *r, uint32_t id, uint64_t bytes)
{
	if (id < EVENT_ID_END) {
		r->now[id].events++;
		r->now[id].bytes += bytes;
	}
}

/* Has to be called at least once a second: what has come until then belongs to the seconds before. */
void rates_tick(struct rates *r, uint64_t time);
/* Figures and history are those of the last look. */
void rates_look(struct rates *r, uint64_t time);
struct rates_figures rates_of(const struct rates *r, uint32_t id);
/*
 * Events in each second of the last minute, oldest first; the last one is still being filled.
 * Returns its number, which rises by one each second.
 */
uint64_t rates_history(const struct rates *r, uint32_t id, uint64_t seconds[RATES_SECONDS]);
/* All from 0. */
void rates_reset(struct rates *r, uint64_t time);

#endif
