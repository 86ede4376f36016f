/*
 * read.h - the events of all logs of a reader, merged by time
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READER_READ_H
#define READER_READ_H

#include <errno.h>

#include "filter.h"
#include "source.h"
#include "tasks.h"
#include "types.h"

/*
 * How much later than the end of the selected time an event must be for no selected one to follow: clocks of
 * processors differ, though by far less.
 */
#define READ_DISORDER UINT64_C(1000000000)

/* Looks at the first event of each log, unless this was done before. Returns 0 or an error number. */
int read_begin(struct posixtrace_log *log);
/* Returns the error that the end of the events stands for, with a message; 0: there was none. */
int read_end(const struct posixtrace_log *log);
/* Finds out what is the same for all events of a shape. Returns false if there is no memory. */
bool read_shape(struct posixtrace_log *log, struct source *s, struct shape *shape);
/* Returns whether the callback of the filter selects the source's next event. */
bool read_asks(struct posixtrace_log *log, struct source *s, const struct shape *shape);

/* Returns whether a running process may have a selected event later. */
bool read_waits(const struct posixtrace_log *log);
/*
 * Returns the oldest source, or another one of a running process with an earlier event. Returns null if it is too early
 * to say, or there is none.
 */
struct source *read_running(struct posixtrace_log *log, struct source *oldest);

/* Returns the source with the oldest event or loss, the first of several; null if there is none. */
static inline struct source *read_oldest(const struct posixtrace_log *log)
{
	struct source *found = NULL;
	uint64_t least = 0;

	for (size_t i = 0; i < log->sources; i++) {
		struct source *s = log->source[i];
		uint64_t time = s->loss_count ? source_loss_time(s) : s->event ? s->event->time : 0;

		if ((s->loss_count || s->event) && (!found || time < least)) {
			found = s;
			least = time;
		}
	}
	return found;
}

/*
 * Returns the source whose event or loss is the next one. Returns null at the end, and if there is none yet:
 * read_waits().
 */
static inline struct source *read_source(struct posixtrace_log *log)
{
	struct source *s = read_oldest(log);

	return log->lives ? read_running(log, s) : s;
}

/* Counts the source's next event, unless it was counted before a rewind. */
static inline void read_count(struct source *s, struct shape *shape)
{
	const struct log_event *e = s->event;
	struct posixtrace_log_about *a = &s->about;

	if (s->read <= a->events)
		return;
	a->events = s->read;
	if (e->time > a->last)
		a->last = e->time;
	if (e->time < a->first || !a->first)
		a->first = e->time;
	s->type[e->id]->about.events++;
	if (shape->thread)
		shape->thread->about.events++;
}

/*
 * Counts the source's next event, and returns whether the filters other than the callback select it. *shape: its
 * shape. Sets log->error if there is no memory.
 */
static inline bool read_wanted(struct posixtrace_log *log, struct source *s, struct shape **shape)
{
	const struct log_event *e = s->event;

	*shape = source_shape(s, e);
	if ((*shape)->generation != s->generation && !read_shape(log, s, *shape))
		return false;
	read_count(s, *shape);
	return (*shape)->wanted && e->time >= log->filter.from && e->time <= log->filter.last;
}

/* Moves beyond the event that was returned last, or to the end of its log if no later event can be selected. */
static inline void read_move(struct posixtrace_log *log)
{
	struct source *s = log->pending;

	if (!s)
		return;
	log->pending = NULL;
	if (s->event->time > log->filter.last && s->event->time - log->filter.last > READ_DISORDER) {
		s->event = NULL;
		s->finished |= s->live != NULL;
	} else {
		source_advance(s);
	}
}

#endif
