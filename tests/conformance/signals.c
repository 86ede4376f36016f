/*
 * signals.c - trace points in signal handlers, at any instant of any trace function
 *
 * A timer interrupts the thread at random instants while it calls one function
 * again and again; the handler traces a number. At the end each number of the
 * handler and each of the thread must be in the stream, once and in order.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "numbers.h"

#define STORM_MS 400
#define STORM_EVENTS 20000u

enum { MAIN, HANDLER, NESTED };

static trace_event_id_t id, other_id;
static trace_id_t witness; /* must not lose an event */
static trace_id_t victim;  /* the thread's calls use this stream */
static timer_t timer;
static atomic_uint main_sent, handler_sent, nested_sent;
static unsigned long long random_state = 88172645463325252ull;

static void arm(void)
{
	struct itimerspec t = { .it_value = { 0, 0 } };

	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	t.it_value.tv_nsec = 20000 + (long)(random_state % 60000) * test_slow();
	timer_settime(timer, 0, &t, NULL);
}

static void handler(int signal)
{
	int saved = errno;

	(void)signal;
	errno = 4242;
	if (atomic_load(&handler_sent) < STORM_EVENTS) {
		number_send(id, HANDLER, atomic_load(&handler_sent));
		atomic_fetch_add(&handler_sent, 1);
	}
	if (errno != 4242)
		TEST_FAIL("THR-6", "errno is %d", errno);
	arm();
	errno = saved;
}

static void install(int signal, void (*function)(int))
{
	struct sigaction sa;

	memset(&sa, 0, sizeof sa);
	sa.sa_handler = function;
	sa.sa_flags = SA_RESTART;
	sigemptyset(&sa.sa_mask);
	MUST(sigaction(signal, &sa, NULL) == 0);
}

static void storm_begin(void)
{
	struct sigevent by_signal = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct stream_event e;

	id = stream_id("signals");
	other_id = stream_id("other");
	/* For both writers, and much larger than necessary. */
	witness = large_stream(3 * (size_t)STORM_EVENTS * 256);
	MUST(posix_trace_start(witness) == 0);
	stream_expect(witness, POSIX_TRACE_START, &e);
	install(SIGUSR1, handler);
	MUST(timer_create(CLOCK_MONOTONIC, &by_signal, &timer) == 0);
}

/* Checks that the witness has all events. */
static void storm_check(const char *what)
{
	unsigned next[3] = { 0 };
	struct stream_event e;

	while (stream_try(witness, &e)) {
		struct number n;

		if (e.info.posix_event_id != id)
			continue;
		n = number_of(e.data, e.len);
		MUST(n.writer <= NESTED);
		if (n.number != next[n.writer])
			TEST_FAIL("THR-3 THR-13 READ-20", "%s: writer %u, number %u instead of %u", what, n.writer,
			          n.number, next[n.writer]);
		next[n.writer] = n.number + 1;
	}
	CHECK_EQ("THR-3 THR-13 MODEL-8", next[MAIN], atomic_load(&main_sent));
	CHECK_EQ("THR-3 MODEL-8", next[HANDLER], atomic_load(&handler_sent));
	CHECK_EQ("THR-3 MODEL-8", next[NESTED], atomic_load(&nested_sent));
	CHECK_OP("-", atomic_load(&handler_sent), >, 10); /* otherwise the test proves nothing */
	CHECK_LOST("MODEL-8", lost_events(witness), ==, 0);
	CHECK_STR("THR-13", state(witness), "RN");
}

static void storm(const char *what, void (*call)(unsigned))
{
	struct timespec end;

	storm_begin();
	end = now_plus_ms(STORM_MS * (test_slow() > 1 ? 4 : 1));
	arm();
	for (unsigned i = 0; nanoseconds(now()) < nanoseconds(end) || atomic_load(&handler_sent) < 100; i++) {
		call(i);
		if (i % 8 == 0 && atomic_load(&main_sent) < STORM_EVENTS) {
			number_send(id, MAIN, atomic_load(&main_sent));
			atomic_fetch_add(&main_sent, 1);
		}
		if (test_failures > 20)
			break;
	}
	MUST(timer_delete(timer) == 0);
	storm_check(what);
	stream_end(witness);
}

/* -- The functions ------------------------------------------------------ */

static void call_event(unsigned i)
{
	static const char data[2000];

	errno = 77;
	if (atomic_load(&main_sent) < STORM_EVENTS) {
		number_send(id, MAIN, atomic_load(&main_sent));
		atomic_fetch_add(&main_sent, 1);
	}
	if (i < 1000)
		posix_trace_event(other_id, data, i * 2);
	if (errno != 77)
		TEST_FAIL("THR-6", "errno is %d", errno);
}

static void call_open(unsigned i)
{
	trace_event_id_t a, b;
	char name[32];

	snprintf(name, sizeof name, "storm %u", i % 3000); /* more than the maximum */
	CHECK_EQ("THR-13 EVT-22", posix_trace_eventid_open(name, &a), 0);
	CHECK_EQ("THR-13 EVT-19", posix_trace_eventid_open(name, &b), 0);
	CHECK_EQ("THR-13 EVT-19", a, b);
}

static void call_trid_open(unsigned i)
{
	trace_event_id_t a;
	char name[32], got[TRACE_EVENT_NAME_MAX + 1];

	snprintf(name, sizeof name, "storm %u", i % 3000);
	CHECK_EQ("THR-13 ID-22", posix_trace_trid_eventid_open(witness, name, &a), 0);
	CHECK_EQ("THR-13 ID-11", posix_trace_eventid_get_name(witness, a, got), 0);
	CHECK_STR("THR-13", got, a == POSIX_TRACE_UNNAMED_USEREVENT ? "posix_trace_unnamed_userevent" : name);
}

static void call_list(unsigned i)
{
	trace_event_id_t t;
	int unavailable;

	(void)i;
	CHECK_EQ("THR-13 ID-33", posix_trace_eventtypelist_getnext_id(witness, &t, &unavailable), 0);
	if (unavailable)
		CHECK_EQ("THR-13 ID-33", posix_trace_eventtypelist_rewind(witness), 0);
	CHECK("THR-13 ID-4", posix_trace_eventid_equal(witness, id, id));
}

static void call_inquiries(unsigned i)
{
	struct posix_trace_status_info s;
	trace_event_set_t set;
	trace_attr_t attr;
	char name[TRACE_NAME_MAX + 1];

	(void)i;
	CHECK_EQ("THR-13 STAT-7", posix_trace_get_status(witness, &s), 0);
	CHECK_EQ("THR-13 STAT-8", s.posix_stream_status, POSIX_TRACE_RUNNING);
	CHECK_EQ("THR-13", posix_trace_get_attr(witness, &attr), 0);
	CHECK_EQ("THR-13", posix_trace_attr_getname(&attr, name), 0);
	CHECK_EQ("THR-13 FILT-14", posix_trace_get_filter(witness, &set), 0);
}

static void call_start_stop(unsigned i)
{
	struct posix_trace_status_info s;

	if (!victim)
		victim = small_stream(POSIX_TRACE_LOOP);
	CHECK_EQ("THR-13 START-9", posix_trace_start(victim), 0);
	MUST(posix_trace_get_status(victim, &s) == 0);
	CHECK_EQ("THR-13 START-1", s.posix_stream_status, POSIX_TRACE_RUNNING);
	CHECK_EQ("THR-13 START-9", posix_trace_stop(victim), 0);
	MUST(posix_trace_get_status(victim, &s) == 0);
	CHECK_EQ("THR-13 START-4", s.posix_stream_status, POSIX_TRACE_SUSPENDED);
	if (i % 16 == 0)
		stream_drain(victim);
}

static void call_filter(unsigned i)
{
	static trace_event_set_t sets[2];
	trace_event_set_t got;

	if (!victim) {
		victim = small_stream(POSIX_TRACE_LOOP);
		sets[0] = set_of(NO_TYPE);
		sets[1] = set_of(id); /* filters the handler's events too */
		MUST(posix_trace_start(victim) == 0);
	}
	CHECK_EQ("THR-13 FILT-14", posix_trace_set_filter(victim, &sets[i & 1], POSIX_TRACE_SET_EVENTSET), 0);
	CHECK_EQ("THR-13 FILT-14", posix_trace_get_filter(victim, &got), 0);
	CHECK("THR-13 FILT-8", set_equal(&got, &sets[i & 1]));
}

static void call_clear(unsigned i)
{
	(void)i;
	if (!victim) {
		victim = small_stream(POSIX_TRACE_LOOP);
		MUST(posix_trace_start(victim) == 0);
	}
	posix_trace_event(other_id, "x", 1);
	CHECK_EQ("THR-13 CLEAR-13", posix_trace_clear(victim), 0);
	/* Only the handler can have recorded since. */
	for (struct stream_event e; stream_try(victim, &e);) {
		CHECK_EQ("THR-13 CLEAR-5", e.info.posix_event_id, id);
		CHECK_EQ("THR-13 CLEAR-5", number_of(e.data, e.len).writer, HANDLER);
	}
}

static void call_create_shutdown(unsigned i)
{
	trace_id_t trid = small_stream(i & 1 ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL);

	CHECK_EQ("THR-13 START-9", posix_trace_start(trid), 0);
	posix_trace_event(other_id, "x", 1);
	CHECK_EQ("THR-13 MODEL-8", stream_count(trid, other_id), 1);
	CHECK_EQ("THR-13 SHUT-4", posix_trace_shutdown(trid), 0);
	CHECK_EQ("THR-13 SHUT-4", posix_trace_shutdown(trid), EINVAL);
}

/* A full stream and a reader that makes room, under both policies. */
static void call_trygetnext(unsigned i)
{
	static trace_id_t both[2];
	static unsigned next[2][3];
	struct stream_event e;

	if (!both[0]) {
		both[0] = small_stream(POSIX_TRACE_LOOP);
		both[1] = small_stream(POSIX_TRACE_UNTIL_FULL);
		MUST(posix_trace_start(both[0]) == 0 && posix_trace_start(both[1]) == 0);
	}
	for (int n = 0; n < 3; n++) {
		if (stream_try(both[i & 1], &e) && e.info.posix_event_id == id) {
			struct number k = number_of(e.data, e.len);

			MUST(k.writer <= NESTED);
			if (k.number < next[i & 1][k.writer])
				TEST_FAIL("THR-13 READ-20 READ-22", "writer %u: number %u after %u", k.writer, k.number,
				          next[i & 1][k.writer] - 1);
			next[i & 1][k.writer] = k.number + 1;
		}
	}
}

static void call_getnext(unsigned i)
{
	struct posix_trace_event_info e;
	struct timespec until;
	unsigned char data[2048];
	size_t len;
	int unavailable, error;

	if (!victim) {
		victim = small_stream(POSIX_TRACE_LOOP);
		MUST(posix_trace_start(victim) == 0);
	}
	if (atomic_load(&handler_sent) >= STORM_EVENTS)
		return; /* nothing would end the wait */
	/* Nearly always empty, so that the handler itself ends the wait. */
	if (i & 1) {
		until = now_plus_ms(1);
		error = posix_trace_timedgetnext_event(victim, &e, data, sizeof data, &len, &unavailable, &until);
		CHECK("THR-13 THR-12 READ-25", error == 0 || error == ETIMEDOUT || error == EINTR);
	} else {
		error = posix_trace_getnext_event(victim, &e, data, sizeof data, &len, &unavailable);
		CHECK_EQ("THR-13 THR-12", error, 0);
	}
	CHECK_EQ("READ-7", !unavailable, !error);
}

#define STORM(name)                        \
	TEST(name)                         \
	{                                  \
		storm(#name, call_##name); \
	}
STORM(event)
STORM(open)
STORM(trid_open)
STORM(list)
STORM(inquiries)
STORM(start_stop)
STORM(filter)
STORM(clear)
STORM(create_shutdown)
STORM(trygetnext)

TEST(getnext)
{
	NOT_WITH_TSAN(); /* nothing would end the wait */
	storm("getnext", call_getnext);
}

/* -- More than one handler, more than one thread ------------------------ */

/* A handler that interrupts another handler, which interrupts a trace point. */
static void nested_handler(int signal)
{
	(void)signal;
	if (atomic_load(&nested_sent) < STORM_EVENTS) {
		number_send(id, NESTED, atomic_load(&nested_sent));
		atomic_fetch_add(&nested_sent, 1);
	}
}

static atomic_int finished;

static void *sender(void *arg)
{
	pthread_t target = *(pthread_t *)arg;
	unsigned i = 0;

	while (!atomic_load(&finished)) {
		pthread_kill(target, SIGUSR2);
		usleep(i++ * 7919 % 90);
	}
	return NULL;
}

TEST(nested)
{
	pthread_t self = pthread_self(), thread;
	sigset_t set, old;
	struct timespec end;

	storm_begin();
	install(SIGUSR2, nested_handler);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	MUST(pthread_sigmask(SIG_BLOCK, &set, &old) == 0);
	MUST(pthread_create(&thread, NULL, sender, &self) == 0);
	MUST(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0);
	end = now_plus_ms(STORM_MS * 2);
	arm();
	for (unsigned i = 0; nanoseconds(now()) < nanoseconds(end); i++)
		call_event(i);
	atomic_store(&finished, 1);
	MUST(pthread_join(thread, NULL) == 0);
	MUST(timer_delete(timer) == 0);
	storm_check("nested");
	stream_end(witness);
}

/* -- errno -------------------------------------------------------------- */

static void event_keeps_errno(trace_event_id_t t, const void *data, size_t len, const char *when)
{
	static const int values[] = { 0, EINTR, 4242, -1 };

	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
		errno = values[i];
		posix_trace_event(t, data, len);
		if (errno != values[i])
			TEST_FAIL("THR-6", "%s: errno was %d, is %d", when, values[i], errno);
		errno = values[i];
		(posix_trace_event)(t, data, len); /* not the macro */
		if (errno != values[i])
			TEST_FAIL("THR-6", "%s, function: errno was %d, is %d", when, values[i], errno);
	}
}

static void *thread_errno(void *arg)
{
	event_keeps_errno(id, "x", 1, "first of a thread");
	return arg;
}

TEST(errno_is_kept)
{
	trace_event_id_t hidden;
	trace_event_set_t set;
	pthread_t thread;

	event_keeps_errno(POSIX_TRACE_UNNAMED_USEREVENT, "x", 1, "first call");
	id = stream_id("errno");
	hidden = stream_id("hidden");
	event_keeps_errno(id, "x", 1, "no stream");
	for (int i = 0; i < 2; i++) {
		trace_id_t trid = small_stream(i ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL);

		set = set_of(hidden);
		event_keeps_errno(id, "x", 1, "not started");
		MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
		MUST(posix_trace_start(trid) == 0);
		event_keeps_errno(id, "x", 1, "running");
		event_keeps_errno(hidden, "x", 1, "filtered");
		event_keeps_errno(id, NULL, 0, "no data");
		event_keeps_errno(0, "x", 1, "no type");
		event_keeps_errno(4000000000u, "x", 1, "no such type");
		event_keeps_errno(POSIX_TRACE_START, "x", 1, "system type");
		fill(trid, id, 0);
		event_keeps_errno(id, "x", 1, "full");
		MUST(pthread_create(&thread, NULL, thread_errno, NULL) == 0);
		MUST(pthread_join(thread, NULL) == 0);
		stream_drain(trid);
		stream_end(trid);
		event_keeps_errno(id, "x", 1, "after shutdown");
	}
}

/* No function sets errno to 0. */
TEST(errno_is_never_zero)
{
	struct stream_event e;
	trace_id_t trid;
	trace_event_id_t t;

	errno = 4242;
	trid = stream_create(NULL);
	posix_trace_eventid_open("errno", &t);
	posix_trace_start(trid);
	posix_trace_event(t, "x", 1);
	posix_trace_stop(trid);
	stream_try(trid, &e);
	posix_trace_clear(trid);
	posix_trace_shutdown(trid);
	CHECK_NE("HDR-33", errno, 0);
}

/* -- Between fork() and exec in a process with threads ------------------ */

static void *busy(void *arg)
{
	unsigned kind = (unsigned)(size_t)arg;

	for (unsigned i = 0; !atomic_load(&finished); i++) {
		if (kind == 0) {
			trace_id_t trid = small_stream(POSIX_TRACE_LOOP);

			MUST(posix_trace_start(trid) == 0);
			posix_trace_event(other_id, "x", 1);
			stream_end(trid);
		} else {
			trace_event_id_t t;
			char name[32];

			snprintf(name, sizeof name, "busy %u", i % 2000);
			MUST(posix_trace_eventid_open(name, &t) == 0);
			posix_trace_event(other_id, "y", 1);
		}
	}
	return NULL;
}

TEST(after_fork)
{
	pthread_t thread[2];

	id = stream_id("child");
	other_id = stream_id("other");
	witness = stream_running(NULL);
	for (size_t i = 0; i < 2; i++)
		MUST(pthread_create(&thread[i], NULL, busy, (void *)i) == 0);
	for (int i = 0; i < 200 / test_slow(); i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			alarm((unsigned)(20 * test_slow()));
			errno = 4242;
			posix_trace_event(id, "child", 5);
			_exit(errno != 4242);
		}
		MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
		if (status != 0) {
			TEST_FAIL("THR-5 THR-6", "child %d: wait status %#x", i, (unsigned)status);
			break;
		}
	}
	atomic_store(&finished, 1);
	for (size_t i = 0; i < 2; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
	CHECK_EQ("INH-3", stream_count(witness, id), 0);
	stream_end(witness);
}

TEST_MAIN(TEST_ENTRY(event), TEST_ENTRY(open), TEST_ENTRY(trid_open), TEST_ENTRY(list), TEST_ENTRY(inquiries),
          TEST_ENTRY(start_stop), TEST_ENTRY(filter), TEST_ENTRY(clear), TEST_ENTRY(create_shutdown),
          TEST_ENTRY(trygetnext), TEST_ENTRY(getnext), TEST_ENTRY(nested), TEST_ENTRY(errno_is_kept),
          TEST_ENTRY(errno_is_never_zero), TEST_ENTRY(after_fork))
