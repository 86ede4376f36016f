/*
 * cancel.c - thread cancellation: where it is acted upon, where not, and what it leaves behind
 *
 * SPDX-License-Identifier: MIT
 */
#include "log.h"
#include "waiter.h"

static trace_event_id_t id;

/* -- Waiting readers ---------------------------------------------------- */

static void cancelled_reader(int timed)
{
	trace_id_t trid = stream_running(NULL);
	struct timespec never = now_plus_ms(1000000);
	struct stream_event e;

	NOT_WITH_ASAN();
	id = stream_id("cancel");
	for (unsigned n = 0; n < 100 / (unsigned)test_slow(); n++) {
		struct waiter w;
		void *result;

		waiter_start(&w, trid, timed ? &never : NULL);
		MUST(pthread_cancel(w.thread) == 0);
		MUST(pthread_join(w.thread, &result) == 0);
		CHECK("THR-7 THR-10", result == PTHREAD_CANCELED);
		CHECK_EQ("THR-10", atomic_load(&w.done), 0);
		/* No event was consumed, and the stream still works. */
		number_send(id, 0, n);
		stream_expect(trid, id, &e);
		CHECK_EQ("THR-10 THR-11", number_of(e.data, e.len).number, n);
		CHECK_STR("THR-10", state(trid), "RN");
		CHECK_EQ("READ-22", stream_drain(trid), 0);
	}
	stream_end(trid);
}

TEST(getnext)
{
	cancelled_reader(0);
}

TEST(timedgetnext)
{
	cancelled_reader(1);
}

/*
 * An event and a cancellation come at the same time: the event is either returned to the thread or still in the stream.
 */
struct racer {
	trace_id_t trid;
	atomic_int entered, got;
	unsigned number;
};

static void *race(void *arg)
{
	struct racer *r = arg;
	struct posix_trace_event_info e;
	unsigned char data[NUMBER_SIZE];
	size_t len;
	int unavailable;

	atomic_store(&r->entered, 1);
	if (posix_trace_getnext_event(r->trid, &e, data, sizeof data, &len, &unavailable) == 0) {
		r->number = number_of(data, len).number;
		atomic_store(&r->got, 1);
	}
	for (;;)
		pause();
	return NULL;
}

TEST(event_or_cancellation)
{
	trace_id_t trid = stream_running(NULL);

	NOT_WITH_ASAN();
	id = stream_id("cancel");
	for (unsigned n = 0; n < 1000 / (unsigned)test_slow(); n++) {
		struct racer r = { .trid = trid };
		struct stream_event e;
		pthread_t thread;
		void *result;

		MUST(pthread_create(&thread, NULL, race, &r) == 0);
		while (n % 3 && !atomic_load(&r.entered))
			sched_yield();
		for (volatile unsigned i = 0; i < n * 37 % 3000; i++)
			;
		if (n & 1) {
			number_send(id, 0, n);
			MUST(pthread_cancel(thread) == 0);
		} else {
			MUST(pthread_cancel(thread) == 0);
			number_send(id, 0, n);
		}
		MUST(pthread_join(thread, &result) == 0);
		CHECK("THR-10", result == PTHREAD_CANCELED);
		if (atomic_load(&r.got)) {
			CHECK_EQ("READ-22", r.number, n);
		} else {
			stream_expect(trid, id, &e);
			CHECK_EQ("THR-10 READ-22", number_of(e.data, e.len).number, n);
		}
		CHECK_EQ("THR-10 READ-22", stream_drain(trid), 0);
	}
	stream_end(trid);
}

/* A wake-up that a cancelled reader has consumed must be passed on to the other reader. */
TEST(other_reader_is_woken)
{
	trace_id_t trid = stream_running(NULL);

	NOT_WITH_ASAN();
	id = stream_id("cancel");
	for (unsigned n = 0; n < 100 / (unsigned)test_slow() + 10; n++) {
		struct racer r = { .trid = trid };
		struct waiter w;
		pthread_t thread;

		MUST(pthread_create(&thread, NULL, race, &r) == 0);
		if (n & 1)
			while (!atomic_load(&r.entered))
				sched_yield();
		waiter_start(&w, trid, NULL);
		number_send(id, 0, n);
		MUST(pthread_cancel(thread) == 0);
		MUST(pthread_join(thread, NULL) == 0);
		if (atomic_load(&r.got))
			number_send(id, 0, n);
		waiter_join(&w); /* otherwise the test's time limit expires */
		CHECK_EQ("THR-10 THR-11 READ-5", w.result, 0);
		CHECK_EQ("READ-22", number_of(w.data, w.len).number, n);
		CHECK_EQ("READ-22", stream_drain(trid), 0);
	}
	stream_end(trid);
}

/* The application's cleanup handler finds the stream intact and may use it. */
static void cleanup(void *arg)
{
	trace_id_t trid = *(trace_id_t *)arg;
	struct posix_trace_event_info e;
	struct stream_event s;
	trace_event_set_t set = set_of(stream_id("hidden"));
	struct timespec past = { 0, 0 };
	size_t len;
	int unavailable;

	CHECK_EQ("THR-11", stream_drain(trid), 0);
	CHECK_EQ("THR-11", posix_trace_timedgetnext_event(trid, &e, NULL, 0, &len, &unavailable, &past), ETIMEDOUT);
	CHECK_STR("THR-11", state(trid), "RN");
	CHECK_EQ("THR-11", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
	stream_expect(trid, POSIX_TRACE_FILTER, &s);
	number_send(id, 0, 1);
	CHECK_EQ("THR-11", posix_trace_getnext_event(trid, &e, NULL, 0, &len, &unavailable), 0);
	CHECK_EQ("THR-11", posix_trace_clear(trid), 0);
	stream_drain(trid);
	CHECK_EQ("THR-11", posix_trace_shutdown(trid), 0);
}

static atomic_int cleanup_tid;

static void *cleaning_reader(void *arg)
{
	struct posix_trace_event_info e;
	size_t len;
	int unavailable;

	pthread_cleanup_push(cleanup, arg);
	atomic_store(&cleanup_tid, (int)syscall(SYS_gettid));
	posix_trace_getnext_event(*(trace_id_t *)arg, &e, NULL, 0, &len, &unavailable);
	pthread_cleanup_pop(0);
	return NULL;
}

TEST(cleanup_handler)
{
	NOT_WITH_ASAN();
	id = stream_id("cancel");
	for (int i = 0; i < 20; i++) {
		trace_id_t trid = stream_running(NULL);
		struct posix_trace_status_info s;
		pthread_t thread;
		void *result;

		atomic_store(&cleanup_tid, 0);
		MUST(pthread_create(&thread, NULL, cleaning_reader, &trid) == 0);
		while (!atomic_load(&cleanup_tid))
			sched_yield();
		sleep_ms(i);
		MUST(pthread_cancel(thread) == 0);
		MUST(pthread_join(thread, &result) == 0);
		CHECK("THR-7", result == PTHREAD_CANCELED);
		CHECK_EQ("THR-11 SHUT-4", posix_trace_get_status(trid, &s), EINVAL);
	}
}

/* With cancellation disabled a wait goes on until its event comes. */
static void *disabled_reader(void *arg)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	return waiter_run(arg);
}

TEST(disabled)
{
	trace_id_t trid = stream_running(NULL);
	struct waiter w;
	void *result;

	id = stream_id("cancel");
	memset(&w, 0, sizeof w);
	w.trid = trid;
	MUST(pthread_create(&w.thread, NULL, disabled_reader, &w) == 0);
	waiter_settle(&w);
	MUST(pthread_cancel(w.thread) == 0);
	waiter_settle(&w);
	CHECK_EQ("THR-7", atomic_load(&w.done), 0);
	number_send(id, 0, 1);
	MUST(pthread_join(w.thread, &result) == 0);
	CHECK("THR-7", result == NULL);
	CHECK_EQ("THR-7", w.result, 0);
	stream_end(trid);
}

/* -- Functions that are not cancellation points ------------------------- */

static volatile int step;

/* Runs a function with a cancellation pending. The function must return from all its calls. */
static void *with_pending(void *arg)
{
	void (*function)(void) = *(void (**)(void))arg;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cancel(pthread_self());
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	function();
	step = -1;
	pthread_testcancel();
	return NULL;
}

static int run_with_pending(void (*function)(void))
{
	pthread_t thread;
	void *result;

	step = 0;
	MUST(pthread_create(&thread, NULL, with_pending, &function) == 0);
	MUST(pthread_join(thread, &result) == 0);
	CHECK("-", result == PTHREAD_CANCELED);
	return step;
}

static trace_id_t trid;

/* Before any other call in this process, when the library has most to do. */
static void first_open(void)
{
	trace_event_id_t t;

	step = 1;
	CHECK_EQ("THR-8", posix_trace_eventid_open("first", &t), 0);
}

static void first_event(void)
{
	step = 1;
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, "x", 1);
}

TEST(first_call)
{
	CHECK_EQ("THR-8", run_with_pending(first_open), -1);
}

TEST(first_trace_point)
{
	CHECK_EQ("THR-8", run_with_pending(first_event), -1);
}

static void forbidden(void)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	struct stream_event e;
	trace_event_id_t t;
	int error = 0, unavailable;

	step = 1;
	error |= posix_trace_eventid_open("pending", &t);
	step = 2;
	error |= posix_trace_trid_eventid_open(trid, "pending too", &t);
	step = 3;
	error |= posix_trace_eventid_get_name(trid, t, name);
	step = 4;
	error |= !posix_trace_eventid_equal(trid, t, t);
	step = 5;
	error |= posix_trace_start(trid);
	step = 6;
	posix_trace_event(t, "pending", 8);
	step = 7;
	error |= posix_trace_stop(trid);
	step = 8;
	for (int i = 0; i < 4; i++) { /* three events, then none */
		error |= posix_trace_trygetnext_event(trid, &e.info, e.data, sizeof e.data, &e.len, &unavailable);
		error |= !unavailable != (i < 3);
	}
	step = 9;
	CHECK_EQ("THR-8", error, 0);
}

TEST(forbidden_functions)
{
	trid = stream_create(NULL);
	CHECK_EQ("THR-8", run_with_pending(forbidden), -1);
	stream_end(trid);
}

/* The same while another thread waits, which these functions must wake. */
TEST(forbidden_functions_with_waiter)
{
	struct waiter w;

	trid = stream_create(NULL);
	MUST(posix_trace_start(trid) == 0);
	stream_drain(trid);
	id = stream_id("cancel");
	for (int i = 0; i < 10; i++) {
		waiter_start(&w, trid, NULL);
		CHECK_EQ("THR-8", run_with_pending(first_event), -1);
		waiter_join(&w);
		CHECK_EQ("THR-8 READ-5", w.result, 0);
		CHECK_EQ("THR-8 READ-5", w.info.posix_event_id, POSIX_TRACE_UNNAMED_USEREVENT);
	}
	stream_end(trid);
}

static void attributes(void)
{
	trace_attr_t attr;
	struct timespec t;
	char name[TRACE_NAME_MAX + 1];
	size_t size;
	int value, error = 0;

	error |= posix_trace_attr_init(&attr);
	step = 1;
	error |= posix_trace_attr_getclockres(&attr, &t);
	step = 2;
	error |= posix_trace_attr_getcreatetime(&attr, &t);
	step = 3;
	error |= posix_trace_attr_getgenversion(&attr, name);
	step = 4;
	error |= posix_trace_attr_setname(&attr, "pending");
	error |= posix_trace_attr_getname(&attr, name);
	step = 5;
	error |= posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED);
	error |= posix_trace_attr_getinherited(&attr, &value);
	step = 6;
	error |= posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND);
	error |= posix_trace_attr_getlogfullpolicy(&attr, &value);
	step = 7;
	error |= posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_UNTIL_FULL);
	error |= posix_trace_attr_getstreamfullpolicy(&attr, &value);
	step = 8;
	error |= posix_trace_attr_setlogsize(&attr, 100000);
	error |= posix_trace_attr_getlogsize(&attr, &size);
	step = 9;
	error |= posix_trace_attr_setmaxdatasize(&attr, 10);
	error |= posix_trace_attr_getmaxdatasize(&attr, &size);
	step = 10;
	error |= posix_trace_attr_setstreamsize(&attr, 10000);
	error |= posix_trace_attr_getstreamsize(&attr, &size);
	step = 11;
	error |= posix_trace_attr_getmaxsystemeventsize(&attr, &size);
	error |= posix_trace_attr_getmaxusereventsize(&attr, 5, &size);
	step = 12;
	error |= posix_trace_attr_destroy(&attr);
	step = 13;
	CHECK_EQ("THR-8", error, 0);
}

static void sets(void)
{
	trace_event_set_t set;
	int member, error = 0;

	error |= posix_trace_eventset_fill(&set, POSIX_TRACE_ALL_EVENTS);
	step = 1;
	error |= posix_trace_eventset_empty(&set);
	step = 2;
	error |= posix_trace_eventset_add(POSIX_TRACE_START, &set);
	step = 3;
	error |= posix_trace_eventset_ismember(POSIX_TRACE_START, &set, &member);
	step = 4;
	error |= posix_trace_eventset_del(POSIX_TRACE_START, &set);
	step = 5;
	CHECK_EQ("THR-8", error, 0);
}

TEST(attributes_and_sets)
{
	CHECK_EQ("THR-8", run_with_pending(attributes), -1);
	CHECK_EQ("THR-8", run_with_pending(sets), -1);
}

/*
 * These functions may be cancellation points. The documentation says that they are not, and neither is a read that need
 * not wait.
 */
static void permitted(void)
{
	struct posix_trace_status_info s;
	struct posix_trace_event_info e;
	trace_event_set_t set;
	trace_event_id_t t;
	trace_attr_t attr;
	trace_id_t own = 0;
	size_t len;
	int error = 0, unavailable;

	error |= posix_trace_create(0, NULL, &own);
	step = 1;
	error |= posix_trace_get_attr(own, &attr);
	step = 2;
	error |= posix_trace_get_status(own, &s);
	step = 3;
	error |= posix_trace_get_filter(own, &set);
	step = 4;
	error |= posix_trace_set_filter(own, &set, POSIX_TRACE_SET_EVENTSET);
	step = 5;
	error |= posix_trace_eventtypelist_getnext_id(own, &t, &unavailable);
	step = 6;
	error |= posix_trace_eventtypelist_rewind(own);
	step = 7;
	error |= posix_trace_clear(own);
	step = 8;
	error |= posix_trace_shutdown(own);
	step = 9;
	error |= posix_trace_flush(own) != EINVAL;
	error |= posix_trace_rewind(own) != EINVAL;
	error |= posix_trace_close(own) != EINVAL;
	error |= posix_trace_getnext_event(own, &e, NULL, 0, &len, &unavailable) != EINVAL;
	step = 10;
	CHECK_EQ("THR-7", error, 0);
}

TEST(other_functions)
{
	CHECK_EQ("THR-7", run_with_pending(permitted), -1);
}

/*
 * The same for functions of streams with a log: each completes its work, even if it waits for another thread or writes.
 */
static int log_fd;

static void permitted_with_log(void)
{
	struct posix_trace_status_info s;
	struct posix_trace_event_info e;
	trace_id_t own = 0;
	size_t len;
	int error = 0, unavailable = 1;

	error |= posix_trace_create_withlog(0, NULL, log_fd, &own);
	step = 1;
	error |= posix_trace_start(own);
	number_send(id, 0, 0);
	error |= posix_trace_flush(own);
	step = 2;
	error |= posix_trace_clear(own);
	step = 3;
	number_send(id, 0, 1);
	error |= posix_trace_get_status(own, &s);
	error |= posix_trace_create_withlog(0, NULL, -1, &own) != EBADF;
	step = 4;
	error |= posix_trace_shutdown(own);
	step = 5;
	error |= posix_trace_open(log_fd, &own);
	step = 6;
	error |= posix_trace_getnext_event(own, &e, NULL, 0, &len, &unavailable) || unavailable ||
		e.posix_event_id != id;
	step = 7;
	error |= posix_trace_rewind(own);
	step = 8;
	error |= posix_trace_get_status(own, &s);
	error |= posix_trace_close(own);
	step = 9;
	CHECK_EQ("THR-7", error, 0);
}

TEST(functions_of_logs)
{
	log_fd = log_file();
	id = stream_id("cancel");
	for (int i = 0; i < 20; i++) {
		trace_id_t log;

		CHECK_EQ("THR-7 THR-10", run_with_pending(permitted_with_log), -1);
		log = log_open(log_fd);
		CHECK_EQ("THR-10 SHUT-7", log_count(log, id), 1);
		log_close(log);
	}
}

/* Cancelled while it waits for its flush: the flush is completed, and then the thread ends. */
static void *flush_and_end(void *arg)
{
	struct log_flusher *f = arg;

	f->result = posix_trace_flush(f->trid);
	atomic_store(&f->done, 1);
	pthread_testcancel();
	return NULL;
}

TEST(flush)
{
	struct log_flusher f = { .result = -1 };
	struct log_sink sink;
	void *result;
	int fd = log_pipe(&sink);
	trace_id_t log;

	id = stream_id("cancel");
	f.trid = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 0, 0, fd);
	log_sink_hold(&sink);
	log_send(id, 0, 2000);
	MUST(pthread_create(&f.thread, NULL, flush_and_end, &f) == 0);
	log_wait_flush(f.trid, POSIX_TRACE_FLUSHING);
	MUST(pthread_cancel(f.thread) == 0);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ("THR-7", stream_status(f.trid).posix_stream_flush_status, POSIX_TRACE_FLUSHING);
		sleep_ms(2);
	}
	log_sink_release(&sink);
	MUST(pthread_join(f.thread, &result) == 0);
	CHECK("THR-7", result == PTHREAD_CANCELED);
	CHECK_EQ("THR-7 THR-10", atomic_load(&f.done), 1);
	CHECK_EQ("THR-10", f.result, 0);
	CHECK_EQ("THR-11 FLUSH-20", posix_trace_flush(f.trid), 0);
	stream_end(f.trid);
	close(fd);
	fd = log_sink_file(&sink);
	log = log_open(fd);
	CHECK_EQ("THR-10 FLUSH-1", log_count(log, id), 2000);
	log_close(log);
}

/* If a read that need not wait acts on the cancellation nevertheless, the event stays in the stream. */
static void read_one(void)
{
	struct posix_trace_event_info e;
	size_t len;
	int unavailable;

	posix_trace_getnext_event(trid, &e, NULL, 0, &len, &unavailable);
}

TEST(read_with_pending)
{
	NOT_WITH_ASAN();
	trid = stream_running(NULL);
	id = stream_id("cancel");
	for (unsigned n = 0; n < 20; n++) {
		int returned;

		number_send(id, 0, n);
		returned = run_with_pending(read_one) == -1;
		CHECK_EQ("THR-10 READ-22", stream_drain(trid), returned ? 0 : 1);
		/* Without an event, the read acts on the cancellation. */
		CHECK_EQ("THR-7", run_with_pending(read_one), 0);
	}
	stream_end(trid);
}

/*
 * Cancelled readers leave no descriptors and no memory of the stream behind: the stream can end and new ones can be
 * created.
 */
TEST(nothing_left)
{
	int fd = -1, first = -1;

	NOT_WITH_ASAN();
	for (int i = 0; i < 100; i++) {
		trace_id_t own = stream_running(NULL);
		struct racer r = { .trid = own };
		pthread_t thread;

		MUST(pthread_create(&thread, NULL, race, &r) == 0);
		while (!atomic_load(&r.entered))
			sched_yield();
		MUST(pthread_cancel(thread) == 0);
		if (i & 1)
			CHECK_EQ("SHUT-2 THR-11", posix_trace_shutdown(own), 0);
		MUST(pthread_join(thread, NULL) == 0);
		if (!(i & 1))
			CHECK_EQ("SHUT-2 THR-11", posix_trace_shutdown(own), 0);
		fd = dup(0);
		if (fd >= 0)
			close(fd);
		if (i == 10)
			first = fd;
	}
	CHECK_EQ("THR-11", fd, first);
}

TEST_MAIN(TEST_ENTRY(getnext), TEST_ENTRY(timedgetnext), TEST_ENTRY(event_or_cancellation),
          TEST_ENTRY(other_reader_is_woken), TEST_ENTRY(cleanup_handler), TEST_ENTRY(disabled), TEST_ENTRY(first_call),
          TEST_ENTRY(first_trace_point), TEST_ENTRY(forbidden_functions), TEST_ENTRY(forbidden_functions_with_waiter),
          TEST_ENTRY(attributes_and_sets), TEST_ENTRY(other_functions), TEST_ENTRY(functions_of_logs),
          TEST_ENTRY(flush), TEST_ENTRY(read_with_pending), TEST_ENTRY(nothing_left))
