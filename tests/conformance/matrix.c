/*
 * matrix.c - which identifier is good for which function
 *
 * Every function that takes a stream meets every kind of identifier: one that
 * never was valid, one of a stream that is shut down or of a log that is closed, one of
 * the parent or of another process, a stream without log, one with a log, and
 * an opened log. Refused calls store nothing and change nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include "log.h"

static trace_event_id_t id;

/* Destinations of the calls, which must not change when a call is refused. */
static struct {
	struct posix_trace_event_info event;
	struct posix_trace_status_info status;
	trace_attr_t attr;
	trace_event_set_t set;
	trace_event_id_t type;
	char name[TRACE_EVENT_NAME_MAX + 1];
	unsigned char data[256];
	size_t len;
} out, untouched;
static int unavailable;
static struct timespec soon;
static trace_event_set_t some_set;

static int do_clear(trace_id_t t) { return posix_trace_clear(t); }
static int do_close(trace_id_t t) { return posix_trace_close(t); }
static int do_get_name(trace_id_t t) { return posix_trace_eventid_get_name(t, POSIX_TRACE_START, out.name); }
static int do_getnext_id(trace_id_t t) { return posix_trace_eventtypelist_getnext_id(t, &out.type, &unavailable); }
static int do_list_rewind(trace_id_t t) { return posix_trace_eventtypelist_rewind(t); }
static int do_flush(trace_id_t t) { return posix_trace_flush(t); }
static int do_get_attr(trace_id_t t) { return posix_trace_get_attr(t, &out.attr); }
static int do_get_status(trace_id_t t) { return posix_trace_get_status(t, &out.status); }
static int do_get_filter(trace_id_t t) { return posix_trace_get_filter(t, &out.set); }
static int do_set_filter(trace_id_t t) { return posix_trace_set_filter(t, &some_set, POSIX_TRACE_SET_EVENTSET); }
static int do_rewind(trace_id_t t) { return posix_trace_rewind(t); }
static int do_start(trace_id_t t) { return posix_trace_start(t); }
static int do_stop(trace_id_t t) { return posix_trace_stop(t); }
static int do_trid_open(trace_id_t t) { return posix_trace_trid_eventid_open(t, "matrix", &out.type); }
static int do_shutdown(trace_id_t t) { return posix_trace_shutdown(t); }

static int do_getnext(trace_id_t t)
{
	return posix_trace_getnext_event(t, &out.event, out.data, sizeof out.data, &out.len, &unavailable);
}

static int do_timedgetnext(trace_id_t t)
{
	return posix_trace_timedgetnext_event(t, &out.event, out.data, sizeof out.data, &out.len, &unavailable, &soon);
}

static int do_trygetnext(trace_id_t t)
{
	return posix_trace_trygetnext_event(t, &out.event, out.data, sizeof out.data, &out.len, &unavailable);
}

/* Not an active stream of this process: all calls return EINVAL. */
#define REFUSED(ids, call, t)                                                            \
	do {                                                                             \
		soon = now_plus_ms(1000);                                                \
		memset(&out, 0xa5, sizeof out);                                          \
		unavailable = 0;                                                         \
		CHECK_EQ(ids " DOC-2", do_##call(t), EINVAL);                            \
		CHECK(ids " DOC-3", memcmp(&out, &untouched, sizeof out) == 0);          \
	} while (0)

static void refuse_all(trace_id_t t)
{
	memset(&untouched, 0xa5, sizeof untouched);
	some_set = set_of(POSIX_TRACE_UNNAMED_USEREVENT);
	REFUSED("CLEAR-12 CLEAR-13", clear, t);
	REFUSED("OPEN-11 OPEN-13", close, t);
	REFUSED("ID-9 ID-11", get_name, t);
	REFUSED("ID-32 ID-33", getnext_id, t);
	REFUSED("ID-32 ID-33", list_rewind, t);
	REFUSED("FLUSH-10 FLUSH-20", flush, t);
	REFUSED("ATTR-59", get_attr, t);
	REFUSED("STAT-6 STAT-7", get_status, t);
	REFUSED("FILT-12 FILT-14", get_filter, t);
	REFUSED("FILT-12 FILT-14", set_filter, t);
	REFUSED("READ-26", getnext, t);
	CHECK_NE("READ-7", unavailable, 0);
	REFUSED("READ-26", timedgetnext, t);
	CHECK_NE("READ-7", unavailable, 0);
	REFUSED("READ-26 READ-28", trygetnext, t);
	CHECK_NE("READ-7", unavailable, 0);
	REFUSED("OPEN-12 OPEN-13", rewind, t);
	REFUSED("SHUT-11", shutdown, t);
	REFUSED("START-7 START-9", start, t);
	REFUSED("START-7 START-9", stop, t);
	REFUSED("ID-20 ID-22", trid_open, t);
	/* This function only compares. */
	CHECK("ID-4 ID-5", posix_trace_eventid_equal(t, POSIX_TRACE_START, POSIX_TRACE_START) != 0);
	CHECK("ID-4 ID-5", posix_trace_eventid_equal(t, POSIX_TRACE_START, POSIX_TRACE_STOP) == 0);
}

static const trace_id_t strange[] = {
	0, 1, 2, 63, 64, 0xffff, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, ~(trace_id_t)0,
};

/* Before the first stream. */
TEST(never_valid)
{
	for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++)
		refuse_all(strange[i]);
}

/* Next to a valid identifier, and with numbers close to it. */
TEST(never_valid_beside_stream)
{
	trace_id_t t = stream_create(NULL);

	for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
		if (strange[i] != t)
			refuse_all(strange[i]);
	}
	for (int bit = 0; bit < 64; bit++)
		refuse_all(t ^ (trace_id_t)1 << bit);
	refuse_all(t + 1);
	refuse_all(t - 1);
	refuse_all(-t);
	CHECK_STR("START-7", state(t), "SN");
	CHECK_EQ("START-7", stream_drain(t), 0);
	stream_end(t);
}

/* Also when a new stream uses the same place. */
TEST(shut_down)
{
	trace_id_t old[40], t = 0;

	for (int i = 0; i < 40; i++) {
		old[i] = stream_create(NULL);
		MUST(posix_trace_start(old[i]) == 0);
		stream_end(old[i]);
		refuse_all(old[i]);
	}
	t = stream_running(NULL);
	for (int i = 0; i < 40; i++) {
		CHECK("SHUT-4 CREATE-7", old[i] != t);
		refuse_all(old[i]);
	}
	CHECK_STR("SHUT-4", state(t), "RN");
	CHECK_EQ("SHUT-4", stream_drain(t), 0);
	stream_end(t);
}

/* The same for logs, opened and being written. */
TEST(log_ended)
{
	trace_id_t old[40], t = 0;
	int fd = log_file();

	for (int i = 0; i < 40; i++) {
		if (i % 2) {
			old[i] = log_open(fd);
			log_close(old[i]);
		} else {
			old[i] = log_running(0, 0, 0, 1 << 20, fd);
			stream_end(old[i]);
		}
		refuse_all(old[i]);
	}
	t = log_open(fd);
	for (int i = 0; i < 40; i++) {
		CHECK("SHUT-4 OPEN-10 CREATE-7", old[i] != t);
		refuse_all(old[i]);
	}
	CHECK_EQ("OPEN-10", log_count(t, POSIX_TRACE_START), 1);
	log_close(t);
}

/* The parent's identifier in a child. fork.c checks that the parent is not affected. */
TEST(of_the_parent)
{
	trace_id_t t = stream_create(NULL);
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		trace_id_t own;

		refuse_all(t);
		/* Also when the child has streams of its own, possibly in the same places. */
		own = stream_create(NULL);
		CHECK("CREATE-7", own != t);
		refuse_all(t);
		CHECK_STR("CREATE-15", state(own), "SN");
		stream_end(own);
		refuse_all(own);
		fflush(stderr);
		_exit(test_failures != 0);
	}
	MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_EQ("CREATE-15 INH-8 MODEL-19", status, 0);
	CHECK_STR("INH-8", state(t), "SN");
	stream_end(t);
}

/*
 * The identifier of a different process, for a stream of itself or of this process. Its streams may be in the same
 * places as ours.
 */
TEST(of_another)
{
	for (int of_us = 0; of_us < 2; of_us++) {
		trace_id_t theirs, own;
		int from[2], to[2], status;
		pid_t pid;
		char c;

		MUST(pipe(from) == 0 && pipe(to) == 0);
		pid = fork();
		if (pid == 0) {
			close(to[1]);
			MUST(posix_trace_create(of_us ? getppid() : 0, NULL, &theirs) == 0);
			MUST(write(from[1], &theirs, sizeof theirs) == sizeof theirs && read(to[0], &c, 1) == 0);
			CHECK_STR("MODEL-19 CREATE-15", state(theirs), "SN");
			CHECK_EQ("MODEL-19", stream_drain(theirs), 0);
			stream_end(theirs);
			fflush(stderr);
			_exit(test_failures != 0);
		}
		MUST(pid > 0 && read(from[0], &theirs, sizeof theirs) == sizeof theirs);
		refuse_all(theirs);
		own = stream_create(NULL);
		CHECK("CREATE-7", own != theirs);
		refuse_all(theirs);
		CHECK_STR("CREATE-15", state(own), "SN");
		stream_end(own);
		for (int i = 0; i < 2; i++) {
			close(to[1 - i]);
			close(from[i]);
		}
		MUST(waitpid(pid, &status, 0) == pid);
		CHECK_EQ("CREATE-15 MODEL-19", status, 0);
		refuse_all(theirs);
	}
}

/* The parent's identifier of a stream with a log: neither the child nor its end affects the log. */
TEST(of_the_parent_with_log)
{
	int fd = log_file(), status;
	trace_id_t t;
	pid_t pid;

	id = stream_id("matrix");
	t = log_running(0, 0, 0, 1 << 20, fd);
	number_send(id, 0, 0);
	pid = fork();
	if (pid == 0) {
		refuse_all(t);
		exit(test_failures != 0);
	}
	MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_EQ("CREATE-15 INH-8 MODEL-19", status, 0);
	number_send(id, 0, 1);
	CHECK_STR("INH-8", state(t), "RN");
	stream_end(t);
	CHECK_LOG("INH-8", fd, id, 0, 2);
}

/* -- An active stream without log --------------------------------------- */

/* These functions are for logs, or for streams with a log. */
TEST(without_log_refused)
{
	trace_id_t t = stream_running(NULL);
	struct stream_event e;

	memset(&untouched, 0xa5, sizeof untouched);
	id = stream_id("matrix");
	for (int i = 0; i < 2; i++) {
		number_send(id, 0, 0);
		REFUSED("OPEN-11 CREATE-11", close, t);
		REFUSED("OPEN-12 CREATE-11", rewind, t);
		REFUSED("FLUSH-2 FLUSH-10", flush, t);
		CHECK_STR("CREATE-11", state(t), i ? "SN" : "RN");
		if (i == 0) {
			stream_expect(t, id, &e);
			CHECK_EQ("CREATE-11", number_of(e.data, e.len).number, 0);
			MUST(posix_trace_stop(t) == 0);
			stream_expect(t, POSIX_TRACE_STOP, &e);
		}
		CHECK_EQ("CREATE-11 FLUSH-19", stream_drain(t), 0);
	}
	stream_end(t);
}

/* All other functions work, on a suspended and on a running stream. */
TEST(without_log)
{
	for (int running = 0; running < 2; running++) {
		trace_id_t t = stream_create(NULL);
		struct timespec past = { 0, 0 };

		id = stream_id("matrix");
		if (running) {
			MUST(posix_trace_start(t) == 0);
			stream_drain(t);
		}
		some_set = set_of(stream_id("hidden"));
		soon = past;
		CHECK_EQ("CREATE-9 CLEAR-13", do_clear(t), 0);
		CHECK("CREATE-9 ID-4", posix_trace_eventid_equal(t, id, id) != 0);
		CHECK("CREATE-9 ID-4", posix_trace_eventid_equal(t, id, POSIX_TRACE_START) == 0);
		CHECK_EQ("CREATE-9 ID-11", do_get_name(t), 0);
		CHECK_STR("CREATE-9 ID-6", out.name, "posix_trace_start");
		unavailable = 1;
		CHECK_EQ("CREATE-9 ID-33 ID-31", do_getnext_id(t), 0);
		CHECK_EQ("CREATE-9 ID-27", unavailable, 0);
		CHECK_EQ("CREATE-9 ID-33 ID-31", do_list_rewind(t), 0);
		CHECK_EQ("CREATE-9 ATTR-57", do_get_attr(t), 0);
		CHECK_EQ("CREATE-9 STAT-7", do_get_status(t), 0);
		CHECK_EQ("CREATE-9", out.status.posix_stream_status,
		         running ? POSIX_TRACE_RUNNING : POSIX_TRACE_SUSPENDED);
		CHECK_EQ("CREATE-10 FILT-14", do_get_filter(t), 0);
		CHECK_EQ("CREATE-10 FILT-3 FILT-14", do_set_filter(t), 0);
		CHECK_EQ("FILT-6 FILT-7", stream_count(t, POSIX_TRACE_FILTER), running);
		CHECK_EQ("CREATE-9 ID-22", do_trid_open(t), 0);
		CHECK_EQ("CREATE-9 ID-18", out.type, id);
		CHECK_EQ("CREATE-9 START-9", do_stop(t), 0);
		stream_drain(t);
		CHECK_EQ("CREATE-9 START-9", do_start(t), 0);
		unavailable = 1;
		CHECK_EQ("CREATE-9 READ-1", do_getnext(t), 0);
		CHECK_EQ("CREATE-9 READ-7", unavailable, 0);
		CHECK_EQ("CREATE-9 READ-1", out.event.posix_event_id, POSIX_TRACE_START);
		number_send(id, 0, 1);
		unavailable = 1;
		CHECK_EQ("CREATE-9 READ-3", do_timedgetnext(t), 0);
		CHECK_EQ("CREATE-9 READ-7", unavailable, 0);
		CHECK_EQ("CREATE-9 READ-3", number_of(out.data, out.len).number, 1);
		number_send(id, 0, 2);
		unavailable = 1;
		CHECK_EQ("CREATE-9 READ-2", do_trygetnext(t), 0);
		CHECK_EQ("CREATE-9 READ-7", unavailable, 0);
		CHECK_EQ("CREATE-9 READ-2", number_of(out.data, out.len).number, 2);
		CHECK_EQ("CREATE-9 SHUT-10 SHUT-11", do_shutdown(t), 0);
		refuse_all(t);
	}
}

/* -- An active stream with log ------------------------------------------------ */

/* These functions are for streams without a log, or for opened logs. */
TEST(with_log_refused)
{
	int fd = log_file();
	trace_id_t t = log_running(0, 0, 0, 1 << 20, fd);

	memset(&untouched, 0xa5, sizeof untouched);
	id = stream_id("matrix");
	for (int i = 0; i < 2; i++) {
		number_send(id, 0, (unsigned)i);
		REFUSED("OPEN-11 LOG-8", close, t);
		REFUSED("OPEN-12 LOG-8", rewind, t);
		REFUSED("READ-28 LOG-6", trygetnext, t);
		CHECK_NE("READ-7", unavailable, 0);
		/* Events of a stream with a log can only be read from the log. */
		REFUSED("READ-33", getnext, t);
		CHECK_NE("READ-7 READ-33", unavailable, 0);
		REFUSED("READ-33", timedgetnext, t);
		CHECK_NE("READ-7 READ-33", unavailable, 0);
		CHECK_STR("LOG-8", state(t), i ? "SN" : "RN");
		if (i == 0) {
			number_send(id, 0, 1);
			MUST(posix_trace_stop(t) == 0);
		}
	}
	stream_end(t);
	/* They have consumed nothing. */
	CHECK_LOG("LOG-8 READ-33", fd, id, 0, 2);
}

/* All other functions work, on a suspended and on a running stream. */
TEST(with_log)
{
	for (int running = 0; running < 2; running++) {
		int fd = log_file();
		trace_id_t t = log_create(NULL, fd);
		struct stream_event e;

		id = stream_id("matrix");
		if (running)
			MUST(posix_trace_start(t) == 0);
		some_set = set_of(stream_id("hidden"));
		CHECK_EQ("LOG-6 CLEAR-13", do_clear(t), 0);
		CHECK("LOG-6 ID-4", posix_trace_eventid_equal(t, id, id) != 0);
		CHECK("LOG-6 ID-4", posix_trace_eventid_equal(t, id, POSIX_TRACE_START) == 0);
		CHECK_EQ("LOG-6 ID-11", do_get_name(t), 0);
		CHECK_STR("LOG-6 ID-6", out.name, "posix_trace_start");
		unavailable = 1;
		CHECK_EQ("LOG-6 ID-33 ID-31", do_getnext_id(t), 0);
		CHECK_EQ("LOG-6 ID-27", unavailable, 0);
		CHECK_EQ("LOG-6 ID-33 ID-31", do_list_rewind(t), 0);
		CHECK_EQ("LOG-6 FLUSH-20", do_flush(t), 0);
		CHECK_EQ("LOG-6 ATTR-57", do_get_attr(t), 0);
		CHECK_EQ("LOG-6 STAT-7", do_get_status(t), 0);
		CHECK_EQ("LOG-6", out.status.posix_stream_status,
		         running ? POSIX_TRACE_RUNNING : POSIX_TRACE_SUSPENDED);
		CHECK_EQ("LOG-7 FILT-14", do_get_filter(t), 0);
		CHECK_EQ("LOG-7 FILT-3 FILT-14", do_set_filter(t), 0);
		CHECK_EQ("LOG-6 ID-22", do_trid_open(t), 0);
		CHECK_EQ("LOG-6 ID-18", out.type, id);
		CHECK_EQ("LOG-6 START-9", do_stop(t), 0);
		CHECK_EQ("LOG-6 START-9", do_start(t), 0);
		number_send(id, 0, 1);
		CHECK_EQ("LOG-6 FLUSH-20", do_flush(t), 0);
		CHECK_EQ("LOG-6 SHUT-10 SHUT-11", do_shutdown(t), 0);
		refuse_all(t);
		/* The events of these calls after the clear. */
		t = log_open(fd);
		if (running) {
			log_expect_other(t, POSIX_TRACE_FILTER, &e);
			log_expect_other(t, POSIX_TRACE_STOP, &e);
		}
		log_expect_other(t, POSIX_TRACE_START, &e);
		CHECK_EQ("LOG-6", log_run(t, id, 1, &e), 2);
		CHECK_EQ("LOG-6 SHUT-1", e.info.posix_event_id, POSIX_TRACE_STOP);
		CHECK_EQ("LOG-6", log_try_other(t, &e), 0);
		log_close(t);
	}
}

/* -- An opened log ------------------------------------------------------------- */

static trace_id_t some_log(int *fd)
{
	trace_id_t t;

	*fd = log_file();
	id = stream_id("matrix");
	t = log_running(0, 0, 0, 1 << 20, *fd);
	number_send(id, 0, 0);
	stream_end(t);
	return log_open(*fd);
}

/* These functions are for controllers, or for live streams. */
TEST(recorded_refused)
{
	int fd;
	trace_id_t t = some_log(&fd);

	memset(&untouched, 0xa5, sizeof untouched);
	some_set = set_of(POSIX_TRACE_UNNAMED_USEREVENT);
	for (int i = 0; i < 2; i++) {
		struct stream_event e;

		REFUSED("CLEAR-12 OPEN-6", clear, t);
		REFUSED("FLUSH-10 OPEN-6", flush, t);
		REFUSED("FILT-12 OPEN-6", get_filter, t);
		REFUSED("FILT-12 OPEN-6", set_filter, t);
		REFUSED("READ-15 READ-28", trygetnext, t);
		CHECK_NE("READ-7", unavailable, 0);
		REFUSED("READ-13", timedgetnext, t);
		CHECK_NE("READ-7", unavailable, 0);
		REFUSED("SHUT-11 OPEN-6", shutdown, t);
		REFUSED("START-7 OPEN-6", start, t);
		REFUSED("START-7 OPEN-6", stop, t);
		REFUSED("ID-14 ID-20 OPEN-6", trid_open, t);
		if (i == 0)
			log_expect(t, POSIX_TRACE_START, &e);
		else
			log_expect_other(t, id, &e);
	}
	log_close(t);
}

/* These functions work. */
TEST(recorded)
{
	int fd;
	trace_id_t t = some_log(&fd);

	CHECK("OPEN-5 ID-2 ID-4", posix_trace_eventid_equal(t, id, id) != 0);
	CHECK("OPEN-5 ID-2 ID-4", posix_trace_eventid_equal(t, id, POSIX_TRACE_START) == 0);
	CHECK_EQ("OPEN-5 ID-11", do_get_name(t), 0);
	CHECK_STR("OPEN-5 ID-6", out.name, "posix_trace_start");
	unavailable = 1;
	CHECK_EQ("OPEN-5 ID-33 ID-31", do_getnext_id(t), 0);
	CHECK_EQ("OPEN-5 ID-27", unavailable, 0);
	CHECK_EQ("OPEN-5 ID-33 ID-31", do_list_rewind(t), 0);
	CHECK_EQ("OPEN-5 ATTR-58", do_get_attr(t), 0);
	CHECK_EQ("OPEN-5 STAT-5 STAT-7", do_get_status(t), 0);
	for (int i = 0; i < 2; i++) {
		unavailable = 1;
		CHECK_EQ("OPEN-5 READ-1", do_getnext(t), 0);
		CHECK_EQ("OPEN-5 READ-7", unavailable, 0);
		CHECK_EQ("OPEN-5 READ-1 OPEN-9", out.event.posix_event_id, POSIX_TRACE_START);
		CHECK_EQ("OPEN-5 OPEN-13", do_rewind(t), 0);
	}
	CHECK_EQ("OPEN-5 OPEN-10 OPEN-13", do_close(t), 0);
	refuse_all(t);
	CHECK_NE("OPEN-14", fcntl(fd, F_GETFD), -1);
}

/* Next to an opened log: numbers close to its identifier. */
TEST(never_valid_beside_log)
{
	int fd;
	trace_id_t t = some_log(&fd);

	for (int bit = 0; bit < 64; bit++)
		refuse_all(t ^ (trace_id_t)1 << bit);
	refuse_all(t + 1);
	refuse_all(t - 1);
	CHECK_EQ("OPEN-5", log_count(t, id), 1);
	log_close(t);
}

TEST_MAIN(TEST_ENTRY(never_valid), TEST_ENTRY(never_valid_beside_stream), TEST_ENTRY(shut_down), TEST_ENTRY(log_ended),
          TEST_ENTRY(of_the_parent), TEST_ENTRY(of_another), TEST_ENTRY(of_the_parent_with_log),
          TEST_ENTRY(without_log_refused), TEST_ENTRY(without_log), TEST_ENTRY(with_log_refused), TEST_ENTRY(with_log),
          TEST_ENTRY(recorded_refused), TEST_ENTRY(recorded), TEST_ENTRY(never_valid_beside_log))
