/*
 * lifecycle.c - a stream's life: create, start, stop, clear, shut down
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/lifecycle.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "control/announce.h"
#include "control/filter.h"
#include "control/flusher.h"
#include "control/quiesce.h"
#include "control/recover.h"
#include "control/resume.h"
#include "host/file.h"
#include "host/fs_credentials.h"
#include "model/eventset.h"
#include "record/attach.h"
#include "record/emit.h"
#include "shm/chunk.h"
#include "shm/family.h"

/* How many serial numbers to try for a new stream's file. */
#define SERIAL_TRIES 64

/* How long exit() waits for a handle, in ms. */
#define EXIT_TRIES 100

/* -- Creation ---------------------------------------------------------------- */

/* Reads one moment on three clocks, to which all event times are relative, also if the clock is set later (H15). */
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

/*
 * First and last serial number of this process's streams, protected by the table's lock; 0: no stream yet. Numbers
 * start differently after each exec, so that all streams from the first to the last number are of the present image.
 */
static uint32_t serial_first, serial_last;

/*
 * Makes the stream's file with a free serial number. An image before an exec may have left files. Returns 0 or a
 * negative error number.
 */
static int make_stream(int dir, struct handle *h, const struct attr *attr, bool with_log, uint32_t turns)
{
	struct stream_origin origin = { .creator = h->entry.creator, .target = h->target.ident, .turns = turns };
	/* Without a log, log_size may be any number, even one that output_capacity() cannot divide. */
	uint32_t log_bytes = with_log ?
	                     stream_log_bytes(output_capacity(attr->log_policy, attr->log_size, attr->data_size)) : 0;
	int r = -EEXIST;

	for (int try = 0; try < SERIAL_TRIES && r == -EEXIST; try++) {
		/* An earlier image of this process, or a hostile process, made a file with this number: jump ahead. */
		if (try > 0 || !serial_last)
			serial_last = serial_first = (uint32_t)clock_ns(CLOCK_MONOTONIC) | 1;
		origin.serial = ++serial_last;
		r = stream_create(dir, &h->target.shm_dir, &origin, attr, log_bytes, &h->stream, &h->hold);
	}
	h->entry.serial = origin.serial;
	if (r == 0 && with_log)
		output_plan(h->stream.log, attr->log_policy, attr->log_size, attr->data_size);
	return r;
}

/* Removes the stream's file: by the directory's descriptor, or by path if no descriptor could be opened. */
static void remove_stream(struct handle *h, int dir)
{
	char name[FILE_NAME_SIZE];

	stream_name(name, h->entry.creator, h->entry.serial);
	if (dir >= 0)
		sys_unlink(dir, name);
	else
		file_unlink(&h->target.shm_dir, name);
	lock_release(&h->hold);
}

/*
 * Returns true if the user whose process is traced has more streams than TRACE_SYS_MAX. The new stream is counted too,
 * so that two streams made at the same time cannot exceed the limit. A controller with more rights than the user does
 * not count: the user may have faked streams to keep the controller out.
 */
static bool too_many(int dir, const struct shm_dir *shm_dir, const struct recover_own *own)
{
	/* Nearly always the directory has fewer entries than the limit. */
	return !shm_dir->guarded && file_count(dir) > TRACE_SYS_MAX &&
	       recover_count(dir, TRACE_SYS_MAX, own) > TRACE_SYS_MAX;
}

/* The file or pipe that receives a stream's log. */
struct log_file {
	int fd;
	bool seeks;
};

static int create_in(int dir, struct handle *h, const struct attr *attr, const struct log_file *log, uint32_t turns)
{
	struct recover_own own;
	struct anchor anchor;
	int error, r;

	/* A process that traces itself has determined its identity before. */
	if (h->target.self)
		h->entry.creator = self_process(h->target.self)->ident;
	else if ((r = ident_self(&h->entry.creator)) < 0)
		return -r;
	own = (struct recover_own){ h->entry.creator, serial_first, serial_last };
	recover_directory(dir, &h->target.shm_dir, h->entry.creator.pidns, serial_last ? &own : NULL);
	r = make_stream(dir, h, attr, log != NULL, turns);
	if (r < 0)
		return -r;
	TEST_POINT("create_made");
	/* A child does not use the mapping, and would only keep the memory. */
	sys_not_on_fork(h->stream.header, h->stream.size);
	error = EAGAIN;
	own = (struct recover_own){ h->entry.creator, serial_first, serial_last };
	if (too_many(dir, &h->target.shm_dir, &own))
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
	/* Processes that begin at the next clock tick or later inherit the stream; see lifecycle_create(). */
	h->entry.inherit_from = attr->inheritance == POSIX_TRACE_INHERITED ? ident_ticks() + 1 : 0;
	TEST_POINT("create_live");
	error = log ? flusher_start(h, log->fd, log->seeks) : 0;
	if (error)
		goto free_live;
	h->slot = procpage_enter(h->target.page, stream_thread_ref(&h->stream), &h->entry);
	if (h->slot < 0) {
		error = -h->slot;
		goto end_flusher;
	}
	TEST_POINT("create_entered");
	/* Attach now: at its first event the process may have no descriptor left. */
	if (h->target.self)
		attach_slot(h->target.self, h->target.page, h->slot);
	return 0;

end_flusher:
	if (h->flusher)
		flusher_end(h, NULL);
free_live:
	live_free(&h->live);
unmap_wanted:
	sys_unmap(h->wanted, wanted_size(&h->stream));
remove:
	remove_stream(h, dir);
	stream_unmap(&h->stream);
	return error;
}

/* What a stream traces. */
struct traced {
	pid_t pid;
	const struct target_user *user; /* as for target_open_for() */
	uint32_t turns;                 /* as in the stream's header */
};

static int create(struct handle *h, const struct traced *traced, const struct attr *attr, const struct log_file *log)
{
	int error = target_open_for(traced->pid, traced->user, &h->target), dir;
	struct fs_credentials fs_credentials;

	if (error)
		return error;
	fs_credentials_use(&fs_credentials, h->target.shm_dir.owner, h->target.shm_dir.group);
	dir = target_directory(&h->target);
	error = dir < 0 ? -dir : create_in(dir, h, attr, log, traced->turns);
	if (dir >= 0)
		sys_close(dir);
	fs_credentials_restore(&fs_credentials);
	if (!error && h->entry.inherit_from)
		target_inherits(&h->target, true);
	if (error)
		target_close(&h->target);
	return error;
}

static int create_checked(const struct traced *traced, const trace_attr_t *attr, const int *log, trace_id_t *trid)
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
		/* Use the actual size: every log has room for the largest event. */
		a->log_size = output_size(a->log_policy, a->log_size, a->data_size);
	}
	if (!handle_table_lock())
		return ENOMEM;
	h = handle_new(HANDLE_ACTIVE);
	error = h ? create(h, traced, a, log ? &file : NULL) : EAGAIN;
	if (!error)
		*trid = handle_publish(h);
	else if (h)
		handle_free(h);
	TEST_POINT("create_published");
	handle_table_unlock();
	/* Processes forked after this call inherit the stream; processes forked before it do not (INH-5). */
	if (!error && a->inheritance == POSIX_TRACE_INHERITED)
		ident_next_tick();
	return error;
}

int lifecycle_create(pid_t pid, const trace_attr_t *attr, const int *log, uint32_t turns, trace_id_t *trid)
{
	const struct traced traced = { .pid = pid, .turns = turns };

	return create_checked(&traced, attr, log, trid);
}

int lifecycle_create_for(pid_t pid, const struct target_user *user, const trace_attr_t *attr, int log,
                         trace_id_t *trid)
{
	const struct traced traced = { .pid = pid, .user = user };

	return create_checked(&traced, attr, &log, trid);
}

/* -- Start and stop ------------------------------------------------------------ */

/* Makes the stream as full as if a trace point had found no room. */
static void become_full(struct handle *h, uint32_t state)
{
	if (h->stream.stream_policy != POSIX_TRACE_LOOP)
		state |= STATE_LOSING;
	fetch_or(&h->stream.header->state, state);
	emit_wake(h->stream.header);
}

/* Notes a STOP that finds no room in the stream, so that the reader reports it in its place. */
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
		resume_note_stop(h);
		/* "Full: no event, status unchanged"; the stream starts when it has been read. */
		fetch_or(&header->state, STATE_ARMED);
		return 0;
	}
	/* A STOP that the reader has not reported yet is reported before this START. */
	if (h->live.stop_reported) {
		store_relaxed(&header->stopped_ticks, 0);
		h->live.stop_reported = 0;
	} else if (load_relaxed(&header->stopped_ticks)) {
		h->live.stop_before = ticks_read(h->stream.clock_kind);
	}
	filter_load(h, &set);
	TEST_POINT("start_filter");
	h->live.start_waits = !announce(h, true, POSIX_TRACE_START, &set, sizeof set, address);
	if (h->live.start_waits)
		become_full(h, STATE_FULL | STATE_ARMED);
	else
		fetch_or(&header->state, STATE_RUNNING);
	TEST_POINT("start_done");
	return 0;
}

int lifecycle_stop(struct handle *h, const void *address)
{
	struct stream_header *header = h->stream.header;
	uint32_t state;
	int by_call = 0;

	fetch_add(&header->stops, 1);
	TEST_POINT("stop_counted");
	state = fetch_and(&header->state, ~(STATE_RUNNING | STATE_ARMED)); /* PAIR(seam) */
	if (!(state & STATE_RUNNING))
		return 0; /* already suspended; if stopped by itself, will not restart. While full, goes on losing */
	TEST_POINT("stop_state");
	quiesce(h);
	TEST_POINT("stop_quiet");
	if (!announce(h, true, POSIX_TRACE_STOP, &by_call, sizeof by_call, address))
		stop_without_room(h, address);
	TEST_POINT("stop_recorded");
	return 0;
}

/* -- Clear and status -------------------------------------------------------------- */

/*
 * Returns how many of the stream's lost events belong to earlier contents of its log. The flusher changes the log's
 * position at any time, so the value is that of flusher_clear(), with the handle locked.
 */
static uint64_t lost_base(const struct handle *h)
{
	return h->flusher ? h->flusher->flush.output.lost_base : 0;
}

/* Clears the stream. reported: as for lifecycle_clear(). Returns the number that lost_base() is to return. */
static uint64_t clear(struct handle *h, const void *address, const uint64_t *reported)
{
	struct stream_header *header = h->stream.header;
	uint64_t base = lost_base(h), overwritten;
	trace_event_set_t sets[2];
	bool running;

	fetch_add(&header->stops, 1);
	running = fetch_and(&header->state, ~STATE_RUNNING) & STATE_RUNNING; /* PAIR(seam) */
	quiesce(h);
	TEST_POINT("clear_quiet");
	for (uint32_t i = 0; i < h->stream.chunk_count; i++) {
		struct chunk *c = &h->stream.chunks[i];

		if (!chunk_trylock(&h->stream, c, stream_thread_ref(&h->stream), true))
			continue;
		if (!owner_is(load_relaxed(&c->owner)))
			chunk_recycle(&h->stream, c);
		chunk_unlock(c);
	}
	overwritten = merge_lost(&h->live.merge);
	live_reset(&h->live, creation_moment(h->stream.clock_kind, &h->attr, &h->real_time));
	h->type_next = 0;
	TEST_POINT("clear_reset");
	if (reported) {
		/* The count goes on. A writer may count an event long after it has found the stream full. */
		base += *reported > overwritten ? *reported - overwritten : 0;
	} else {
		store_relaxed(&header->lost, 0);
		base = 0;
	}
	store_relaxed(&header->lost_ticks, 0);
	store_relaxed(&header->lost_last, 0);
	store_relaxed(&header->lost_reported, 0);
	store_relaxed(&header->stopped_ticks, 0);
	fetch_and(&header->state,
	          ~(STATE_FULL | STATE_ARMED | STATE_LOSING | STATE_OVERRUN | UINT32_MAX << STATE_ERROR_SHIFT));

	TEST_POINT("clear_filter");
	filter_load(h, &sets[0]);
	eventset_empty(&sets[1]);
	if (running && !eventset_is_empty(&sets[0]))
		/* Cannot fail: the stream is empty. */
		announce(h, true, POSIX_TRACE_FILTER, sets, sizeof sets, address);
	filter_store(h, &sets[1]);
	if (running)
		fetch_or(&header->state, STATE_RUNNING);
	return base;
}

int lifecycle_clear(trace_id_t trid, const void *address, const uint64_t *reported)
{
	struct handle *h = handle_get(trid, HANDLE_ACTIVE);
	uint64_t base = 0;
	int error = 0;

	if (!h)
		return EINVAL;
	if (h->flusher)
		flusher_pause(h);
	latch_acquire(&h->lock);
	if (handle_works(h))
		base = clear(h, address, reported);
	else
		error = EINVAL;
	if (h->flusher) {
		int log = flusher_clear(h, base);

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
	/*
	 * One atomic step: the members are consistent, and no overrun or error is lost between reading and resetting.
	 */
	uint32_t state = fetch_and(&header->state,
	                           ~(STATE_OVERRUN | STATE_LOG_OVERRUN | UINT32_MAX << STATE_ERROR_SHIFT));
	uint64_t lost = load_relaxed(&header->lost) - lost_base(h) + merge_lost(&h->live.merge);

	memset(status, 0, sizeof *status);
	status->posix_stream_status = state & STATE_RUNNING ? POSIX_TRACE_RUNNING : POSIX_TRACE_SUSPENDED;
	status->posix_stream_full_status = state & STATE_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL;
	/* Not by STATE_OVERRUN: the count rises before the bit is set, and the writer may be killed in between. */
	status->posix_stream_overrun_status =
	        lost > load_relaxed(&header->lost_reported) ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN;
	status->posix_stream_flush_status = state & STATE_FLUSHING ? POSIX_TRACE_FLUSHING : POSIX_TRACE_NOT_FLUSHING;
	status->posix_stream_flush_error = (int)(state >> STATE_ERROR_SHIFT);
	status->posix_log_overrun_status = state & STATE_LOG_OVERRUN ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN;
	status->posix_log_full_status = state & STATE_LOG_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL;
	status->__posix_lost_events = lost;
	store_relaxed(&header->lost_reported, lost);
	return 0;
}

/* -- Shutdown ------------------------------------------------------------------------ */

/* Removes the stream from all process pages, and removes its file. wait: until this process's threads have left it. */
static void withdraw(struct handle *h, bool wait)
{
	struct target *t = &h->target;
	struct fs_credentials fs_credentials;
	bool left;
	int dir, slot;

	fs_credentials_use(&fs_credentials, t->shm_dir.owner, t->shm_dir.group);
	dir = target_directory(t);
	/* If the process has become another user, it has a new page, and the stream may have another slot there. */
	if (t->self && (slot = procpage_find(t->page, &h->entry)) >= 0)
		h->slot = slot;
	left = procpage_leave(t->page, h->slot, stream_thread_ref(&h->stream), &h->entry);

	TEST_POINT("shutdown_left");
	if (wait && t->self)
		attach_detach(t->self, h->slot);
	TEST_POINT("shutdown_detached");
	if (left)
		procpage_free(t->page, h->slot);
	if (h->entry.inherit_from && dir >= 0)
		procpage_forget(dir, &t->shm_dir, h->entry.creator.pidns, &h->entry, false);
	TEST_POINT("shutdown_forgotten");
	remove_stream(h, dir);
	TEST_POINT("shutdown_removed");
	if (dir >= 0)
		sys_close(dir);
	fs_credentials_restore(&fs_credentials);
	if (h->entry.inherit_from && !family_passes_on(t->page))
		target_inherits(t, false);
}

int lifecycle_shutdown(trace_id_t trid, const void *address, struct output_end *sum)
{
	struct handle *h = handle_end(trid, HANDLE_ACTIVE);
	int error = 0;

	if (!h)
		return EINVAL;
	/* No other call uses the handle, but the flusher may. */
	latch_acquire(&h->lock);
	lifecycle_stop(h, address);
	latch_release(&h->lock);
	TEST_POINT("shutdown_stopped");
	if (h->flusher)
		error = flusher_end(h, sum);
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

/* Stops the stream and completes its log. Returns false if other threads do not let go of the stream in time. */
static bool end_log(struct handle *h)
{
	/* The lock may be held by a thread that exit() has interrupted, so the wait is limited. */
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
 * Ends a stream at exit. Removes its file; the memory stays, because other
 * threads and the destructors of other libraries may still be tracing (H9). A
 * forked child finds an empty table, and so ends no stream of its parent (H1).
 */
static void end(struct handle *h)
{
	/* If the log cannot be completed now, a later process does it, as if this process had been killed. */
	if (h->flusher && !end_log(h))
		return;
	fetch_add(&h->stream.header->stops, 1);
	fetch_and(&h->stream.header->state, ~(STATE_RUNNING | STATE_ARMED | STATE_LOSING)); /* PAIR(seam) */
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
