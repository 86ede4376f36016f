/*
 * log_clear.c - posix_trace_clear() of streams with a log
 *
 * SPDX-License-Identifier: MIT
 */
#include <sched.h>
#include <sys/resource.h>

#include "log.h"

static trace_event_id_t id;

static const int log_policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };
static const int stream_policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH };

/* Checks that the log has these numbers and a STOP. START was recorded before the clear. */
static void check_cleared(const char *ids, int line, int fd, unsigned first, unsigned end)
{
	trace_id_t trid = log_open(fd);
	struct stream_event e;
	unsigned number = log_run(trid, id, first, &e);

	if (number != end)
		TEST_FAIL(ids, "line %d: number %u is missing, the last should be %u", line, number, end - 1);
	if (e.info.posix_event_id != POSIX_TRACE_STOP)
		TEST_FAIL(ids, "line %d: behind the numbers there is type %u", line, e.info.posix_event_id);
	if (log_try_other(trid, &e))
		TEST_FAIL(ids, "line %d: behind the STOP there is type %u", line, e.info.posix_event_id);
	log_close(trid);
}
#define CHECK_CLEARED(ids, ...) check_cleared(ids, __LINE__, __VA_ARGS__)

/*
 * Events from before the clear are neither in the stream nor in the log, whether they had been flushed or not. The log
 * has all events recorded after the clear.
 */
TEST(running)
{
	id = stream_id("clear");
	for (int s = 0; s < 3; s++) {
		for (int l = 0; l < 3; l++) {
			for (int flushed = 0; flushed < 3; flushed++) {
				int fd = log_file();
				trace_id_t trid = log_running(stream_policies[s], log_policies[l], 1 << 20, 1 << 20,
				                              fd), log;

				log_send(id, 0, 1000);
				if (flushed)
					MUST(posix_trace_flush(trid) == 0);
				if (flushed == 2)
					log_send(id, 1000, 500);
				CHECK_EQ("CLEAR-8 CLEAR-13", posix_trace_clear(trid), 0);
				CHECK_STR("CLEAR-4 CLEAR-6 CLEAR-8", state(trid), "RN");
				/* Also while the log is being written. */
				log = log_open(fd);
				CHECK_EQ("CLEAR-5 CLEAR-8", log_count(log, id), 0);
				log_close(log);
				log_send(id, 5000, 100);
				MUST(posix_trace_flush(trid) == 0);
				log_send(id, 5100, 100);
				stream_end(trid);
				CHECK_CLEARED("CLEAR-5 CLEAR-8 CLEAR-9 CLEAR-11", fd, 5000, 5200);
				close(fd);
			}
		}
	}
}

/* A suspended stream stays suspended. The log begins with START when it is started. */
TEST(suspended)
{
	id = stream_id("clear");
	for (int l = 0; l < 3; l++) {
		int fd = log_file();
		trace_id_t trid = log_running(POSIX_TRACE_FLUSH, log_policies[l], 0, 1 << 20, fd);

		log_send(id, 0, 300);
		MUST(posix_trace_stop(trid) == 0);
		CHECK_EQ("CLEAR-8 CLEAR-13", posix_trace_clear(trid), 0);
		CHECK_STR("CLEAR-4 CLEAR-6 CLEAR-8", state(trid), "SN");
		log_send(id, 300, 10);
		MUST(posix_trace_start(trid) == 0);
		log_send(id, 400, 50);
		stream_end(trid);
		CHECK_LOG("CLEAR-4 CLEAR-8 CLEAR-9", fd, id, 400, 450);
		close(fd);
	}
	/* A stream that was never started. */
	{
		int fd = log_file();
		trace_id_t trid = log_create(NULL, fd);

		CHECK_EQ("CLEAR-8 CLEAR-13", posix_trace_clear(trid), 0);
		CHECK_STR("CLEAR-4", state(trid), "SN");
		MUST(posix_trace_start(trid) == 0);
		log_send(id, 0, 5);
		stream_end(trid);
		CHECK_LOG("CLEAR-8", fd, id, 0, 5);
	}
}

/* A full log has all its room again, and its statuses are as at the beginning. */
TEST(full_log)
{
	static unsigned char data[1000];

	id = stream_id("clear");
	for (int l = 0; l < 2; l++) {
		int fd = log_file();
		trace_id_t trid = log_running(POSIX_TRACE_UNTIL_FULL, log_policies[l], 0, 100000, fd);
		struct posix_trace_status_info s;
		struct stream_event e;
		unsigned n = 0;

		for (int round = 0; round < 3; round++) {
			for (int i = 0; i < 200; i++)
				posix_trace_event(id, data, sizeof data);
			MUST(posix_trace_flush(trid) == 0);
			s = stream_status(trid);
			CHECK_EQ("STAT-19", s.posix_log_full_status, POSIX_TRACE_FULL);
			CHECK_EQ("STAT-18", s.posix_log_overrun_status, POSIX_TRACE_OVERRUN);
			for (int i = 0; i < 10; i++)
				posix_trace_event(id, data, sizeof data);
			MUST(posix_trace_flush(trid) == 0);
			/* The status was not read, so the log would still count as overrun. */
			CHECK_EQ("CLEAR-10 CLEAR-13", posix_trace_clear(trid), 0);
			s = stream_status(trid);
			CHECK_EQ("CLEAR-10", s.posix_log_full_status, POSIX_TRACE_NOT_FULL);
			CHECK_EQ("CLEAR-8", s.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
			CHECK_EQ("CLEAR-4", s.posix_stream_status, POSIX_TRACE_RUNNING);
			for (int i = 0; i < 80; i++)
				posix_trace_event(id, data, sizeof data);
			MUST(posix_trace_flush(trid) == 0);
			s = stream_status(trid);
			CHECK_EQ("CLEAR-8 CLEAR-10", s.posix_log_full_status, POSIX_TRACE_NOT_FULL);
			CHECK_EQ("CLEAR-8 CLEAR-10", s.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
			MUST(posix_trace_clear(trid) == 0);
		}
		for (unsigned i = 0; i < 50; i++) {
			memcpy(data, &i, sizeof i);
			posix_trace_event(id, data, sizeof data);
		}
		stream_end(trid);
		trid = log_open(fd);
		while (log_try_other(trid, &e) && e.info.posix_event_id == id) {
			unsigned i;

			memcpy(&i, e.data, sizeof i);
			CHECK_EQ("CLEAR-8 CLEAR-9", i, n++);
		}
		CHECK_EQ("CLEAR-8 CLEAR-9", n, 50);
		CHECK_EQ("SHUT-1", e.info.posix_event_id, POSIX_TRACE_STOP);
		CHECK_EQ("SHUT-1", log_int(&e), 0);
		CHECK_EQ("CLEAR-10", stream_status(trid).posix_log_full_status, POSIX_TRACE_NOT_FULL);
		log_close(trid);
		close(fd);
	}
}

/* The error of a flush, the number of lost events and an automatic stop are reset as well. */
TEST(other_statuses)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct posix_trace_status_info s;
	struct rlimit limit;
	int fd = log_file();
	trace_id_t trid = log_small(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 0, fd);
	rlim_t before;
	unsigned end;

	id = stream_id("clear");
	MUST(sigaction(SIGXFSZ, &ignore, NULL) == 0);
	end = fill(trid, id, 0);
	log_send(id, end, 10);
	MUST(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	before = limit.rlim_cur;
	limit.rlim_cur = (rlim_t)log_length(fd) + 10;
	MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	CHECK_EQ("FLUSH-11", posix_trace_flush(trid), EFBIG);
	limit.rlim_cur = before;
	MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	CHECK_EQ("CLEAR-8 CLEAR-13", posix_trace_clear(trid), 0);
	s = stream_status(trid);
	CHECK_EQ("CLEAR-8 CLEAR-1", s.posix_stream_flush_error, 0);
	CHECK_EQ("CLEAR-8 CLEAR-1", s.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ("CLEAR-6", s.posix_stream_full_status, POSIX_TRACE_NOT_FULL);
	CHECK_LOST("CLEAR-1", ours_lost(&s), ==, 0);
	CHECK_EQ("CLEAR-8", s.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
	/* Restarts the stream, whether it has restarted by itself or not. */
	MUST(posix_trace_start(trid) == 0);
	CHECK_STR("CLEAR-1", state(trid), "RN");
	log_send(id, 9000, 10);
	MUST(posix_trace_flush(trid) == 0);
	stream_end(trid);
	trid = log_open(fd);
	CHECK_LOST("CLEAR-1 CLEAR-8", lost_events(trid), ==, 0);
	CHECK_EQ("CLEAR-1 CLEAR-8", stream_status(trid).posix_stream_flush_error, 0);
	CHECK_EQ("CLEAR-9", log_count(trid, id), 10);
	log_close(trid);
}

/* The stream stopped itself while its flush was blocked: it stays stopped after the clear, and can be started. */
TEST(stopped_by_itself)
{
	int fd = log_file();
	trace_id_t trid = log_small(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_LOOP, 1 << 20, fd);

	id = stream_id("clear");
	fill(trid, id, 0);
	CHECK_EQ("CLEAR-8", posix_trace_clear(trid), 0);
	CHECK_STR("CLEAR-4 CLEAR-6", state(trid), "SN");
	MUST(posix_trace_flush(trid) == 0);
	CHECK_STR("CLEAR-4", state(trid), "SN");
	MUST(posix_trace_start(trid) == 0);
	log_send(id, 100, 10);
	stream_end(trid);
	CHECK_LOG("CLEAR-4 CLEAR-8 CLEAR-9", fd, id, 100, 110);
}

/* Names and attributes stay, the creation time and the filter do not: read from the log. */
TEST(what_stays)
{
	trace_event_set_t filter, sets[2];
	struct timespec first, second, logged;
	char name[TRACE_NAME_MAX + 1];
	trace_event_id_t before, hidden;
	struct stream_event e;
	int fd = log_file();
	trace_attr_t attr;
	trace_id_t trid;
	size_t size;

	id = stream_id("clear");
	before = stream_id("before");
	hidden = stream_id("hidden");
	filter = set_of(hidden);
	log_attr(&attr, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_UNTIL_FULL, 0, 123456);
	MUST(posix_trace_attr_setname(&attr, "cleared") == 0);
	trid = log_create(&attr, fd);
	MUST(posix_trace_set_filter(trid, &filter, POSIX_TRACE_SET_EVENTSET) == 0 && posix_trace_start(trid) == 0);
	posix_trace_event(before, NULL, 0);
	MUST(posix_trace_flush(trid) == 0);
	MUST(posix_trace_get_attr(trid, &attr) == 0 && posix_trace_attr_getcreatetime(&attr, &first) == 0);
	sleep_ms(2);
	MUST(posix_trace_clear(trid) == 0);
	MUST(posix_trace_get_attr(trid, &attr) == 0 && posix_trace_attr_getcreatetime(&attr, &second) == 0);
	CHECK_OP("CLEAR-1", nanoseconds(second), >, nanoseconds(first));
	log_send(id, 0, 3);
	posix_trace_event(hidden, NULL, 0);
	stream_end(trid);

	trid = log_open(fd);
	MUST(posix_trace_get_attr(trid, &attr) == 0 && posix_trace_attr_getcreatetime(&attr, &logged) == 0);
	CHECK_EQ("CLEAR-8", nanoseconds(logged), nanoseconds(second));
	MUST(posix_trace_attr_getname(&attr, name) == 0 && posix_trace_attr_getlogsize(&attr, &size) == 0);
	CHECK_STR("CLEAR-1 CLEAR-8", name, "cleared");
	CHECK_EQ("CLEAR-1 CLEAR-8", size, 123456);
	CHECK_EQ("CLEAR-3", posix_trace_eventid_get_name(trid, before, name), 0);
	CHECK_STR("CLEAR-3", name, "before");
	/* The filter is empty as at the beginning. As the stream runs, FILTER records the change. */
	log_expect(trid, POSIX_TRACE_FILTER, &e);
	memcpy(sets, e.data, sizeof sets);
	CHECK("CLEAR-1 CLEAR-9", set_equal(&sets[0], &filter));
	filter = set_of(NO_TYPE);
	CHECK("CLEAR-1 CLEAR-9", set_equal(&sets[1], &filter));
	CHECK_OP("CLEAR-8 READ-21", nanoseconds(e.info.posix_timestamp), >=, nanoseconds(second) - 1000);
	CHECK_EQ("CLEAR-9", log_run(trid, id, 0, &e), 3);
	CHECK_EQ("CLEAR-1", e.info.posix_event_id, hidden);
	log_close(trid);
}

/* What was written to a pipe stays there. What follows is complete, and counts begin again. */
TEST(pipe_log)
{
	static unsigned char data[1000];

	id = stream_id("clear");
	for (int l = 1; l < 3; l++) {
		struct posix_trace_status_info s;
		unsigned before = 0, after = 0;
		struct log_sink sink;
		struct stream_event e;
		trace_id_t trid;
		int fd = log_pipe(&sink);

		trid = log_running(POSIX_TRACE_UNTIL_FULL, log_policies[l], 64 << 10, 100000, fd);
		for (unsigned i = 0; i < 200; i++) { /* more than the stream holds */
			memcpy(data, &i, sizeof i);
			posix_trace_event(id, data, sizeof data);
		}
		MUST(posix_trace_flush(trid) == 0);
		for (unsigned round = 0; round < 10 && l == 1; round++) { /* more than the log holds */
			for (unsigned i = 0; i < 20; i++)
				posix_trace_event(id, data, sizeof data);
			MUST(posix_trace_flush(trid) == 0);
		}
		s = stream_status(trid);
		CHECK_EQ("STAT-19", s.posix_log_full_status, l == 1 ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL);
		CHECK_LOST("STAT-15", ours_lost(&s), >, 0);
		CHECK_EQ("CLEAR-8 CLEAR-13", posix_trace_clear(trid), 0);
		s = stream_status(trid);
		CHECK_EQ("CLEAR-10", s.posix_log_full_status, POSIX_TRACE_NOT_FULL);
		CHECK_LOST("CLEAR-1", ours_lost(&s), ==, 0);
		for (unsigned i = 0; i < 40; i++) {
			unsigned number = 10000 + i;

			memcpy(data, &number, sizeof number);
			posix_trace_event(id, data, sizeof data);
		}
		MUST(posix_trace_flush(trid) == 0);
		CHECK_EQ("CLEAR-8 CLEAR-10", stream_status(trid).posix_log_full_status, POSIX_TRACE_NOT_FULL);
		stream_end(trid);
		close(fd);
		fd = log_sink_file(&sink);
		trid = log_open(fd);
		CHECK_LOST("CLEAR-8", lost_events(trid), ==, 0);
		while (log_try(trid, &e)) {
			unsigned number;

			if (e.info.posix_event_id != id)
				continue;
			memcpy(&number, e.data, sizeof number);
			if (number < 10000) {
				CHECK_EQ("CLEAR-11", after, 0);
				before++;
			} else {
				CHECK_EQ("CLEAR-8 CLEAR-9 CLEAR-11", number, 10000 + after);
				after++;
			}
		}
		CHECK_OP("CLEAR-11", before, >, 0);
		CHECK_EQ("CLEAR-8 CLEAR-9 CLEAR-11", after, 40);
		log_close(trid);
		/* If the log is cut off before its end, its figures come from its segments. */
		MUST(ftruncate(fd, log_length(fd) - 8) == 0);
		trid = log_open(fd);
		CHECK_LOST("CLEAR-8", lost_events(trid), <, 1000);
		log_close(trid);
		close(fd);
	}
}

/*
 * While other threads record, flush and ask for the status: each number in the log is intact, the numbers increase, and
 * all numbers recorded after the last clear are there.
 */
static atomic_int over;
static atomic_uint allowed;
static trace_id_t shared;

static void *flush_shared(void *arg)
{
	while (!atomic_load(&over)) {
		CHECK_EQ("CLEAR-13 THR-1 FLUSH-20", posix_trace_flush(shared), 0);
		stream_status(shared);
	}
	return arg;
}

static void *send_shared(void *arg)
{
	unsigned *n = arg;

	/* No more than the stream holds, or the stream would stop, be cleared and stay stopped. */
	while (!atomic_load(&over)) {
		if (*n < atomic_load(&allowed))
			number_send(id, 3, (*n)++);
		else
			sched_yield();
	}
	return NULL;
}

TEST(meanwhile)
{
	id = stream_id("clear");
	for (int l = 0; l < 3; l++) {
		unsigned sent = 0, behind = 0;
		pthread_t thread[2];
		struct stream_event e;
		int fd = log_file(), first = 1;
		trace_id_t trid;

		shared = log_running(POSIX_TRACE_UNTIL_FULL, log_policies[l], 8 << 20, 64 << 20, fd);
		atomic_store(&over, 0);
		atomic_store(&allowed, 0);
		MUST(pthread_create(&thread[0], NULL, flush_shared, NULL) == 0);
		MUST(pthread_create(&thread[1], NULL, send_shared, &sent) == 0);
		for (int i = 0; i < 50; i++) {
			atomic_fetch_add(&allowed, 1000);
			CHECK_EQ("CLEAR-13 THR-1", posix_trace_clear(shared), 0);
			sleep_ms(1);
		}
		atomic_store(&over, 1);
		for (int i = 0; i < 2; i++)
			MUST(pthread_join(thread[i], NULL) == 0);
		number_send(id, 3, sent);
		stream_end(shared);
		trid = log_open(fd);
		while (log_try_other(trid, &e) && e.info.posix_event_id == id) {
			struct number n = number_of(e.data, e.len);

			if (!first)
				CHECK_EQ("CLEAR-5 CLEAR-7 CLEAR-9", n.number, behind);
			first = 0;
			behind = n.number + 1;
			MUST(test_failures < 10);
		}
		CHECK_EQ("CLEAR-9", behind, sent + 1);
		log_close(trid);
		close(fd);
	}
}

TEST_MAIN(TEST_ENTRY(running), TEST_ENTRY(suspended), TEST_ENTRY(full_log), TEST_ENTRY(other_statuses),
          TEST_ENTRY(stopped_by_itself), TEST_ENTRY(what_stays), TEST_ENTRY(pipe_log), TEST_ENTRY(meanwhile))
