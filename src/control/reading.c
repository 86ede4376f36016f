/*
 * reading.c - the three functions that read an active stream
 *
 * A reader that finds nothing sets waiting, passes a barrier on all processors,
 * looks again and sleeps on wakeups. A writer commits and then loads waiting. So
 * either the reader sees the event, or the writer sees that it must wake the
 * reader.
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/reading.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/wait.h"
#include "control/handle.h"
#include "control/resume.h"
#include "control/recorded.h"

#define HELD_UP_NS    100000  /* time between two looks while a writer is in the middle of a record */
#define KILLED_NS     1000000000
#define GUARDED_NS    20000000 /* a hostile process may refuse to wake the reader, or take the word away (H18) */
#define AGAIN_MAX     1000 /* calls of 10 ms */
#define AGAIN_GUARDED 10
#define NO_BARRIER_NS 1000000 /* without membarrier() a wake-up may be missed: sleep in slices */

static void report(struct handle *h, const struct event *e, size_t size, struct posix_trace_event_info *event,
                   size_t *length)
{
	int64_t ns = times_convert(&h->live.merge.times, e->ticks) + h->real_time;

	if (ns < 0)
		ns = 0; /* corrupt: events have no negative times */
	memset(event, 0, sizeof *event);
	event->posix_event_id = e->id;
	event->posix_pid = (pid_t)e->pid;
	event->__posix_kernel_tid = (pid_t)e->tid;
	event->posix_prog_address = (void *)(uintptr_t)e->address;
	event->posix_thread_id = (pthread_t)(uintptr_t)e->pthread;
	event->posix_timestamp.tv_sec = (time_t)(ns / NS_PER_S);
	event->posix_timestamp.tv_nsec = (long)(ns % NS_PER_S);
	if (size < e->length) {
		event->posix_truncation_status = POSIX_TRACE_TRUNCATED_READ;
		*length = size;
	} else {
		event->posix_truncation_status =
			e->truncated ? POSIX_TRACE_TRUNCATED_RECORD : POSIX_TRACE_NOT_TRUNCATED;
		*length = e->length;
	}
}

/* Reads the next event. The caller has locked the handle. hurry: the caller does not wait, or has no time left. */
static enum merge_result next(struct handle *h, bool hurry, struct posix_trace_event_info *event, void *data,
                              size_t size, size_t *length)
{
	struct stream_header *header = h->stream.header;
	struct event e;
	enum merge_result result;

	h->live.merge.held_up.hurry = hurry;
	result = live_next(&h->live, &e, data, size);

	/* A stream that has stopped for lack of room restarts when its last event is reported (CH-35). */
	if ((load_relaxed(&header->state) & STATE_ARMED) || load_relaxed(&header->stopped_ticks)) {
		if (live_empty(&h->live))
			resume_drained(h);
		/* Even if a writer is in the middle of a record: a STOP and a START need no room. */
		if (result == MERGE_NONE || result == MERGE_HELD_UP)
			result = live_next(&h->live, &e, data, size);
	}
	if (result == MERGE_RECORD) {
		resume_read(h);
		report(h, &e, size, event, length);
	}
	return result;
}

/*
 * When musl cancels a thread asynchronously, it calls the cleanup handlers with whatever stack pointer the thread has.
 * Functions on x86 may rely on an aligned stack, and the application's cleanup handlers run next. So this function
 * aligns the stack and runs them itself.
 */
#if !defined __GLIBC__ && (defined __x86_64__ || defined __i386__)
__attribute__((force_align_arg_pointer))
static void cancelled(void *h)
{
	handle_put(h);
	pthread_exit(PTHREAD_CANCELED);
}
#else
static void cancelled(void *h)
{
	handle_put(h);
}
#endif

/* Sleeps until an event may have come. Returns 0, ETIMEDOUT or EINTR. The library's only cancellation point (H19). */
static int sleep_on(struct handle *h, uint32_t *word, uint32_t value, const struct timespec *deadline)
{
	int type, r;

	pthread_cleanup_push(cancelled, h);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	pthread_testcancel();
	r = sys_futex_wait(word, value, deadline);
	pthread_setcanceltype(type, NULL);
	pthread_cleanup_pop(0);
	return r == -ETIMEDOUT || r == -EINTR ? -r : 0;
}

/* Returns the time in nanoseconds; the largest or the smallest number if it does not fit into 64 bits. */
static int64_t in_ns(const struct timespec *t)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)t->tv_sec, NS_PER_S, &ns) || __builtin_add_overflow(ns, t->tv_nsec, &ns))
		return t->tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

/* Sleeps for at most slice ns. Returns 0 after the slice, and ETIMEDOUT only if the deadline has come first. */
static int sleep_slice(struct handle *h, uint32_t *word, uint32_t value, int64_t slice, const struct timespec *deadline)
{
	int64_t until = clock_ns(CLOCK_REALTIME) + slice;
	struct timespec end = { until / NS_PER_S, until % NS_PER_S };
	bool earlier = deadline && in_ns(deadline) <= until;
	int error = sleep_on(h, word, value, earlier ? deadline : &end);

	return error == ETIMEDOUT && !earlier ? 0 : error;
}

/* Returns true if only this process records in the stream, and none of its threads takes the fast path. */
static bool writes_without_writer(const struct handle *h)
{
	return h->target.self && !h->entry.inherit_from && self_process(h->target.self)->locked;
}

static int wait_for_event(struct handle *h, enum merge_result result, uint32_t wakeups, bool barrier,
                          const struct timespec *deadline)
{
	uint32_t *word = &h->stream.header->wakeups;

	if (result == MERGE_HELD_UP || result == MERGE_AGAIN)
		return sleep_slice(h, word, wakeups, HELD_UP_NS, deadline);
	/* If all writers take the slow path, they pass a barrier before loading waiting: the reader's own is enough. */
	if (!barrier && !writes_without_writer(h))
		return sleep_slice(h, word, wakeups, NO_BARRIER_NS, deadline);
	if (h->target.shm_dir.guarded)
		return sleep_slice(h, word, wakeups, GUARDED_NS, deadline);
	/* A writer may be killed before it wakes the reader. */
	if (!h->target.self || h->entry.inherit_from)
		return sleep_slice(h, word, wakeups, KILLED_NS, deadline);
	return sleep_on(h, word, wakeups, deadline);
}

/*
 * Limits how long one call skips overwritten records. Skipping may take long, so the handle is unlocked now and then. A
 * call reports an empty stream only after skipping all of them, unless writers overwrite faster than the reader skips:
 * that would have no end.
 */
struct patience {
	uint64_t most; /* number of lost events beyond which the call gives up */
	unsigned calls;
};

/* Returns true if the call should go on skipping. The caller has locked the handle. */
static bool goes_on(struct patience *p, struct handle *h)
{
	uint64_t lost = merge_lost(&h->live.merge);

	if (p->calls == 0)
		p->most = lost + merge_unread(&h->live.merge);
	/* A hostile process may fake any number of records (H18). */
	return ++p->calls <= (h->target.shm_dir.guarded ? AGAIN_GUARDED : AGAIN_MAX) && lost <= p->most;
}

/*
 * Sleeps before the next look at writers that keep an event back. A complete event is reported even by a call that must
 * not wait, or not any longer. But an older event may be in progress in another thread, and gets time to be completed
 * first: merge.c limits the time for each writer. Only writers that were recording at the first look can have older
 * events, so all of them are waited for together. Returns false after as many looks as honest writers can need: a
 * hostile process may go on forever (H18).
 */
static bool look_again(unsigned *looks)
{
	if (++*looks > 2 * HELD_UP_PATIENCE_NS / HELD_UP_NS)
		return false;
	sys_sleep_ns(HELD_UP_NS);
	return true;
}

static bool is_past(const struct timespec *t)
{
	return t->tv_nsec < 0 || t->tv_nsec >= NS_PER_S || clock_ns(CLOCK_REALTIME) >= in_ns(t);
}

static int next_active(struct handle *h, struct posix_trace_event_info *event, void *data, size_t size, size_t *length,
                       int *unavailable, enum reading_wait wait, const struct timespec *deadline)
{
	bool asked = false, barrier = true, again, kept_back, hurry = wait == READING_TRY;
	struct patience patience = { 0 };
	unsigned looks = 0;
	int error = 0;

	for (;;) {
		/* Loaded before the look, so that the reader does not sleep after a wake-up that follows the look. */
		uint32_t wakeups = load_relaxed(&h->stream.header->wakeups);
		enum merge_result result;

		if (asked) {
			store_relaxed(&h->stream.header->waiting, wakeups << 1 | 1);
			TEST_POINT("reading_waiting");
			barrier = barrier_everywhere();
			TEST_POINT("reading_barrier");
		}
		again = kept_back = false;
		latch_acquire(&h->lock);
		if (load_relaxed(&h->dying) || !handle_works(h)) {
			result = MERGE_NONE;
			error = EINVAL;
		} else {
			result = next(h, hurry, event, data, size, length);
			again = result == MERGE_AGAIN && goes_on(&patience, h);
			kept_back = result == MERGE_HELD_UP && merge_keeps_back(&h->live.merge);
		}
		latch_release(&h->lock);

		if (again)
			continue;
		hurry = wait == READING_TRY || (wait == READING_UNTIL && is_past(deadline));
		if (kept_back && hurry && look_again(&looks))
			continue;
		if (error || wait == READING_TRY || result == MERGE_RECORD) {
			*unavailable = result != MERGE_RECORD;
			break;
		}
		if (wait == READING_UNTIL) {
			/*
			 * abstime is checked only if no event is at hand, and only now a past abstime times out
			 * (TRAP-45).
			 */
			if (deadline->tv_nsec < 0 || deadline->tv_nsec >= NS_PER_S) {
				error = EINVAL;
				break;
			}
			if (clock_ns(CLOCK_REALTIME) >= in_ns(deadline)) {
				error = ETIMEDOUT;
				break;
			}
		}
		if (!asked) {
			asked = true;
			continue;
		}
		TEST_POINT("reading_sleep");
		error = wait_for_event(h, result, wakeups, barrier, wait == READING_UNTIL ? deadline : NULL);
		TEST_POINT("reading_awake");
		if (error == EINTR)
			break;
		/* After a time-out, look once more: an event that has come takes precedence. */
		error = 0;
	}
	return error;
}

int reading_next(trace_id_t trid, struct posix_trace_event_info *event, void *data, size_t size, size_t *length,
                 int *unavailable, enum reading_wait wait, const struct timespec *deadline)
{
	struct handle *h = handle_enter(trid, wait == READING_FOREVER ? HANDLE_ANY : HANDLE_ACTIVE);
	enum merge_result result;
	int error = 0;

	*unavailable = 1;
	if (!h)
		return EINVAL;
	if (h->input) {
		recorded_next(h, event, data, size, length, unavailable);
	} else if (h->flusher || !handle_works(h)) {
		error = EINVAL; /* events of a stream with a log are read from the log (READ-33, CH-46) */
	} else {
		result = next(h, wait == READING_TRY, event, data, size, length);
		*unavailable = result != MERGE_RECORD;
		/*
		 * A non-blocking read is finished too, unless merge has reached its time limit or keeps an event back.
		 */
		if (*unavailable && (wait != READING_TRY || result == MERGE_AGAIN || result == MERGE_HELD_UP)) {
			handle_keep(h);
			error = next_active(h, event, data, size, length, unavailable, wait, deadline);
			handle_put(h);
			return error;
		}
	}
	handle_leave(h);
	return error;
}

int reading_getnext(trace_id_t trid, struct posix_trace_event_info *event, void *data, size_t size, size_t *length,
                    int *unavailable)
{
	struct handle *h = handle_try_enter(trid);

	if (!h)
		return reading_next(trid, event, data, size, length, unavailable, READING_FOREVER, NULL);
	recorded_next(h, event, data, size, length, unavailable);
	latch_release(&h->lock);
	return 0;
}
