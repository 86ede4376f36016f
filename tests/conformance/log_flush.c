/*
 * log_flush.c - posix_trace_flush(), the policy FLUSH, what the status says meanwhile, and flushes that fail
 *
 * A pipe that nobody reads holds up a flush for as long as a test wants.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sched.h>
#include <sys/resource.h>

#include "disk.h"
#include "log.h"

static trace_event_id_t id;

static const int stream_policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH };

/* -- What a flush does ------------------------------------------------------------ */

/* When the call returns, all earlier events are in the log: a copy of the incomplete file has them. */
TEST(in_the_log_at_return)
{
	id = stream_id("flush");
	for (int p = 0; p < 3; p++) {
		int fd = log_file();
		trace_id_t trid = log_running(stream_policies[p], POSIX_TRACE_APPEND, 0, 0, fd);

		for (unsigned end = 1; end < 300; end += 60) {
			int reading = log_again(fd, O_RDONLY), copy = log_copy(reading);
			struct stream_event e;
			trace_id_t log;

			log_send(id, end == 1 ? 0 : end - 60, end == 1 ? 1 : 60);
			CHECK_EQ("FLUSH-1 FLUSH-20", posix_trace_flush(trid), 0);
			close(copy);
			lseek(reading, 0, SEEK_SET);
			copy = log_copy(reading);
			log = log_open(copy);
			log_expect_other(log, POSIX_TRACE_START, &e);
			CHECK_EQ("FLUSH-1 FLUSH-9 LOG-24 LOG-25", log_run(log, id, 0, &e), end);
			CHECK_EQ("FLUSH-1", e.info.posix_event_id, NO_TYPE);
			log_close(log);
			close(reading);
			close(copy);
		}
		/* Each event is in the log once, however often the stream was flushed. */
		for (int i = 0; i < 20; i++)
			CHECK_EQ("FLUSH-20", posix_trace_flush(trid), 0);
		stream_end(trid);
		CHECK_LOG("FLUSH-1 FLUSH-9", fd, id, 0, 241);
		close(fd);
	}
}

/* Before the start, while suspended, and without events: flushing nothing succeeds. */
TEST(of_nothing)
{
	int fd = log_file();
	trace_id_t trid = log_create(NULL, fd);

	id = stream_id("flush");
	CHECK_EQ("FLUSH-20", posix_trace_flush(trid), 0);
	CHECK_STR("FLUSH-20", state(trid), "SN");
	MUST(posix_trace_start(trid) == 0);
	log_send(id, 0, 5);
	MUST(posix_trace_stop(trid) == 0);
	CHECK_EQ("FLUSH-20", posix_trace_flush(trid), 0);
	CHECK_EQ("FLUSH-20", posix_trace_flush(trid), 0);
	CHECK_STR("FLUSH-20", state(trid), "SN");
	stream_end(trid);
	CHECK_LOG("FLUSH-1", fd, id, 0, 5);
}

/* A stream that holds few events is filled and flushed repeatedly, and is never full. */
TEST(space_is_used_again)
{
	id = stream_id("flush");
	for (int p = 0; p < 3; p++) {
		int fd = log_file();
		trace_id_t trid = log_small(stream_policies[p], POSIX_TRACE_APPEND, 0, fd);

		MUST(posix_trace_flush(trid) == 0);
		for (unsigned i = 0; i < 200; i++) {
			log_send(id, 20 * i, 20);
			CHECK_EQ("FLUSH-20", posix_trace_flush(trid), 0);
			CHECK_STR("FLUSH-5 FLUSH-18 START-14", state(trid), "RN");
		}
		CHECK_LOST("FLUSH-5 FLUSH-18 START-14", lost_events(trid), ==, 0);
		stream_end(trid);
		CHECK_LOG("FLUSH-5 FLUSH-18 MODEL-9", fd, id, 0, 4000);
		close(fd);
	}
}

/*
 * A full stream continues after a flush. Lost events are between a STOP and a START, or under LOOP between an OVERFLOW
 * and a RESUME.
 */
TEST(full_stream)
{
	struct stream_event e;
	trace_id_t trid;
	unsigned lost;
	int fd;

	id = stream_id("flush");
	fd = log_file();
	trid = log_small(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 0, fd);
	for (int round = 0; round < 3; round++) {
		unsigned from = 1000 * (unsigned)round;

		lost = fill(trid, id, from);
		log_send(id, lost, 3);
		CHECK_STR("FLUSH-18 STAT-15", state(trid), "SF!");
		CHECK_EQ("FLUSH-20", posix_trace_flush(trid), 0);
		CHECK_STR("FLUSH-18 START-15", state(trid), "RN");
	}
	log_send(id, 5000, 1);
	stream_end(trid);
	trid = log_open(fd);
	log_expect_other(trid, POSIX_TRACE_START, &e);
	CHECK_LOST("STAT-5", lost_events(trid), ==, 12);
	for (unsigned round = 0; round < 3; round++) {
		CHECK_OP("FLUSH-18", log_run(trid, id, 1000 * round, &e), >, 1000 * round + 10);
		CHECK_EQ("START-13 FLUSH-18", e.info.posix_event_id, POSIX_TRACE_STOP);
		CHECK_NE("START-13 SYS-5", log_int(&e), 0);
		/* UNTIL_FULL reports the loss by no other event. */
		log_expect_other(trid, POSIX_TRACE_START, &e);
		CHECK_EQ("START-17", e.len, sizeof(trace_event_set_t));
	}
	CHECK_EQ("FLUSH-18", log_run(trid, id, 5000, &e), 5001);
	CHECK_EQ("SHUT-1", e.info.posix_event_id, POSIX_TRACE_STOP);
	CHECK_EQ("SHUT-1", log_int(&e), 0);
	log_close(trid);
	close(fd);

	fd = log_file();
	trid = log_small(POSIX_TRACE_LOOP, POSIX_TRACE_APPEND, 0, fd);
	lost = fill(trid, id, 0);
	log_send(id, lost, 200);
	CHECK_STR("STAT-12", state(trid), "RF!");
	CHECK_EQ("FLUSH-20", posix_trace_flush(trid), 0);
	CHECK_STR("FLUSH-5 FLUSH-18", state(trid), "RN");
	log_send(id, lost + 200, 5);
	stream_end(trid);
	trid = log_open(fd);
	log_expect_other(trid, POSIX_TRACE_OVERFLOW, &e);
	log_expect_other(trid, POSIX_TRACE_RESUME, &e);
	MUST(log_try_other(trid, &e));
	CHECK_OP("FLUSH-1", number_of(e.data, e.len).number, >, 0);
	CHECK_EQ("FLUSH-1", log_run(trid, id, number_of(e.data, e.len).number + 1, &e), lost + 205);
	CHECK_EQ("SHUT-1", e.info.posix_event_id, POSIX_TRACE_STOP);
	log_close(trid);
}

/* Stopped by a call while full: a flush makes room, but does not start the stream. */
TEST(full_and_stopped)
{
	int fd = log_file();
	trace_id_t trid = log_small(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 0, fd);
	struct stream_event e;
	unsigned end;

	id = stream_id("flush");
	end = fill(trid, id, 0);
	MUST(posix_trace_stop(trid) == 0);
	CHECK_STR("STAT-14", state(trid), "SF");
	CHECK_EQ("FLUSH-20", posix_trace_flush(trid), 0);
	CHECK_STR("START-6 FLUSH-18", state(trid), "SN");
	log_send(id, end, 1);
	stream_end(trid);
	trid = log_open(fd);
	log_expect_other(trid, POSIX_TRACE_START, &e);
	CHECK_EQ("FLUSH-1", log_run(trid, id, 0, &e), end - 1);
	CHECK_EQ("START-13", e.info.posix_event_id, POSIX_TRACE_STOP);
	CHECK_EQ("START-6", log_try_other(trid, &e), 0);
	log_close(trid);
}

/*
 * Several threads flush while others record: each call returns when its flush is done, and no event is lost or
 * duplicated.
 */
static trace_id_t shared;
static atomic_int ended;

static void *flush_often(void *arg)
{
	for (int i = 0; i < 100; i++)
		CHECK_EQ("FLUSH-20 THR-1", posix_trace_flush(shared), 0);
	return arg;
}

static void *send_often(void *arg)
{
	unsigned n = 0;

	/* At most as many as the stream holds, however rarely the flusher runs. */
	while (!atomic_load(&ended) && n < (16 << 20) / 128) {
		number_send(id, 7, n++);
		if (n % 64 == 0)
			sched_yield();
	}
	*(unsigned *)arg = n;
	return NULL;
}

TEST(several_threads)
{
	enum { FLUSHERS = 3 };
	pthread_t flusher[FLUSHERS], sender;
	unsigned sent = 0, n = 0;
	struct stream_event e;
	int fd = log_file();
	trace_id_t trid;

	id = stream_id("flush");
	shared = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 16 << 20, 0, fd);
	MUST(pthread_create(&sender, NULL, send_often, &sent) == 0);
	for (int i = 0; i < FLUSHERS; i++)
		MUST(pthread_create(&flusher[i], NULL, flush_often, NULL) == 0);
	for (int i = 0; i < FLUSHERS; i++)
		MUST(pthread_join(flusher[i], NULL) == 0);
	atomic_store(&ended, 1);
	MUST(pthread_join(sender, NULL) == 0);
	CHECK_LOST("MODEL-9", lost_events(shared), ==, 0);
	stream_end(shared);
	trid = log_open(fd);
	log_expect_other(trid, POSIX_TRACE_START, &e);
	while (log_try_other(trid, &e) && e.info.posix_event_id == id)
		CHECK_EQ("FLUSH-1 MODEL-9 THR-1", number_of(e.data, e.len).number, n++);
	CHECK_EQ("FLUSH-1 MODEL-9 THR-1", n, sent);
	log_close(trid);
}

/* -- FLUSH_START and FLUSH_STOP ------------------------------------------------------- */

static __attribute__((noinline)) int flush_here(trace_id_t trid)
{
	int error = posix_trace_flush(trid);

	__asm__ volatile("" : : : "memory"); /* prevents a tail call */
	return error;
}

/* Each flush of a running stream has a pair of events without data, with the caller, its address and the time. */
TEST(markers)
{
	enum { FLUSHES = 5 };
	long long before[FLUSHES], after[FLUSHES], first = 0;
	void *address = NULL;
	struct stream_event e;
	int fd = log_file();
	trace_attr_t attr;
	trace_id_t trid;

	id = stream_id("flush");
	log_attr(&attr, POSIX_TRACE_UNTIL_FULL, 0, 0, 0); /* does not flush automatically */
	trid = log_create(&attr, fd);
	CHECK_EQ("FLUSH-20", flush_here(trid), 0); /* not running: no events */
	MUST(posix_trace_start(trid) == 0);
	for (int i = 0; i < FLUSHES; i++) {
		log_send(id, (unsigned)i, 1);
		before[i] = nanoseconds(now());
		CHECK_EQ("FLUSH-20", flush_here(trid), 0);
		after[i] = nanoseconds(now());
	}
	log_send(id, FLUSHES, 1);
	MUST(posix_trace_stop(trid) == 0);
	CHECK_EQ("FLUSH-20", flush_here(trid), 0); /* not running; but the FLUSH_STOP of the last pair is written */
	stream_end(trid);

	trid = log_open(fd);
	log_expect(trid, POSIX_TRACE_START, &e);
	for (int i = 0; i < FLUSHES; i++) {
		log_expect(trid, id, &e);
		CHECK_EQ("FLUSH-1", number_of(e.data, e.len).number, i);
		for (int stop = 0; stop < 2; stop++) {
			log_next(trid, &e);
			CHECK_EQ("FLUSH-19 SYS-11 SYS-12", e.info.posix_event_id,
			         stop ? POSIX_TRACE_FLUSH_STOP : POSIX_TRACE_FLUSH_START);
			CHECK_EQ("SYS-11 SYS-12", e.len, 0);
			CHECK_EQ("SYS-11 SYS-12", e.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
			CHECK_EQ("MODEL-21 SYS-15", e.info.posix_pid, getpid());
			CHECK("MODEL-21 SYS-16", pthread_equal(e.info.posix_thread_id, pthread_self()));
			CHECK("SYS-17", e.info.posix_prog_address != NULL);
			if (address)
				CHECK("SYS-17", e.info.posix_prog_address == address);
			address = e.info.posix_prog_address;
			CHECK_OP("FLUSH-19 EVT-9", nanoseconds(e.info.posix_timestamp), >=, before[i] - 50000000);
			CHECK_OP("FLUSH-19 EVT-9", nanoseconds(e.info.posix_timestamp), <=, after[i] + 50000000);
			if (stop)
				CHECK_OP("FLUSH-19 READ-21", nanoseconds(e.info.posix_timestamp), >=, first);
			first = nanoseconds(e.info.posix_timestamp);
		}
	}
	log_expect(trid, id, &e);
	log_expect(trid, POSIX_TRACE_STOP, &e);
	CHECK_EQ("FLUSH-19", log_try(trid, &e), 0);
	log_close(trid);
}

/* The two event types can be filtered out like all others. */
TEST(markers_filtered)
{
	for (int which = 0; which < 3; which++) {
		trace_event_set_t filter = set_of(which == 1 ? POSIX_TRACE_FLUSH_START : POSIX_TRACE_FLUSH_STOP);
		int fd = log_file();
		trace_id_t trid;

		if (which == 2)
			MUST(posix_trace_eventset_fill(&filter, POSIX_TRACE_WOPID_EVENTS) == 0);
		id = stream_id("flush");
		trid = log_create(NULL, fd);
		MUST(posix_trace_set_filter(trid, &filter, POSIX_TRACE_SET_EVENTSET) == 0 &&
		     posix_trace_start(trid) == 0);
		log_send(id, 0, 1);
		MUST(posix_trace_flush(trid) == 0);
		log_send(id, 1, 1);
		MUST(posix_trace_flush(trid) == 0);
		stream_end(trid);
		CHECK_LOG("FILT-15", fd, id, 0, 2);
		trid = log_open(fd);
		CHECK_EQ("FILT-15", log_count(trid, POSIX_TRACE_FLUSH_START) >= 2, which == 0);
		MUST(posix_trace_rewind(trid) == 0);
		CHECK_EQ("FILT-15", log_count(trid, POSIX_TRACE_FLUSH_STOP) >= 2, which == 1);
		log_close(trid);
		close(fd);
	}
}

/* An automatic flush has no process, and its events do not cause the next flush. */
TEST(markers_of_the_system)
{
	struct stream_event e;
	int ends[2], file, quiet = 0, pairs = 0;
	struct pollfd p;
	trace_id_t trid;
	char block[4096];

	id = stream_id("flush");
	MUST(pipe2(ends, O_CLOEXEC) == 0);
	MUST(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
	file = log_file();
	trid = log_running(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND, 0, 0, ends[1]);
	log_send(id, 0, 1);
	p = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	/* The stream flushes once a second while it has events, so two seconds without a flush suffice. */
	while (!quiet) {
		ssize_t n;

		quiet = poll(&p, 1, 2200 * test_slow()) == 0;
		while ((n = read(ends[0], block, sizeof block)) > 0)
			MUST(write(file, block, (size_t)n) == n);
		MUST(log_length(file) < 1 << 20);
	}
	MUST(posix_trace_stop(trid) == 0);
	MUST(fcntl(ends[0], F_SETFL, 0) == 0);
	stream_end(trid);
	close(ends[1]);
	for (ssize_t n; (n = read(ends[0], block, sizeof block)) > 0;)
		MUST(write(file, block, (size_t)n) == n);
	trid = log_open(file);
	while (log_try(trid, &e)) {
		if (!log_is_flush(&e))
			continue;
		CHECK_EQ("FLUSH-19 SYS-11 SYS-12", e.info.posix_event_id,
		         pairs++ % 2 ? POSIX_TRACE_FLUSH_STOP : POSIX_TRACE_FLUSH_START);
		CHECK_EQ("SYS-15 MODEL-21", e.info.posix_pid, 0);
		CHECK("SYS-16 MODEL-21", e.info.posix_thread_id == 0);
		CHECK("SYS-17", e.info.posix_prog_address == NULL);
	}
	CHECK_OP("FLUSH-13 FLUSH-19", pairs, >=, 2);
	CHECK_OP("FLUSH-13", pairs, <=, 6);
	CHECK_EQ("FLUSH-19", pairs % 2, 0);
	log_close(trid);
}

/* -- While a flush runs ------------------------------------------------------------------ */

/* The status is FLUSHING from the beginning of a flush to its end. Everything else continues. */
TEST(flushing)
{
	id = stream_id("flush");
	for (int p = 0; p < 2; p++) {
		struct log_flusher flusher, second;
		struct posix_trace_status_info s;
		trace_event_id_t type;
		struct stream_event e;
		trace_event_set_t set;
		struct log_sink sink;
		trace_attr_t attr;
		trace_id_t trid;
		int fd = log_pipe(&sink);

		trid = log_running(stream_policies[p], POSIX_TRACE_APPEND, 1 << 20, 0, fd);
		log_sink_hold(&sink);
		log_send(id, 0, 2000);
		CHECK_EQ("FLUSH-15", stream_status(trid).posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
		log_flusher_start(&flusher, trid);
		log_wait_flush(trid, POSIX_TRACE_FLUSHING);
		s = stream_status(trid);
		/* Asking does not reset the flush status. */
		CHECK_EQ("FLUSH-3 FLUSH-15 STAT-17", s.posix_stream_flush_status, POSIX_TRACE_FLUSHING);
		CHECK_EQ("FLUSH-4", s.posix_stream_status, POSIX_TRACE_RUNNING);
		log_send(id, 2000, 500);
		CHECK_LOST("FLUSH-4", lost_events(trid), ==, 0);
		CHECK_EQ("FLUSH-4", posix_trace_stop(trid), 0);
		CHECK_EQ("FLUSH-4", posix_trace_start(trid), 0);
		CHECK_EQ("FLUSH-4", posix_trace_get_filter(trid, &set), 0);
		CHECK_EQ("FLUSH-4", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
		CHECK_EQ("FLUSH-4", posix_trace_get_attr(trid, &attr), 0);
		CHECK_EQ("FLUSH-4", posix_trace_trid_eventid_open(trid, "meanwhile", &type), 0);
		/* A second flush waits for its turn. */
		log_flusher_start(&second, trid);
		CHECK_EQ("FLUSH-3", atomic_load(&flusher.done), 0);
		CHECK_EQ("FLUSH-3 FLUSH-15", stream_status(trid).posix_stream_flush_status, POSIX_TRACE_FLUSHING);

		log_sink_release(&sink);
		CHECK_EQ("FLUSH-20", log_flusher_result(&flusher), 0);
		CHECK_EQ("FLUSH-20", log_flusher_result(&second), 0);
		CHECK_EQ("FLUSH-15", stream_status(trid).posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
		log_send(id, 2500, 10);
		stream_end(trid);
		close(fd);
		fd = log_sink_file(&sink);
		trid = log_open(fd);
		log_expect_other(trid, POSIX_TRACE_START, &e);
		CHECK_EQ("FLUSH-1 FLUSH-9", log_run(trid, id, 0, &e), 2500);
		CHECK_EQ("FLUSH-4", e.info.posix_event_id, POSIX_TRACE_STOP);
		log_expect_other(trid, POSIX_TRACE_START, &e);
		log_expect_other(trid, POSIX_TRACE_FILTER, &e);
		CHECK_EQ("FLUSH-1 FLUSH-9", log_run(trid, id, 2500, &e), 2510);
		CHECK_EQ("FLUSH-1", e.info.posix_event_id, POSIX_TRACE_STOP);
		log_close(trid);
		close(fd);
	}
}

/* The same for automatic flushes. */
TEST(flushing_by_itself)
{
	struct log_sink sink;
	trace_id_t trid;
	int fd = log_pipe(&sink);

	id = stream_id("flush");
	trid = log_running(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND, 1 << 20, 0, fd);
	log_sink_hold(&sink);
	log_send(id, 0, 2000);
	log_wait_flush(trid, POSIX_TRACE_FLUSHING);
	log_send(id, 2000, 100);
	log_sink_release(&sink);
	log_wait_flush(trid, POSIX_TRACE_NOT_FLUSHING);
	CHECK_LOST("FLUSH-15 FLUSH-13", lost_events(trid), ==, 0);
	stream_end(trid);
	close(fd);
	CHECK_LOG("FLUSH-13 FLUSH-15 START-18", log_sink_file(&sink), id, 0, 2100);
}

/*
 * While its flush is blocked, the stream gets more events than it holds: it is suspended, full and overrun. It
 * continues automatically when the flush does. The log shows between which events others were lost, and when.
 */
/* Returns whether the stream stays full because its flusher waits for the pipe. */
static int stays_full(trace_id_t trid)
{
	for (int ms = 0; ms < 100 * test_slow(); ms++) {
		if (stream_status(trid).posix_stream_full_status == POSIX_TRACE_NOT_FULL)
			return 0;
		usleep(1000);
	}
	return 1;
}

TEST(full_while_flushing)
{
	struct posix_trace_status_info s;
	unsigned sent = 0, number = 0, lost = 0, gaps = 0;
	trace_event_set_t none = set_of(NO_TYPE), filter;
	struct log_sink sink;
	struct stream_event e;
	trace_id_t trid;
	int fd = log_pipe(&sink);

	id = stream_id("flush");
	trid = log_small(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND, 0, fd);
	for (int round = 0; round < 4; round++) {
		log_sink_hold(&sink);
		do {
			number_send(id, 0, sent++);
			s = stream_status(trid);
			CHECK("STAT-12 STAT-14", s.posix_stream_full_status == POSIX_TRACE_NOT_FULL ||
			      s.posix_stream_status == POSIX_TRACE_SUSPENDED);
		} while (s.posix_stream_full_status == POSIX_TRACE_NOT_FULL ||
		         s.posix_stream_flush_status == POSIX_TRACE_NOT_FLUSHING ||
			 !stays_full(trid));
		/* Reading the status has reset the overrun, so more events set it again. */
		log_send(id, sent, 10);
		sent += 10;
		CHECK_STR("FLUSH-14 STAT-16 FLUSH-4 EX-15", state(trid), "SF!");
		CHECK_STR("STAT-3", state(trid), "SF");
		log_sink_release(&sink);
		while (strncmp(state(trid), "RN", 2) != 0)
			usleep(1000);
		CHECK_EQ("FLUSH-14 START-15", stream_status(trid).posix_stream_status, POSIX_TRACE_RUNNING);
	}
	log_send(id, sent++, 1);
	s = stream_status(trid);
	CHECK_LOST("STAT-16", ours_lost(&s), >=, 40);
	stream_end(trid);
	close(fd);

	fd = log_sink_file(&sink);
	trid = log_open(fd);
	log_expect_other(trid, POSIX_TRACE_START, &e);
	for (;;) {
		long long stopped, from;

		number = log_run(trid, id, number, &e);
		CHECK_EQ("FLUSH-14 START-13", e.info.posix_event_id, POSIX_TRACE_STOP);
		if (log_int(&e) == 0)
			break;
		stopped = nanoseconds(e.info.posix_timestamp);
		log_expect_other(trid, POSIX_TRACE_OVERFLOW, &e);
		from = nanoseconds(e.info.posix_timestamp);
		CHECK_EQ("SYS-20 SYS-7", e.len, 0);
		CHECK_OP("SYS-20 READ-21", from, >=, stopped);
		log_expect_other(trid, POSIX_TRACE_RESUME, &e);
		CHECK_EQ("SYS-20 SYS-9", e.len, 0);
		from = nanoseconds(e.info.posix_timestamp);
		log_expect_other(trid, POSIX_TRACE_START, &e);
		CHECK_EQ("SYS-20 SYS-10", nanoseconds(e.info.posix_timestamp), from);
		CHECK_EQ("START-17 FLUSH-14 START-19", e.len, sizeof filter);
		memcpy(&filter, e.data, sizeof filter);
		CHECK("START-19", set_equal(&filter, &none));
		MUST(log_try_other(trid, &e) && e.info.posix_event_id == id);
		CHECK_OP("FLUSH-14 STAT-16", number_of(e.data, e.len).number, >, number);
		lost += number_of(e.data, e.len).number - number;
		number = number_of(e.data, e.len).number + 1;
		gaps++;
	}
	CHECK_LOST("MODEL-8 MODEL-9 STAT-16", lost, ==, ours_lost(&s));
	CHECK_EQ("MODEL-9 FLUSH-14 EX-15", number, sent);
	CHECK_OP("FLUSH-14", gaps, >=, 4);
	s = stream_status(trid);
	CHECK_LOST("STAT-5 STAT-16", ours_lost(&s), ==, lost);
	log_close(trid);
}

/*
 * A writer that never waits and a stream that holds few events: the events missing in the log are as many as the status
 * counts, and each gap is reported.
 */
TEST(faster_than_the_log)
{
	enum { EVENTS = 50000 };
	struct posix_trace_status_info s;
	unsigned number = 0, lost = 0;
	struct stream_event e;
	int fd = log_file();
	trace_id_t trid;

	id = stream_id("flush");
	trid = log_small(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND, 0, fd);
	log_send(id, 0, EVENTS);
	while (strncmp(state(trid), "RN", 2) != 0)
		usleep(1000);
	/* It may have too little room for one more event without being full. */
	MUST(posix_trace_flush(trid) == 0);
	log_send(id, EVENTS, 1);
	s = stream_status(trid);
	stream_end(trid);
	trid = log_open(fd);
	log_expect_other(trid, POSIX_TRACE_START, &e);
	for (;;) {
		number = log_run(trid, id, number, &e);
		MUST(e.info.posix_event_id == POSIX_TRACE_STOP);
		if (log_int(&e) == 0)
			break;
		log_expect_other(trid, POSIX_TRACE_OVERFLOW, &e);
		log_expect_other(trid, POSIX_TRACE_RESUME, &e);
		log_expect_other(trid, POSIX_TRACE_START, &e);
		MUST(log_try_other(trid, &e));
		/* Full again at once, without an event in between. */
		while (e.info.posix_event_id == POSIX_TRACE_STOP && log_int(&e) != 0) {
			log_expect_other(trid, POSIX_TRACE_OVERFLOW, &e);
			log_expect_other(trid, POSIX_TRACE_RESUME, &e);
			log_expect_other(trid, POSIX_TRACE_START, &e);
			MUST(log_try_other(trid, &e));
		}
		MUST(e.info.posix_event_id == id);
		lost += number_of(e.data, e.len).number - number;
		number = number_of(e.data, e.len).number + 1;
	}
	CHECK_EQ("MODEL-9 START-18", number, EVENTS + 1);
	CHECK_LOST("MODEL-8 MODEL-9 STAT-16", lost, ==, ours_lost(&s));
	log_close(trid);
}

/* A writer that pauses now and then loses nothing: events are flushed automatically, and their space is reused. */
TEST(flush_policy_keeps_up)
{
	enum { LONG = 300, AT_ONCE = 100, ROUNDS = 60 };
	unsigned char data[LONG];
	struct stream_event e;
	unsigned n = 0, got;
	int fd = log_file();
	trace_id_t trid;

	id = stream_id("flush");
	memset(data, 1, sizeof data);
	trid = log_running(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND, 256 << 10, 0, fd);
	for (unsigned i = 0; i < ROUNDS; i++) {
		for (unsigned j = 0; j < AT_ONCE; j++, n++) {
			memcpy(data, &n, sizeof n);
			posix_trace_event(id, data, sizeof data);
		}
		/* A seventh of what the stream holds. Data of this length cannot be packed into less. */
		while (log_length(fd) < LONG * ((long long)n - 2 * AT_ONCE))
			usleep(1000);
	}
	CHECK_LOST("FLUSH-13 START-18", lost_events(trid), ==, 0);
	stream_end(trid);
	trid = log_open(fd);
	log_expect_other(trid, POSIX_TRACE_START, &e);
	for (unsigned i = 0; i < n; i++) {
		log_expect_other(trid, id, &e);
		memcpy(&got, e.data, sizeof got);
		CHECK_EQ("FLUSH-13 START-18 MODEL-9", got, i);
	}
	log_expect_other(trid, POSIX_TRACE_STOP, &e);
	log_close(trid);
}

/* -- Errors --------------------------------------------------------------------------------- */

static volatile sig_atomic_t signals;

static void count_signal(int signal)
{
	signals++;
	(void)signal;
}

/* Watches for signals that a write can cause. They must not reach the application, whether it handles them or not. */
static void watch_signals(int caught)
{
	struct sigaction a = { .sa_handler = caught ? count_signal : SIG_DFL };

	MUST(sigaction(SIGXFSZ, &a, NULL) == 0 && sigaction(SIGPIPE, &a, NULL) == 0);
}

static rlim_t limit_file_size(rlim_t size)
{
	struct rlimit limit;
	rlim_t before;

	MUST(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	before = limit.rlim_cur;
	limit.rlim_cur = size;
	MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	return before;
}

/* Returns the flush error, which this resets. */
static int flush_error(trace_id_t trid)
{
	struct posix_trace_status_info s = stream_status(trid);

	CHECK_EQ("FLUSH-15", s.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
	CHECK_EQ("FLUSH-16", s.posix_stream_status, POSIX_TRACE_RUNNING);
	CHECK_EQ("FLUSH-16", s.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	return s.posix_stream_flush_error;
}

/* A failed flush is reported once. When a later flush succeeds, no event is missing. */
TEST(file_size_limit)
{
	id = stream_id("flush");
	for (int caught = 0; caught < 2; caught++) {
		int fd = log_file();
		trace_id_t trid = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 4 << 20, 0, fd);
		rlim_t before;

		watch_signals(caught);
		log_send(id, 0, 100);
		MUST(posix_trace_flush(trid) == 0);
		before = limit_file_size((rlim_t)log_length(fd) + 1000);
		for (unsigned i = 1; i < 4; i++) {
			log_send(id, 100 * i, 100);
			CHECK_EQ("FLUSH-11 FLUSH-20 DOC-2", posix_trace_flush(trid), EFBIG);
			CHECK_EQ("FLUSH-16 STAT-4", flush_error(trid), EFBIG);
			CHECK_EQ("FLUSH-16 STAT-4", flush_error(trid), 0);
		}
		limit_file_size(before);
		CHECK_EQ("FLUSH-20 FLUSH-17", posix_trace_flush(trid), 0);
		CHECK_EQ("FLUSH-16", flush_error(trid), 0);
		log_send(id, 400, 100);
		stream_end(trid);
		CHECK_EQ("FLUSH-11", signals, 0);
		CHECK_LOG("FLUSH-17 MODEL-9", fd, id, 0, 500);
		close(fd);
	}
}

/* The same for an automatic flush, where no call can return the error. */
TEST(error_by_itself)
{
	int fd = log_file(), error = 0;
	trace_id_t trid = log_running(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND, 1 << 20, 0, fd);
	rlim_t before;

	id = stream_id("flush");
	watch_signals(1);
	MUST(posix_trace_flush(trid) == 0);
	before = limit_file_size((rlim_t)log_length(fd) + 100);
	log_send(id, 0, 50);
	while (error == 0) {
		error = stream_status(trid).posix_stream_flush_error;
		usleep(1000);
	}
	CHECK_EQ("FLUSH-16 FLUSH-13", error, EFBIG);
	limit_file_size(before);
	log_send(id, 50, 50);
	CHECK_EQ("FLUSH-20", posix_trace_flush(trid), 0);
	stream_end(trid);
	CHECK_EQ("FLUSH-11", signals, 0);
	CHECK_LOG("FLUSH-17 MODEL-9", fd, id, 0, 100);
}

/* The first error is kept until it is read, whatever follows. Each call returns its own error. */
TEST(full_device)
{
	int fd;
	rlim_t before;
	trace_id_t trid;

	disk("size=1m");
	fd = disk_file(0);
	watch_signals(1);
	id = stream_id("flush");
	trid = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 4 << 20, 0, fd);
	log_send(id, 0, 100);
	MUST(posix_trace_flush(trid) == 0);
	disk_fill(0);
	log_send(id, 100, 500);
	CHECK_EQ("FLUSH-12 FLUSH-20 DOC-2", posix_trace_flush(trid), ENOSPC);
	before = limit_file_size((rlim_t)log_length(fd));
	CHECK_EQ("FLUSH-11 FLUSH-20", posix_trace_flush(trid), EFBIG);
	CHECK_EQ("FLUSH-16", flush_error(trid), ENOSPC);
	CHECK_EQ("FLUSH-16 STAT-4", flush_error(trid), 0);
	CHECK_EQ("FLUSH-11 FLUSH-20", posix_trace_flush(trid), EFBIG);
	limit_file_size(before);
	CHECK_EQ("FLUSH-12 FLUSH-20", posix_trace_flush(trid), ENOSPC);
	CHECK_EQ("FLUSH-16", flush_error(trid), EFBIG);
	/* There is space again. */
	disk_free();
	log_send(id, 600, 100);
	CHECK_EQ("FLUSH-20", posix_trace_flush(trid), 0);
	CHECK_EQ("FLUSH-16", flush_error(trid), 0);
	stream_end(trid);
	CHECK_EQ("FLUSH-11", signals, 0);
	CHECK_LOG("FLUSH-17 MODEL-9", fd, id, 0, 700);
}

/* The other end of the pipe is closed: EPIPE from now on, without a SIGPIPE for the application. */
TEST(reader_gone)
{
	id = stream_id("flush");
	for (int caught = 0; caught < 2; caught++) {
		int ends[2];
		trace_id_t trid;

		watch_signals(caught);
		MUST(pipe2(ends, O_CLOEXEC) == 0);
		trid = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 1 << 20, 0, ends[1]);
		log_send(id, 0, 100);
		MUST(posix_trace_flush(trid) == 0);
		close(ends[0]);
		for (unsigned i = 1; i < 4; i++) {
			log_send(id, 100 * i, 100);
			CHECK_EQ("FLUSH-20", posix_trace_flush(trid), EPIPE);
			CHECK_EQ("FLUSH-16", flush_error(trid), EPIPE);
			CHECK_EQ("FLUSH-16", flush_error(trid), 0);
		}
		CHECK_EQ("SHUT-14", posix_trace_shutdown(trid), EPIPE);
		CHECK_EQ("SHUT-14 SHUT-4", posix_trace_shutdown(trid), EINVAL);
		CHECK_EQ("FLUSH-20", signals, 0);
		close(ends[1]);
	}
}

/* A signal handler does not interrupt a flush. */
static void nothing(int signal)
{
	int saved = errno;

	number_send(id, 1, 0); /* a trace point in a handler */
	errno = saved;
	(void)signal;
}

TEST(interrupted)
{
	struct sigaction a = { .sa_handler = nothing };
	struct log_flusher flusher;
	struct stream_event e;
	struct log_sink sink;
	trace_id_t trid;
	int fd = log_pipe(&sink);
	unsigned handled = 0, number = 0;

	id = stream_id("flush");
	MUST(sigaction(SIGUSR1, &a, NULL) == 0);
	trid = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 1 << 20, 0, fd);
	log_sink_hold(&sink);
	log_send(id, 0, 2000);
	log_flusher_start(&flusher, trid);
	log_wait_flush(trid, POSIX_TRACE_FLUSHING);
	for (int i = 0; i < 50; i++) {
		MUST(pthread_kill(flusher.thread, SIGUSR1) == 0);
		usleep(200);
	}
	CHECK_EQ("THR-12 THR-13", atomic_load(&flusher.done), 0);
	log_sink_release(&sink);
	CHECK_EQ("FLUSH-20 THR-12 THR-13", log_flusher_result(&flusher), 0);
	stream_end(trid);
	close(fd);
	trid = log_open(log_sink_file(&sink));
	while (log_try_other(trid, &e)) {
		if (e.info.posix_event_id != id)
			continue;
		if (number_of(e.data, e.len).writer == 1)
			handled++;
		else
			CHECK_EQ("FLUSH-1", number_of(e.data, e.len).number, number++);
	}
	CHECK_EQ("FLUSH-1", number, 2000);
	CHECK_OP("THR-3", handled, >, 0);
	log_close(trid);
}

TEST_MAIN(TEST_ENTRY(in_the_log_at_return), TEST_ENTRY(of_nothing), TEST_ENTRY(space_is_used_again),
          TEST_ENTRY(full_stream), TEST_ENTRY(full_and_stopped), TEST_ENTRY(several_threads), TEST_ENTRY(markers),
          TEST_ENTRY(markers_filtered), TEST_ENTRY(markers_of_the_system), TEST_ENTRY(flushing),
          TEST_ENTRY(flushing_by_itself), TEST_ENTRY(full_while_flushing), TEST_ENTRY(faster_than_the_log),
          TEST_ENTRY(flush_policy_keeps_up), TEST_ENTRY(file_size_limit), TEST_ENTRY(error_by_itself),
          TEST_ENTRY(full_device), TEST_ENTRY(reader_gone), TEST_ENTRY(interrupted))
