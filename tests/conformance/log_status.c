/*
 * log_status.c - posix_trace_get_status() of streams with a log and of opened logs: results, and what asking resets
 *
 * What a flush does to the status while it runs, and errors, are in log_flush.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/resource.h>

#include "log.h"

static trace_event_id_t id;

/* Records events that take this much room in a log. */
static void send_bytes(size_t bytes)
{
	static unsigned char data[1000];

	for (size_t i = 0; i < bytes; i += sizeof data)
		posix_trace_event(id, data, sizeof data);
}

static int same_status(const struct posix_trace_status_info *a, const struct posix_trace_status_info *b)
{
	return a->posix_stream_status == b->posix_stream_status &&
		a->posix_stream_full_status == b->posix_stream_full_status &&
		a->posix_stream_overrun_status == b->posix_stream_overrun_status &&
		a->posix_stream_flush_status == b->posix_stream_flush_status &&
		a->posix_stream_flush_error == b->posix_stream_flush_error &&
		a->posix_log_overrun_status == b->posix_log_overrun_status &&
		a->posix_log_full_status == b->posix_log_full_status &&
		ours_lost(a) == ours_lost(b);
}

/* Returns the status of the log in fd. Checks that asking repeatedly and reading do not change it. */
static struct posix_trace_status_info logged_status(int fd)
{
	trace_id_t trid = log_open(fd);
	struct posix_trace_status_info first = stream_status(trid), again;

	for (int i = 0; i < 3; i++) {
		again = stream_status(trid);
		CHECK("STAT-5", same_status(&first, &again));
	}
	log_count(trid, id);
	MUST(posix_trace_rewind(trid) == 0);
	again = stream_status(trid);
	CHECK("STAT-5", same_status(&first, &again));
	log_close(trid);
	trid = log_open(fd);
	again = stream_status(trid);
	CHECK("STAT-5", same_status(&first, &again));
	log_close(trid);
	/* The same for every completed stream. */
	CHECK_EQ("STAT-5 STAT-9", first.posix_stream_status, POSIX_TRACE_SUSPENDED);
	CHECK_EQ("STAT-5 STAT-10", first.posix_stream_full_status, POSIX_TRACE_NOT_FULL);
	CHECK_EQ("STAT-5 STAT-17", first.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
	return first;
}

/* No loss and no error. */
TEST(quiet)
{
	int fd = log_file();
	trace_id_t trid = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_UNTIL_FULL, 0, 1 << 20, fd);
	struct posix_trace_status_info s;

	id = stream_id("status");
	for (int i = 0; i < 3; i++) {
		send_bytes(1000);
		s = stream_status(trid);
		CHECK_EQ("STAT-1 STAT-8", s.posix_stream_status, POSIX_TRACE_RUNNING);
		CHECK_EQ("STAT-1 STAT-11", s.posix_stream_full_status, POSIX_TRACE_NOT_FULL);
		CHECK_EQ("STAT-1 STAT-15", s.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
		CHECK_EQ("STAT-1 STAT-17", s.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
		CHECK_EQ("STAT-1 STAT-17", s.posix_stream_flush_error, 0);
		CHECK_EQ("STAT-1 STAT-18", s.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
		CHECK_EQ("STAT-1 STAT-19", s.posix_log_full_status, POSIX_TRACE_NOT_FULL);
		CHECK_LOST("STAT-1", ours_lost(&s), ==, 0);
		MUST(posix_trace_flush(trid) == 0);
	}
	stream_end(trid);
	s = logged_status(fd);
	CHECK_EQ("STAT-5 STAT-15", s.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ("STAT-5 STAT-17", s.posix_stream_flush_error, 0);
	CHECK_EQ("STAT-5 STAT-18", s.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ("STAT-5 STAT-19", s.posix_log_full_status, POSIX_TRACE_NOT_FULL);
	CHECK_LOST("STAT-5", ours_lost(&s), ==, 0);
}

/* Each overrun of the log is reported once. The full status stays. The completed log has what has not been reported. */
TEST(log_overrun)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL };

	id = stream_id("status");
	for (int l = 0; l < 2; l++) {
		for (int asked = 0; asked < 2; asked++) {
			int fd = log_file();
			trace_id_t trid = log_running(POSIX_TRACE_UNTIL_FULL, policies[l], 0, 50000, fd);
			struct posix_trace_status_info s;

			send_bytes(20000);
			MUST(posix_trace_flush(trid) == 0);
			s = stream_status(trid);
			CHECK_EQ("STAT-18", s.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
			CHECK_EQ("STAT-19", s.posix_log_full_status, POSIX_TRACE_NOT_FULL);
			for (int i = 0; i < 3; i++) {
				send_bytes(60000);
				MUST(posix_trace_flush(trid) == 0);
				if (i == 2 && !asked)
					break;
				s = stream_status(trid);
				CHECK_EQ("STAT-18", s.posix_log_overrun_status, POSIX_TRACE_OVERRUN);
				CHECK_EQ("STAT-19", s.posix_log_full_status, POSIX_TRACE_FULL);
				/* The stream itself has lost nothing. */
				CHECK_EQ("STAT-15 STAT-18", s.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
				CHECK_LOST("STAT-18", ours_lost(&s), ==, 0);
				s = stream_status(trid);
				CHECK_EQ("STAT-4", s.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
				CHECK_EQ("STAT-4 STAT-19", s.posix_log_full_status, POSIX_TRACE_FULL);
			}
			if (policies[l] == POSIX_TRACE_UNTIL_FULL && asked) {
				/* The STOP of the shutdown would have no room either. */
				MUST(posix_trace_stop(trid) == 0 && posix_trace_flush(trid) == 0);
				stream_status(trid);
			}
			stream_end(trid);
			s = logged_status(fd);
			CHECK_EQ("STAT-5 STAT-18", s.posix_log_overrun_status,
			         asked ? POSIX_TRACE_NO_OVERRUN : POSIX_TRACE_OVERRUN);
			CHECK_EQ("STAT-5 STAT-19", s.posix_log_full_status, POSIX_TRACE_FULL);
			CHECK_EQ("STAT-5 STAT-15", s.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
			close(fd);
		}
	}
}

/* The same for an overrun of the stream, under each policy. */
TEST(stream_overrun)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL };

	id = stream_id("status");
	for (int p = 0; p < 2; p++) {
		for (int asked = 0; asked < 2; asked++) {
			int fd = log_file();
			trace_id_t trid = log_small(policies[p], POSIX_TRACE_APPEND, 0, fd);
			struct posix_trace_status_info s;
			unsigned long long lost = 0;
			unsigned end = fill(trid, id, 0);

			log_send(id, end, 100);
			s = stream_status(trid);
			CHECK_EQ("STAT-15 STAT-3", s.posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
			CHECK_EQ("STAT-10", s.posix_stream_full_status, POSIX_TRACE_FULL);
			CHECK_EQ("STAT-18", s.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
			s = stream_status(trid);
			CHECK_EQ("STAT-3", s.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
			if (!asked)
				log_send(id, end + 100, 100);
			MUST(posix_trace_stop(trid) == 0);
			if (asked) {
				s = stream_status(trid); /* under LOOP the STOP may have overwritten an event */
				lost = ours_lost(&s);
			}
			stream_end(trid);
			s = logged_status(fd);
			/* Under LOOP, events older than the overwritten ones may have been lost since. */
			CHECK_OURS(!asked || policies[p] != POSIX_TRACE_LOOP || OURS_LOST_EVENTS, "STAT-5 STAT-15",
			           s.posix_stream_overrun_status, ==,
				   !asked || ours_lost(&s) > lost ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN);
			CHECK_LOST("STAT-5", ours_lost(&s), >=, policies[p] == POSIX_TRACE_LOOP ? 90 : 101);
			if (asked && policies[p] == POSIX_TRACE_UNTIL_FULL)
				CHECK_LOST("STAT-5", ours_lost(&s), ==, lost);
			CHECK_EQ("STAT-5 STAT-19", s.posix_log_full_status, POSIX_TRACE_NOT_FULL);
			close(fd);
		}
	}
}

/* The same for the first error of a flush, which is in the log if it has not been reported. */
TEST(flush_error)
{
	id = stream_id("status");
	for (int asked = 0; asked < 2; asked++) {
		int fd = log_file();
		trace_id_t trid = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 0, 0, fd);
		struct posix_trace_status_info s;
		struct rlimit limit;
		rlim_t before;
		struct sigaction ignore = { .sa_handler = SIG_IGN };

		MUST(sigaction(SIGXFSZ, &ignore, NULL) == 0);
		MUST(getrlimit(RLIMIT_FSIZE, &limit) == 0);
		before = limit.rlim_cur;
		limit.rlim_cur = (rlim_t)log_length(fd) + 10;
		send_bytes(10000);
		MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
		CHECK_EQ("FLUSH-11", posix_trace_flush(trid), EFBIG);
		limit.rlim_cur = before;
		MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
		if (asked) {
			s = stream_status(trid);
			CHECK_EQ("STAT-17 FLUSH-16", s.posix_stream_flush_error, EFBIG);
			s = stream_status(trid);
			CHECK_EQ("STAT-4 FLUSH-16", s.posix_stream_flush_error, 0);
		}
		CHECK_EQ("SHUT-7", posix_trace_shutdown(trid), 0);
		s = logged_status(fd);
		CHECK_EQ("STAT-5 STAT-17 FLUSH-16", s.posix_stream_flush_error, asked ? 0 : EFBIG);
		close(fd);
	}
}

/* A status is consistent: a call that reports an overrun under UNTIL_FULL also reports that the log is full. */
static atomic_int over;
static trace_id_t shared;

static void *ask(void *arg)
{
	unsigned *overruns = arg;

	while (!atomic_load(&over)) {
		struct posix_trace_status_info s = stream_status(shared);

		if (s.posix_log_overrun_status == POSIX_TRACE_OVERRUN) {
			CHECK_EQ("STAT-2", s.posix_log_full_status, POSIX_TRACE_FULL);
			++*overruns;
		}
	}
	return NULL;
}

TEST(one_moment)
{
	id = stream_id("status");
	for (int round = 0; round < 20; round++) {
		unsigned overruns[2] = { 0, 0 };
		int fd = log_file();
		pthread_t thread[2];

		shared = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_UNTIL_FULL, 0, 20000, fd);
		atomic_store(&over, 0);
		for (int i = 0; i < 2; i++)
			MUST(pthread_create(&thread[i], NULL, ask, &overruns[i]) == 0);
		send_bytes(40000);
		MUST(posix_trace_flush(shared) == 0);
		sleep_ms(2);
		atomic_store(&over, 1);
		for (int i = 0; i < 2; i++)
			MUST(pthread_join(thread[i], NULL) == 0);
		/* After one flush, either one of the two threads got the overrun, or it has not been reported yet. */
		if (stream_status(shared).posix_log_overrun_status == POSIX_TRACE_OVERRUN)
			overruns[0]++;
		CHECK_EQ("STAT-4 STAT-18", overruns[0] + overruns[1], 1);
		stream_end(shared);
		close(fd);
	}
}

TEST_MAIN(TEST_ENTRY(quiet), TEST_ENTRY(log_overrun), TEST_ENTRY(stream_overrun), TEST_ENTRY(flush_error),
          TEST_ENTRY(one_moment))
