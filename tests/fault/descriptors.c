/*
 * descriptors.c - the program closes descriptors that it has not opened, or lacks standard descriptors
 *
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"

/* H14: the library keeps no descriptor open, so none can be closed by the program. */
TEST(none_kept)
{
	trace_event_id_t id;
	trace_id_t trid;
	int before;

	shm_private("");
	before = shm_descriptors();
	id = fault_open("fault");
	CHECK_EQ("-", shm_descriptors(), before);
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	posix_trace_event(id, NULL, 0);
	CHECK_EQ("-", shm_descriptors(), before);
	CHECK_EQ("-", fault_count(trid, id), 1);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	CHECK_EQ("-", shm_descriptors(), before);
}

static volatile int stop;

static void *trace_for_ever(void *id)
{
	while (!stop) {
		for (int i = 0; i < 100; i++)
			posix_trace_event(*(trace_event_id_t *)id, id, sizeof(trace_event_id_t));
		usleep(100); /* lets the reader reach the end now and then */
	}
	return NULL;
}

TEST(closefrom)
{
	trace_event_id_t id;
	pthread_t thread;
	trace_id_t trid;

	shm_private("");
	id = fault_open("fault");
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	MUST(pthread_create(&thread, NULL, trace_for_ever, &id) == 0);
	for (int i = 0; i < 100; i++) {
		close_all(3);
		CHECK("-", fault_count(trid, id) >= 0);
		sched_yield();
	}
	stop = 1;
	pthread_join(thread, NULL);
	fault_count(trid, id);
	posix_trace_event(id, NULL, 0);
	CHECK_EQ("-", fault_count(trid, id), 1);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	fault_works(id);
}

/* The standard descriptors are closed from the start: the program's output must not end up in a stream. */
TEST(no_standard_descriptors)
{
	int saved[3], before;
	trace_event_id_t id;
	trace_id_t trid;
	int error, status = 0;

	shm_private("");
	for (int i = 0; i < 3; i++)
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 20);
	before = test_failures;
	for (int i = 0; i < 3; i++)
		close(i);
	id = fault_open("fault");
	error = posix_trace_create(0, NULL, &trid);
	for (int i = 0; i < 3; i++)
		status |= fcntl(i, F_GETFD) >= 0; /* the library keeps none of these numbers */
	error |= posix_trace_start(trid);
	posix_trace_event(id, "x", 1);
	for (int i = 0; i < 3; i++)
		status |= fcntl(i, F_GETFD) >= 0 || write(i, "printed", 7) >= 0;
	error |= fault_count(trid, id) != 1;
	error |= posix_trace_shutdown(trid);
	for (int i = 0; i < 3; i++)
		dup2(saved[i], i);
	CHECK_EQ("-", error, 0);
	CHECK_EQ("-", status, 0);
	CHECK_EQ("-", test_failures, before);
}

TEST_MAIN(TEST_ENTRY(none_kept), TEST_ENTRY(closefrom), TEST_ENTRY(no_standard_descriptors))
