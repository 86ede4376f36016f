/*
 * interrupts.c - signals that are caught while a trace function waits or works
 *
 * Handlers that themselves trace are in signals.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "waiter.h"

static trace_event_id_t id;
static atomic_int handled;

static void handler(int signal)
{
	(void)signal;
	atomic_fetch_add(&handled, 1);
}

static void install(int signal, void (*function)(int), int flags)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof sa);
	sa.sa_handler = function;
	sa.sa_flags = flags;
	sigemptyset(&sa.sa_mask);
	MUST(sigaction(signal, &sa, NULL) == 0);
}

static const struct timespec *wait_kind(int timed)
{
	static struct timespec t;

	if (!timed)
		return NULL;
	t = now_plus_ms(1000000);
	return &t;
}

static void eintr(int timed)
{
	trace_id_t trid = stream_running(NULL);
	struct stream_event e;
	struct waiter w;

	id = stream_id("interrupt");
	install(SIGUSR1, handler, 0);
	for (unsigned round = 0; round < 20; round++) {
		waiter_start(&w, trid, wait_kind(timed));
		while (!atomic_load(&w.done)) { /* the first signal may be too early */
			MUST(pthread_kill(w.thread, SIGUSR1) == 0);
			sleep_ms(5);
		}
		waiter_join(&w);
		CHECK_EQ("READ-27 THR-12 DOC-2", w.result, EINTR);
		CHECK_NE("READ-7 READ-27", w.unavailable, 0);
		number_send(id, 0, round);
		stream_expect(trid, id, &e);
		CHECK_EQ("READ-27 DOC-3", number_of(e.data, e.len).number, round);
		CHECK_EQ("READ-22", stream_drain(trid), 0);
	}
	stream_end(trid);
}

TEST(eintr_getnext)
{
	eintr(0);
}

TEST(eintr_timedgetnext)
{
	eintr(1);
}

/* Sends a signal that the waiting thread handles. Returns whether the thread still waits. */
static int still_waits_after(struct waiter *w, int signal)
{
	int before = atomic_load(&handled);

	MUST(pthread_kill(w->thread, signal) == 0);
	for (int i = 0; i < 10000 && atomic_load(&handled) == before; i++)
		sleep_ms(1);
	MUST(atomic_load(&handled) == before + 1);
	waiter_settle(w);
	return !atomic_load(&w->done);
}

static void restart(int timed)
{
	trace_id_t trid = stream_running(NULL);
	struct waiter w;

	NOT_WITH_TSAN();
	id = stream_id("interrupt");
	install(SIGUSR1, handler, SA_RESTART);
	waiter_start(&w, trid, wait_kind(timed));
	for (int i = 0; i < 10; i++)
		CHECK("THR-12 READ-5", still_waits_after(&w, SIGUSR1));
	number_send(id, 0, 5);
	waiter_join(&w);
	CHECK_EQ("THR-12", w.result, 0);
	CHECK_EQ("THR-12 READ-24", number_of(w.data, w.len).number, 5);
	stream_end(trid);
}

TEST(restart_getnext)
{
	restart(0);
}

TEST(restart_timedgetnext)
{
	restart(1);
}

/* A restarted wait keeps its deadline. */
TEST(restart_keeps_timeout)
{
	trace_id_t trid = stream_running(NULL);
	struct timespec until, end;
	struct waiter w;

	install(SIGUSR1, handler, SA_RESTART);
	until = now_plus_ms(300);
	waiter_start(&w, trid, &until);
	while (!atomic_load(&w.done) && nanoseconds(now()) < nanoseconds(until) + 20000000000LL * test_slow()) {
		MUST(pthread_kill(w.thread, SIGUSR1) == 0);
		sleep_ms(10);
	}
	end = now();
	CHECK_EQ("READ-9 THR-12", atomic_load(&w.done), 1);
	waiter_join(&w);
	CHECK_EQ("READ-8 READ-30 THR-12", w.result, ETIMEDOUT);
	CHECK_OP("READ-9", nanoseconds(end), >=, nanoseconds(until));
	stream_end(trid);
}

/* Signals that are ignored, blocked, or without a handler: no function notices. */
static void unnoticed(int timed)
{
	trace_id_t trid = stream_running(NULL);
	struct waiter w;
	sigset_t set;
	pid_t pid, parent = getpid();
	int status;

	id = stream_id("interrupt");
	install(SIGUSR1, SIG_IGN, 0);
	install(SIGUSR2, handler, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	MUST(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0); /* the new thread inherits the mask */
	waiter_start(&w, trid, wait_kind(timed));
	for (int i = 0; i < 5; i++) {
		MUST(pthread_kill(w.thread, SIGUSR1) == 0);
		MUST(pthread_kill(w.thread, SIGUSR2) == 0);
		MUST(pthread_kill(w.thread, SIGWINCH) == 0); /* ignored by default */
		waiter_settle(&w);
		CHECK_EQ("THR-14 READ-5", atomic_load(&w.done), 0);
	}
	/* A process that is stopped and continued. */
	pid = fork();
	if (pid == 0) {
		if (kill(parent, SIGSTOP) != 0)
			_exit(1);
		sleep_ms(50);
		_exit(kill(parent, SIGCONT) != 0);
	}
	MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	waiter_settle(&w);
	CHECK_EQ("THR-14 READ-5", atomic_load(&w.done), 0);
	CHECK_EQ("-", atomic_load(&handled), 0);
	number_send(id, 0, 6);
	waiter_join(&w);
	CHECK_EQ("THR-14", w.result, 0);
	stream_end(trid);
}

TEST(unnoticed_getnext)
{
	unnoticed(0);
}

TEST(unnoticed_timedgetnext)
{
	unnoticed(1);
}

/* The handler in the waiting thread records an event. With SA_RESTART, the wait returns that event. */
static trace_event_id_t handler_id;

static void tracing_handler(int signal)
{
	static unsigned n;

	(void)signal;
	number_send(handler_id, 0, n++);
	atomic_fetch_add(&handled, 1);
}

TEST(handler_wakes_its_thread)
{
	trace_id_t trid = stream_running(NULL);
	struct stream_event e;

	NOT_WITH_TSAN();
	handler_id = stream_id("handler");
	for (unsigned n = 0; n < 40; n++) {
		int timed = n & 1, flags = n & 2 ? SA_RESTART : 0;
		struct waiter w;

		install(SIGUSR1, tracing_handler, flags);
		waiter_start(&w, trid, wait_kind(timed));
		MUST(pthread_kill(w.thread, SIGUSR1) == 0);
		waiter_join(&w);
		if (flags)
			CHECK_EQ("THR-3 THR-12 THR-13", w.result, 0);
		if (w.result == 0) {
			CHECK_EQ("THR-13 READ-22", number_of(w.data, w.len).number, n);
		} else {
			CHECK_EQ("READ-27 THR-13", w.result, EINTR);
			stream_expect(trid, handler_id, &e);
			CHECK_EQ("READ-27 READ-22", number_of(e.data, e.len).number, n);
		}
		CHECK_EQ("READ-22", stream_drain(trid), 0);
	}
	stream_end(trid);
}

/* Interrupted again and again while events come: each event is read once, in order. */
static trace_id_t shared;
static atomic_int finished;
static unsigned to_send, interrupted;

static void *patient_reader(void *arg)
{
	for (unsigned n = 0; n < to_send;) {
		struct posix_trace_event_info e;
		unsigned char data[NUMBER_SIZE];
		const struct timespec until = now_plus_ms(1000000);
		size_t len;
		int unavailable, error;

		if (n & 1)
			error = posix_trace_getnext_event(shared, &e, data, sizeof data, &len, &unavailable);
		else
			error = posix_trace_timedgetnext_event(shared, &e, data, sizeof data, &len, &unavailable,
			                                       &until);
		if (error == EINTR) {
			interrupted++;
			continue;
		}
		MUST(error == 0);
		CHECK_EQ("READ-27 READ-20 READ-22", number_of(data, len).number, n);
		n++;
	}
	atomic_store(&finished, 1);
	return arg;
}

static void *interrupter(void *arg)
{
	pthread_t *target = arg;

	while (!atomic_load(&finished)) {
		pthread_kill(*target, SIGUSR1);
		usleep(100);
	}
	return NULL;
}

TEST(nothing_consumed)
{
	pthread_t reader, storm;
	sigset_t set;

	id = stream_id("interrupt");
	shared = stream_running(NULL);
	to_send = 2000 / (unsigned)test_slow();
	install(SIGUSR1, handler, 0);
	MUST(pthread_create(&reader, NULL, patient_reader, NULL) == 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	MUST(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	MUST(pthread_create(&storm, NULL, interrupter, &reader) == 0);
	for (unsigned n = 0; n < to_send; n++) {
		number_send(id, 0, n);
		usleep(n % 5 * 100);
	}
	MUST(pthread_join(reader, NULL) == 0);
	MUST(pthread_join(storm, NULL) == 0);
	CHECK_EQ("READ-22", stream_drain(shared), 0);
	CHECK_OP("-", interrupted, >, 0); /* otherwise the test proves nothing */
	stream_end(shared);
}

/* All other functions complete their work. */
TEST(control_is_not_interrupted)
{
	/* Not setitimer(), which uses the timer of alarm() that ends a hanging test. */
	struct sigevent by_signal = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec often = { .it_interval = { 0, 211000 }, .it_value = { 0, 211000 } };
	timer_t timer;
	trace_event_set_t sets[2] = { set_of(stream_id("hidden")), set_of(NO_TYPE) }, got;
	struct timespec end = now_plus_ms(1500);

	id = stream_id("interrupt");
	install(SIGUSR1, handler, 0);
	MUST(timer_create(CLOCK_MONOTONIC, &by_signal, &timer) == 0);
	MUST(timer_settime(timer, 0, &often, NULL) == 0);
	for (unsigned i = 0; nanoseconds(now()) < nanoseconds(end) || atomic_load(&handled) < 100; i++) {
		trace_id_t trid = 0;
		trace_event_id_t other;
		struct posix_trace_status_info s;
		trace_attr_t attr;
		struct stream_event e;
		char name[32], got_name[TRACE_EVENT_NAME_MAX + 1];
		int unavailable;

		snprintf(name, sizeof name, "name %u", i % 100);
		CHECK_EQ("THR-13", posix_trace_eventid_open(name, &other), 0);
		CHECK_EQ("CREATE-19 THR-13", posix_trace_create(0, NULL, &trid), 0);
		CHECK_EQ("FILT-11 FILT-13 THR-13", posix_trace_set_filter(trid, &sets[i & 1], POSIX_TRACE_SET_EVENTSET),
		         0);
		CHECK_EQ("FILT-13 THR-13", posix_trace_get_filter(trid, &got), 0);
		CHECK("FILT-11 THR-13", set_equal(&got, &sets[i & 1]));
		CHECK_EQ("START-8 THR-13", posix_trace_start(trid), 0);
		number_send(id, 0, i);
		CHECK_EQ("START-8 THR-13", posix_trace_stop(trid), 0);
		CHECK_EQ("THR-13", posix_trace_get_status(trid, &s), 0);
		CHECK_EQ("START-8 THR-13", s.posix_stream_status, POSIX_TRACE_SUSPENDED);
		CHECK_EQ("THR-13", posix_trace_get_attr(trid, &attr), 0);
		CHECK_EQ("THR-13", posix_trace_eventid_get_name(trid, other, got_name), 0);
		CHECK_STR("THR-13", got_name, name);
		CHECK_EQ("THR-13", posix_trace_eventtypelist_getnext_id(trid, &other, &unavailable), 0);
		CHECK_EQ("THR-13", posix_trace_eventtypelist_rewind(trid), 0);
		stream_expect(trid, POSIX_TRACE_START, &e);
		stream_expect(trid, id, &e);
		CHECK_EQ("THR-13", number_of(e.data, e.len).number, i);
		CHECK_EQ("THR-13", posix_trace_clear(trid), 0);
		CHECK_EQ("THR-13", stream_drain(trid), 0);
		CHECK_EQ("THR-13", posix_trace_shutdown(trid), 0);
	}
	MUST(timer_delete(timer) == 0);
}

TEST_MAIN(TEST_ENTRY(eintr_getnext), TEST_ENTRY(eintr_timedgetnext), TEST_ENTRY(restart_getnext),
          TEST_ENTRY(restart_timedgetnext), TEST_ENTRY(restart_keeps_timeout), TEST_ENTRY(unnoticed_getnext),
          TEST_ENTRY(unnoticed_timedgetnext), TEST_ENTRY(handler_wakes_its_thread), TEST_ENTRY(nothing_consumed),
          TEST_ENTRY(control_is_not_interrupted))
