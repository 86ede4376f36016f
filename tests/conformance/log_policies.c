/*
 * log_policies.c - log-full-policy and log-max-size: which events a log has in the end
 *
 * The events are so long that a log can hold only so many of them: an event
 * takes the bytes of its data and a few more, whatever the format.
 *
 * SPDX-License-Identifier: MIT
 */
#include "log.h"

#define LONG  400 /* bytes of data, and the maximum that is added for each event: */
#define EXTRA 40

static trace_event_id_t id;

static const int log_policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };
static const int stream_policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH };

/* -- Long events ---------------------------------------------------------------- */

static void long_make(unsigned char data[LONG], unsigned number)
{
	unsigned x = number * 2654435761u + 1;

	memcpy(data, &number, sizeof number);
	for (size_t i = sizeof number; i < LONG; i++) {
		x = x * 1103515245u + 12345;
		data[i] = (unsigned char)(x >> 16);
	}
}

static void long_send(unsigned first, unsigned count)
{
	unsigned char data[LONG];

	for (unsigned i = 0; i < count; i++) {
		long_make(data, first + i);
		posix_trace_event(id, data, sizeof data);
	}
}

static unsigned long_number(const struct stream_event *e)
{
	unsigned char data[LONG];
	unsigned number;

	MUST(e->info.posix_event_id == id && e->len == LONG);
	memcpy(&number, e->data, sizeof number);
	long_make(data, number);
	MUST(memcmp(e->data, data, sizeof data) == 0);
	return number;
}

/* Records this many long events, with enough flushes that the stream always has room. */
static void long_run(trace_id_t trid, unsigned first, unsigned count)
{
	for (unsigned done = 0; done < count; done += 100) {
		long_send(first + done, count - done < 100 ? count - done : 100);
		CHECK_EQ("FLUSH-20", posix_trace_flush(trid), 0);
	}
}

static trace_id_t long_stream(int stream_policy, int log_policy, size_t log_size, int fd)
{
	trace_attr_t attr;
	trace_id_t trid;

	log_attr(&attr, stream_policy, log_policy, 256 << 10, log_size);
	MUST(posix_trace_attr_setmaxdatasize(&attr, LONG) == 0);
	trid = log_create(&attr, fd);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	MUST(posix_trace_start(trid) == 0);
	return trid;
}

/* -- LOOP ------------------------------------------------------------------------- */

/* Checks a log that has wrapped: it has the newest events without a gap, up to the last one, and as many as fit. */
static void check_newest(int fd, unsigned end, size_t log_size)
{
	trace_id_t trid = log_open(fd);
	struct posix_trace_status_info s = stream_status(trid);
	unsigned first = 0, count = 0;
	long long time = 0;
	struct stream_event e;

	CHECK_EQ("STAT-5 STAT-19", s.posix_log_full_status, POSIX_TRACE_FULL);
	while (log_try_other(trid, &e) && e.info.posix_event_id == id) {
		unsigned number = long_number(&e);

		if (count == 0)
			first = number;
		CHECK_EQ("LOG-13 FLUSH-8 OPEN-3 READ-20", number, first + count);
		CHECK_OP("READ-21", nanoseconds(e.info.posix_timestamp), >=, time);
		time = nanoseconds(e.info.posix_timestamp);
		count++;
		MUST(test_failures < 10);
	}
	CHECK_EQ("LOG-13 SHUT-1", e.info.posix_event_id, POSIX_TRACE_STOP);
	CHECK_EQ("SYS-5", log_int(&e), 0);
	CHECK_EQ("LOG-13", log_try_other(trid, &e), 0);
	CHECK_EQ("LOG-13", first + count, end);
	CHECK_OP("LOG-13", first, >, 0);
	/*
	 * log-max-size is not exceeded, and mostly used. One part is being emptied, and each part has room for the
	 * largest event, which is much if there are few large parts.
	 */
	CHECK_OP("ATTR-39 ATTR-40 ATTR-42", (size_t)count * LONG, <=, log_size);
	CHECK_OP("ATTR-39 ATTR-40 ATTR-42", (size_t)count * (LONG + EXTRA), >=,
	         log_size < 65536 ? log_size / 3 : log_size / 4 * 3);
	log_close(trid);
}

TEST(loop)
{
	static const size_t sizes[] = { 8192, 20001, 65536, 100000, 300000 };

	id = stream_id("long");
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		for (int p = 0; p < 3; p++) {
			unsigned fits = (unsigned)(sizes[i] / LONG), end = 3 * fits + 100 + (unsigned)i;
			int fd = log_file();
			trace_id_t trid = long_stream(stream_policies[p], POSIX_TRACE_LOOP, sizes[i], fd);

			long_run(trid, 0, end);
			stream_end(trid);
			check_newest(fd, end, sizes[i]);
			/* The rest of the file is small compared to the events. */
			CHECK_OP("ATTR-40 LOG-13", log_length(fd), <, (long long)sizes[i] + 400000);
			close(fd);
		}
	}
}

/*
 * For any number of events, the log has the newest ones. The first one is overwritten only when there is no more room.
 */
TEST(loop_step_by_step)
{
	enum { SIZE = 16384 };

	id = stream_id("long");
	for (unsigned end = 5; end < 150; end += 3) {
		int fd = log_file();
		trace_id_t trid = long_stream(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_LOOP, SIZE, fd);
		struct posix_trace_status_info s;
		struct stream_event e;
		unsigned first;

		for (unsigned i = 0; i < end; i += 5) {
			long_send(i, end - i < 5 ? end - i : 5);
			MUST(posix_trace_flush(trid) == 0);
		}
		s = stream_status(trid);
		stream_end(trid);
		trid = log_open(fd);
		if (s.posix_log_full_status == POSIX_TRACE_NOT_FULL) {
			CHECK_EQ("STAT-18", s.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
			log_expect(trid, POSIX_TRACE_START, &e);
			CHECK_OP("ATTR-42", end * LONG, <=, SIZE);
		} else {
			CHECK_EQ("STAT-18 LOG-13", s.posix_log_overrun_status, POSIX_TRACE_OVERRUN);
			CHECK_OP("STAT-19", end * (LONG + EXTRA) + 500, >, SIZE / 3);
		}
		MUST(log_try_other(trid, &e));
		first = long_number(&e);
		while (log_try_other(trid, &e) && e.info.posix_event_id == id)
			CHECK_EQ("LOG-13 FLUSH-8", long_number(&e), ++first);
		CHECK_EQ("LOG-13 FLUSH-8", first, end - 1);
		CHECK_EQ("LOG-13 SHUT-1", e.info.posix_event_id, POSIX_TRACE_STOP);
		log_close(trid);
		close(fd);
	}
}

/*
 * However often the log wraps, it keeps information about its creator, the attributes, and the names of all types,
 * including types whose events have been overwritten.
 */
TEST(loop_keeps_the_rest)
{
	enum { TYPES = TRACE_USER_EVENT_MAX > 400 ? 300 : TRACE_USER_EVENT_MAX - 8 };
	int fd = log_file(), seen = 0, unavailable;
	trace_event_id_t types[TYPES], t;
	char name[TRACE_NAME_MAX + 100], want[64];
	struct stream_event e;
	trace_attr_t attr;
	trace_id_t trid;
	size_t size;

	id = stream_id("long");
	log_attr(&attr, POSIX_TRACE_FLUSH, POSIX_TRACE_LOOP, 256 << 10, 50000);
	MUST(posix_trace_attr_setmaxdatasize(&attr, LONG) == 0);
	MUST(posix_trace_attr_setname(&attr, "goes round") == 0);
	trid = log_create(&attr, fd);
	MUST(posix_trace_start(trid) == 0);
	/* Opened before, between and after events; some types have no events. */
	for (unsigned i = 0; i < TYPES; i++) {
		snprintf(want, sizeof want, "type %u", i);
		types[i] = stream_id(want);
		if (i % 3)
			posix_trace_event(types[i], &i, sizeof i);
		long_run(trid, 10 * i, 10);
	}
	stream_end(trid);
	trid = log_open(fd);
	MUST(posix_trace_get_attr(trid, &attr) == 0);
	MUST(posix_trace_attr_getname(&attr, name) == 0);
	CHECK_STR("LOG-19 OBJ-15 ATTR-58", name, "goes round");
	MUST(posix_trace_attr_getlogsize(&attr, &size) == 0);
	CHECK_EQ("LOG-19 OBJ-15 ATTR-58", size, 50000);
	for (unsigned i = 0; i < TYPES; i++) {
		snprintf(want, sizeof want, "type %u", i);
		CHECK_EQ("LOG-19 LOG-20 ID-6", posix_trace_eventid_get_name(trid, types[i], name), 0);
		CHECK_STR("LOG-19 LOG-20 ID-6 MODEL-16", name, want);
	}
	while (posix_trace_eventtypelist_getnext_id(trid, &t, &unavailable) == 0 && !unavailable)
		for (unsigned i = 0; i < TYPES; i++)
			seen += types[i] == t;
	CHECK_EQ("LOG-19 LOG-20 ID-29", seen, TYPES);
	log_next(trid, &e);
	CHECK_NE("LOG-13", e.info.posix_event_id, POSIX_TRACE_START);
	log_close(trid);
}

/* Events of very different lengths: the rest of a part may be too small for the next event. */
TEST(loop_of_all_lengths)
{
	static const unsigned lengths[] = { 0, 1, 7, 200, 256, 257, 900, 3000, 3999, 4000 };
	static unsigned char data[4000];
	unsigned x = 1;

	id = stream_id("lengths");
	for (unsigned round = 0; round < 20; round++) {
		int fd = log_file();
		unsigned sent[400], n = 0, at;
		struct stream_event e;
		trace_attr_t attr;
		trace_id_t trid;

		log_attr(&attr, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_LOOP, 256 << 10, 1 + round * 2000);
		MUST(posix_trace_attr_setmaxdatasize(&attr, sizeof data) == 0);
		trid = log_create(&attr, fd);
		MUST(posix_trace_start(trid) == 0);
		while (n < 400) {
			x = x * 1103515245u + 12345;
			sent[n] = lengths[(x >> 16) % (sizeof lengths / sizeof lengths[0])];
			for (unsigned i = 0; i < sent[n]; i++)
				data[i] = (unsigned char)(n * 3 + i);
			posix_trace_event(id, data, sent[n++]);
			if (n % 25 == 0)
				MUST(posix_trace_flush(trid) == 0);
		}
		stream_end(trid);
		/* The log has the last events: they are counted first and then compared. */
		trid = log_open(fd);
		at = n - (unsigned)log_count(trid, id);
		MUST(posix_trace_rewind(trid) == 0);
		while (log_try_other(trid, &e)) {
			if (e.info.posix_event_id != id)
				continue;
			CHECK_EQ("LOG-13 FLUSH-8", e.len, sent[at]);
			for (unsigned i = 0; i < e.len; i++)
				MUST(e.data[i] == (unsigned char)(at * 3 + i));
			at++;
		}
		CHECK_EQ("LOG-13", at, n);
		CHECK_EQ("LOG-13", e.info.posix_event_id, POSIX_TRACE_STOP);
		log_close(trid);
		close(fd);
		MUST(posix_trace_attr_destroy(&attr) == 0);
	}
}

/* -- UNTIL_FULL ----------------------------------------------------------------------- */

/* Checks that the log has the first events, as many as fit, and a STOP that no call has caused. */
static void check_oldest(int fd, size_t log_size)
{
	trace_id_t trid = log_open(fd);
	struct posix_trace_status_info s = stream_status(trid);
	unsigned count = 0;
	struct stream_event e;
	long long time = 0;

	CHECK_EQ("STAT-5 STAT-19 LOG-14", s.posix_log_full_status, POSIX_TRACE_FULL);
	log_expect_other(trid, POSIX_TRACE_START, &e);
	while (log_try_other(trid, &e) && e.info.posix_event_id == id) {
		CHECK_EQ("LOG-14 FLUSH-7 READ-20", long_number(&e), count);
		time = nanoseconds(e.info.posix_timestamp);
		count++;
		MUST(test_failures < 10);
	}
	CHECK_EQ("LOG-15", e.info.posix_event_id, POSIX_TRACE_STOP);
	CHECK_NE("LOG-15 SYS-5", log_int(&e), 0);
	CHECK_OP("LOG-15 READ-21", nanoseconds(e.info.posix_timestamp), >=, time);
	CHECK_EQ("LOG-15", e.info.posix_pid, 0);
	CHECK_EQ("LOG-15", log_try(trid, &e), 0);
	CHECK_OP("ATTR-39 ATTR-40 ATTR-42", (size_t)count * LONG, <=, log_size);
	/* Room for one more event and for START, STOP and some flushes may be left. */
	CHECK_OP("ATTR-39 ATTR-40 ATTR-42", (size_t)(count + 1) * (LONG + EXTRA) + sizeof(trace_event_set_t) + 1500, >=,
	         log_size);
	log_close(trid);
}

TEST(until_full)
{
	static const size_t sizes[] = { 8192, 20001, 65536, 100000, 300000 };

	id = stream_id("long");
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		for (int p = 0; p < 3; p++) {
			unsigned fits = (unsigned)(sizes[i] / LONG);
			int fd = log_file();
			trace_id_t trid = long_stream(stream_policies[p], POSIX_TRACE_UNTIL_FULL, sizes[i], fd);
			struct posix_trace_status_info s;
			long long length;

			long_run(trid, 0, fits / 2);
			s = stream_status(trid);
			CHECK_EQ("LOG-14 STAT-19", s.posix_log_full_status, POSIX_TRACE_NOT_FULL);
			CHECK_EQ("STAT-18", s.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
			long_run(trid, fits / 2, fits);
			s = stream_status(trid);
			CHECK_EQ("LOG-14 STAT-19", s.posix_log_full_status, POSIX_TRACE_FULL);
			CHECK_EQ("STAT-18 FLUSH-7", s.posix_log_overrun_status, POSIX_TRACE_OVERRUN);
			/* The stream keeps running, and its events are dropped. */
			CHECK_EQ("FLUSH-6 LOG-14", s.posix_stream_status, POSIX_TRACE_RUNNING);
			CHECK_EQ("FLUSH-6", s.posix_stream_full_status, POSIX_TRACE_NOT_FULL);
			CHECK_EQ("FLUSH-6", s.posix_stream_flush_error, 0);
			length = log_length(fd);
			for (int round = 0; round < 3; round++) {
				CHECK_EQ("STAT-4", stream_status(trid).posix_log_overrun_status,
				         POSIX_TRACE_NO_OVERRUN);
				long_run(trid, 0, 150);
				s = stream_status(trid);
				CHECK_EQ("STAT-18 FLUSH-7", s.posix_log_overrun_status, POSIX_TRACE_OVERRUN);
				CHECK_EQ("STAT-19", s.posix_log_full_status, POSIX_TRACE_FULL);
				CHECK_EQ("FLUSH-6 FLUSH-18", s.posix_stream_full_status, POSIX_TRACE_NOT_FULL);
				CHECK_EQ("FLUSH-7", log_length(fd), length);
			}
			CHECK_EQ("FLUSH-6 SHUT-7", posix_trace_shutdown(trid), 0);
			check_oldest(fd, sizes[i]);
			CHECK_OP("ATTR-40 LOG-14", log_length(fd), <, (long long)sizes[i] + 400000);
			close(fd);
		}
	}
}

/* The limit is reached at every possible place: between events, flushes, or the ends of writes. */
TEST(until_full_step_by_step)
{
	id = stream_id("long");
	for (size_t size = 6000; size < 6000 + LONG + EXTRA; size += 4) {
		int fd = log_file();
		trace_id_t trid = long_stream(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_UNTIL_FULL, size, fd);

		for (unsigned i = 0; i < 40; i += 1 + size % 3) {
			long_send(i, 1 + size % 3);
			if (size % 8)
				MUST(posix_trace_flush(trid) == 0);
		}
		stream_end(trid);
		check_oldest(fd, size);
		close(fd);
	}
}

/* A log that never was full ends with the STOP of the shutdown, and its status is not full. */
TEST(until_full_and_is_not)
{
	int fd = log_file();
	trace_id_t trid = long_stream(POSIX_TRACE_FLUSH, POSIX_TRACE_UNTIL_FULL, 1 << 20, fd);
	struct stream_event e;
	unsigned n = 0;

	id = stream_id("long");
	long_run(trid, 0, 1000);
	CHECK_EQ("STAT-19", stream_status(trid).posix_log_full_status, POSIX_TRACE_NOT_FULL);
	stream_end(trid);
	trid = log_open(fd);
	CHECK_EQ("STAT-19 STAT-5", stream_status(trid).posix_log_full_status, POSIX_TRACE_NOT_FULL);
	log_expect_other(trid, POSIX_TRACE_START, &e);
	while (log_try_other(trid, &e) && e.info.posix_event_id == id)
		CHECK_EQ("LOG-14", long_number(&e), n++);
	CHECK_EQ("LOG-14", n, 1000);
	CHECK_EQ("LOG-15", e.info.posix_event_id, POSIX_TRACE_STOP);
	CHECK_EQ("LOG-15 SHUT-1", log_int(&e), 0);
	CHECK_EQ("LOG-15", log_try_other(trid, &e), 0);
	log_close(trid);
}

/* STOP can be filtered out like other types. */
TEST(until_full_without_stop)
{
	trace_event_set_t filter = set_of(POSIX_TRACE_STOP);
	int fd = log_file();
	trace_id_t trid = long_stream(POSIX_TRACE_FLUSH, POSIX_TRACE_UNTIL_FULL, 20000, fd);

	id = stream_id("long");
	MUST(posix_trace_set_filter(trid, &filter, POSIX_TRACE_SET_EVENTSET) == 0);
	long_run(trid, 0, 100);
	stream_end(trid);
	trid = log_open(fd);
	CHECK_EQ("FILT-15", log_count(trid, POSIX_TRACE_STOP), 0);
	MUST(posix_trace_rewind(trid) == 0);
	/* Less if it was written in several segments, as under load: each begins with a frame. */
	CHECK_OP("LOG-14", log_count(trid, id), >, 20000 / (LONG + EXTRA) - 8);
	log_close(trid);
}

/* -- APPEND ------------------------------------------------------------------------------ */

/* No limit, whatever log-max-size is. */
TEST(append)
{
	id = stream_id("long");
	for (int p = 0; p < 3; p++) {
		int fd = log_file();
		trace_id_t trid = long_stream(stream_policies[p], POSIX_TRACE_APPEND, 1, fd);
		struct posix_trace_status_info s;
		struct stream_event e;
		unsigned n = 0;

		long_run(trid, 0, 5000);
		s = stream_status(trid);
		CHECK_EQ("LOG-16 STAT-19", s.posix_log_full_status, POSIX_TRACE_NOT_FULL);
		CHECK_EQ("LOG-16 STAT-18", s.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
		stream_end(trid);
		trid = log_open(fd);
		s = stream_status(trid);
		CHECK_EQ("LOG-16 STAT-19", s.posix_log_full_status, POSIX_TRACE_NOT_FULL);
		log_expect_other(trid, POSIX_TRACE_START, &e);
		while (log_try_other(trid, &e) && e.info.posix_event_id == id)
			CHECK_EQ("LOG-16 FLUSH-9 ATTR-43", long_number(&e), n++);
		CHECK_EQ("LOG-16 FLUSH-9 ATTR-43", n, 5000);
		CHECK_EQ("SHUT-1", e.info.posix_event_id, POSIX_TRACE_STOP);
		log_close(trid);
		close(fd);
	}
}

/* -- When a log is written ---------------------------------------------------------------- */

/* Under FLUSH automatically, otherwise by a call and at the end. */
TEST(written_when)
{
	int fd[3], ends[2];
	trace_id_t trid[3];
	long long before[3];

	id = stream_id("when");
	MUST(pipe2(ends, O_CLOEXEC) == 0);
	for (int p = 0; p < 2; p++) {
		fd[p] = log_file();
		trid[p] = log_running(stream_policies[p], POSIX_TRACE_APPEND, 0, 0, fd[p]);
		before[p] = log_length(fd[p]);
	}
	trid[2] = log_running(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND, 0, 0, ends[1]);
	MUST(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
	for (char c[4096]; read(ends[0], c, sizeof c) > 0;) /* the beginning of the log */
		;
	log_send(id, 0, 1);
	log_wait_readable(ends[0]);
	/* Meanwhile the other logs have not been written. */
	for (int p = 0; p < 2; p++) {
		CHECK_EQ("LOG-25 FLUSH-13", log_length(fd[p]), before[p]);
		CHECK_EQ("FLUSH-1", posix_trace_flush(trid[p]), 0);
		CHECK_OP("LOG-25 FLUSH-1", log_length(fd[p]), >, before[p]);
		before[p] = log_length(fd[p]);
		log_send(id, 1, 1);
		CHECK_EQ("LOG-25", log_length(fd[p]), before[p]);
		stream_end(trid[p]);
		CHECK_OP("LOG-25 SHUT-7 SHUT-8", log_length(fd[p]), >, before[p]);
	}
	CHECK_LOG("LOG-25 SHUT-7", fd[0], id, 0, 2);
	for (char c[4096]; read(ends[0], c, sizeof c) > 0;)
		;
	close(ends[0]);
	posix_trace_shutdown(trid[2]); /* EPIPE, unless everything was written before */
}

/* Every policy of the stream with every policy of the log. */
TEST(all_policies)
{
	id = stream_id("all");
	for (int s = 0; s < 3; s++) {
		for (int l = 0; l < 3; l++) {
			int fd = log_file();
			trace_id_t trid = log_running(stream_policies[s], log_policies[l], 0, 1 << 20, fd);

			for (unsigned i = 0; i < 3000; i += 500) {
				log_send(id, i, 500);
				if (i % 1000)
					CHECK_EQ("FLUSH-20", posix_trace_flush(trid), 0);
			}
			CHECK_EQ("SHUT-7", posix_trace_shutdown(trid), 0);
			CHECK_LOG("MODEL-9 LOG-17 FLUSH-1 SHUT-1 SHUT-7", fd, id, 0, 3000);
			close(fd);
		}
	}
}

TEST_MAIN(TEST_ENTRY(loop), TEST_ENTRY(loop_step_by_step), TEST_ENTRY(loop_keeps_the_rest),
          TEST_ENTRY(loop_of_all_lengths), TEST_ENTRY(until_full), TEST_ENTRY(until_full_step_by_step),
          TEST_ENTRY(until_full_and_is_not), TEST_ENTRY(until_full_without_stop), TEST_ENTRY(append),
          TEST_ENTRY(written_when), TEST_ENTRY(all_policies))
