/*
 * live.c - the events of an active stream, in order
 *
 * SPDX-License-Identifier: MIT
 */
#include "read/live.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/copy.h"
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
	l->run_next = l->run_end = 0;
	l->last_ticks = 0;
	l->stop_before = l->stop_reported = 0;
	l->start_waits = false;
	memset(&l->stop_call, 0, sizeof l->stop_call);
}

static void queue(struct live *l, const struct event *event, const void *data)
{
	unsigned i = (l->queue_first + l->queue_count++) % LIVE_QUEUE;

	l->queue[i] = *event;
	l->queue_data[i] = data;
}

/* Queues an event of the system, unless its type is filtered out. */
static void queue_system(struct live *l, trace_event_id_t id, uint64_t ticks, const void *data, uint32_t length)
{
	struct event event = { .id = id, .ticks = ticks, .length = length };

	if (!stream_filters(l->merge.stream->header, id))
		queue(l, &event, data);
}

void live_stop(struct live *l, uint64_t ticks)
{
	struct event event = l->stop_call;

	/* Another thread may have finished an event just after a writer found the stream full. */
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

void live_stopped(struct live *l, uint64_t stopped)
{
	if (stopped != l->stop_reported)
		live_stop(l, stopped);
	l->stop_reported = stopped;
}

void live_gap(struct live *l, uint64_t from, uint64_t until)
{
	if (from < l->last_ticks)
		from = l->last_ticks;
	queue_system(l, POSIX_TRACE_OVERFLOW, from, NULL, 0);
	queue_system(l, POSIX_TRACE_RESUME, until, NULL, 0);
}

void live_start(struct live *l, const trace_event_set_t *filter, uint64_t ticks)
{
	l->start_filter = *filter;
	queue_system(l, POSIX_TRACE_START, ticks, &l->start_filter, sizeof l->start_filter);
}

/* Describes the record at a cursor. Hostile contents stay within the bounds of our buffers (H18). */
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

const struct event *live_front(const struct live *l, const void **data)
{
	*data = l->queue_data[l->queue_first];
	return l->queue_count ? &l->queue[l->queue_first] : NULL;
}

void live_pop(struct live *l)
{
	l->queue_first = (l->queue_first + 1) % LIVE_QUEUE;
	l->queue_count--;
}

static void add_before(struct live *l, struct live_turn *turn, trace_event_id_t id, uint64_t ticks)
{
	if (!stream_filters(l->merge.stream->header, id))
		turn->before[turn->befores++] = (struct event){ .id = id, .ticks = ticks };
}

enum merge_result live_peek(struct live *l, struct live_turn *turn)
{
	struct event *event = &turn->event;
	enum merge_result result = merge_next(&l->merge, &turn->chunk);

	turn->befores = 0;
	turn->gap = false;
	turn->lost = 0;
	if (result != MERGE_RECORD)
		return result;
	describe(l->merge.stream, &l->merge.cursor[turn->chunk], event);
	if (l->stop_before && event->ticks >= l->stop_before) {
		live_stopped(l, exchange(&l->merge.stream->header->stopped_ticks, 0));
		l->stop_before = l->stop_reported = 0;
		event->id = 0;
		return result;
	}
	/* Report events lost before this one; later looks may find more. */
	if (gaps_before(&l->merge.gaps, event->ticks)) {
		uint64_t gap;

		turn->gap = true;
		turn->lost = gaps_report(&l->merge.gaps, event->ticks);
		/*
		 * The writer that loses an event may be held up before it notes the time. Times must not fall for
		 * that.
		 */
		gap = turn->lost > l->last_ticks ? turn->lost : l->last_ticks;
		if (!gap || gap > event->ticks)
			gap = event->ticks;
		/* Directly before the event that survived (TRAP-54). */
		add_before(l, turn, POSIX_TRACE_OVERFLOW, gap);
		add_before(l, turn, POSIX_TRACE_RESUME, event->ticks);
	}
	return result;
}

bool live_read(struct live *l, const struct live_turn *turn, void *data, size_t size)
{
	if (!merge_read(&l->merge, turn->chunk, data, size)) {
		live_leave(l, turn);
		return false;
	}
	if (turn->gap && turn->event.ticks > l->merge.gaps.unsure_until)
		l->merge.gaps.unsure_until = 0;
	l->last_ticks = turn->event.ticks;
	return true;
}

uint64_t live_limit(const struct live *l, const struct live_turn *turn)
{
	return turn->gap || l->stop_before ? 0 : merge_limit(&l->merge);
}

bool live_consume(struct live *l, const struct live_turn *turn, const struct cursor *before, uint64_t last)
{
	if (!merge_consume(&l->merge, turn->chunk, before, last)) {
		live_leave(l, turn);
		return false;
	}
	if (turn->gap && last > l->merge.gaps.unsure_until)
		l->merge.gaps.unsure_until = 0;
	l->last_ticks = last;
	return true;
}

void live_leave(struct live *l, const struct live_turn *turn)
{
	if (turn->lost)
		gaps_add(&l->merge.gaps, turn->lost, 0);
}

/* Takes the event of this turn, and the events that follow it directly. Returns false if overwritten: peek again. */
static bool take_run(struct live *l, const struct live_turn *turn)
{
	struct stream *s = l->merge.stream;
	struct cursor *cur = &l->merge.cursor[turn->chunk], before = *cur;
	struct chunk *c = &s->chunks[turn->chunk];
	uint64_t limit = live_limit(l, turn), last;
	unsigned n = 0;

	do {
		describe(s, cur, &l->run[n]);
		cursor_copy(cur, s, c, l->run_data[n], LIVE_RUN_DATA);
		last = cur->head.ticks;
		n++;
	} while (cursor_step(cur, s, c) && n < LIVE_RUN && cur->head.ticks <= limit &&
	         cur->head.length <= LIVE_RUN_DATA);
	if (!live_consume(l, turn, &before, last))
		return false;
	l->run_next = 0;
	l->run_end = n;
	return true;
}

/*
 * Takes the event of this turn alone, after the events to report before it. Returns false if overwritten: peek again.
 */
static bool take_alone(struct live *l, const struct live_turn *turn)
{
	if (!live_read(l, turn, l->buffer, buffer_size(l->merge.stream)))
		return false;
	for (unsigned i = 0; i < turn->befores; i++)
		queue(l, &turn->before[i], NULL);
	queue(l, &turn->event, l->buffer);
	return true;
}

/* Gets the next event that was taken or queued. Returns false if there is none. */
static bool report_next(struct live *l, struct event *event, void *data, size_t size)
{
	const void *waits = NULL;

	if (l->run_next < l->run_end) {
		waits = l->run_data[l->run_next];
		*event = l->run[l->run_next++];
	} else if (l->queue_count) {
		*event = *live_front(l, &waits);
		live_pop(l);
	} else {
		return false;
	}
	copy(data, waits, size < event->length ? size : event->length);
	return true;
}

enum merge_result live_next(struct live *l, struct event *event, void *data, size_t size)
{
	enum merge_result result;
	struct live_turn turn;
	int64_t until = 0;
	bool found;

	if (report_next(l, event, data, size))
		return MERGE_RECORD;
	do {
		result = live_peek(l, &turn);
		if (result != MERGE_RECORD)
			return result;
		if (turn.event.id == 0)
			found = true; /* an event was queued */
		else if (turn.gap || turn.event.length > LIVE_RUN_DATA)
			found = take_alone(l, &turn);
		else
			found = take_run(l, &turn);
		if (found && report_next(l, event, data, size))
			return MERGE_RECORD;
	} while (!merge_late(&until));
	return MERGE_AGAIN;
}

bool live_empty(struct live *l)
{
	return l->run_next == l->run_end && l->queue_count == 0 && merge_empty(&l->merge);
}
