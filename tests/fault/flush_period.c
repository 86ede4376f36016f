/*
 * flush_period.c - posixtrace_attr_setflushperiod(): how soon an event is in the log by itself
 *
 * SPDX-License-Identifier: MIT
 */
#include <posixtrace/trace.h>
#include <sys/stat.h>

#include "fault.h"

#define MS 1000000L

static trace_id_t begin(int fd, const struct timespec *period)
{
	trace_attr_t attr;
	trace_id_t trid;

	MUST(posix_trace_attr_init(&attr) == 0);
	MUST(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND) == 0);
	if (period)
		MUST(posixtrace_attr_setflushperiod(&attr, period) == 0);
	MUST(posix_trace_create_withlog(getpid(), &attr, fd, &trid) == 0);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	MUST(posix_trace_start(trid) == 0);
	return trid;
}

static int log_file(void)
{
	char path[] = "/tmp/test-flush-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	MUST(fd >= 0 && unlink(path) == 0);
	return fd;
}

static off_t size_of(int fd)
{
	struct stat st;

	MUST(fstat(fd, &st) == 0);
	return st.st_size;
}

static double seconds(void)
{
	struct timespec t;

	MUST(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Records an event, and waits until the log is larger. */
static void event_into(int fd)
{
	off_t before = size_of(fd);

	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, "12345678", 8);
	while (size_of(fd) == before)
		usleep(500);
}

/* With the default each of these events would wait for about a second, and a few of them longer. */
TEST(short_period)
{
	int fd = log_file();
	trace_id_t trid = begin(fd, &(struct timespec){ 0, 2 * MS });
	double start = seconds();

	for (int i = 0; i < 30; i++)
		event_into(fd);
	CHECK_OP("-", seconds() - start, <, 20);
	MUST(posix_trace_shutdown(trid) == 0);
	close(fd);
}

/* With the default, at least one flush would begin within three seconds. */
TEST(long_period)
{
	int fd = log_file();
	trace_id_t trid = begin(fd, &(struct timespec){ 3600, 0 });
	off_t before;

	/* The first event of a thread takes a part of the stream, which wakes the flusher. */
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, "12345678", 8);
	MUST(posix_trace_flush(trid) == 0);
	before = size_of(fd);
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, "12345678", 8);
	usleep(3000000);
	CHECK_EQ("-", size_of(fd), before);
	CHECK_EQ("-", posix_trace_flush(trid), 0);
	CHECK_OP("-", size_of(fd), >, before);
	MUST(posix_trace_shutdown(trid) == 0);
	close(fd);
}

/* posix_trace_get_attr() gives the period of a stream. */
TEST(values)
{
	static const struct timespec wrong[] = {
		{ 0, MS - 1 }, { 0, 0 }, { 3600, 1 }, { -1, 0 }, { 0, -1 }, { 1, 1000 * MS }, { 0, 1000 * MS },
	};
	struct timespec t;
	trace_attr_t attr;
	trace_id_t trid;
	int fd = log_file();

	MUST(posix_trace_attr_init(&attr) == 0);
	CHECK_EQ("-", posixtrace_attr_getflushperiod(&attr, &t), 0);
	CHECK_EQ("-", t.tv_sec == 1 && t.tv_nsec == 0, true);
	CHECK_EQ("-", posixtrace_attr_setflushperiod(&attr, &(struct timespec){ 2, 5 * MS }), 0);
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
		CHECK_EQ("-", posixtrace_attr_setflushperiod(&attr, &wrong[i]), EINVAL);
	CHECK_EQ("-", posixtrace_attr_getflushperiod(&attr, &t), 0);
	CHECK_EQ("-", t.tv_sec == 2 && t.tv_nsec == 5 * MS, true);
	CHECK_EQ("-", posixtrace_attr_setflushperiod(&attr, NULL), EINVAL);
	CHECK_EQ("-", posixtrace_attr_setflushperiod(NULL, &t), EINVAL);
	CHECK_EQ("-", posixtrace_attr_getflushperiod(&attr, NULL), EINVAL);
	trid = begin(fd, &(struct timespec){ 0, 50 * MS });
	CHECK_EQ("-", posix_trace_get_attr(trid, &attr), 0);
	CHECK_EQ("-", posixtrace_attr_getflushperiod(&attr, &t), 0);
	CHECK_EQ("-", t.tv_sec == 0 && t.tv_nsec == 50 * MS, true);
	MUST(posix_trace_shutdown(trid) == 0);
	close(fd);
}

TEST_MAIN(TEST_ENTRY(short_period), TEST_ENTRY(long_period), TEST_ENTRY(values))
