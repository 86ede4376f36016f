/*
 * flush.c - what a stream has recorded goes into its log
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/flush.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "control/lifecycle.h"
#include "shm/chunk.h"

#define RUN_MAX    256u
#define HELD_UP_NS 100000

enum flush_step {
	FLUSH_DONE,    /* nothing is left that is older than asked for */
	FLUSH_WRITE,   /* the segment is to be written before more can be taken */
	FLUSH_AGAIN,   /* there is more */
	FLUSH_HELD_UP, /* a thread is in the middle of a trace point: in a moment */
};

/* -- Beginning ------------------------------------------------------------------------ */

int flush_init(struct flush *f, struct stream *s, struct live *live, struct log_state *state, int fd, bool seeks)
{
	int r;

	f->stream = s;
	f->live = live;
	f->state = state;
	f->longest = output_longest(s->data_size);
	r = draft_init(&f->draft, state);
	if (r == 0)
		r = output_init(&f->output, fd, seeks, s->log_policy, state);
	f->data = r == 0 ? sys_map(s->event_size_max, -1, 1) : NULL;
	if (f->data && describe_init(&f->describe, s))
		return 0;
	flush_free(f);
	return r < 0 ? r : -ENOMEM;
}

void flush_free(struct flush *f)
{
	draft_free(&f->draft);
	output_free(&f->output);
	if (f->data)
		sys_unmap(f->data, f->stream->event_size_max);
	describe_free(&f->describe);
	f->data = NULL;
}

int flush_begin(struct flush *f)
{
	int r = output_begin(&f->output, f->header);

	return r < 0 ? r : describe_all(&f->describe, &f->output);
}

/* -- Taking --------------------------------------------------------------------------------------- */

void flush_marker(struct flush *f, const struct event *event)
{
	if (f->markers < FLUSH_MARKERS && !stream_filters(f->stream->header, event->id))
		f->marker[f->markers++] = *event;
}

static void begin_segment(struct flush *f)
{
	uint64_t sequence = output_place(&f->output)->sequence;

	f->room = output_room(&f->output);
	/* What is left of a slot was too small for a single event: that goes into the next slot, where there is room for any. */
	if (f->output.policy == POSIX_TRACE_LOOP && f->draft.next.sequence == sequence)
		f->room = f->state->capacity;
	draft_begin(&f->draft, sequence, f->room);
}

/* The log has no room for this event, and never will: its last one is a STOP (LOG-15). */
static void end_log(struct flush *f)
{
	static const int by_itself = 1;
	struct log_event stop = { .id = POSIX_TRACE_STOP, .time = f->draft.next.last, .length = sizeof by_itself };

	f->full = true;
	fetch_or(&f->stream->header->state, STATE_LOG_FULL);
	if (stream_filters(f->stream->header, POSIX_TRACE_STOP)) {
		draft_last(&f->draft);
		return;
	}
	/* Otherwise the segment before was the last one; there is one, because there is room for the largest event. */
	if (draft_empty(&f->draft))
		draft_begin(&f->draft, output_place(&f->output)->sequence, f->state->capacity);
	draft_extend(&f->draft, f->state->size - output_place(&f->output)->bytes);
	draft_add(&f->draft, &stop, &by_itself, f->draft.next.last_ticks);
	draft_last(&f->draft);
}

/* Is the draft too small only because the log ends? An empty one is too small for nothing else. */
static bool log_ends(const struct flush *f, uint32_t length)
{
	return f->output.policy == POSIX_TRACE_UNTIL_FULL && f->room < f->state->capacity &&
	       (draft_empty(&f->draft) || f->room - f->draft.next.position < pack_size_max(length));
}

static uint64_t time_of(const struct flush *f, uint64_t ticks)
{
	int64_t ns = merge_time(&f->live->merge, ticks) + f->real_time;

	return ns < 0 ? 0 : (uint64_t)ns; /* no time of an event of ours */
}

/* False: the draft has to be written first. */
static bool add_event(struct flush *f, struct log_event *e, const void *data, uint64_t ticks)
{
	uint32_t shapes = f->draft.pack->shapes;

	if (f->full) {
		f->discarded++;
		return true;
	}
	e->time = time_of(f, ticks);
	if (!draft_add(&f->draft, e, data, ticks))
		return false;
	if (ticks > f->newest)
		f->newest = ticks;
	/* A new place to trace from. */
	if (f->draft.pack->shapes != shapes)
		describe_place(&f->describe, e);
	return true;
}

/* An event of the system's own. */
static bool add(struct flush *f, const struct event *e, const void *data)
{
	/*
	 * Who finds the stream full, or an event lost, may be held up before it says since when: a flush
	 * may have begun or ended since then, and that is in the log. Perhaps not as the last event: that
	 * may be one that came late.
	 */
	uint64_t last = f->draft.next.last_ticks, newest = f->newest > last ? f->newest : last;
	uint64_t ticks = e->ticks > newest ? e->ticks : newest;
	struct log_event event = {
		.id = e->id,
		.truncated = e->truncated,
		.pid = e->pid,
		.tid = e->tid,
		.pthread = e->pthread,
		.address = e->address,
		.length = e->length,
	};

	return add_event(f, &event, data, ticks);
}

/* Nothing could be added. True: because the log is full, so what comes is discarded. */
static bool log_ended(struct flush *f, uint32_t length)
{
	draft_back(&f->draft);
	if (!log_ends(f, length))
		return false;
	end_log(f);
	return true;
}

/* One that is in no chunk. */
static bool add_alone(struct flush *f, const struct event *e, const void *data)
{
	if (!add(f, e, data)) {
		if (!log_ended(f, e->length))
			return false;
		f->discarded++;
	} else if (!f->full) {
		draft_intend(&f->draft, LOG_NO_CHUNK, 0, 0);
	}
	return true;
}

/* What the next reader would have to know; what this turn is about to tell has not been told yet. */
static void remember_gaps(struct flush *f, const struct live_turn *turn)
{
	struct merge *m = &f->live->merge;

	store_relaxed(&f->state->gap_from, turn->lost ? turn->lost : m->gap_from);
	store_relaxed(&f->state->gap_until, m->gap_until);
	store_relaxed(&f->state->unsure_until, m->unsure_until);
	if (m->unsaid)
		merge_said(m);
}

static void set_owner(struct log_event *e, const struct cursor *cur)
{
	e->pid = cur->owner.pid;
	e->tid = cur->owner.tid;
	e->pthread = cur->owner.thread;
	memcpy(e->name, cur->owner.name, sizeof e->name);
}

/* The record that the cursor is at; its owner is set. What others wrote: whatever it says stays within what we have (H18). */
static bool add_record(struct flush *f, const struct cursor *cur, struct chunk *c, struct log_event *e)
{
	e->id = cur->head.type & RECORD_TYPE_MASK;
	if (!eventtype_possible(e->id))
		e->id = POSIX_TRACE_UNNAMED_USEREVENT;
	e->truncated = cur->head.type & RECORD_TRUNCATED;
	e->address = cur->head.address;
	e->length = cur->head.length < f->longest ? cur->head.length : f->longest;
	cursor_copy(cur, f->stream, c, f->data, e->length);
	return add_event(f, e, f->data, cur->head.ticks);
}

/* An event, with what is to be told before it. */
static bool add_turn(struct flush *f, const struct live_turn *turn, struct log_event *e)
{
	const struct cursor *cur = &f->live->merge.cursor[turn->chunk];

	for (unsigned i = 0; i < turn->befores; i++)
		if (!add(f, &turn->before[i], NULL))
			return false;
	set_owner(e, cur);
	return add_record(f, cur, &f->stream->chunks[turn->chunk], e);
}

/* Events that follow in the same chunk, older than any other: so they are looked for once, and taken together. Returns the ticks of the last. */
static uint64_t add_run(struct flush *f, const struct live_turn *turn, uint64_t until, struct log_event *e)
{
	struct cursor *cur = &f->live->merge.cursor[turn->chunk];
	struct chunk *c = &f->stream->chunks[turn->chunk];
	uint64_t limit = live_limit(f->live, turn), last = turn->event.ticks;
	uint32_t begin = cur->next;

	if (limit > until)
		limit = until;
	if (f->markers && limit >= f->marker[0].ticks)
		limit = f->marker[0].ticks - 1;
	for (;;) {
		uint32_t at = cur->at + record_size(cur->head.length);

		if (!cursor_step(cur, f->stream, c) || cur->head.ticks > limit || cur->next - begin >= RUN_MAX)
			return last;
		/* Only past a record that says so it is another's. */
		if (cur->at != at)
			set_owner(e, cur);
		if (!add_record(f, cur, c, e))
			return last;
		last = cur->head.ticks;
	}
}

/* Takes the event of this turn, and those that follow it directly. False: the draft has to be written first. */
static bool take(struct flush *f, const struct live_turn *turn, uint64_t until)
{
	struct cursor *cur = &f->live->merge.cursor[turn->chunk], before = *cur;
	uint64_t discarded = f->discarded, last;
	struct log_event e;
	uint32_t count;

	if (!add_turn(f, turn, &e)) {
		if (!log_ended(f, turn->event.length)) {
			live_leave(f->live, turn);
			return false;
		}
		f->discarded += 1 + turn->befores;
	}
	last = add_run(f, turn, until, &e);
	count = cur->next - before.next;
	if (!f->full)
		draft_intend(&f->draft, turn->chunk, before.next + count - 1, count);
	if (live_claim(f->live, turn, &before, last)) {
		if (f->full)
			f->unmarked += count;
		else
			draft_done(&f->draft);
		return true;
	}
	f->discarded = discarded;
	if (f->full)
		return true;
	/* It takes no more, and an empty one that takes none must not look like a log that has no room. */
	draft_forget(&f->draft);
	return false;
}

/* The stream has stopped by itself, and all has been taken: it is told, and goes on (CH-35). */
static bool drained(struct flush *f)
{
	struct stream_header *h = f->stream->header;
	uint64_t stopped = load_relaxed(&h->stopped_ticks);

	if (!(load_relaxed(&h->state) & STATE_ARMED) && !stopped)
		return false;
	if (f->handle) {
		lifecycle_drained(f->handle);
	} else if (stopped && stopped != f->live->stop_told) {
		live_stopped(f->live, stopped);
	} else {
		/* It is in the log. A dead one's stream does not go on, whoever writes there that it waits to (H18). */
		store_relaxed(&h->stopped_ticks, 0);
		return false;
	}
	return f->live->queue_count > 0;
}

/* Is the next START or STOP of a flush older than this? */
static bool marker_before(const struct flush *f, uint64_t ticks)
{
	return f->markers && f->marker[0].ticks <= ticks;
}

/* And the automatic stop that has not been told: is that older? Then nothing is left from before it. */
static bool stopped_before_marker(const struct flush *f)
{
	const struct stream_header *h = f->stream->header;
	uint64_t stopped = load_relaxed(&h->stopped_ticks);

	return stopped && stopped < f->marker[0].ticks && !(load_relaxed(&h->state) & STATE_RUNNING);
}

static bool add_marker(struct flush *f)
{
	if (!add_alone(f, &f->marker[0], NULL))
		return false;
	memmove(&f->marker[0], &f->marker[1], --f->markers * sizeof f->marker[0]);
	return true;
}

static enum flush_step take_all(struct flush *f, uint64_t until)
{
	enum merge_result result;
	struct live_turn turn;
	const struct event *e;
	const void *data;
	int64_t late = 0;

	if (!f->full && (f->draft.ended || f->draft.next.sequence != output_place(&f->output)->sequence)) {
		if (!draft_empty(&f->draft) && f->draft.next.sequence == output_place(&f->output)->sequence)
			return FLUSH_WRITE;
		begin_segment(f);
	}
	for (unsigned i = 0;; i++) {
		if (i % 256 == 255 && merge_late(&late))
			return FLUSH_AGAIN;
		e = live_front(f->live, &data);
		if (e && marker_before(f, e->ticks)) {
			if (!add_marker(f))
				return FLUSH_WRITE;
			continue;
		}
		if (e) {
			if (!add_alone(f, e, data))
				return FLUSH_WRITE;
			live_pop(f->live);
			continue;
		}
		result = live_peek(f->live, &turn);
		if (result == MERGE_RECORD && turn.event.id == 0)
			continue;
		remember_gaps(f, &turn);
		if (result == MERGE_AGAIN)
			return FLUSH_AGAIN;
		if (f->markers && (result != MERGE_RECORD || marker_before(f, turn.event.ticks))) {
			if (result == MERGE_HELD_UP)
				return FLUSH_HELD_UP;
			if (result == MERGE_RECORD)
				live_leave(f->live, &turn);
			else if (stopped_before_marker(f) && drained(f))
				continue;
			else if (f->marker[0].ticks > until)
				return FLUSH_DONE; /* events before it may still come */
			if (!add_marker(f))
				return FLUSH_WRITE;
			continue;
		}
		if (result == MERGE_HELD_UP)
			return FLUSH_HELD_UP;
		if (result == MERGE_NONE) {
			if (drained(f))
				continue;
			return FLUSH_DONE;
		}
		if (turn.event.ticks > until) {
			live_leave(f->live, &turn);
			return FLUSH_DONE;
		}
		if (!take(f, &turn, until))
			return FLUSH_WRITE;
		if (f->handle)
			lifecycle_read(f->handle);
	}
}

static enum flush_step take_until(struct flush *f, uint64_t until)
{
	enum flush_step step = take_all(f, until);

	f->lost = f->lost_before + load_relaxed(&f->stream->header->lost) + merge_lost(&f->live->merge);
	/* What the segments have told stays told, also where a stream was about to be cleared, and the log was not. */
	if (f->lost < output_place(&f->output)->lost)
		f->lost = output_place(&f->output)->lost;
	return step;
}

/* -- Writing ------------------------------------------------------------------------------------------ */

static void count_discarded(struct flush *f, uint64_t before)
{
	bool now = f->discarded || output_place(&f->output)->discarded != before;

	if (f->unmarked || f->discarded)
		draft_skip(&f->draft, f->unmarked, f->discarded);
	f->discarded = f->unmarked = 0;
	if (now)
		fetch_or(&f->stream->header->state, STATE_LOG_OVERRUN | (f->output.policy == POSIX_TRACE_LOOP ? STATE_LOG_FULL : 0));
}

/* Who has cut the file to nothing, as programs do that copy logs away, has what was in it; the log goes on with what comes. */
static int begin_if_cut(struct flush *f)
{
	int r = 0;

	if (f->header && output_cut(&f->output)) {
		r = output_begin_again(&f->output, f->header);
		if (r == 0)
			r = describe_all(&f->describe, &f->output);
	}
	return r;
}

/* What is in the draft, and before it what is needed to understand it. */
static int write_draft(struct flush *f)
{
	int r = begin_if_cut(f);
	uint64_t discarded = output_place(&f->output)->discarded;

	if (r == 0)
		r = describe_more(&f->describe, &f->output);
	if (r == 0 && !draft_empty(&f->draft) && f->draft.next.sequence == output_place(&f->output)->sequence)
		r = output_segment(&f->output, &f->draft, f->lost);
	count_discarded(f, discarded);
	return r;
}

int flush_until(struct flush *f, uint64_t until)
{
	for (;;) {
		enum flush_step step;
		int r;

		if (f->handle)
			latch_take(&f->handle->lock);
		step = take_until(f, until);
		if (f->handle)
			latch_release(&f->handle->lock);
		switch (step) {
		case FLUSH_AGAIN:
			sys_yield();
			break;
		case FLUSH_HELD_UP:
			sys_sleep_ns(HELD_UP_NS);
			break;
		case FLUSH_WRITE:
		case FLUSH_DONE:
			r = write_draft(f);
			if (r < 0 || step == FLUSH_DONE)
				return r;
			break;
		}
	}
}

int flush_end(struct flush *f)
{
	uint32_t state = load_relaxed(&f->stream->header->state);
	bool overrun = f->lost > load_relaxed(&f->stream->header->lost_told); /* as in lifecycle_status() */
	struct output_end end = {
		.lost = f->lost,
		.discarded = draft_mark(&f->draft)->discarded,
		.status = (state & STATE_FULL ? INDEX_STREAM_FULL : 0) | (overrun ? INDEX_STREAM_OVERRUN : 0) |
		          (state & STATE_LOG_OVERRUN ? INDEX_LOG_OVERRUN : 0) | (state & STATE_LOG_FULL ? INDEX_LOG_FULL : 0),
		.flush_error = state >> STATE_ERROR_SHIFT,
	};
	int r = begin_if_cut(f);

	return r < 0 ? r : output_end(&f->output, &end);
}
