/*
 * lifecycle.c - a stream's life: create, start, stop, clear, shut down
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/lifecycle.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/file.h"
#include "base/guise.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "control/announce.h"
#include "control/filter.h"
#include "control/flusher.h"
#include "control/quiesce.h"
#include "control/recover.h"
#include "model/eventset.h"
#include "record/attach.h"
#include "record/emit.h"
#include "shm/chunk.h"
#include "shm/family.h"

/* How long exit() waits for a handle, in ms. */
#define EXIT_TRIES 100

/* -- Creation ---------------------------------------------------------------- */

/* One moment on three clocks: the anchor of all event times, also if the realtime clock is set later (H15). */
static struct anchor creation_moment(uint32_t clock_kind, struct attr *attr, int64_t *real_time)
{
	int64_t best = INT64_MAX, real;
	struct anchor anchor;

	for (int i = 0; i < 3; i++) {
		int64_t before = clock_ns(CLOCK_MONOTONIC), r = clock_ns(CLOCK_REALTIME),
		        after = clock_ns(CLOCK_MONOTONIC);

		if (after - before < best) {
			best = after - before;
			*real_time = r - (before + (after - before) / 2);
		}
	}
	anchor = anchor_now(clock_kind);
	real = anchor.monotonic + *real_time;
	attr->create_sec = real / NS_PER_S;
	attr->create_nsec = real % NS_PER_S;
	return anchor;
}

static size_t wanted_size(const struct stream *s)
{
	return s->chunk_count * sizeof(uint64_t);
}

/* A stream's file under the first serial number that is free: an image before an exec may have left some. */
static int make_stream(int dir, struct handle *h, const struct attr *attr, bool with_log)
{
	static uint32_t last_serial;
	struct stream_origin origin = { h->entry.creator, h->target.ident, 0 };
	/* Without a log its size is whatever the attribute says: nothing that could be divided. */
	uint32_t log_bytes = with_log ? stream_log_bytes(output_capacity(attr->log_policy, attr->log_size, attr->data_size)) : 0;
	int r;

	do {
		origin.serial = fetch_add(&last_serial, 1) + 1;
		r = stream_create(dir, &h->target.place, &origin, attr, log_bytes, &h->stream, &h->hold);
	} while (r == -EEXIST);
	h->entry.serial = origin.serial;
	if (r == 0 && with_log)
		output_plan(h->stream.log, attr->log_policy, attr->log_size, attr->data_size);
	return r;
}

/* The file, by descriptor or, if there is none left, by path: the name is ours alone. */
static void remove_stream(struct handle *h, int dir)
{
	char name[FILE_NAME_SIZE];

	stream_name(name, h->entry.creator, h->entry.serial);
	if (dir >= 0)
		sys_unlink(dir, name);
	else
		file_unlink(&h->target.place, name);
	lock_release(&h->hold);
}

/* More than there may be? Ours is counted, so of two at the same time none is too many. */
static bool too_many(int dir, const struct place *place)
{
	struct sys_stat st;
	int streams;

	/* Nearly always there are not even as many files. */
	if (file_count_all(place) <= TRACE_SYS_MAX)
		return false;
	streams = sys_stat(dir, &st) < 0 ? -1 : lock_count_streams(st.device_major, st.device_minor);
	/* Those of this user for sure, whatever the kernel's list may miss, or not tell. */
	return streams > TRACE_SYS_MAX || recover_count(dir) > TRACE_SYS_MAX;
}

/* What a stream's log is to be written to. */
struct log_file {
	int fd;
	bool seeks;
};

static int create_in(int dir, struct handle *h, const struct attr *attr, const struct log_file *log)
{
	struct anchor anchor;
	int error, r;

	/* Who traces itself has asked before. */
	if (h->target.self)
		h->entry.creator = self_process(h->target.self)->ident;
	else if ((r = ident_self(&h->entry.creator)) < 0)
		return -r;
	recover_directory(dir, &h->target.place, h->entry.creator.space);
	r = make_stream(dir, h, attr, log != NULL);
	if (r < 0)
		return -r;
	TEST_POINT("create_made");
	/* A child has no use for it, and would keep the memory. */
	sys_not_on_fork(h->stream.header, h->stream.size);
	error = EAGAIN;
	if (too_many(dir, &h->target.place))
		goto remove;
	TEST_POINT("create_counted");
	error = ENOMEM;
	h->wanted = sys_map(wanted_size(&h->stream), -1, 1);
	if (!h->wanted)
		goto remove;
	h->attr = *attr;
	h->attr.stream_size = h->stream.made_size;
	h->attr.stream_policy = h->stream.stream_policy;
	anchor = creation_moment(h->stream.clock_kind, &h->attr, &h->real_time);
	error = live_init(&h->live, &h->stream, anchor);
	if (error)
		goto unmap_wanted;
	/* Processes that begin from the next clock tick on inherit it; see lifecycle_create(). */
	h->entry.inherit_from = attr->inheritance == POSIX_TRACE_INHERITED ? ident_ticks() + 1 : 0;
	TEST_POINT("create_live");
	error = log ? flusher_start(h, log->fd, log->seeks) : 0;
	if (error)
		goto free_live;
	h->slot = procpage_enter(h->target.page, stream_who(&h->stream), &h->entry);
	if (h->slot < 0) {
		error = -h->slot;
		goto end_flusher;
	}
	TEST_POINT("create_entered");
	/* Now, while it can be done: at its first event the process may have no descriptor left. */
	if (h->target.self)
		attach_slot(h->target.self, h->target.page, h->slot);
	return 0;

end_flusher:
	if (h->flusher)
		flusher_end(h);
free_live:
	live_free(&h->live);
unmap_wanted:
	sys_unmap(h->wanted, wanted_size(&h->stream));
remove:
	remove_stream(h, dir);
	stream_unmap(&h->stream);
	return error;
}

static int create(struct handle *h, pid_t pid, const struct attr *attr, const struct log_file *log)
{
	int error = target_open(pid, &h->target), dir;
	struct guise guise;

	if (error)
		return error;
	guise_put_on(&guise, h->target.place.owner, h->target.place.group);
	dir = target_directory(&h->target);
	error = dir < 0 ? -dir : create_in(dir, h, attr, log);
	if (dir >= 0)
		sys_close(dir);
	guise_take_off(&guise);
	if (!error && h->entry.inherit_from)
		target_inherits(&h->target, true);
	if (error)
		target_close(&h->target);
	return error;
}

int lifecycle_create(pid_t pid, const trace_attr_t *attr, const int *log, trace_id_t *trid)
{
	const struct attr *given = attr_get_const(attr);
	struct log_file file = { .fd = -1 };
	struct attr own, *a = &own;
	struct handle *h;
	int error;

	if (attr && !given)
		return EINVAL;
	if (given)
		own = *given;
	else
		attr_init(&own);
	if (!attr_valid(a, log != NULL))
		return EINVAL;
	if (log) {
		file.fd = *log;
		error = -output_possible(file.fd, a->log_policy, &file.seeks);
		if (error)
			return error;
		/* As in use: no log is so small that the largest event has no room in it. */
		a->log_size = output_size(a->log_policy, a->log_size, a->data_size);
	}
	if (!handle_table_lock())
		return ENOMEM;
	h = handle_new();
	error = h ? create(h, pid, a, log ? &file : NULL) : EAGAIN;
	if (!error)
		*trid = handle_publish(h);
	else if (h)
		handle_free(h);
	TEST_POINT("create_published");
	handle_table_unlock();
	/* What is forked after this call inherits the stream, what was forked before it does not (INH-5). */
	if (!error && a->inheritance == POSIX_TRACE_INHERITED)
		ident_next_tick();
	return error;
}

/* -- Start and stop ------------------------------------------------------------ */

/* The stream is as full as if a trace point had found it so. */
static void become_full(struct handle *h, uint32_t state)
{
	fetch_or(&h->stream.header->state, state);
	emit_wake(h->stream.header);
}

/* A stop that finds no room is told of by the reader, in its place. */
static void stop_without_room(struct handle *h, const void *address)
{
	uint64_t none = 0;

	h->live.stop_call = announce_origin(h, address);
	h->live.stop_call.id = POSIX_TRACE_STOP;
	cas(&h->stream.header->stopped_ticks, &none, ticks_read(h->stream.clock_kind));
	become_full(h, STATE_FULL);
}

int lifecycle_start(struct handle *h, const void *address)
{
	struct stream_header *header = h->stream.header;
	uint32_t state = load_relaxed(&header->state);
	trace_event_set_t set;

	if (state & (STATE_RUNNING | STATE_ARMED))
		return 0;
	if ((state & STATE_FULL) && h->stream.stream_policy != POSIX_TRACE_LOOP) {
		/* "Full: no event, status unchanged"; it starts when it has been read. */
		fetch_or(&header->state, STATE_ARMED);
		return 0;
	}
	/* A stop that was found too late to be recorded is told before this start. */
	if (h->live.stop_told) {
		store_relaxed(&header->stopped_ticks, 0);
		h->live.stop_told = 0;
	} else if (load_relaxed(&header->stopped_ticks)) {
		h->live.stop_before = ticks_read(h->stream.clock_kind);
	}
	filter_load(h, &set);
	TEST_POINT("start_filter");
	if (announce(h, true, POSIX_TRACE_START, &set, sizeof set, address))
		fetch_or(&header->state, STATE_RUNNING);
	else
		become_full(h, STATE_FULL | STATE_ARMED);
	TEST_POINT("start_done");
	return 0;
}

int lifecycle_stop(struct handle *h, const void *address)
{
	struct stream_header *header = h->stream.header;
	uint32_t state = fetch_and(&header->state, ~(STATE_RUNNING | STATE_ARMED));
	int by_call = 0;

	if (!(state & STATE_RUNNING))
		return 0; /* suspended; if it had stopped by itself, it will not restart */
	TEST_POINT("stop_state");
	quiesce(h);
	TEST_POINT("stop_quiet");
	if (!announce(h, true, POSIX_TRACE_STOP, &by_call, sizeof by_call, address))
		stop_without_room(h, address);
	TEST_POINT("stop_recorded");
	return 0;
}

void lifecycle_drained(struct handle *h)
{
	struct stream_header *header = h->stream.header;
	uint32_t state = load_relaxed(&header->state);
	trace_event_set_t set;
	uint64_t stopped, started;
	bool by_itself;

	if (state & STATE_RUNNING)
		return;
	quiesce(h);
	if (!live_empty(&h->live))
		return;
	stopped = load_relaxed(&header->stopped_ticks);
	if (stopped)
		live_stopped(&h->live, stopped);
	/* It has to be in the log before it goes on: should this process be killed, nobody else would know. */
	if (h->flusher && !live_empty(&h->live))
		return;
	store_relaxed(&header->stopped_ticks, 0);
	h->live.stop_told = 0;
	TEST_POINT("drained_ticks");
	by_itself = stopped && h->live.stop_value;
	if (state & STATE_ARMED) {
		started = ticks_read(h->stream.clock_kind);
		/* What was lost while the log was written is told in the log (SYS-20). */
		if (by_itself && h->stream.stream_policy == POSIX_TRACE_FLUSH)
			live_gap(&h->live, stopped, started);
		filter_load(h, &set);
		live_start(&h->live, &set, started);
		/* In one step: an event that found it neither running nor armed would be lost and not counted. */
		while (!cas(&header->state, &state, (state & ~(STATE_FULL | STATE_ARMED)) | STATE_RUNNING))
			;
		TEST_POINT("drained_started");
	} else {
		fetch_and(&header->state, ~STATE_FULL);
	}
}

void lifecycle_read(struct handle *h)
{
	struct stream_header *header = h->stream.header;
	uint32_t state = load_relaxed(&header->state);

	if (!(state & STATE_FULL) || (state & STATE_ARMED))
		return;
	for (uint32_t i = 0; i < h->stream.chunk_count; i++) {
		struct chunk *c = &h->stream.chunks[i];
		uint64_t p = load_acquire(&c->progress); /* PAIR(commit) */

		if (!owner_is(load_relaxed(&c->owner)) && chunk_unread(c, p) == 0) {
			fetch_and(&header->state, ~STATE_FULL);
			return;
		}
	}
	if (live_empty(&h->live))
		fetch_and(&header->state, ~STATE_FULL);
}

/* -- Clear and status -------------------------------------------------------------- */

static void clear(struct handle *h, const void *address)
{
	struct stream_header *header = h->stream.header;
	bool running = fetch_and(&header->state, ~STATE_RUNNING) & STATE_RUNNING;
	trace_event_set_t sets[2];

	quiesce(h);
	TEST_POINT("clear_quiet");
	for (uint32_t i = 0; i < h->stream.chunk_count; i++) {
		struct chunk *c = &h->stream.chunks[i];

		if (!chunk_claim(&h->stream, c, stream_who(&h->stream), true))
			continue;
		if (!owner_is(load_relaxed(&c->owner)))
			chunk_recycle(&h->stream, c);
		chunk_unclaim(c);
	}
	live_reset(&h->live, creation_moment(h->stream.clock_kind, &h->attr, &h->real_time));
	h->type_next = 0;
	TEST_POINT("clear_reset");
	store_relaxed(&header->lost, 0);
	store_relaxed(&header->lost_ticks, 0);
	store_relaxed(&header->lost_last, 0);
	store_relaxed(&header->lost_told, 0);
	store_relaxed(&header->stopped_ticks, 0);
	fetch_and(&header->state, ~(STATE_FULL | STATE_ARMED | STATE_OVERRUN | UINT32_MAX << STATE_ERROR_SHIFT));

	TEST_POINT("clear_filter");
	filter_load(h, &sets[0]);
	eventset_empty(&sets[1]);
	if (running && !eventset_is_empty(&sets[0]))
		announce(h, true, POSIX_TRACE_FILTER, sets, sizeof sets, address); /* cannot fail: the stream is empty */
	filter_store(h, &sets[1]);
	if (running)
		fetch_or(&header->state, STATE_RUNNING);
}

int lifecycle_clear(trace_id_t trid, const void *address)
{
	struct handle *h = handle_get(trid, HANDLE_ACTIVE);
	int error = 0;

	if (!h)
		return EINVAL;
	if (h->flusher)
		flusher_pause(h);
	latch_take(&h->lock);
	if (handle_works(h))
		clear(h, address);
	else
		error = EINVAL;
	if (h->flusher) {
		int log = flusher_clear(h);

		error = error ? error : log;
	}
	latch_release(&h->lock);
	handle_put(h);
	return error;
}

int lifecycle_flush(trace_id_t trid, const void *address)
{
	struct handle *h = handle_get(trid, HANDLE_ACTIVE);
	int error = EINVAL;

	if (h && h->flusher && handle_works(h)) {
		struct event caller = announce_origin(h, address);

		error = flusher_flush(h, &caller);
	}
	if (h)
		handle_put(h);
	return error;
}

int lifecycle_status(struct handle *h, struct posix_trace_status_info *status)
{
	struct stream_header *header = h->stream.header;
	/* One word, so the members fit together, and no log overrun or error is forgotten between reading and resetting. */
	uint32_t state = fetch_and(&header->state, ~(STATE_OVERRUN | STATE_LOG_OVERRUN | UINT32_MAX << STATE_ERROR_SHIFT));
	uint64_t lost = load_relaxed(&header->lost) + merge_lost(&h->live.merge);

	memset(status, 0, sizeof *status);
	status->posix_stream_status = state & STATE_RUNNING ? POSIX_TRACE_RUNNING : POSIX_TRACE_SUSPENDED;
	status->posix_stream_full_status = state & STATE_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL;
	/* Not by the bit: the number has risen before it is set, and whoever sets it may be killed in between. */
	status->posix_stream_overrun_status = lost > load_relaxed(&header->lost_told) ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN;
	status->posix_stream_flush_status = state & STATE_FLUSHING ? POSIX_TRACE_FLUSHING : POSIX_TRACE_NOT_FLUSHING;
	status->posix_stream_flush_error = (int)(state >> STATE_ERROR_SHIFT);
	status->posix_log_overrun_status = state & STATE_LOG_OVERRUN ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN;
	status->posix_log_full_status = state & STATE_LOG_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL;
	status->__posix_lost_events = lost;
	store_relaxed(&header->lost_told, lost);
	return 0;
}

/* -- Shutdown ------------------------------------------------------------------------ */

/* Takes it out of the pages that have it, and its file away. */
static void withdraw(struct handle *h, bool wait)
{
	struct target *t = &h->target;
	struct guise guise;
	bool left;
	int dir;

	guise_put_on(&guise, t->place.owner, t->place.group);
	dir = target_directory(t);
	left = procpage_leave(t->page, h->slot, stream_who(&h->stream), &h->entry);

	TEST_POINT("shutdown_left");
	if (wait && t->self)
		attach_detach(t->self, h->slot);
	TEST_POINT("shutdown_detached");
	if (left)
		procpage_free(t->page, h->slot);
	if (h->entry.inherit_from && dir >= 0)
		procpage_forget(dir, &t->place, h->entry.creator.space, &h->entry);
	TEST_POINT("shutdown_forgotten");
	remove_stream(h, dir);
	TEST_POINT("shutdown_removed");
	if (dir >= 0)
		sys_close(dir);
	guise_take_off(&guise);
	if (h->entry.inherit_from && !family_passes_on(t->page))
		target_inherits(t, false);
}

int lifecycle_shutdown(trace_id_t trid, const void *address)
{
	struct handle *h = handle_end(trid, HANDLE_ACTIVE);
	int error = 0;

	if (!h)
		return EINVAL;
	/* There is no other call, but there may be a flusher. */
	latch_take(&h->lock);
	lifecycle_stop(h, address);
	latch_release(&h->lock);
	TEST_POINT("shutdown_stopped");
	if (h->flusher)
		error = flusher_end(h);
	fetch_or(&h->stream.header->state, STATE_ENDED);
	TEST_POINT("shutdown_ended");
	withdraw(h, true);
	live_free(&h->live);
	sys_unmap(h->wanted, wanted_size(&h->stream));
	stream_unmap(&h->stream);
	TEST_POINT("shutdown_unmapped");
	target_close(&h->target);
	TEST_POINT("shutdown_closed");
	if (handle_table_lock()) {
		handle_free(h);
		handle_table_unlock();
	}
	return error;
}

/* The STOP of a shutdown, and all that the log lacks. */
static bool end_log(struct handle *h)
{
	/* Who holds it may be a thread that exit() has interrupted. */
	for (int i = 0; !latch_try(&h->lock); i++) {
		if (i == EXIT_TRIES)
			return false;
		sys_sleep_ns(1000000);
	}
	lifecycle_stop(h, NULL);
	latch_release(&h->lock);
	return flusher_try_end(h);
}

/*
 * At exit the files go; the memory stays, because other threads and the
 * destructors of other libraries may still be tracing (H9). In a forked child
 * there is nothing of the parent's to be found here (H1).
 */
static void end(struct handle *h)
{
	/* What cannot be brought to its log now stays for whoever comes next, as if this process had been killed. */
	if (h->flusher && !end_log(h))
		return;
	fetch_and(&h->stream.header->state, ~(STATE_RUNNING | STATE_ARMED));
	TEST_POINT("exit_stopped");
	fetch_or(&h->stream.header->state, STATE_ENDED);
	withdraw(h, false);
	TEST_POINT("exit_withdrawn");
	target_leave(&h->target);
}

__attribute__((destructor)) static void leave(void)
{
	struct self *self;

	handle_end_all(end);
	TEST_POINT("exit_streams");
	self = self_peek();
	if (self && self_process(self)->ident.pid == (uint32_t)sys_getpid())
		self_leave(self);
}
