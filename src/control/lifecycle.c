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
#include "base/sys.h"
#include "control/announce.h"
#include "control/filter.h"
#include "control/permit.h"
#include "control/quiesce.h"
#include "control/recover.h"
#include "model/eventset.h"
#include "record/attach.h"
#include "record/emit.h"
#include "shm/chunk.h"

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
static int make_stream(int dir, struct handle *h, const struct attr *attr)
{
	static uint32_t last_serial;
	struct stream_origin origin = { h->process->ident, ident_image(), h->process->ident, 0 };
	int r;

	do {
		origin.serial = fetch_add(&last_serial, 1) + 1;
		r = stream_create(dir, &origin, attr, false, &h->stream);
	} while (r == -EEXIST);
	h->serial = origin.serial;
	return r;
}

static int create(struct handle *h, const struct attr *attr)
{
	struct anchor anchor;
	int dir, error = 0, r;

	/* The names first: the stream's mapping has them from the start (CREATE-26), and a fork handler comes with them. */
	if (!self_registry())
		return ENOMEM;
	h->self = self_get(true, &error);
	if (!h->self)
		return error;
	h->process = self_process(h->self);
	h->uid = sys_geteuid(); /* the process may become another user (H20) */
	dir = file_directory(true);
	if (dir < 0)
		return -dir;
	if (recover_directory(dir) >= TRACE_SYS_MAX) {
		error = EAGAIN;
		goto close;
	}
	r = make_stream(dir, h, attr);
	if (r < 0) {
		error = -r;
		goto close;
	}
	h->wanted = sys_map(wanted_size(&h->stream), -1, 1);
	if (!h->wanted) {
		error = ENOMEM;
		goto unlink;
	}
	h->attr = *attr;
	h->attr.stream_size = h->stream.header->stream_size;
	h->attr.stream_policy = h->stream.header->stream_policy;
	anchor = creation_moment(h->stream.clock_kind, &h->attr, &h->real_time);
	error = live_init(&h->live, &h->stream, anchor);
	if (error)
		goto unmap_wanted;
	h->slot = procpage_enter(h->process->page, h->process->ident, h->serial);
	if (h->slot < 0) {
		error = -h->slot;
		goto free_live;
	}
	/* Now, while it can be done: at its first event the process may have no descriptor left. */
	attach_slot(h->self, h->process->page, h->slot);
	sys_close(dir);
	return 0;

free_live:
	live_free(&h->live);
unmap_wanted:
	sys_unmap(h->wanted, wanted_size(&h->stream));
unlink:
	stream_unlink(h->uid, h->process->ident, h->serial);
	stream_unmap(&h->stream);
close:
	sys_close(dir);
	return error;
}

int lifecycle_create(pid_t pid, const trace_attr_t *attr, trace_id_t *trid)
{
	struct attr defaults;
	const struct attr *a = attr_get_const(attr);
	struct handle *h;
	int error;

	if (!attr) {
		attr_init(&defaults);
		a = &defaults;
	}
	if (!a || !attr_valid(a, false))
		return EINVAL;
	error = permit(pid);
	if (error)
		return error;
	if (!handle_table_lock())
		return ENOMEM;
	h = handle_new();
	error = h ? create(h, a) : EAGAIN;
	if (!error)
		*trid = handle_publish(h);
	else if (h)
		handle_free(h);
	handle_table_unlock();
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
	struct writer w = announce_caller(h);
	uint64_t none = 0;

	h->live.stop_call = (struct event){
		.id = POSIX_TRACE_STOP,
		.pid = w.pid,
		.tid = w.tid,
		.pthread = w.pthread,
		.address = (uint64_t)(uintptr_t)address,
	};
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
	if ((state & STATE_FULL) && header->stream_policy != POSIX_TRACE_LOOP) {
		/* "Full: no event, status unchanged"; it starts when it has been read. */
		fetch_or(&header->state, STATE_ARMED);
		return 0;
	}
	/* A stop that was found too late to be recorded is told before this start. */
	if (load_relaxed(&header->stopped_ticks))
		h->live.stop_before = ticks_read(h->stream.clock_kind);
	filter_load(h, &set);
	if (announce(h, true, POSIX_TRACE_START, &set, sizeof set, address))
		fetch_or(&header->state, STATE_RUNNING);
	else
		become_full(h, STATE_FULL | STATE_ARMED);
	return 0;
}

int lifecycle_stop(struct handle *h, const void *address)
{
	struct stream_header *header = h->stream.header;
	uint32_t state = fetch_and(&header->state, ~(STATE_RUNNING | STATE_ARMED));
	int by_call = 0;

	if (!(state & STATE_RUNNING))
		return 0; /* suspended; if it had stopped by itself, it will not restart */
	quiesce(h);
	if (!announce(h, true, POSIX_TRACE_STOP, &by_call, sizeof by_call, address))
		stop_without_room(h, address);
	return 0;
}

void lifecycle_drained(struct handle *h)
{
	struct stream_header *header = h->stream.header;
	uint32_t state = load_relaxed(&header->state);
	trace_event_set_t set;
	uint64_t stopped;

	if (state & STATE_RUNNING)
		return;
	quiesce(h);
	if (!live_empty(&h->live))
		return;
	stopped = exchange(&header->stopped_ticks, 0);
	if (stopped)
		live_stop(&h->live, stopped);
	if (state & STATE_ARMED) {
		filter_load(h, &set);
		live_start(&h->live, &set, ticks_read(h->stream.clock_kind));
		/* In one step: an event that found it neither running nor armed would be lost and not counted. */
		while (!cas(&header->state, &state, (state & ~(STATE_FULL | STATE_ARMED)) | STATE_RUNNING))
			;
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

int lifecycle_clear(struct handle *h, const void *address)
{
	struct stream_header *header = h->stream.header;
	uint32_t tid = (uint32_t)sys_gettid();
	bool running = fetch_and(&header->state, ~STATE_RUNNING) & STATE_RUNNING;
	trace_event_set_t sets[2];

	quiesce(h);
	for (uint32_t i = 0; i < h->stream.chunk_count; i++) {
		struct chunk *c = &h->stream.chunks[i];

		if (!chunk_claim(c, tid))
			continue;
		if (!owner_is(load_relaxed(&c->owner)))
			chunk_recycle(&h->stream, c);
		chunk_unclaim(c);
	}
	live_reset(&h->live, creation_moment(h->stream.clock_kind, &h->attr, &h->real_time));
	h->type_next = 0;
	store_relaxed(&header->lost, 0);
	store_relaxed(&header->lost_ticks, 0);
	store_relaxed(&header->lost_last, 0);
	store_relaxed(&header->stopped_ticks, 0);
	fetch_and(&header->state, ~(STATE_FULL | STATE_ARMED | STATE_OVERRUN));

	filter_load(h, &sets[0]);
	eventset_empty(&sets[1]);
	if (running && !eventset_is_empty(&sets[0]))
		announce(h, true, POSIX_TRACE_FILTER, sets, sizeof sets, address); /* cannot fail: the stream is empty */
	filter_store(h, &sets[1]);
	if (running)
		fetch_or(&header->state, STATE_RUNNING);
	return 0;
}

int lifecycle_status(struct handle *h, struct posix_trace_status_info *status)
{
	/* One word, so the members fit together, and no overrun is forgotten between reading and resetting. */
	uint32_t state = fetch_and(&h->stream.header->state, ~STATE_OVERRUN);

	memset(status, 0, sizeof *status);
	status->posix_stream_status = state & STATE_RUNNING ? POSIX_TRACE_RUNNING : POSIX_TRACE_SUSPENDED;
	status->posix_stream_full_status = state & STATE_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL;
	status->posix_stream_overrun_status = state & STATE_OVERRUN ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN;
	status->posix_stream_flush_status = POSIX_TRACE_NOT_FLUSHING;
	status->posix_stream_flush_error = 0;
	status->posix_log_overrun_status = POSIX_TRACE_NO_OVERRUN;
	status->posix_log_full_status = POSIX_TRACE_NOT_FULL;
	status->__posix_lost_events = load_relaxed(&h->stream.header->lost) + merge_lost(&h->live.merge);
	return 0;
}

/* -- Shutdown ------------------------------------------------------------------------ */

int lifecycle_shutdown(trace_id_t trid, const void *address)
{
	struct handle *h = handle_end(trid);

	if (!h)
		return EINVAL;
	lifecycle_stop(h, address);
	fetch_or(&h->stream.header->state, STATE_ENDED);

	procpage_leave(h->process->page, h->slot);
	attach_detach(h->self, h->slot);
	procpage_free(h->process->page, h->slot);
	stream_unlink(h->uid, h->process->ident, h->serial);
	live_free(&h->live);
	sys_unmap(h->wanted, wanted_size(&h->stream));
	stream_unmap(&h->stream);
	if (handle_table_lock()) {
		handle_free(h);
		handle_table_unlock();
	}
	return 0;
}

/*
 * At exit the files go; the memory stays, because other threads and the
 * destructors of other libraries may still be tracing (H9). In a forked child
 * there is nothing of the parent's to be found here (H1).
 */
static void unlink_stream(struct handle *h)
{
	fetch_or(&h->stream.header->state, STATE_ENDED);
	stream_unlink(h->uid, h->process->ident, h->serial);
}

__attribute__((destructor)) static void leave(void)
{
	struct self *self = self_peek();
	const struct process *process = self ? self_process(self) : NULL;
	const char *names = self_registry_file();
	char page[FILE_NAME_SIZE];

	if (process && process->ident.pid == (uint32_t)sys_getpid()) {
		handle_each(unlink_stream);
		file_name(page, "page", process->ident, 0);
		file_unlink(process->uid, page);
	}
	if (names[0])
		file_unlink(sys_geteuid(), names);
}
