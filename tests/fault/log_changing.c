/*
 * log_changing.c - a log that is truncated anywhere, and a log that changes while it is read (H26)
 *
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

static unsigned char log_bytes[1 << 16];
static size_t log_size;
static trace_event_id_t id;

#define EVENTS 150

/* Makes a log with events 0 .. EVENTS - 1, with data that follows from the number, in many segments. `complete`: after
 * shutdown; otherwise as its writer left it. */
static void make_log(int policy, size_t size, bool complete)
{
	int fd = memfd_create("log", MFD_CLOEXEC);
	uint64_t data[3];
	trace_attr_t attr;
	trace_id_t trid;

	id = fault_open("changing");
	MUST(fd >= 0 && posix_trace_attr_init(&attr) == 0);
	MUST(posix_trace_attr_setlogfullpolicy(&attr, policy) == 0 && posix_trace_attr_setlogsize(&attr, size) == 0);
	MUST(posix_trace_attr_setmaxdatasize(&attr, sizeof data) == 0 &&
	     posix_trace_attr_setstreamsize(&attr, 65536) == 0);
	MUST(posix_trace_create_withlog(0, &attr, fd, &trid) == 0 && posix_trace_start(trid) == 0);
	for (uint64_t i = 0; i < EVENTS; i++) {
		data[0] = i;
		data[1] = i * UINT64_C(0x9e3779b97f4a7c15);
		data[2] = ~i;
		posix_trace_event(id, data, sizeof data);
		if (i % 15 == 14)
			MUST(posix_trace_flush(trid) == 0);
	}
	if (complete)
		MUST(posix_trace_shutdown(trid) == 0);
	log_size = (size_t)pread(fd, log_bytes, sizeof log_bytes, 0);
	MUST(log_size > 1000 && log_size < sizeof log_bytes);
	if (!complete)
		MUST(posix_trace_shutdown(trid) == 0);
	close(fd);
}

struct seen {
	uint64_t count, first, last;
	unsigned gaps;
};

/* Reads a log. Returns false unless all our events are intact and in order. */
static bool read_log(trace_id_t trid, struct seen *seen)
{
	struct posix_trace_event_info event;
	uint64_t data[3];
	int unavailable;
	size_t length;

	*seen = (struct seen){ 0 };
	for (;;) {
		MUST(posix_trace_getnext_event(trid, &event, data, sizeof data, &length, &unavailable) == 0);
		if (unavailable)
			return true;
		seen->gaps += event.posix_event_id == POSIX_TRACE_OVERFLOW;
		if (event.posix_event_id != id)
			continue;
		if (length != sizeof data || data[0] >= EVENTS || data[1] != data[0] * UINT64_C(0x9e3779b97f4a7c15) ||
		    data[2] != ~data[0])
			return false;
		if (seen->count && data[0] <= seen->last)
			return false;
		if (seen->count++ == 0)
			seen->first = data[0];
		seen->last = data[0];
	}
}

/* -- Truncated logs -------------------------------------------------------------------------- */

static void check_cut(int policy, size_t size, bool complete)
{
	int fd = memfd_create("cut", MFD_CLOEXEC);
	uint64_t most = 0;
	bool opened = false;

	make_log(policy, size, complete);
	MUST(fd >= 0);
	for (size_t cut = 0; cut <= log_size; cut++) {
		struct seen seen;
		trace_id_t trid;
		int error;

		/* The log grows by a byte. */
		MUST(cut == 0 || pwrite(fd, log_bytes + cut - 1, 1, (off_t)cut - 1) == 1);
		error = posix_trace_open(fd, &trid);
		CHECK("OPEN-8", error == 0 || (error == EINVAL && !opened));
		if (error)
			continue;
		opened = true;
		CHECK("LOG-24", read_log(trid, &seen));
		if (policy == POSIX_TRACE_LOOP) {
			CHECK("LOG-24", seen.last < EVENTS);
		} else {
			/* The events are complete from the first one on, and not fewer than before. */
			CHECK("LOG-24",
			      seen.gaps == 0 && seen.count >= most && (seen.count == 0 || seen.last == seen.count - 1));
			most = seen.count;
		}
		if (cut == log_size)
			CHECK_EQ("LOG-20", seen.last, EVENTS - 1);
		CHECK_EQ("OPEN-10", posix_trace_close(trid), 0);
	}
	CHECK("-", opened);
	close(fd);
}

TEST(cut_append)
{
	check_cut(POSIX_TRACE_APPEND, 0, true);
	check_cut(POSIX_TRACE_APPEND, 0, false);
}

TEST(cut_until_full)
{
	check_cut(POSIX_TRACE_UNTIL_FULL, 1 << 20, true);
}

TEST(cut_loop)
{
	check_cut(POSIX_TRACE_LOOP, 2500, true);
	check_cut(POSIX_TRACE_LOOP, 2500, false);
}

/* -- Changing logs ------------------------------------------------------------------------------ */

static int changing;
static volatile int stop;

static void *change(void *arg)
{
	unsigned seed = 1;

	while (!stop) {
		off_t at = rand_r(&seed) % (off_t)log_size;
		unsigned char junk[200];

		switch (rand_r(&seed) % 3) {
		case 0:
			MUST(ftruncate(changing, at) == 0);
			break;
		case 1:
			for (size_t i = 0; i < sizeof junk; i++)
				junk[i] = (unsigned char)rand_r(&seed);
			MUST(pwrite(changing, junk, sizeof junk, at) == sizeof junk);
			break;
		default:
			MUST(ftruncate(changing, (off_t)log_size + at) == 0);
			break;
		}
		sched_yield();
		MUST(pwrite(changing, log_bytes, log_size, 0) == (ssize_t)log_size &&
		     ftruncate(changing, (off_t)log_size) == 0);
		sched_yield();
	}
	return NULL;
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Reads the log repeatedly: each event must be one that was recorded. Returns how often the log could be opened. */
static void *read_often(void *arg)
{
	int64_t begin = now();
	uintptr_t opened = 0;

	while (now() - begin < 300000000 || (opened == 0 && now() - begin < INT64_C(20000000000))) {
		struct posix_trace_status_info status;
		struct seen seen;
		trace_id_t trid;
		int error = posix_trace_open(changing, &trid);

		CHECK("OPEN-8", error == 0 || error == EINVAL);
		if (error)
			continue;
		opened++;
		for (int i = 0; i < 2; i++) {
			CHECK("OPEN-8", read_log(trid, &seen));
			CHECK_EQ("OPEN-9", posix_trace_rewind(trid), 0);
		}
		CHECK_EQ("-", posix_trace_get_status(trid, &status), 0);
		CHECK_EQ("OPEN-10", posix_trace_close(trid), 0);
	}
	return (void *)opened;
}

static void check_changing(int policy, bool complete)
{
	pthread_t changer, reader[2];
	void *opened;

	make_log(policy, 2500, complete);
	changing = memfd_create("changing", MFD_CLOEXEC);
	MUST(changing >= 0 && pwrite(changing, log_bytes, log_size, 0) == (ssize_t)log_size);
	stop = 0;
	MUST(pthread_create(&changer, NULL, change, NULL) == 0);
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&reader[i], NULL, read_often, NULL) == 0);
	for (int i = 0; i < 2; i++) {
		pthread_join(reader[i], &opened);
		CHECK("-", opened != NULL);
	}
	stop = 1;
	pthread_join(changer, NULL);
	/* After all changes the log is the original one, and is read as such. */
	{
		struct seen seen;
		trace_id_t trid;

		CHECK_EQ("-", posix_trace_open(changing, &trid), 0);
		CHECK("-", read_log(trid, &seen) && seen.last == EVENTS - 1 && seen.gaps == 0);
		CHECK_EQ("-", posix_trace_close(trid), 0);
	}
	close(changing);
}

TEST(changing_append)
{
	check_changing(POSIX_TRACE_APPEND, true);
	check_changing(POSIX_TRACE_APPEND, false);
}

TEST(changing_loop)
{
	check_changing(POSIX_TRACE_LOOP, true);
	check_changing(POSIX_TRACE_LOOP, false);
}

TEST_MAIN(TEST_ENTRY(cut_append), TEST_ENTRY(cut_until_full), TEST_ENTRY(cut_loop), TEST_ENTRY(changing_append),
          TEST_ENTRY(changing_loop))
