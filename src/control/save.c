/*
 * save.c - completes the log of a stream whose creator has died
 *
 * The creator has left the records in the chunks, the draft of a segment, and the
 * position of that segment in the log (shm/layout.h). A flush continues from
 * there. It runs in a thread of its own, because SIGXFSZ, which a thread gets that
 * writes to a file that is too long, must not reach the application.
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/save.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/atomic.h"
#include "base/helper.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "control/flush.h"
#include "log/input.h"
#include "shm/chunk.h"

struct rescue {
	const struct save *save;
	int log_fd;
	bool saved;
	struct log_state *own_state; /* see own_state() */
	/* For the flush: */
	struct stream stream;
	struct live live;
	struct registry names;
	struct flush flush;
};

/* -- Is there something to be saved, and can it be? ------------------------------------------ */

static bool state_valid(const struct stream *s)
{
	const struct log_state *state = s->log;

	/* A creator that was killed before output_plan() has left only zeros. */
	if (!state || state->size < output_size(s->log_policy, 0, s->data_size) ||
	    state->capacity > s->log_bytes - LOG_BODY_OFFSET - 8 ||
	    state->capacity < output_capacity(s->log_policy, state->size, s->data_size) ||
	    state->slot_size > UINT32_MAX ||
	    (s->log_policy == POSIX_TRACE_LOOP && (state->slot_size == 0 || state->slot_size > state->size)) ||
	    strnlen(state->path, sizeof state->path) == sizeof state->path ||
	    strnlen(state->names, sizeof state->names) == sizeof state->names)
		return false;
	for (int i = 0; i < 2; i++) {
		const struct log_position *p = &state->position[i];

		if (p->slots > LOG_SLOTS || (p->slots && p->slot >= p->slots) || p->slot_used > state->slot_size ||
		    p->end > INT64_MAX / 2 || p->end % FRAME_ALIGN || state->mark[i].position > state->capacity)
			return false;
		for (uint32_t slot = 0; slot < p->slots; slot++)
			if (p->slot_offset[slot] > p->end || p->slot_offset[slot] % FRAME_ALIGN)
				return false;
	}
	return true;
}

/* Returns true if the times can be added without overflow. An honest creator's times can, for some decades. */
static bool times_valid(const struct log_state *state)
{
	const int64_t far = INT64_MAX / 2;

	return state->created_monotonic >= 0 && state->created_monotonic <= far / 4 &&
	       state->real_time >= -far && state->real_time <= far &&
	       state->mark[0].last <= (uint64_t)far && state->mark[1].last <= (uint64_t)far;
}

/* Opens the file that the creator wrote to. Returns a descriptor or a negative error number. */
static int open_log(const struct save *save, const struct log_state *state)
{
	const char *path = save->log ? save->log : state->path;
	int fd = save->log || path[0] == '/' ?
	         sys_open(AT_FDCWD, path, O_RDWR | O_NONBLOCK | (save->log ? 0 : O_NOFOLLOW), 0) : -ENOENT;
	struct sys_stat st;

	if (fd < 0)
		return fd;
	if (sys_stat(fd, &st) == 0 && S_ISREG(st.mode) &&
	    sys_is_file(&st, state->inode, state->device_major, state->device_minor))
		return fd;
	sys_close(fd);
	return -ENOENT;
}

/* -- Going on ------------------------------------------------------------------------------------ */

/* Reads from the file what the creator had in memory for the index. Returns 0 or a negative error number. */
static int find_index(struct flush *f, struct input *in)
{
	const struct log_position *p = output_position(&f->output);
	struct frame frame;
	uint64_t at = in->begin;

	/* The log is written at position.sum, which a hostile process may have changed. */
	if (p->sum && p->sum != in->begin)
		return -EINVAL;
	while (at < p->end && input_frame(in, &frame, &at)) {
		int r = output_recall(&f->output, &frame, at);

		if (r < 0)
			return r;
		at += frame_bytes(frame.size);
	}
	/* After a read error, frames would be missing in the index. */
	return in->error;
}

/*
 * Counts the overwritten events: all recorded events except the consumed and the remaining ones. The count may be less
 * than the number in the log: the creator may have been killed while it cleared the stream, or may have given up
 * records (cursor_give_up()) that are still in the chunks and are about to be dropped.
 */
static void count_lost(struct flush *f)
{
	const struct merge *m = &f->live->merge;
	const struct log_position *p = output_position(&f->output);
	uint64_t known = p->lost + p->lost_base - load_relaxed(&f->stream->header->lost);
	uint32_t lost = 0 - draft_mark(&f->draft)->records;

	for (uint32_t i = 0; i < f->stream->chunk_count; i++)
		lost += m->cursor[i].next;
	f->lost_before = known + (uint64_t)(int32_t)(lost - (uint32_t)known);
}

/* Queues the STOP of a shutdown. Its time is unknown, so it gets the time of the last event. */
static void add_stop(struct flush *f)
{
	struct event stop = { .id = POSIX_TRACE_STOP, .ticks = f->live->last_ticks };

	if (!stop.ticks)
		stop.ticks = draft_mark(&f->draft)->last_ticks;
	if (!stop.ticks)
		stop.ticks = f->state->created_ticks;
	f->live->stop_call = stop;
	live_stop(f->live, stop.ticks);
}

/* Returns true if the log was complete with a correct index and has not changed: it stays as it is. */
static bool was_complete(const struct input *in, const struct flush *f, uint64_t end)
{
	const struct log_position *p = output_position(&f->output);

	return in->complete && p->end == end && in->events == p->events && in->lost == f->lost &&
	       in->discarded == p->discarded + draft_mark(&f->draft)->discarded;
}

/*
 * Continues the flush and completes the log. Everything may be in the log already, if a process was killed after it
 * completed the log and before it removed the stream. Returns 0 or a negative error number.
 */
static int go_on(struct rescue *r, const struct input *in)
{
	struct flush *f = &r->flush;
	uint64_t end = output_position(&f->output)->end;
	const struct log_mark *mark;
	int error;

	draft_recover(&f->draft, f->stream);
	TEST_POINT("save_recovered");
	mark = draft_mark(&f->draft);
	f->live->last_ticks = mark->last_ticks;
	/* With fewer clock samples than the creator's, times differ slightly. Report none before the log's last. */
	if (mark->last_ticks)
		f->live->merge.times.reported = (struct anchor){ mark->last_ticks, (int64_t)mark->last - f->real_time };
	count_lost(f);
	f->full = mark->full;
	error = flush_until(f, UINT64_MAX);
	if (error == 0 && (load_relaxed(&f->stream->header->state) & STATE_CUT)) {
		/* Cleared first: if this process is killed here, the log has no STOP, which is better than two. */
		fetch_and(&f->stream->header->state, ~STATE_CUT);
		TEST_POINT("save_stopped");
		add_stop(f);
		error = flush_until(f, UINT64_MAX);
	}
	if (error == 0 && !was_complete(in, f, end))
		error = flush_end(f);
	/* The stream stays, and the next process tries again. Until then the log says how much is missing. */
	if (error < 0)
		flush_tell(f, -error);
	if (error == 0)
		fetch_or(&f->stream->header->state, STATE_SAVED);
	TEST_POINT("save_ended");
	return error;
}

/* Opens the registry, for names that the log may lack. Returns 0 or a negative error number. */
static int find_names(struct rescue *r)
{
	int error = registry_find(r->save->dir, r->save->shm_dir, r->stream.log->names, &r->names);

	if (error == 0) {
		r->flush.describe.names = &r->names;
		later_init(&r->flush.describe.later, r->save->shm_dir, NULL, 0);
	}
	/*
	 * If the registry is gone or invalid, the log has only its present names. After other errors, try again later.
	 */
	return error == -ENOENT || error == -EINVAL || error == -EACCES ? 0 : error;
}

static int with_live(struct rescue *r, int fd, struct input *in)
{
	const struct log_state *state = r->stream.log;
	struct anchor created = { state->created_ticks, state->created_monotonic },
	              now = anchor_now(r->stream.clock_kind);
	struct gaps known = {
		.from = state->gap_from,
		.until = state->gap_until,
		.unsure_from = state->unsure_from,
		.unsure_until = state->unsure_until,
	};
	uint64_t lost = load_relaxed(&r->stream.header->lost_last);
	int error;

	/* The counter was reset, or the values are corrupt: times will be wrong, but will rise. */
	if (created.ticks >= now.ticks || created.monotonic > now.monotonic)
		created = now;
	error = live_init(&r->live, &r->stream, created);
	if (error)
		return -error;
	/* Single events may have been lost that the creator did not know of when it died. */
	if (lost > state->mark[state->mark_now & 1].last_ticks && lost > known.unsure_until) {
		known.unsure_from = 0;
		known.unsure_until = lost;
	}
	merge_resume(&r->live.merge, &known);
	error = flush_init(&r->flush, &r->stream, &r->live, r->stream.log, fd, true);
	if (error == 0) {
		r->flush.real_time = r->flush.describe.real_time = state->real_time;
		r->flush.describe.guarded = r->save->shm_dir->guarded;
		r->flush.describe.owner = r->save->shm_dir->owner;
		r->flush.describe.group = r->save->shm_dir->group;
		/* The stream's owner may have faked process ids, to learn what other users' processes execute. */
		if (r->save->shm_dir->guarded)
			r->flush.describe.strangers = true;
		error = find_names(r);
		if (error == 0)
			error = find_index(&r->flush, in);
		if (error == 0)
			error = go_on(r, in);
		if (r->flush.describe.names)
			registry_close(&r->names);
		flush_free(&r->flush);
	}
	live_free(&r->live);
	return error;
}

static bool with_log(struct rescue *r, int fd)
{
	struct log_state *state = r->stream.log;
	struct input *in = sys_map(sizeof *in, -1, 1);
	bool saved = false;
	int error;

	if (!in)
		return false;
	error = input_open_header(in, fd);
	if (error < 0) {
		/* With EINVAL the file is no log any more; with other errors it only cannot be read now. */
		saved = error == -EINVAL;
	} else {
		output_resume(state, in->log);
		if (in->log != state->position[state->position_now & 1].log)
			saved = true; /* the file contains another log now */
		else
			saved = with_live(r, fd, in) == 0;
		input_close(in);
	}
	sys_unmap(in, sizeof *in);
	return saved;
}

/* Returns true if the log is complete, or was never begun, or if its state is invalid. */
static bool nothing_to_save(const struct stream *s)
{
	return (load_relaxed(&s->header->state) & STATE_SAVED) || !state_valid(s) || !times_valid(s->log) ||
	       s->log->position[s->log->position_now & 1].log == 0;
}

static void *rescue(void *arg)
{
	struct rescue *r = arg;

	r->saved = with_log(r, r->log_fd);
	return NULL;
}

/*
 * Copies the log's state to private memory if a process with fewer rights could change the state after it is checked
 * (H18). The copy ends with this process: if the process is killed, events that it had consumed and not yet written are
 * missing. Returns false if there is no memory.
 */
static bool own_state(struct rescue *r)
{
	if (!r->save->shm_dir->guarded || !r->stream.log)
		return true;
	r->own_state = sys_map(r->stream.log_bytes, -1, 1);
	if (!r->own_state)
		return false;
	memcpy(r->own_state, r->stream.log, r->stream.log_bytes);
	r->stream.log = r->own_state;
	return true;
}

/*
 * Writes the log in a thread of its own. If the log is gone, no thread is created: such streams stay, and each create()
 * would do it again.
 */
static void write_log(struct rescue *r)
{
	pthread_t thread;

	r->log_fd = open_log(r->save, r->stream.log);
	if (r->log_fd >= 0) {
		if (helper_start(&thread, rescue, r) == 0)
			helper_join(thread);
		sys_close(r->log_fd);
	} else {
		/* A pipe has no path, and its data was read: done. A file may have been moved: keep the stream. */
		r->saved = !r->save->log && !r->stream.log->path[0];
	}
}

bool save_stream(int fd, void *save)
{
	struct rescue *r = sys_map(sizeof *r, -1, 1);
	bool saved;
	int error;

	if (!r)
		return false;
	r->save = save;
	error = stream_map_dead(fd, r->save->shm_dir, r->save->own_pidns, &r->stream);
	if (error < 0) {
		r->saved = error == -EINVAL; /* not a valid stream: nothing to save */
	} else {
		if (own_state(r)) {
			if (nothing_to_save(&r->stream))
				r->saved = true;
			else
				write_log(r);
		}
		if (r->own_state)
			sys_unmap(r->own_state, r->stream.log_bytes);
		stream_unmap(&r->stream);
	}
	saved = r->saved;
	sys_unmap(r, sizeof *r);
	return saved;
}
