/*
 * reading.c - the three functions that read an active stream
 *
 * A reader that finds nothing sets waiting, passes a barrier everywhere, looks
 * again and sleeps on wakeups. A writer commits and then looks at waiting. So
 * either the reader sees the event or the writer sees that it must wake.
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
#include "control/lifecycle.h"
#include "control/recorded.h"

#define HELD_UP_NS    100000  /* look again after so long when a writer is in the middle of a record */
#define KILLED_NS     1000000000
#define GUARDED_NS    20000000 /* who writes there may not mean to wake us, or take the word away (H18) */
#define AGAIN_MAX     1000 /* calls of 10 ms */
#define AGAIN_GUARDED 10
#define NO_BARRIER_NS 1000000 /* without membarrier() a wake-up may be missed: sleep in slices */

static void report(struct handle *h, const struct event *e, size_t size, struct posix_trace_event_info *event,
                   size_t *length)
{
	int64_t ns = merge_time(&h->live.merge, e->ticks) + h->real_time;

	if (ns < 0)
		ns = 0; /* no time of an event of ours */
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
		event->posix_truncation_status = e->truncated ? POSIX_TRACE_TRUNCATED_RECORD : POSIX_TRACE_NOT_TRUNCATED;
		*length = e->length;
	}
}

/* With the handle locked. */
static enum merge_result next(struct handle *h, struct posix_trace_event_info *event, void *data, size_t size, size_t *length)
{
	struct stream_header *header = h->stream.header;
	struct event e;
	enum merge_result result = live_next(&h->live, &e, data, size);

	/* A stream that has stopped for lack of room restarts when its last event is reported (CH-35). */
	if ((load_relaxed(&header->state) & STATE_ARMED) || load_relaxed(&header->stopped_ticks)) {
		if (live_empty(&h->live))
			lifecycle_drained(h);
		if (result == MERGE_NONE)
			result = live_next(&h->live, &e, data, size);
	}
	if (result == MERGE_RECORD) {
		lifecycle_read(h);
		report(h, &e, size, event, length);
	}
	return result;
}

/*
 * musl moves a thread that is to end at once to its end as it stands, whatever its stack pointer just is. A function of x86 may
 * count on more, and the program's handlers, which are next, are functions: so on to them from one that sets that right.
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

/* Sleeps until something may have happened; 0, ETIMEDOUT or EINTR. The only cancellation point of the library (H19). */
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

/* A time too far away for 64 bits of nanoseconds is as good as for ever, or long past. */
static int64_t in_ns(const struct timespec *t)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)t->tv_sec, NS_PER_S, &ns) || __builtin_add_overflow(ns, t->tv_nsec, &ns))
		return t->tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

/* The same, for this long at the most; a deadline that comes first is the caller's to notice. */
static int sleep_slice(struct handle *h, uint32_t *word, uint32_t value, int64_t slice, const struct timespec *deadline)
{
	int64_t until = clock_ns(CLOCK_REALTIME) + slice;
	struct timespec end = { until / NS_PER_S, until % NS_PER_S };
	bool earlier = deadline && in_ns(deadline) <= until;
	int error = sleep_on(h, word, value, earlier ? deadline : &end);

	return error == ETIMEDOUT && !earlier ? 0 : error;
}

static int wait_for_event(struct handle *h, enum merge_result result, uint32_t wakeups, bool barrier,
                          const struct timespec *deadline)
{
	uint32_t *word = &h->stream.header->wakeups;

	if (result == MERGE_HELD_UP || result == MERGE_AGAIN)
		return sleep_slice(h, word, wakeups, HELD_UP_NS, deadline);
	if (!barrier)
		return sleep_slice(h, word, wakeups, NO_BARRIER_NS, deadline);
	if (h->target.place.guarded)
		return sleep_slice(h, word, wakeups, GUARDED_NS, deadline);
	/* Who was about to wake us may be killed before it does. */
	if (!h->target.self || h->entry.inherit_from)
		return sleep_slice(h, word, wakeups, KILLED_NS, deadline);
	return sleep_on(h, word, wakeups, deadline);
}

/*
 * What has been overwritten takes its time to go past, with the handle unlocked now and then. No call
 * says before that there is nothing, unless they overwrite faster than we go, and then there is no end.
 */
struct patience {
	uint64_t most; /* events lost by then */
	unsigned calls;
};

/* With the handle locked. */
static bool goes_on(struct patience *p, struct handle *h)
{
	uint64_t lost = merge_lost(&h->live.merge);

	if (p->calls == 0)
		p->most = lost + merge_unread(&h->live.merge);
	/* Who writes there may say anything about it (H18). */
	return ++p->calls <= (h->target.place.guarded ? AGAIN_GUARDED : AGAIN_MAX) && lost <= p->most;
}

static int next_active(struct handle *h, struct posix_trace_event_info *event, void *data, size_t size, size_t *length,
                       int *unavailable, enum reading_wait wait, const struct timespec *deadline)
{
	bool asked = false, barrier = true, again;
	struct patience patience = { 0 };
	int error = 0;

	for (;;) {
		/* Before the look, so that a wake-up after it does not let us sleep. */
		uint32_t wakeups = load_relaxed(&h->stream.header->wakeups);
		enum merge_result result;

		if (asked) {
			store_relaxed(&h->stream.header->waiting, wakeups << 1 | 1);
			TEST_POINT("reading_waiting");
			barrier = barrier_everywhere();
			TEST_POINT("reading_barrier");
		}
		again = false;
		latch_take(&h->lock);
		if (load_relaxed(&h->dying) || !handle_works(h)) {
			result = MERGE_NONE;
			error = EINVAL;
		} else {
			result = next(h, event, data, size, length);
			again = result == MERGE_AGAIN && goes_on(&patience, h);
		}
		latch_release(&h->lock);

		if (again)
			continue;
		if (error || wait == READING_TRY || result == MERGE_RECORD) {
			*unavailable = result != MERGE_RECORD;
			break;
		}
		if (wait == READING_UNTIL) {
			/* An event at hand excuses the check of abstime, and a past one times out only now (TRAP-45). */
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
		/* After a time-out, one more look: an event that is there excludes it. */
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
		error = EINVAL; /* what a stream with a log has recorded belongs to that (READ-33, CH-46) */
	} else {
		result = next(h, event, data, size, length);
		*unavailable = result != MERGE_RECORD;
		/* Who does not wait has the answer, too, unless there was more to go past than one look does. */
		if (*unavailable && (wait != READING_TRY || result == MERGE_AGAIN)) {
			handle_keep(h);
			error = next_active(h, event, data, size, length, unavailable, wait, deadline);
			handle_put(h);
			return error;
		}
	}
	handle_leave(h);
	return error;
}
