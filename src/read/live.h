/*
 * live.h - the events of an active stream, in order
 *
 * The events of merge, and in their places the events that are not stored: OVERFLOW and RESUME where LOOP has
 * overwritten, STOP and START where the stream has stopped and restarted automatically. They take no room in the
 * stream, and so can be reported when it is full.
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

/*
 * How many consecutive events are taken at once, and the largest data of such an event. Finding and consuming a
 * single event is two thirds of the work.
 */
#define LIVE_RUN      16
#define LIVE_RUN_DATA 256

struct live {
	struct merge merge;
	/* Taken out of the stream, and not reported yet. Older than the queue, which was empty when they were taken. */
	struct event run[LIVE_RUN];
	unsigned char run_data[LIVE_RUN][LIVE_RUN_DATA];
	unsigned run_next, run_end;
	/* Events to report before those of merge, with their data. */
	struct event queue[LIVE_QUEUE];
	const unsigned char *queue_data[LIVE_QUEUE];
	unsigned queue_first, queue_count;
	unsigned char *buffer; /* data of the event that waits for its OVERFLOW and RESUME */
	trace_event_set_t start_filter;
	int stop_value;
	/* If the stop in stopped_ticks was a call that found no room: the caller. id 0: the stop was automatic. */
	struct event stop_call;
	uint64_t last_ticks; /* of the newest event taken or reported */
	/*
	 * Not 0: a call has started the stream while an automatic stop was still unreported. The STOP is reported
	 * before the first event with these ticks or later.
	 */
	uint64_t stop_before;
	uint64_t stop_reported; /* the value of stopped_ticks whose STOP was queued, until it is reset; 0: none */
	bool start_waits; /* a call has found no room for its START: the stream is full, but did not stop by itself */
};

int live_init(struct live *l, struct stream *s, struct anchor anchor);
void live_free(struct live *l);
void live_reset(struct live *l, struct anchor anchor);

/* Gets the next event, with up to size bytes of its data. */
enum merge_result live_next(struct live *l, struct event *event, void *data, size_t size);

/*
 * live_next() in steps, for a caller that must store an event elsewhere before the event is taken out of the stream.
 * Queued events come first.
 */
struct live_turn {
	struct event event;
	uint32_t chunk;
	bool gap;               /* events were lost before it */
	uint64_t lost;          /* result of gaps_report() for the lost events */
	struct event before[2]; /* events to report directly before the event: OVERFLOW and RESUME */
	unsigned befores;
};

/* Returns the first event in the queue, and its data. Null if the queue is empty. */
const struct event *live_front(const struct live *l, const void **data);
void live_pop(struct live *l);
/* Finds the next event of the stream. With MERGE_RECORD and turn.event.id 0 an event was queued instead. */
enum merge_result live_peek(struct live *l, struct live_turn *turn);
/* Takes the event of a turn, with up to size bytes of its data. Returns false if it was overwritten: peek again. */
bool live_read(struct live *l, const struct live_turn *turn, void *data, size_t size);
/*
 * Returns up to which ticks the next events are all in this chunk; 0 if the event has to be taken alone. To take
 * many, move the chunk's cursor past the last one with cursor_step(), then call live_consume().
 */
uint64_t live_limit(const struct live *l, const struct live_turn *turn);
bool live_consume(struct live *l, const struct live_turn *turn, const struct cursor *before, uint64_t last);
/* Leaves the event of a turn in the stream; the next turn finds it again. */
void live_leave(struct live *l, const struct live_turn *turn);
/* Returns whether there is nothing left to report. Only valid while no thread writes. */
bool live_empty(struct live *l);
/* Queues the STOP of an automatic stop, or of a stop call that found no room (stop_call). */
void live_stop(struct live *l, uint64_t ticks);
/* Does live_stop(), but only once for each value of stopped_ticks. */
void live_stopped(struct live *l, uint64_t stopped);
/* Queues OVERFLOW and RESUME for events lost while the stream was stopped; call live_start() next. */
void live_gap(struct live *l, uint64_t from, uint64_t until);
/* Queues the START of an automatic restart. */
void live_start(struct live *l, const trace_event_set_t *filter, uint64_t ticks);

#endif
