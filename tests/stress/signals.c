/*
 * signals.c - signal handlers that trace, at any instant
 *
 * Timers at random intervals interrupt threads that record, read, control streams, begin or end. The handlers of two
 * signals, each of which may interrupt the other, record events too. Each thread and each of its handlers is a source,
 * so the books show every event that was lost or repeated.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stress.h"

#include <sys/syscall.h>

#define RECORDERS 4
#define HANDLERS  2 /* signals SIGRTMIN + 0, 1 */
#define RARELY    20000  /* shortest time between two signals of a timer, ns */
#define OFTEN     300000 /* the longest, ns */

#ifndef sigev_notify_thread_id
# define sigev_notify_thread_id _sigev_un._tid
#endif

/* A thread that is interrupted. */
struct victim {
	struct stress_source sources[1 + HANDLERS]; /* the thread, its handlers */
	timer_t timers[HANDLERS];
	volatile uint64_t random[HANDLERS];
	volatile bool over;
	volatile int errno_changed;
	pthread_t thread;
};

static _Thread_local struct victim *victim;
static _Atomic bool stop;
static long slow; /* test_slow(), for handlers */

static void arm(struct victim *v, int i)
{
	struct itimerspec when = { { 0, 0 }, { 0, 0 } };

	v->random[i] = chance_mix(v->random[i]);
	when.it_value.tv_nsec = (long)(RARELY + v->random[i] % (OFTEN - RARELY)) * slow;
	timer_settime(v->timers[i], 0, &when, NULL);
}

static void on_signal(int sig)
{
	int saved = errno, i = sig - SIGRTMIN;
	struct victim *v = victim;

	errno = 1000 + sig;
	stress_record(&v->sources[1 + i]);
	if (errno != 1000 + sig)
		v->errno_changed++;
	if (!v->over)
		arm(v, i);
	errno = saved;
}

static void handle_signals(void)
{
	for (int i = 0; i < HANDLERS; i++) {
		struct sigaction action = { .sa_handler = on_signal, .sa_flags = i ? 0 : SA_RESTART };

		MUST(sigaction(SIGRTMIN + i, &action, NULL) == 0);
	}
	slow = test_slow();
	stress_types();
}

static void victim_add(struct tally *t, struct victim *v, unsigned timeline)
{
	memset(v, 0, sizeof *v);
	for (int i = 0; i < 1 + HANDLERS; i++)
		tally_add(t, &v->sources[i], timeline);
}

/* Called in the thread itself. */
static void victim_begin(struct victim *v)
{
	for (int i = 0; i < 1 + HANDLERS; i++)
		v->sources[i].thread = pthread_self();
	victim = v;
	for (int i = 0; i < HANDLERS; i++) {
		struct sigevent event;

		memset(&event, 0, sizeof event);
		event.sigev_notify = SIGEV_THREAD_ID;
		event.sigev_signo = SIGRTMIN + i;
		event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
		MUST(timer_create(CLOCK_MONOTONIC, &event, &v->timers[i]) == 0);
		v->random[i] = v->sources[i].number * 77 + 1;
		arm(v, i);
	}
}

static void victim_end(struct victim *v)
{
	sigset_t set;

	v->over = true;
	sigemptyset(&set);
	for (int i = 0; i < HANDLERS; i++)
		sigaddset(&set, SIGRTMIN + i);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < HANDLERS; i++)
		timer_delete(v->timers[i]);
	/* Signals that are pending now stay pending until the thread ends. */
}

static void victim_check(const struct victim *v)
{
	CHECK_EQ("THR-6", v->errno_changed, 0);
	/* ThreadSanitizer delays the delivery of signals. */
	if (!SANITIZER_THREAD)
		for (int i = 0; i < HANDLERS; i++)
			CHECK_NE("-", v->sources[1 + i].generated, 0);
}

static void *record(void *arg)
{
	struct victim *v = arg;

	victim_begin(v);
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		errno = 77;
		stress_record(&v->sources[0]);
		if (errno != 77)
			v->errno_changed++;
	}
	victim_end(v);
	return NULL;
}

static struct victim reader_victim;

static void reader_begin(struct tally_reader *r)
{
	victim_begin(&reader_victim);
}

static void reader_finish(struct tally_reader *r)
{
	victim_end(&reader_victim);
}

static void run(int policy, size_t size)
{
	static struct victim victims[RECORDERS];
	static struct tally tally;
	struct tally_reader reader = { .begin = reader_begin, .finish = reader_finish };
	trace_id_t trid = stress_stream(policy, size);

	handle_signals();
	tally_init(&tally);
	for (unsigned i = 0; i < RECORDERS; i++)
		victim_add(&tally, &victims[i], i);
	victim_add(&tally, &reader_victim, RECORDERS);
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	tally_reader_start(&reader, &tally, trid);
	for (int i = 0; i < RECORDERS; i++)
		MUST(pthread_create(&victims[i].thread, NULL, record, &victims[i]) == 0);
	stress_sleep(stress_ms(800));
	atomic_store(&stop, true);
	for (int i = 0; i < RECORDERS; i++)
		pthread_join(victims[i].thread, NULL);
	tally_reader_end(&reader);
	for (int i = 0; i < RECORDERS; i++)
		victim_check(&victims[i]);
	victim_check(&reader_victim);
	tally_drain(&tally, trid);
	tally_check(&tally);
	CHECK_NE("THR-3", tally.read, 0);
	tally_balance(&tally, 1, trid, 1);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-2", stress_files(), 0);
}

TEST(loop_small) { run(POSIX_TRACE_LOOP, 4096); } /* half of all events need a new chunk */
TEST(loop)       { run(POSIX_TRACE_LOOP, 1 << 20); }
TEST(full_small) { run(POSIX_TRACE_UNTIL_FULL, 4096); }
TEST(full)       { run(POSIX_TRACE_UNTIL_FULL, 1 << 20); }

/* Runs a stream from creation to shutdown, with every kind of call. All calls must work as they do without signals. */
static void control(trace_id_t stream, uint64_t round, uint64_t *called)
{
	struct posix_trace_status_info status;
	struct posix_trace_event_info info;
	trace_event_id_t id, again;
	trace_event_set_t set, got;
	trace_attr_t attr;
	trace_id_t trid;
	char name[64];
	size_t len;
	int unavailable, n = 0;

	MUST(stress_create(round & 1 ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL, 8192, &trid) == 0);
	CHECK_EQ("START-8 THR-13", posix_trace_start(trid), 0);
	snprintf(name, sizeof name, "round %llu", (unsigned long long)round % 500);
	CHECK_EQ("EVT-13 THR-13", posix_trace_eventid_open(name, &id), 0);
	CHECK_EQ("ID-13 THR-13", posix_trace_trid_eventid_open(trid, name, &again), 0);
	CHECK_EQ("ID-18 THR-13", id, again);
	CHECK_EQ("THR-13", posix_trace_eventid_get_name(trid, id, name), 0);
	MUST(posix_trace_eventset_empty(&set) == 0);
	MUST(posix_trace_eventset_add(id, &set) == 0);
	CHECK_EQ("FILT-13 THR-13", posix_trace_set_filter(stream, &set, POSIX_TRACE_SET_EVENTSET), 0);
	++*called; /* FILTER */
	CHECK_EQ("FILT-13 THR-13", posix_trace_get_filter(stream, &got), 0);
	CHECK_EQ("FILT-8 THR-13", memcmp(&set, &got, sizeof set), 0);
	posix_trace_event(id, name, sizeof name); /* filtered out here, recorded in the new stream */
	CHECK_EQ("THR-13", posix_trace_get_status(stream, &status), 0);
	CHECK_EQ("THR-13", posix_trace_eventtypelist_rewind(trid), 0);
	do {
		CHECK_EQ("ID-26 THR-13", posix_trace_eventtypelist_getnext_id(trid, &again, &unavailable), 0);
	} while (!unavailable && ++n < 10000);
	CHECK_OP("ID-29", n, >, STRESS_TYPES);
	/* Another thread records all the time, so reading need not come to an end. */
	n = 0;
	do {
		CHECK_EQ("READ-14 THR-13", posix_trace_trygetnext_event(trid, &info, name, sizeof name, &len,
		                                                        &unavailable), 0);
	} while (!unavailable && info.posix_event_id != id && ++n < 1000);
	if (round % 3 == 0)
		CHECK_EQ("CLEAR-13 THR-13", posix_trace_clear(trid), 0);
	CHECK_EQ("START-8 THR-13", posix_trace_stop(trid), 0);
	CHECK_EQ("THR-13", posix_trace_get_attr(trid, &attr), 0);
	CHECK_EQ("SHUT-1 THR-13", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-4 THR-13", posix_trace_shutdown(trid), EINVAL);
}

TEST(control_calls)
{
	static struct victim victims[2];
	static struct tally tally;
	trace_id_t trid = stress_stream(POSIX_TRACE_LOOP, 65536);
	uint64_t called = 1, round = 0, end;

	handle_signals();
	tally_init(&tally);
	for (unsigned i = 0; i < 2; i++)
		victim_add(&tally, &victims[i], i);
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	MUST(pthread_create(&victims[1].thread, NULL, record, &victims[1]) == 0);
	victim_begin(&victims[0]);
	end = stress_now() + stress_ms(1500);
	while (stress_now() < end && test_failures < 20)
		control(trid, round++, &called);
	victim_end(&victims[0]);
	atomic_store(&stop, true);
	pthread_join(victims[1].thread, NULL);
	victim_check(&victims[0]);
	victim_check(&victims[1]);
	tally_drain(&tally, trid);
	tally_check(&tally);
	tally_balance(&tally, 1, trid, called);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-2", stress_files(), 0);
}

/* -- Threads interrupted while they begin and end ------------------------ */

static struct stress_source anybody; /* the source of any thread */
static _Atomic uint64_t numbers;

static void on_anybody(int sig)
{
	uint64_t words[STRESS_WORDS];
	size_t len = stress_fill(words, anybody.number, atomic_fetch_add(&numbers, 1));
	int saved = errno;

	posix_trace_event(stress_type(anybody.number), words, len);
	errno = saved;
}

static void *live_shortly(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	on_anybody(0);
	return NULL; /* signals stay unblocked: they still come while the C library ends the thread */
}

static void *shoot(void *arg)
{
	uint64_t random = 1;

	while (!atomic_load(&stop)) {
		random = chance_mix(random);
		kill(getpid(), SIGRTMIN);
		stress_sleep((1000 + random % 50000) * (unsigned)test_slow());
	}
	return NULL;
}

/* Signals go to any thread that takes them, and only short-lived threads do. */
TEST(births_and_deaths)
{
	struct sigaction action = { .sa_handler = on_anybody, .sa_flags = SA_RESTART };
	static struct tally tally;
	struct tally_reader reader = { 0 };
	trace_id_t trid = stress_stream(POSIX_TRACE_LOOP, 65536);
	pthread_t shooter, threads[4];
	sigset_t set;
	uint64_t end;

	stress_types();
	MUST(sigaction(SIGRTMIN, &action, NULL) == 0);
	tally_init(&tally);
	tally_add(&tally, &anybody, 0);
	anybody.threadless = true;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	tally_reader_start(&reader, &tally, trid);
	MUST(pthread_create(&shooter, NULL, shoot, NULL) == 0);
	end = stress_now() + stress_ms(1500);
	while (stress_now() < end) {
		for (int i = 0; i < 4; i++)
			MUST(pthread_create(&threads[i], NULL, live_shortly, NULL) == 0);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
	atomic_store(&stop, true);
	pthread_join(shooter, NULL);
	tally_reader_end(&reader);
	anybody.generated = atomic_load(&numbers);
	tally_drain(&tally, trid);
	tally_check(&tally);
	CHECK_NE("THR-3", tally.read, 0);
	tally_balance(&tally, 1, trid, 1);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-2", stress_files(), 0);
}

TEST_MAIN(TEST_ENTRY(loop_small), TEST_ENTRY(loop), TEST_ENTRY(full_small), TEST_ENTRY(full), TEST_ENTRY(control_calls),
          TEST_ENTRY(births_and_deaths))
