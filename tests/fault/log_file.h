/*
 * log_file.h - numbered events that are recorded into a log, and what a reader finds of them
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOG_FILE_H
#define LOG_FILE_H

#include <stdbool.h>
#include <time.h>

#include "fault.h"

#define LOG_PATH "/dev/shm/log" /* in the test's own /dev/shm */

/* Longest data of an event in words. The length of an event follows from its number. */
#define LOG_WORDS 32

static trace_id_t log_trid;
static trace_event_id_t log_id;
static uint32_t log_number; /* number of the last recorded event */

/* -- Recording --------------------------------------------------------------------------- */

static inline size_t log_fill(uint32_t data[LOG_WORDS], uint32_t number)
{
	for (uint32_t i = 0; i < LOG_WORDS; i++)
		data[i] = number * (i + 1);
	return sizeof data[0] * (1 + number * 7 % LOG_WORDS);
}

/* Records events; preserves errno. */
static inline void log_record(uint32_t count)
{
	uint32_t data[LOG_WORDS];
	int before = errno;

	errno = ERRNO_BEFORE;
	for (; count > 0; count--) {
		size_t length = log_fill(data, ++log_number);

		posix_trace_event(log_id, data, length);
	}
	CHECK_EQ("THR-6", errno, ERRNO_BEFORE);
	errno = before;
}

/* Creates a stream with a log, with these policies and sizes (0: the default), and does not start it. Returns the
 * error. */
static inline int log_try(pid_t pid, int fd, int log_policy, size_t log_size, int stream_policy, size_t stream_size)
{
	trace_attr_t attr;
	int error;

	MUST(posix_trace_attr_init(&attr) == 0);
	if (log_policy)
		MUST(posix_trace_attr_setlogfullpolicy(&attr, log_policy) == 0);
	if (log_size)
		MUST(posix_trace_attr_setlogsize(&attr, log_size) == 0);
	if (stream_policy)
		MUST(posix_trace_attr_setstreamfullpolicy(&attr, stream_policy) == 0);
	if (stream_size)
		MUST(posix_trace_attr_setstreamsize(&attr, stream_size) == 0);
	if (!log_id)
		log_id = fault_open("logged");
	errno = ERRNO_BEFORE;
	error = posix_trace_create_withlog(pid, &attr, fd, &log_trid);
	CHECK_EQ("HDR-33", errno, ERRNO_BEFORE);
	return error;
}

/* Creates and starts a stream with a log that works: APPEND, FLUSH, and a stream of this size. */
static inline void log_begin(int fd, size_t stream_size)
{
	MUST(log_try(0, fd, POSIX_TRACE_APPEND, 0, 0, stream_size) == 0 && posix_trace_start(log_trid) == 0);
}

static inline int log_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	MUST(fd >= 0);
	return fd;
}

static inline int log_flush_error(void)
{
	struct posix_trace_status_info status;

	MUST(posix_trace_get_status(log_trid, &status) == 0);
	return status.posix_stream_flush_error;
}

static inline uint64_t log_lost(void)
{
	struct posix_trace_status_info status;

	MUST(posix_trace_get_status(log_trid, &status) == 0);
	return status.__posix_lost_events;
}

/* -- Reading ------------------------------------------------------------------------------------ */

struct log_seen {
	int error;             /* of posix_trace_open(); if not 0, the rest is undefined */
	uint32_t first, last;  /* numbers of our events; 0: none */
	uint32_t count;
	uint32_t missing;      /* between the first and the last */
	int gaps;              /* OVERFLOW */
	int starts, stops, stopped; /* STOP by a call, and automatic STOP */
	int last_id;
	struct posix_trace_status_info status;
};

static inline struct log_seen log_read(int fd)
{
	struct log_seen seen = { .count = 0 };
	struct posix_trace_event_info e;
	uint32_t data[LOG_WORDS], right[LOG_WORDS];
	int unavailable = 0;
	size_t length;
	trace_id_t trid;

	errno = ERRNO_BEFORE;
	seen.error = posix_trace_open(fd, &trid);
	CHECK_EQ("HDR-33", errno, ERRNO_BEFORE);
	if (seen.error)
		return seen;
	CHECK_EQ("-", posix_trace_get_status(trid, &seen.status), 0);
	while (posix_trace_getnext_event(trid, &e, data, sizeof data, &length, &unavailable) == 0 && !unavailable) {
		char name[TRACE_EVENT_NAME_MAX + 1] = "";

		seen.last_id = (int)e.posix_event_id;
		seen.gaps += e.posix_event_id == POSIX_TRACE_OVERFLOW;
		seen.starts += e.posix_event_id == POSIX_TRACE_START;
		if (e.posix_event_id == POSIX_TRACE_STOP)
			*(data[0] ? &seen.stopped : &seen.stops) += 1;
		if (e.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT)
			continue;
		if (!seen.count)
			CHECK("LOG-20", posix_trace_eventid_get_name(trid, e.posix_event_id, name) == 0 &&
			                        strcmp(name, "logged") == 0);
		if (length != log_fill(right, data[0]) || memcmp(data, right, length) != 0 || data[0] <= seen.last) {
			TEST_FAIL("EVT-1", "event %u behind %u, of %zu bytes, is not as it was", data[0], seen.last,
			          length);
			break;
		}
		if (seen.count++)
			seen.missing += data[0] - seen.last - 1;
		else
			seen.first = data[0];
		seen.last = data[0];
	}
	CHECK_EQ("OPEN-10", posix_trace_close(trid), 0);
	return seen;
}

static inline struct log_seen log_read_file(const char *path)
{
	int fd = log_open(path, O_RDONLY);
	struct log_seen seen = log_read(fd);

	close(fd);
	return seen;
}

/* Checks that the log has all recorded events, and that none was lost. */
static inline void log_check_all(const struct log_seen *seen)
{
	CHECK_EQ("OPEN-8", seen->error, 0);
	CHECK_EQ("SHUT-7", seen->first, 1);
	CHECK_EQ("SHUT-7", seen->last, log_number);
	CHECK_EQ("SHUT-7", seen->count, log_number);
	CHECK_EQ("-", seen->status.__posix_lost_events, 0);
	CHECK_EQ("-", seen->gaps, 0);
}

/* Checks that no stream and no temporary file is left in shared memory. */
static inline void log_check_gone(void)
{
	CHECK_EQ("SHUT-2", shm_count(shm_directory(), "stream-") > 0, 0);
	CHECK_EQ("SHUT-2", shm_count(shm_directory(), "new-") > 0, 0);
}

static inline int64_t log_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Waits until f(arg) returns true. Returns false after the longest time that a test may take. */
static inline bool log_wait(bool (*f)(void *), void *arg)
{
	int64_t until = log_now() + 20000000000ll * test_slow();

	while (!f(arg)) {
		if (log_now() > until)
			return false;
		usleep(1000);
	}
	return true;
}

#endif
