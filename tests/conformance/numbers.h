/*
 * numbers.h - events that carry a number, streams that are full, and the state of a stream in two letters
 *
 * Each event says who wrote it and its number, and the rest of its data follows
 * from these; so a test sees which event is missing, doubled, out of order or
 * damaged.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONFORMANCE_NUMBERS_H
#define CONFORMANCE_NUMBERS_H

#include <time.h>

#include "sanitizer.h"
#include "stream.h"

/*
 * The address sanitizer reports the unwinding of a cancelled thread as an error. The thread sanitizer delays signals
 * until the thread makes a call that it intercepts.
 */
#if SANITIZER_ADDRESS
# define NOT_WITH_ASAN() SKIP("the address sanitizer cannot follow a cancelled thread")
#else
# define NOT_WITH_ASAN() ((void)0)
#endif
#if SANITIZER_THREAD
# define NOT_WITH_TSAN() SKIP("the thread sanitizer holds signals back")
#else
# define NOT_WITH_TSAN() ((void)0)
#endif

#define NUMBER_SIZE 64

struct number {
	unsigned writer;
	unsigned number;
	unsigned char rest[NUMBER_SIZE - 2 * sizeof(unsigned)];
};

static inline unsigned char number_byte(unsigned writer, unsigned number, size_t i)
{
	return (unsigned char)(number * 31 + writer * 7 + i);
}

static inline void number_send(trace_event_id_t id, unsigned writer, unsigned number)
{
	struct number n = { .writer = writer, .number = number };

	for (size_t i = 0; i < sizeof n.rest; i++)
		n.rest[i] = number_byte(writer, number, i);
	posix_trace_event(id, &n, sizeof n);
}

/* Decodes an event. Ends the test if the event is damaged. */
static inline struct number number_of(const void *data, size_t len)
{
	struct number n;

	MUST(len == sizeof n);
	memcpy(&n, data, sizeof n);
	for (size_t i = 0; i < sizeof n.rest; i++)
		MUST(n.rest[i] == number_byte(n.writer, n.number, i));
	return n;
}

/*
 * Reads events of type id with consecutive numbers from the given one. Returns the first number that did not come.
 * *stop is the event that came instead, with type NO_TYPE if there was none.
 */
static inline unsigned number_run(trace_id_t trid, trace_event_id_t id, unsigned number, struct stream_event *stop)
{
	while (stream_try(trid, stop)) {
		struct number n;

		if (stop->info.posix_event_id != id)
			return number;
		n = number_of(stop->data, stop->len);
		if (n.number != number)
			return number;
		number++;
	}
	stop->info.posix_event_id = NO_TYPE;
	return number;
}

/* Returns a stream small enough to be filled by a test. */
static inline trace_id_t small_stream(int policy)
{
	trace_attr_t attr;
	trace_id_t trid;

	stream_attr(&attr, policy, 4096, NUMBER_SIZE);
	trid = stream_create(&attr);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	return trid;
}

/* Returns a stream of at least this size, so that a test loses nothing. */
static inline trace_id_t large_stream(size_t size)
{
	trace_attr_t attr;
	trace_id_t trid;

	stream_attr(&attr, POSIX_TRACE_LOOP, size, 1024);
	trid = stream_create(&attr);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	return trid;
}

/*
 * Records numbers, from the given one, until the stream is full. Returns the next number. Resets the overrun status, as
 * it asks for the status after each event.
 */
static inline unsigned fill(trace_id_t trid, trace_event_id_t id, unsigned number)
{
	for (unsigned n = 0; n < 100000; n++) {
		number_send(id, 0, number++);
		if (stream_status(trid).posix_stream_full_status == POSIX_TRACE_FULL)
			return number;
	}
	MUST(!"the stream is never full");
	return 0;
}

/*
 * Returns the state as S or R for suspended or running, N or F for not full or full, and ! for an overrun, which is
 * reset.
 */
static inline const char *state(trace_id_t trid)
{
	static const char *const names[] = { "SN", "SN!", "SF", "SF!", "RN", "RN!", "RF", "RF!" };
	struct posix_trace_status_info s = stream_status(trid);

	MUST(s.posix_stream_status == POSIX_TRACE_RUNNING || s.posix_stream_status == POSIX_TRACE_SUSPENDED);
	MUST(s.posix_stream_full_status == POSIX_TRACE_FULL || s.posix_stream_full_status == POSIX_TRACE_NOT_FULL);
	MUST(s.posix_stream_overrun_status == POSIX_TRACE_OVERRUN ||
	     s.posix_stream_overrun_status == POSIX_TRACE_NO_OVERRUN);
	return names[4 * (s.posix_stream_status == POSIX_TRACE_RUNNING) +
	             2 * (s.posix_stream_full_status == POSIX_TRACE_FULL) +
		     (s.posix_stream_overrun_status == POSIX_TRACE_OVERRUN)];
}

/*
 * Returns how many events the stream has lost, where it is counted (ours.h). As always, asking resets the overrun
 * status.
 */
static inline unsigned long long lost_events(trace_id_t trid)
{
	struct posix_trace_status_info s = stream_status(trid);

	return ours_lost(&s);
}

#if !defined _POSIX_TRACE_EVENT_FILTER || _POSIX_TRACE_EVENT_FILTER >= 0
/* Returns a set with one member, or an empty set for NO_TYPE. */
static inline trace_event_set_t set_of(trace_event_id_t id)
{
	trace_event_set_t set;

	MUST(posix_trace_eventset_empty(&set) == 0);
	if (id != NO_TYPE)
		MUST(posix_trace_eventset_add(id, &set) == 0);
	return set;
}
#endif

static inline long long nanoseconds(struct timespec t)
{
	return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline struct timespec now(void)
{
	struct timespec t;

	MUST(clock_gettime(CLOCK_REALTIME, &t) == 0);
	return t;
}

static inline struct timespec now_plus_ms(long ms)
{
	long long ns = nanoseconds(now()) + ms * 1000000LL;
	struct timespec t = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	return t;
}

static inline void sleep_ms(long ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

#endif
