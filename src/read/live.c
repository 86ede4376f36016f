/*
 * live.c - the events of an active stream, one by one
 *
 * SPDX-License-Identifier: MIT
 */
#include "read/live.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"

static size_t buffer_size(const struct stream *s)
{
	return s->event_size_max;
}

int live_init(struct live *l, struct stream *s, struct anchor anchor)
{
	int err;

	memset(l, 0, sizeof *l);
	l->buffer = sys_map(buffer_size(s), -1, 1);
	if (!l->buffer)
		return ENOMEM;
	err = merge_init(&l->merge, s, anchor);
	if (err)
		sys_unmap(l->buffer, buffer_size(s));
	return err;
}

void live_free(struct live *l)
{
	sys_unmap(l->buffer, buffer_size(l->merge.stream));
	merge_free(&l->merge);
}

void live_reset(struct live *l, struct anchor anchor)
{
	merge_reset(&l->merge, anchor);
	l->queue_first = l->queue_count = 0;
	l->last_ticks = 0;
	l->stop_before = 0;
	memset(&l->stop_call, 0, sizeof l->stop_call);
}

static void queue(struct live *l, const struct event *event, const void *data)
{
	unsigned i = (l->queue_first + l->queue_count++) % LIVE_QUEUE;

	l->queue[i] = *event;
	l->queue_data[i] = data;
}

/* An event of the system itself, unless it is filtered out. */
static void queue_system(struct live *l, trace_event_id_t id, uint64_t ticks, const void *data, uint32_t length)
{
	struct event event = { .id = id, .ticks = ticks, .length = length };

	if (!stream_filters(l->merge.stream->header, id))
		queue(l, &event, data);
}

void live_stop(struct live *l, uint64_t ticks)
{
	struct event event = l->stop_call;

	/* Another thread may have finished its event just after the one that found the stream full. */
	if (ticks < l->last_ticks)
		ticks = l->last_ticks;
	l->stop_value = event.id ? 0 : 1;
	l->stop_before = 0;
	event.id = POSIX_TRACE_STOP;
	event.ticks = ticks;
	event.length = sizeof l->stop_value;
	if (!stream_filters(l->merge.stream->header, POSIX_TRACE_STOP))
		queue(l, &event, &l->stop_value);
	memset(&l->stop_call, 0, sizeof l->stop_call);
}

void live_start(struct live *l, const trace_event_set_t *filter, uint64_t ticks)
{
	l->start_filter = *filter;
	queue_system(l, POSIX_TRACE_START, ticks, &l->start_filter, sizeof l->start_filter);
}

/* What others wrote: whatever it says stays within what we have (H18). */
static void describe(const struct stream *s, const struct cursor *cur, struct event *event)
{
	event->id = cur->head.type & RECORD_TYPE_MASK;
	if (!eventtype_possible(event->id))
		event->id = POSIX_TRACE_UNNAMED_USEREVENT;
	event->truncated = cur->head.type & RECORD_TRUNCATED;
	event->pid = cur->owner.pid;
	event->tid = cur->owner.tid;
	event->pthread = cur->owner.thread;
	event->address = cur->head.address;
	event->ticks = cur->head.ticks;
	event->length = cur->head.length;
	if (event->length > buffer_size(s))
		event->length = (uint32_t)buffer_size(s);
}

enum merge_result live_next(struct live *l, struct event *event, void *data, size_t size)
{
	struct stream_header *h = l->merge.stream->header;
	enum merge_result result;
	int64_t until = 0;
	uint32_t chunk;

	for (unsigned i = 0; i == 0 || !merge_late(&until); i++) {
		if (l->queue_count) {
			unsigned at = l->queue_first;

			*event = l->queue[at];
			if (size > event->length)
				size = event->length;
			if (size)
				memcpy(data, l->queue_data[at], size);
			l->queue_first = (at + 1) % LIVE_QUEUE;
			l->queue_count--;
			return MERGE_RECORD;
		}
		result = merge_next(&l->merge, &chunk);
		if (result != MERGE_RECORD)
			return result;
		describe(l->merge.stream, &l->merge.cursor[chunk], event);
		if (l->stop_before && event->ticks >= l->stop_before) {
			live_stop(l, exchange(&h->stopped_ticks, 0));
			continue;
		}
		if (l->merge.gap_from ? l->merge.gap_from > event->ticks : !l->merge.unsure_until) {
			if (!merge_take(&l->merge, chunk, data, size))
				continue;
		} else {
			/*
			 * What was lost before this event; behind it more may
			 * come to light. Where single events are missing, each
			 * event is told to stand behind a gap.
			 */
			uint64_t lost = merge_gap(&l->merge);
			uint64_t gap = lost ? lost : l->last_ticks ? l->last_ticks : event->ticks;

			if (!merge_take(&l->merge, chunk, l->buffer, buffer_size(l->merge.stream))) {
				if (lost)
					merge_gap_again(&l->merge, lost);
				continue;
			}
			if (event->ticks > l->merge.unsure_until)
				l->merge.unsure_until = 0;
			/* Directly before the event that survived (TRAP-54). */
			queue_system(l, POSIX_TRACE_OVERFLOW, gap, NULL, 0);
			queue_system(l, POSIX_TRACE_RESUME, event->ticks, NULL, 0);
			l->last_ticks = event->ticks;
			queue(l, event, l->buffer);
			continue;
		}
		l->last_ticks = event->ticks;
		return MERGE_RECORD;
	}
	return MERGE_HELD_UP;
}

bool live_empty(struct live *l)
{
	return l->queue_count == 0 && merge_empty(&l->merge);
}
