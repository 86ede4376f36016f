/*
 * live.h - the events of an active stream, one by one
 *
 * What merge gives, and in their places the events that are not stored:
 * OVERFLOW and RESUME where LOOP has overwritten, STOP and START where the
 * stream has stopped and restarted by itself. They need no room in the stream,
 * and so can be told when it has none.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READ_LIVE_H
#define READ_LIVE_H

#include "read/merge.h"

struct event {
	trace_event_id_t id;
	bool truncated; /* when it was recorded */
	uint32_t pid;
	uint32_t tid;
	uint64_t pthread;
	uint64_t address;
	uint64_t ticks;
	uint32_t length; /* of its data */
};

#define LIVE_QUEUE 4

/* Events of so few bytes are taken so many at a time, where they follow one another: to find and claim one is two thirds of the work. */
#define LIVE_RUN      16
#define LIVE_RUN_DATA 256

struct live {
	struct merge merge;
	/* Taken out of the stream, and not reported yet. They are older than what is queued: it was empty when they were taken. */
	struct event run[LIVE_RUN];
	unsigned char run_data[LIVE_RUN][LIVE_RUN_DATA];
	unsigned run_next, run_end;
	/* Events to be reported before those of merge, with their data. */
	struct event queue[LIVE_QUEUE];
	const unsigned char *queue_data[LIVE_QUEUE];
	unsigned queue_first, queue_count;
	unsigned char *buffer; /* data of the event that waits behind OVERFLOW and RESUME */
	trace_event_set_t start_filter;
	int stop_value;
	/* The stop that stopped_ticks tells of was a call that found no room: who called. id 0: it was automatic. */
	struct event stop_call;
	uint64_t last_ticks; /* of the newest event taken or reported */
	/*
	 * The stream was started by a call although an automatic stop has not
	 * been reported yet: the STOP comes before the events from here on. 0: not so.
	 */
	uint64_t stop_before;
	uint64_t stop_told; /* the value of stopped_ticks whose STOP was queued, while that has not been reset; 0: none */
};

int live_init(struct live *l, struct stream *s, struct anchor anchor);
void live_free(struct live *l);
void live_reset(struct live *l, struct anchor anchor);

/* The next event; up to size bytes of its data in data. */
enum merge_result live_next(struct live *l, struct event *event, void *data, size_t size);

/*
 * The same in steps, for who must have an event elsewhere before it is taken
 * out of the stream. What is queued comes first.
 */
struct live_turn {
	struct event event;
	uint32_t chunk;
	bool gap;      /* events were lost before it */
	uint64_t lost; /* what merge_gap() has said of them */
	struct event before[2]; /* so these are told directly before it: OVERFLOW and RESUME */
	unsigned befores;
};

/* The first in the queue, with its data; null: the queue is empty. */
const struct event *live_front(const struct live *l, const void **data);
void live_pop(struct live *l);
/* MERGE_RECORD: the next event of the stream; or something was queued, and turn.event.id is 0. */
enum merge_result live_peek(struct live *l, struct live_turn *turn);
/* Takes it; up to size bytes of its data in data. False: overwritten, ask again. */
bool live_take(struct live *l, const struct live_turn *turn, void *data, size_t size);
/*
 * The same for many: up to what ticks events follow one another in the chunk; 0: take
 * this one alone. The chunk's cursor goes behind the last with cursor_step(), then all of them are taken.
 */
uint64_t live_limit(const struct live *l, const struct live_turn *turn);
bool live_claim(struct live *l, const struct live_turn *turn, const struct cursor *before, uint64_t last);
/* Not now: it will come again. */
void live_leave(struct live *l, const struct live_turn *turn);
/* Nothing is left to be reported, to be asked when nobody writes. */
bool live_empty(struct live *l);
/* Queues the STOP of an automatic stop, or of one by a call that found no room (stop_call). */
void live_stop(struct live *l, uint64_t ticks);
/* The same for this value of stopped_ticks, once. */
void live_stopped(struct live *l, uint64_t stopped);
/* Queues the OVERFLOW and RESUME of what was lost while the stream was stopped; the START comes next. */
void live_gap(struct live *l, uint64_t from, uint64_t until);
/* Queues the START of an automatic restart. */
void live_start(struct live *l, const trace_event_set_t *filter, uint64_t ticks);

#endif
