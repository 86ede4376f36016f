/*
 * flush.c - moves recorded events from a stream to its log
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/flush.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "control/resume.h"
#include "shm/chunk.h"

#define RUN_MAX    1024u
#define HELD_UP_NS 100000

enum flush_step {
	FLUSH_DONE,    /* no event up to the requested time is left */
	FLUSH_WRITE,   /* the segment has to be written before more can be consumed */
	FLUSH_AGAIN,   /* more events are left */
	FLUSH_HELD_UP, /* a thread is in the middle of a trace point: try again soon */
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

static int write_clock(struct flush *f, enum clock_reason reason)
{
	unsigned char body[CLOCK_BYTES];

	clocks_read(&f->clocks, reason, f->ask_clock, body);
	return output_clock(&f->output, body);
}

int flush_labels(struct flush *f)
{
	if (!f->labels || !f->labels->size)
		return 0;
	return output_frame(&f->output, FRAME_LABELS, f->labels->body, f->labels->size,
	                    output_position(&f->output)->types);
}

/* Writes what is directly behind the header. */
static int describe_log(struct flush *f)
{
	int r = write_clock(f, CLOCK_BEGIN);

	if (r == 0)
		r = flush_labels(f);
	return r < 0 ? r : describe_all(&f->describe, &f->output);
}

int flush_begin(struct flush *f)
{
	int r = output_begin(&f->output, f->header);

	return r < 0 ? r : describe_log(f);
}

/* -- Taking --------------------------------------------------------------------------------------- */

void flush_marker(struct flush *f, const struct event *event)
{
	if (f->markers < FLUSH_MARKERS && !stream_filters(f->stream->header, event->id))
		f->marker[f->markers++] = *event;
}

static void begin_segment(struct flush *f)
{
	uint64_t sequence = output_position(&f->output)->sequence;

	f->room = output_room(&f->output);
	/* The rest of the slot was too small for the event. The next slot has room for any event. */
	if (f->output.policy == POSIX_TRACE_LOOP && f->draft.next.sequence == sequence)
		f->room = f->state->capacity;
	draft_begin(&f->draft, sequence, f->room);
}

/* Ends a log that has no room for the next event and never will have: its last event is a STOP (LOG-15). */
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
	/*
	 * With an empty draft, the STOP needs a segment of its own. At least one segment was written before,
	 * because every log has room for the largest event.
	 */
	if (draft_empty(&f->draft))
		draft_begin(&f->draft, output_position(&f->output)->sequence, f->state->capacity);
	draft_extend(&f->draft, f->state->size - output_position(&f->output)->bytes);
	draft_add(&f->draft, &stop, &by_itself, f->draft.next.last_ticks);
	draft_last(&f->draft);
}

/* Returns true if the draft has no room because the log ends. An empty draft has no other reason. */
static bool log_ends(const struct flush *f, uint32_t length)
{
	return f->output.policy == POSIX_TRACE_UNTIL_FULL && f->room < f->state->capacity &&
	       (draft_empty(&f->draft) || f->room - f->draft.next.position < pack_size_max(length));
}

static uint64_t time_of(const struct flush *f, uint64_t ticks)
{
	int64_t ns = times_convert(&f->live->merge.times, ticks) + f->real_time;

	return ns < 0 ? 0 : (uint64_t)ns; /* corrupt: events have no negative times */
}

/* Returns true if events are only counted, and no longer added to the draft. */
static bool only_counts(const struct flush *f)
{
	return f->full || f->given_up;
}

/* Adds an event, counts it, or leaves it out. Returns false if the draft has to be written first. */
static bool add_event(struct flush *f, struct log_event *e, const void *data, uint64_t ticks)
{
	uint32_t shapes = f->draft.pack->shapes;

	if (f->filter || !only_counts(f))
		e->time = time_of(f, ticks);
	if (f->filter && !eventtype_system(e->id) && !f->filter->selects(f->filter, e, data)) {
		f->left_out++;
		return true;
	}
	if (f->full) {
		f->discarded++;
		return true;
	}
	if (f->given_up) {
		f->unwritten += !eventtype_system(e->id);
		return true;
	}
	if (!draft_add(&f->draft, e, data, ticks))
		return false;
	if (ticks > f->newest)
		f->newest = ticks;
	/* The event's type or address is new in the segment. */
	if (f->draft.pack->shapes != shapes)
		describe_event(&f->describe, e);
	return true;
}

/* Adds a system event. Returns false if the draft has to be written first. */
static bool add(struct flush *f, const struct event *e, const void *data)
{
	/*
	 * A writer that finds the stream full, or loses an event, may be delayed before it stores the time.
	 * By then the log may have a newer event, such as the start of a flush, so the event gets the newest
	 * time in the log. The log's last event need not be its newest: it may have come late.
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

/*
 * Handles an event that could not be added. Returns true if the log is full, so that further events are discarded, or
 * false if the draft has to be written first.
 */
static bool log_ended(struct flush *f, uint32_t length)
{
	draft_rollback(&f->draft);
	if (!log_ends(f, length))
		return false;
	end_log(f);
	return true;
}

/* Adds an event that is in no chunk. Returns false if the draft has to be written first. */
static bool add_alone(struct flush *f, const struct event *e, const void *data)
{
	if (!add(f, e, data)) {
		if (!log_ended(f, e->length))
			return false;
		f->discarded++;
	} else if (!only_counts(f)) {
		draft_prepare(&f->draft, LOG_NO_CHUNK, 0, 0);
	}
	return true;
}

/*
 * Stores the gaps that a process would have to know to finish this log. The loss that this turn is about to report
 * counts as unreported.
 */
static void remember_gaps(struct flush *f, const struct live_turn *turn)
{
	struct merge *m = &f->live->merge;

	store_relaxed(&f->state->gap_from, turn->lost ? turn->lost : m->gaps.from);
	store_relaxed(&f->state->gap_until, m->gaps.until);
	store_relaxed(&f->state->unsure_from, m->gaps.unsure_from);
	store_relaxed(&f->state->unsure_until, m->gaps.unsure_until);
	if (m->gaps.unacknowledged)
		merge_acknowledge(m);
}

static void set_owner(struct log_event *e, const struct cursor *cur)
{
	e->pid = cur->owner.pid;
	e->tid = cur->owner.tid;
	e->pthread = cur->owner.thread;
	memcpy(e->name, cur->owner.name, sizeof e->name);
}

/*
 * Adds the record at the cursor; the event's owner is set. Its bytes may be a hostile process's, so they are limited to
 * valid ids and lengths (H18). Returns false if the draft has to be written first.
 */
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

/* Adds the turn's event, after its OVERFLOW and RESUME. Returns false if the draft has to be written first. */
static bool add_turn(struct flush *f, const struct live_turn *turn, struct log_event *e)
{
	const struct cursor *cur = &f->live->merge.cursor[turn->chunk];

	for (unsigned i = 0; i < turn->befores; i++)
		if (!add(f, &turn->before[i], NULL))
			return false;
	set_owner(e, cur);
	return add_record(f, cur, &f->stream->chunks[turn->chunk], e);
}

/* Moves the cursor past records that were added. After an owner record, the next record is another thread's. */
static void pass(const struct flush *f, struct cursor *cur, struct chunk *c, struct log_event *e, uint32_t count,
                 uint32_t bytes)
{
	uint32_t at = cur->at + bytes;

	if (cursor_pass(cur, f->stream, c, count, bytes) && cur->at != at)
		set_owner(e, cur);
}

/* Adds records from the cursor on, up to one that has to be added alone. Returns false if this is the first one. */
static bool add_records(struct flush *f, struct cursor *cur, struct chunk *c, struct log_event *e, uint64_t limit,
                        uint32_t most)
{
	struct times *t = &f->live->merge.times;
	struct pack_run run = {
		.owner = e,
		.ticks = cur->head.ticks,
		.limit = limit < t->line.end ? limit : t->line.end - 1,
		.line = &t->line,
		.offset = f->real_time,
	};
	const unsigned char *from;
	uint32_t n;

	/* An event older than reported ones was held up. Its time may go back, and be on another line. */
	if (f->filter || only_counts(f) || run.ticks < t->reported.ticks ||
	    !ticks_line_near(&t->line, run.ticks, run.limit))
		return false;
	n = cursor_rest(cur, f->stream, c, &from, &run.end);
	run.at = from;
	run.count = n < most ? n : most;
	run.least = t->reported.monotonic + f->real_time;
	n = draft_add_records(&f->draft, &run);
	if (n == 0)
		return false;
	times_converted(t, run.ticks, (int64_t)f->draft.next.last - f->real_time);
	if (run.ticks > f->newest)
		f->newest = run.ticks;
	pass(f, cur, c, e, n, (uint32_t)(run.at - from));
	return true;
}

/*
 * Adds the following events of the same chunk that are older than all other chunks' events, so that one search and one
 * consumption serve many events. Returns the ticks of the last event.
 */
static uint64_t add_run(struct flush *f, const struct live_turn *turn, uint64_t until, struct log_event *e)
{
	struct cursor *cur = &f->live->merge.cursor[turn->chunk];
	struct chunk *c = &f->stream->chunks[turn->chunk];
	uint64_t limit = live_limit(f->live, turn), last = turn->event.ticks;
	uint32_t end = cur->next + RUN_MAX;

	if (limit > until)
		limit = until;
	if (f->markers && limit >= f->marker[0].ticks)
		limit = f->marker[0].ticks - 1;
	pass(f, cur, c, e, 1, record_size(cur->head.length));
	while (cur->have && cur->head.ticks <= limit && cur->next != end) {
		if (add_records(f, cur, c, e, limit, end - cur->next)) {
			last = f->draft.next.last_ticks;
		} else if (add_record(f, cur, c, e)) {
			last = cur->head.ticks;
			pass(f, cur, c, e, 1, record_size(cur->head.length));
		} else {
			break;
		}
	}
	return last;
}

/*
 * Consumes the turn's event and the events directly after it in the chunk. Returns false if the draft has to be written
 * first.
 */
static bool take(struct flush *f, const struct live_turn *turn, uint64_t until)
{
	struct cursor *cur = &f->live->merge.cursor[turn->chunk], before = *cur;
	uint64_t discarded = f->discarded, unwritten = f->unwritten, left_out = f->left_out, last;
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
	if (!only_counts(f)) {
		f->draft.next.left_out += f->left_out;
		f->left_out = 0;
		draft_prepare(&f->draft, turn->chunk, before.next + count - 1, count);
	}
	if (live_consume(f->live, turn, &before, last)) {
		if (only_counts(f))
			f->unmarked += count;
		else
			draft_commit(&f->draft);
		return true;
	}
	f->discarded = discarded;
	f->unwritten = unwritten;
	f->left_out = left_out;
	if (only_counts(f))
		return true;
	/* The draft accepts no more events. Write it now: an empty draft would be mistaken for a full log. */
	draft_abort(&f->draft);
	return false;
}

/*
 * Queues the STOP of a stream that has stopped by itself and has been read to its end, and restarts the stream (CH-35).
 * Returns true if events are queued.
 */
static bool drained(struct flush *f)
{
	struct stream_header *h = f->stream->header;
	uint64_t stopped = load_relaxed(&h->stopped_ticks);

	if (!(load_relaxed(&h->state) & STATE_ARMED) && !stopped)
		return false;
	if (f->handle) {
		resume_drained(f->handle);
	} else if (stopped && stopped != f->live->stop_reported) {
		live_stopped(f->live, stopped);
	} else {
		/* The STOP is in the log. A dead creator's stream does not restart, even if it is armed (H18). */
		store_relaxed(&h->stopped_ticks, 0);
		return false;
	}
	return f->live->queue_count > 0;
}

/* Returns true if the next FLUSH_START or FLUSH_STOP is not newer than ticks. */
static bool marker_before(const struct flush *f, uint64_t ticks)
{
	return f->markers && f->marker[0].ticks <= ticks;
}

/* Returns true if an unreported automatic stop is older than the next marker. No event before the stop is left then. */
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
	const unsigned late_turns = f->filter ? 16 : 256;
	int64_t late = 0;

	if (!only_counts(f) && (f->draft.ended || f->draft.next.sequence != output_position(&f->output)->sequence)) {
		if (!draft_empty(&f->draft) && f->draft.next.sequence == output_position(&f->output)->sequence)
			return FLUSH_WRITE;
		begin_segment(f);
	}
	for (unsigned i = 0;; i++) {
		/* A filter may take as long for an event as a turn without one. */
		if (i % late_turns == late_turns - 1 && merge_late(&late))
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
				return FLUSH_DONE; /* older events may still come */
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
			resume_read(f->handle);
	}
}

static enum flush_step take_until(struct flush *f, uint64_t until)
{
	enum flush_step step = take_all(f, until);

	f->lost = f->lost_before + load_relaxed(&f->stream->header->lost) - output_position(&f->output)->lost_base +
	          merge_lost(&f->live->merge);
	/* Never less than the segments have reported: a dead creator may have cleared the stream and not the log. */
	if (f->lost < output_position(&f->output)->lost)
		f->lost = output_position(&f->output)->lost;
	return step;
}

/* -- Writing ------------------------------------------------------------------------------------------ */

static void count_discarded(struct flush *f, uint64_t before)
{
	bool now = f->discarded || output_position(&f->output)->discarded != before;

	f->draft.next.left_out += f->left_out;
	if (f->unmarked || f->discarded || f->unwritten || f->left_out)
		draft_skip(&f->draft, f->unmarked, f->discarded, f->unwritten);
	f->discarded = f->unwritten = f->left_out = f->unmarked = 0;
	if (now)
		fetch_or(&f->stream->header->state,
		         STATE_LOG_OVERRUN | (f->output.policy == POSIX_TRACE_LOOP ? STATE_LOG_FULL : 0));
}

/*
 * Begins the log again if another program has truncated the file to nothing, as log rotation does after copying it.
 * The log continues with the next events. Returns 0 or a negative error number.
 */
static int begin_if_cut(struct flush *f)
{
	int r = 0;

	if (f->header && output_cut(&f->output)) {
		f->header->generation++;
		r = output_begin_again(&f->output, f->header);
		if (r == 0)
			r = describe_log(f);
	}
	return r;
}

static int note_clock(struct flush *f)
{
	enum clock_reason reason = f->header && !draft_empty(&f->draft) ? clocks_due(&f->clocks) : CLOCK_NONE;

	return reason ? write_clock(f, reason) : 0;
}

/*
 * Writes the draft, after the descriptions that its events need. With a filter, also processes are described that have
 * no event in the log. Returns 0 or a negative error number.
 */
static int write_draft(struct flush *f)
{
	int r = begin_if_cut(f);
	uint64_t discarded = output_position(&f->output)->discarded;

	if (r == 0)
		r = note_clock(f);
	if (r == 0)
		r = describe_more(&f->describe, &f->output, f->handle && !f->filter ? f->draft.pack : NULL);
	if (r == 0 && !draft_empty(&f->draft) && f->draft.next.sequence == output_position(&f->output)->sequence)
		r = output_segment(&f->output, &f->draft, f->lost);
	count_discarded(f, discarded);
	return r;
}

int flush_until(struct flush *f, uint64_t until)
{
	for (;;) {
		enum flush_step step;
		int r = 0;

		if (f->filter)
			f->filter->look(f->filter, f);
		if (f->handle)
			latch_acquire(&f->handle->lock);
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
			if (f->given_up)
				count_discarded(f, output_position(&f->output)->discarded);
			else
				r = write_draft(f);
			if (r < 0 || step == FLUSH_DONE)
				return r;
			break;
		}
	}
}

/* -- The end -------------------------------------------------------------------------------------------- */

void flush_give_up(struct flush *f)
{
	/* Drop each FLUSH_START and FLUSH_STOP: the events of the flush are not in the log either. */
	f->markers = 0;
	draft_abort(&f->draft);
	f->given_up = true;
	flush_until(f, UINT64_MAX);
	fetch_or(&f->stream->header->state, STATE_LOG_OVERRUN);
}

/* Returns the number of user events that are in the draft and not in the file. */
static uint64_t waiting(const struct flush *f)
{
	const struct log_mark *m = draft_mark(&f->draft);

	return m->sequence == output_position(&f->output)->sequence ? m->users : 0;
}

struct output_end flush_sum(struct flush *f)
{
	uint32_t state = load_relaxed(&f->stream->header->state);
	const struct log_mark *m = draft_mark(&f->draft);
	uint64_t left, abandoned = output_abandoned(&f->output, &left);
	bool overrun = f->lost > load_relaxed(&f->stream->header->lost_reported); /* as in lifecycle_status() */
	struct output_end end = {
		.lost = f->lost,
		.discarded = m->discarded,
		.unwritten = m->unwritten + waiting(f) + abandoned,
		.left_out = m->left_out,
		.events = output_position(&f->output)->events - left,
		.users = output_position(&f->output)->users - abandoned,
		.status = (state & STATE_FULL ? INDEX_STREAM_FULL : 0) | (overrun ? INDEX_STREAM_OVERRUN : 0) |
		          (state & STATE_LOG_OVERRUN ? INDEX_LOG_OVERRUN : 0) |
		          (state & STATE_LOG_FULL ? INDEX_LOG_FULL : 0),
		.flush_error = state >> STATE_ERROR_SHIFT,
		.unnamed = describe_unnamed(&f->describe),
	};

	if (end.unwritten)
		end.status |= INDEX_LOG_OVERRUN;
	return end;
}

/* Counts the user events left in the chunks of a stream in which nothing is recorded any more. */
static uint64_t left_in_chunks(const struct flush *f)
{
	uint64_t users = 0;

	for (uint32_t i = 0; i < f->stream->chunk_count; i++) {
		struct cursor cur = f->live->merge.cursor[i];
		struct chunk *c = &f->stream->chunks[i];

		for (bool have = cursor_look(&cur, f->stream, c); have; have = cursor_step(&cur, f->stream, c))
			users += !eventtype_system(cur.head.type & RECORD_TYPE_MASK);
	}
	return users;
}

int flush_tell(struct flush *f, int error)
{
	struct output_end end = flush_sum(f);

	if (error)
		end.flush_error = (uint32_t)error;
	/* The creator has died, and this process could not finish the log: all events in the chunks are unwritten. */
	if (!f->handle)
		end.unwritten += left_in_chunks(f);
	return output_tell(&f->output, &end);
}

int flush_end(struct flush *f)
{
	struct output_end end = flush_sum(f);
	int r = begin_if_cut(f);

	/* Without space for it, the log ends all the same. */
	if (r == 0 && f->header)
		write_clock(f, CLOCK_END);
	return r < 0 ? r : output_end(&f->output, &end);
}
