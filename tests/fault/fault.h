/*
 * fault.h - helpers for failure tests: trace points must stay silent, and streams are counted
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FAULT_H
#define FAULT_H

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <trace.h>

#include "shm.h"
#include "test.h"

#define ERRNO_BEFORE 4711

/* closefrom(), which not every C library has. */
static inline void close_all(int from)
{
	if (syscall(SYS_close_range, from, ~0u, 0) < 0)
		for (int fd = from; fd < 1024; fd++)
			close(fd);
}

static inline void *fault_trace(void *id)
{
	char data[100] = "data";

	for (int i = 0; i < 10; i++) {
		errno = ERRNO_BEFORE;
		posix_trace_event(*(trace_event_id_t *)id, i % 2 ? data : NULL, i % 3 ? sizeof data : 0);
		CHECK_EQ("THR-6", errno, ERRNO_BEFORE);
		posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, data, 1);
		posix_trace_event(1983, data, 1);
		posix_trace_event(0, NULL, 0);
		CHECK_EQ("THR-6", errno, ERRNO_BEFORE);
	}
	return NULL;
}

/*
 * Calls trace points where tracing is impossible: in this thread, a new thread, a child and a signal handler. They must
 * do no harm, print nothing, and preserve errno.
 */
static volatile sig_atomic_t fault_handled;
static trace_event_id_t fault_id;

static inline void fault_handler(int signal)
{
	fault_trace(&fault_id);
	fault_handled = 1;
}

static inline void fault_silent(trace_event_id_t id)
{
	int out = memfd_create("output", MFD_CLOEXEC), saved[3], status = 0, failures = test_failures;
	pthread_t thread;
	struct stat st;
	pid_t child;

	fflush(stdout);
	for (int i = 1; i < 3; i++) {
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
		if (out >= 0 && saved[i] >= 0)
			dup2(out, i);
	}
	fault_id = id;
	fault_trace(&id);
	if (pthread_create(&thread, NULL, fault_trace, &id) == 0)
		pthread_join(thread, NULL);
	signal(SIGUSR1, fault_handler);
	raise(SIGUSR1);
	child = fork();
	if (child == 0) {
		fault_trace(&id);
		_exit(test_failures != failures);
	}
	if (child > 0)
		waitpid(child, &status, 0);
	for (int i = 1; i < 3; i++) {
		if (saved[i] >= 0) {
			dup2(saved[i], i);
			close(saved[i]);
		}
	}
	CHECK_EQ("-", status, 0);
	CHECK_EQ("-", fault_handled, 1);
	if (out >= 0 && fstat(out, &st) == 0) {
		CHECK_EQ("-", st.st_size, 0);
		close(out);
	}
}

/* Reads all waiting events. Returns the number of events of this type, or -1 on an error. */
static inline int fault_count(trace_id_t trid, trace_event_id_t id)
{
	struct posix_trace_event_info event;
	char data[1024];
	size_t length;
	int unavailable, n = 0;

	for (;;) {
		if (posix_trace_trygetnext_event(trid, &event, data, sizeof data, &length, &unavailable) != 0)
			return -1;
		if (unavailable)
			return n;
		n += event.posix_event_id == id;
	}
}

static inline trace_event_id_t fault_open(const char *name)
{
	trace_event_id_t id = 0;

	MUST(posix_trace_eventid_open(name, &id) == 0);
	return id;
}

/* Checks a stream from creation to shutdown. */
static inline void fault_works(trace_event_id_t id)
{
	trace_id_t trid;
	int error = posix_trace_create(0, NULL, &trid);

	CHECK_EQ("-", error, 0);
	if (error)
		return;
	CHECK_EQ("-", posix_trace_start(trid), 0);
	for (int i = 0; i < 100; i++)
		posix_trace_event(id, &i, sizeof i);
	CHECK_EQ("-", posix_trace_stop(trid), 0);
	CHECK_EQ("-", fault_count(trid, id), 100);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* Creates a stream, shuts it down if that succeeded, and returns the error number of the creation. */
static inline int fault_create(size_t stream_size)
{
	trace_id_t trid = 4711;
	trace_attr_t attr;
	int error;

	MUST(posix_trace_attr_init(&attr) == 0);
	if (stream_size)
		MUST(posix_trace_attr_setstreamsize(&attr, stream_size) == 0);
	errno = ERRNO_BEFORE;
	error = posix_trace_create(0, &attr, &trid);
	CHECK("HDR-33", errno != 0);
	if (error == 0)
		MUST(posix_trace_shutdown(trid) == 0);
	else
		CHECK_EQ("-", trid, 4711);
	return error;
}

#endif
