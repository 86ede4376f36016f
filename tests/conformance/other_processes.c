/*
 * other_processes.c - several controllers and targets; targets that end, threads of targets, analyzers that wait
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdatomic.h>

#include "target.h"
#include "waiter.h"

/* -- Several controllers, many targets -------------------------------------- */

static long long hide_task(const void *id)
{
	trace_event_set_t set;
	trace_event_id_t i;

	memcpy(&i, id, sizeof i);
	set = set_of(i);
	return posix_trace_set_filter(target_trid, &set, POSIX_TRACE_SET_EVENTSET);
}

/* Each controller has a separate stream of the same process, with its own state, filter, policy and events. */
TEST(several_controllers)
{
	for EACH_KIND(kind) {
		struct target t = target_make(kind), c[3];
		struct target_stream small = { t.pid, POSIX_TRACE_UNTIL_FULL, 0, 4096 };
		trace_event_id_t a = target_id(&t, "several.a"), b = target_id(&t, "several.b");
		trace_id_t trid = stream_running_for(t.pid, NULL);

		for (int i = 0; i < 3; i++)
			c[i] = target_fork();
		target_control(&c[0], t.pid, 0);
		target_control(&c[1], t.pid, 0);
		MUST(target_do(&c[1], hide_task, &a, sizeof a) == 0);
		MUST(target_do(&c[2], target_create_task, &small, sizeof small) == 0);
		target_send(&t, a, 0, 0, 10);
		target_send(&t, b, 1, 0, 10);
		CHECK_EQ("MODEL-6 MODEL-7 CREATE-14", target_count(&c[0], a), 10);
		CHECK_EQ("MODEL-6 MODEL-7", target_count(&c[1], b), 10);
		CHECK_EQ("MODEL-6 MODEL-7", target_count(&c[2], b), 0); /* not started */
		EXPECT_NUMBERS("MODEL-6 CREATE-14", trid, a, t.pid, 0, 0, 10);
		EXPECT_NUMBERS("MODEL-6 CREATE-14", trid, b, t.pid, 1, 0, 10);
		CHECK_EQ("SEC-6 MODEL-7", stream_drain(trid), 0); /* without START or FILTER of the other streams */

		MUST(target_do(&c[0], target_stop_task, NULL, 0) == 0);
		MUST(target_do(&c[2], target_start_task, NULL, 0) == 0);
		target_send(&t, a, 0, 10, 1000);
		CHECK_EQ("MODEL-6 MODEL-7", target_count(&c[0], a), 0);
		CHECK_EQ("MODEL-6 MODEL-7", target_count(&c[1], a), 0);
		{
			long long n = target_count(&c[2], a);

			CHECK_OP("MODEL-7", n, >, 10);
			CHECK_OP("MODEL-7", n, <, 500); /* it was full */
		}
		EXPECT_NUMBERS("MODEL-7", trid, a, t.pid, 0, 10, 1000);
		CHECK_LOST("MODEL-7 MODEL-8", lost_events(trid), ==, 0);

		/* The controllers end in several ways, without an effect on this stream. */
		CHECK_EQ("SHUT-2", target_do(&c[0], target_shutdown_task, NULL, 0), 0);
		CHECK_TRACED("MODEL-7 SHUT-2", trid, &t, a);
		target_kill(&c[1]);
		CHECK_TRACED("MODEL-7 MODEL-20", trid, &t, a);
		target_end(&c[2]);
		CHECK_TRACED("MODEL-7 MODEL-20", trid, &t, a);
		CHECK_EQ("MODEL-7", stream_drain(trid), 0);
		target_end(&c[0]);
		stream_end(trid);
		target_end(&t);
	}
}

/* A stream belongs to its creator only. */
TEST(identifier_of_another)
{
	struct target t = target_make(FRESH), c = target_fork();
	trace_event_id_t id = target_id(&t, "whose");
	trace_id_t trid, theirs;
	struct stream_event e;
	int unavailable;

	target_control(&c, t.pid, 0);
	theirs = (trace_id_t)target_do(&c, target_trid_task, NULL, 0);
	target_send(&t, id, 0, 0, 1);
	CHECK_EQ("CREATE-15 MODEL-19 READ-34 SEC-2", posix_trace_start(theirs), EINVAL);
	CHECK_EQ("CREATE-15 MODEL-19", posix_trace_stop(theirs), EINVAL);
	CHECK_EQ("CREATE-15 READ-34 SEC-2",
		 posix_trace_trygetnext_event(theirs, &e.info, e.data, sizeof e.data, &e.len, &unavailable), EINVAL);
	CHECK_EQ("CREATE-15 MODEL-19", posix_trace_shutdown(theirs), EINVAL);
	/* Also when the process has a stream of its own. */
	trid = stream_running_for(t.pid, NULL);
	CHECK("CREATE-7", trid != theirs);
	CHECK_EQ("CREATE-15 READ-34 SEC-2",
		 posix_trace_trygetnext_event(theirs, &e.info, e.data, sizeof e.data, &e.len, &unavailable), EINVAL);
	CHECK_EQ("CREATE-15 MODEL-19", posix_trace_shutdown(theirs), EINVAL);
	CHECK_EQ("MODEL-19", target_count(&c, id), 1);
	target_send(&t, id, 0, 1, 1);
	CHECK_EQ("MODEL-19", target_count(&c, id), 1);
	EXPECT_NUMBERS("MODEL-7", trid, id, t.pid, 0, 1, 1);
	stream_end(trid);
	target_end(&c);
	target_end(&t);
}

#define PROCESSES 20

TEST(many_processes)
{
	struct target t[PROCESSES];
	trace_id_t trid[PROCESSES];
	trace_event_id_t id[PROCESSES];
	char name[32];

	for (int i = 0; i < PROCESSES; i++)
		t[i] = target_make(i % KINDS);
	for (int i = 0; i < PROCESSES; i++) {
		trid[i] = stream_running_for(t[i].pid, NULL);
		snprintf(name, sizeof name, "process.%d", i);
		id[i] = target_id(&t[i], name);
		stream_check_name(trid[i], id[i], name);
	}
	for (unsigned round = 0; round < 3; round++) {
		for (int i = 0; i < PROCESSES; i++) {
			struct target_numbers n = { id[i], (unsigned)i, round * 100, 100 };

			target_tell(&t[i], target_send_task, &n, sizeof n);
		}
		for (int i = 0; i < PROCESSES; i++)
			target_result(&t[i]);
		for (int i = 0; i < PROCESSES; i++) {
			if (round == 2 && i % 2)
				continue;
			EXPECT_NUMBERS("CREATE-14 MODEL-5 EVT-6", trid[i], id[i], t[i].pid, (unsigned)i, round * 100,
			               100);
			CHECK_EQ("MODEL-5", stream_drain(trid[i]), 0);
			if (round == 1 && i % 2)
				stream_end(trid[i]);
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		if (i % 2 == 0)
			stream_end(trid[i]);
		target_end(&t[i]);
	}
}

/* -- Targets that end ---------------------------------------------------------- */

struct last_words {
	trace_event_id_t id;
	int how;
};

enum { BY_EXIT, BY_UNDERSCORE_EXIT, BY_KILL, BY_ABORT, BY_EXEC, ENDS };

/* Records events just before it ends. */
static long long last_words_task(const void *arg)
{
	const struct last_words *last = arg;

	for (unsigned i = 0; i < 100; i++)
		number_send(last->id, 0, i);
	switch (last->how) {
	case BY_EXIT:
		exit(0);
	case BY_UNDERSCORE_EXIT:
		_exit(0);
	case BY_KILL:
		raise(SIGKILL);
		break;
	case BY_ABORT:
		prctl(PR_SET_DUMPABLE, 0); /* no core file */
		abort();
	default:
		execl("/bin/true", "true", (char *)NULL);
	}
	_exit(1);
}

TEST(gone)
{
	for EACH_KIND(kind)
	for (int how = 0; how < ENDS; how++) {
		struct target t = target_make(kind);
		struct last_words last = { target_id(&t, "gone"), how };
		trace_id_t trid = stream_running_for(t.pid, NULL), other = 0x5555;
		struct timespec until;
		struct stream_event e;
		struct waiter w;
		int status, unavailable = 0;
		long long begin;

		target_tell(&t, last_words_task, &last, sizeof last);
		MUST(waitpid(t.pid, &status, 0) == t.pid);
		CHECK("-", status == 0 || ((how == BY_KILL || how == BY_ABORT) && WIFSIGNALED(status)));
		close(t.socket);

		/* The events. */
		stream_check_name(trid, last.id, "gone");
		EXPECT_NUMBERS("INH-16 MODEL-8", trid, last.id, t.pid, 0, 0, 100);
		/* No more events after them. */
		CHECK_EQ("READ-2 INH-16",
			 posix_trace_trygetnext_event(trid, &e.info, e.data, sizeof e.data, &e.len, &unavailable), 0);
		CHECK_NE("READ-2 READ-7", unavailable, 0);
		begin = nanoseconds(now());
		until = now_plus_ms(50);
		CHECK_EQ("READ-3 INH-16",
			 posix_trace_timedgetnext_event(trid, &e.info, e.data, sizeof e.data, &e.len, &unavailable,
			                                &until), ETIMEDOUT);
		CHECK_OP("READ-3", nanoseconds(now()) - begin, >=, 50000000);
		waiter_start(&w, trid, NULL);
		sleep_ms(50);
		CHECK_EQ("READ-1 INH-16", atomic_load(&w.done), 0);
		/* The stream is still valid. */
		CHECK_STR("INH-16", state(trid), "RN");
		CHECK_EQ("INH-16 START-9", posix_trace_stop(trid), 0);
		waiter_join(&w);
		CHECK_EQ("INH-16 READ-1", w.result, 0);
		CHECK_EQ("INH-16", w.info.posix_event_id, POSIX_TRACE_STOP);
		CHECK_EQ("INH-16 START-9", posix_trace_start(trid), 0);
		stream_expect(trid, POSIX_TRACE_START, &e);
		stream_check_name(trid, last.id, "gone");
		CHECK_EQ("ID-18 INH-16", stream_id_there(trid, "gone"), last.id);
		CHECK_NE("ID-13 INH-16", stream_id_there(trid, "after it"), last.id);
		CHECK_EQ("CREATE-23 INH-16", posix_trace_create(t.pid, NULL, &other), ESRCH);
		CHECK("CREATE-8", other == 0x5555);
		CHECK_EQ("CLEAR-13", posix_trace_clear(trid), 0);
		waiter_start(&w, trid, NULL);
		CHECK_EQ("INH-16 SHUT-10", posix_trace_shutdown(trid), 0);
		waiter_join(&w);
		CHECK_EQ("SHUT-5 READ-26", w.result, EINVAL);
	}
}

/* A reader that waits does not depend on the target's life. */
TEST(ends_while_waited_for)
{
	struct target t = target_make(USED);
	trace_id_t trid = stream_running_for(t.pid, NULL);
	trace_event_id_t id = target_id(&t, "waited for");
	struct waiter w;

	waiter_start(&w, trid, NULL);
	target_kill(&t);
	sleep_ms(1500); /* long enough for the library to notice */
	CHECK_EQ("READ-1 INH-16", atomic_load(&w.done), 0);
	MUST(posix_trace_stop(trid) == 0);
	waiter_join(&w);
	CHECK_EQ("READ-1", w.result, 0);
	stream_check_name(trid, id, "waited for");
	stream_end(trid);
}

/* -- Process ids ------------------------------------------------------------ */

static atomic_int helper_tid;

static void *helper(void *arg)
{
	atomic_store(&helper_tid, (int)syscall(SYS_gettid));
	for (;;)
		pause();
	return NULL;
}

static long long helper_task(const void *arg)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, helper, NULL) == 0);
	while (!atomic_load(&helper_tid))
		sleep_ms(1);
	return atomic_load(&helper_tid);
}

TEST(no_such_process)
{
	struct target t = target_make(FRESH);
	trace_id_t trid = 0x5555;
	pid_t pid = t.pid, tid;

	/* A thread is not a process, although the kernel accepts its id in many calls. */
	tid = (pid_t)target_do(&t, helper_task, NULL, 0);
	MUST(kill(tid, 0) == 0);
	CHECK_EQ("CREATE-23 DOC-2", posix_trace_create(tid, NULL, &trid), ESRCH);
	CHECK("CREATE-8", trid == 0x5555);
	tid = (pid_t)helper_task(NULL);
	CHECK_EQ("CREATE-23", posix_trace_create(tid, NULL, &trid), ESRCH);
	CHECK_EQ("CREATE-23", posix_trace_create(-t.pid, NULL, &trid), ESRCH);
	CHECK_EQ("CREATE-23", posix_trace_create(-1, NULL, &trid), ESRCH);
	CHECK_EQ("CREATE-23", posix_trace_create(INT_MIN, NULL, &trid), ESRCH);
	CHECK_EQ("CREATE-23", posix_trace_create(INT_MAX, NULL, &trid), ESRCH);
	target_end(&t);
	CHECK_EQ("CREATE-23", posix_trace_create(pid, NULL, &trid), ESRCH);
	CHECK("CREATE-8", trid == 0x5555);
	/* Errors in the arguments are found first. */
	CHECK_REFUSED("CREATE-20", posix_trace_create(0, NULL, NULL));
}

/* A zombie still is a process. */
TEST(zombie)
{
	for EACH_KIND(kind) {
		struct target t = target_make(kind);
		trace_id_t trid = 0, earlier = stream_running_for(t.pid, NULL);
		struct timespec until;
		struct stream_event e;
		siginfo_t info;
		int unavailable;

		target_dismiss(&t);
		MUST(waitid(P_PID, (id_t)t.pid, &info, WEXITED | WNOWAIT) == 0);
		CHECK_EQ("CREATE-1 CREATE-23", posix_trace_create(t.pid, NULL, &trid), 0);
		CHECK_EQ("START-9", posix_trace_start(trid), 0);
		stream_expect(trid, POSIX_TRACE_START, &e);
		until = now_plus_ms(20);
		CHECK_EQ("READ-3", posix_trace_timedgetnext_event(trid, &e.info, e.data, sizeof e.data, &e.len,
		                                                  &unavailable, &until),
			 ETIMEDOUT);
		CHECK_STR("INH-16", state(earlier), "RN");
		MUST(waitpid(t.pid, NULL, 0) == t.pid);
		CHECK_EQ("START-9", posix_trace_stop(trid), 0);
		stream_expect(trid, POSIX_TRACE_STOP, &e);
		CHECK_EQ("INH-16", stream_drain(earlier), 0);
		CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
		CHECK_EQ("SHUT-10", posix_trace_shutdown(earlier), 0);
		CHECK_EQ("CREATE-23", posix_trace_create(t.pid, NULL, &trid), ESRCH);
	}
}

/* The first thread has ended and the process lives. The kernel shows it as a zombie. */
TEST(first_thread_gone)
{
	for (int traced_before = 0; traced_before < 2; traced_before++) {
		struct target t = target_make(FRESH);
		trace_event_id_t id = target_id(&t, "first thread");
		trace_id_t before = 0, trid = 0;

		if (traced_before)
			before = stream_running_for(t.pid, NULL);
		target_leave_first(&t);
		CHECK_EQ("CREATE-1", posix_trace_create(t.pid, NULL, &trid), 0);
		MUST(posix_trace_start(trid) == 0);
		stream_drain(trid);
		target_send(&t, id, 0, 0, 10);
		EXPECT_NUMBERS("CREATE-1 MODEL-5", trid, id, t.pid, 0, 0, 10);
		if (traced_before) {
			EXPECT_NUMBERS("MODEL-5", before, id, t.pid, 0, 0, 10);
			stream_end(before);
		}
		stream_end(trid);
		target_end(&t);
	}
}

/* -- Analyzers that wait ----------------------------------------------------- */

TEST(woken)
{
	for EACH_KIND(kind)
	for (int timed = 0; timed < 2; timed++) {
		struct target t = target_make(kind);
		trace_event_id_t id = POSIX_TRACE_UNNAMED_USEREVENT;
		trace_id_t trid = stream_running_for(t.pid, NULL);
		struct timespec until = now_plus_ms(20000 * test_slow());
		struct waiter w;

		/* At its first trace point, and at later ones. */
		for (unsigned i = 0; i < 3; i++) {
			waiter_start(&w, trid, timed ? &until : NULL);
			CHECK_EQ("READ-1 READ-3", atomic_load(&w.done), 0);
			target_send(&t, id, 3, i, 1);
			waiter_join(&w);
			CHECK_EQ("READ-1 READ-3", w.result, 0);
			CHECK_EQ("READ-7", w.unavailable, 0);
			CHECK_EQ("EVT-6", w.info.posix_pid, t.pid);
			CHECK_EQ("READ-1 READ-3", number_of(w.data, w.len).number, i);
		}
		stream_end(trid);
		target_end(&t);
	}
}

static atomic_uint taken;

static void *reader(void *trid)
{
	struct stream_event e;
	int unavailable;

	for (unsigned i = 0;; i++) {
		int error = posix_trace_getnext_event(*(trace_id_t *)trid, &e.info, e.data, sizeof e.data, &e.len,
		                                      &unavailable);

		if (error == EINVAL)
			return NULL;
		MUST(error == 0);
		CHECK_EQ("READ-1", number_of(e.data, e.len).number, i);
		atomic_store(&taken, i + 1);
	}
}

/* No wake-up is lost, whether the reader sleeps, is about to sleep, or is awake. */
TEST(woken_each_time)
{
	struct target t = target_make(IMAGE);
	trace_id_t trid = stream_running_for(t.pid, NULL);
	trace_event_id_t id = target_id(&t, "each time");
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, reader, &trid) == 0);
	for (unsigned i = 0; i < 1000; i++) {
		unsigned waits = 0;

		target_send(&t, id, 0, i, 1);
		while (atomic_load(&taken) <= i && waits++ < 10000u * (unsigned)test_slow())
			usleep(i % 7 * 10 + 1);
		if (atomic_load(&taken) <= i) {
			TEST_FAIL("READ-1", "nobody woke the reader for event %u", i);
			break;
		}
	}
	stream_end(trid);
	MUST(pthread_join(thread, NULL) == 0);
	target_end(&t);
}

/* -- What is reported --------------------------------------------------------- */

static long long sent_begin, sent_end;

static long long timed_send_task(const void *id)
{
	trace_event_id_t i;

	memcpy(&i, id, sizeof i);
	sent_begin = nanoseconds(now());
	posix_trace_event(i, NULL, 0);
	sent_end = nanoseconds(now());
	return sent_begin;
}

static long long sent_end_task(const void *arg)
{
	return sent_end;
}

TEST(time_of_an_event)
{
	/* The library's clock is not slewed as the system's may be. */
	const long long tolerance = 2000000;

	for EACH_KIND(kind) {
		struct target t = target_make(kind);
		trace_event_id_t id = target_id(&t, "time");
		trace_id_t trid = stream_running_for(t.pid, NULL);
		struct stream_event e;
		long long last = 0;

		for (int i = 0; i < 50; i++) {
			long long begin = target_do(&t, timed_send_task, &id, sizeof id), time;

			stream_expect(trid, id, &e);
			time = nanoseconds(e.info.posix_timestamp);
			CHECK_OP("EVT-9", time, >=, begin - tolerance);
			CHECK_OP("EVT-9", time, <=, target_do(&t, sent_end_task, NULL, 0) + tolerance);
			CHECK_OP("READ-21", time, >=, last);
			last = time;
		}
		stream_end(trid);
		target_end(&t);
	}
}

struct writers {
	trace_event_id_t id;
	unsigned count;
};
static struct writers writers;
#define WRITERS 4

static void *writer_run(void *number)
{
	for (unsigned i = 0; i < writers.count; i++)
		number_send(writers.id, (unsigned)(uintptr_t)number, i);
	return NULL;
}

static long long writers_task(const void *arg)
{
	pthread_t thread[WRITERS];

	memcpy(&writers, arg, sizeof writers);
	for (uintptr_t i = 0; i < WRITERS; i++)
		MUST(pthread_create(&thread[i], NULL, writer_run, (void *)i) == 0);
	for (int i = 0; i < WRITERS; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
	return 0;
}

/* Several threads of the target, read while they record: all events are there, in the order of each thread. */
TEST(threads_of_target)
{
	for EACH_KIND(kind) {
		struct target t = target_make(kind);
		struct writers w = { target_id(&t, "threads"), 5000 };
		unsigned next[WRITERS] = { 0 }, total = 0;
		struct stream_event e;
		trace_attr_t attr;
		trace_id_t trid;
		int unavailable;

		stream_attr(&attr, POSIX_TRACE_LOOP, 8 << 20, NUMBER_SIZE);
		trid = stream_running_for(t.pid, &attr);
		target_tell(&t, writers_task, &w, sizeof w);
		while (total < WRITERS * w.count && test_failures < 10) {
			struct timespec until = now_plus_ms(10000 * test_slow());
			struct number n;

			MUST(posix_trace_timedgetnext_event(trid, &e.info, e.data, sizeof e.data, &e.len, &unavailable,
			                                    &until) == 0);
			MUST(e.info.posix_event_id == w.id);
			n = number_of(e.data, e.len);
			MUST(n.writer < WRITERS);
			CHECK_EQ("MODEL-8 READ-21", n.number, next[n.writer]);
			CHECK_EQ("EVT-6", e.info.posix_pid, t.pid);
			next[n.writer] = n.number + 1;
			total++;
		}
		target_result(&t);
		CHECK_LOST("MODEL-8", lost_events(trid), ==, 0);
		CHECK_EQ("MODEL-8", stream_drain(trid), 0);
		stream_end(trid);
		target_end(&t);
	}
}

/* -- Full streams -------------------------------------------------------------- */

TEST(full_loop)
{
	for EACH_KIND(kind) {
		struct target t = target_make(kind);
		trace_event_id_t id = target_id(&t, "full");
		struct stream_event e;
		trace_attr_t attr;
		trace_id_t trid;
		unsigned first, n = 0;

		stream_attr(&attr, POSIX_TRACE_LOOP, 4096, NUMBER_SIZE);
		trid = stream_running_for(t.pid, &attr);
		target_send(&t, id, 0, 0, 1000);
		CHECK_STR("STAT-15", state(trid), "RF!");
		stream_expect(trid, POSIX_TRACE_OVERFLOW, &e);
		stream_expect(trid, POSIX_TRACE_RESUME, &e);
		stream_expect(trid, id, &e);
		first = number_of(e.data, e.len).number;
		n = number_run(trid, id, first + 1, &e);
		CHECK_EQ("MODEL-8", n, 1000);
		CHECK_LOST("MODEL-8", lost_events(trid), ==, first);
		CHECK_TRACED("MODEL-8", trid, &t, id);
		stream_end(trid);
		target_end(&t);
	}
}

TEST(full_until_full)
{
	for EACH_KIND(kind) {
		struct target t = target_make(kind);
		trace_event_id_t id = target_id(&t, "full");
		struct stream_event e;
		trace_attr_t attr;
		trace_id_t trid;
		unsigned n;
		int automatic;

		stream_attr(&attr, POSIX_TRACE_UNTIL_FULL, 4096, NUMBER_SIZE);
		trid = stream_running_for(t.pid, &attr);
		target_send(&t, id, 0, 0, 1000);
		CHECK_STR("STAT-15", state(trid), "SF!");
		n = number_run(trid, id, 0, &e);
		CHECK_LOST("MODEL-8", lost_events(trid), ==, 1000 - n);
		CHECK_EQ("START-17", e.info.posix_event_id, POSIX_TRACE_STOP);
		memcpy(&automatic, e.data, sizeof automatic);
		CHECK_NE("START-17", automatic, 0);
		stream_expect(trid, POSIX_TRACE_START, &e);
		CHECK_STR("STAT-15", state(trid), "RN");
		CHECK_TRACED("MODEL-8", trid, &t, id);
		stream_end(trid);
		target_end(&t);
	}
}

/* -- Effects on the target ------------------------------------------------------- */

/* The target gets no descriptor and no thread, and no memory is left when the streams have ended. */
TEST(nothing_left)
{
	for EACH_KIND(kind) {
		struct target t = target_make(kind);
		trace_event_id_t id = target_id(&t, "left");
		int threads = target_threads(t.pid), open_before = target_descriptors(t.pid);
		int own_open = target_descriptors(getpid()), own = shm_mappings(getpid(), "/posixtrace-");
		trace_id_t trid[3];

		for (int i = 0; i < 3; i++)
			trid[i] = stream_running_for(t.pid, NULL);
		target_send(&t, id, 0, 0, 10);
		CHECK_FILES("SHUT-2", target_descriptors(t.pid), ==, open_before);
		CHECK_FILES("SHUT-2", target_descriptors(getpid()), ==, own_open);
		CHECK_FILES("-", target_streams(t.pid), ==, 3);
		CHECK_FILES("-", target_threads(t.pid), ==, threads);
		CHECK_FILES("-", shm_mappings(getpid(), "/posixtrace-"), >, own);
		for (int i = 3; i-- > 0;) {
			stream_end(trid[i]);
			target_send(&t, id, 0, 0, 2);
			CHECK_FILES("SHUT-2", target_streams(t.pid), ==, i);
		}
		CHECK_FILES("SHUT-2", shm_mappings(getpid(), "/posixtrace-"), ==, own);
		CHECK_FILES("SHUT-2", target_descriptors(t.pid), ==, open_before);
		CHECK_FILES("SHUT-2", target_descriptors(getpid()), ==, own_open);
		target_end(&t);
	}
}

TARGET_MAIN(TEST_ENTRY(several_controllers), TEST_ENTRY(identifier_of_another), TEST_ENTRY(many_processes),
	    TEST_ENTRY(gone), TEST_ENTRY(ends_while_waited_for), TEST_ENTRY(no_such_process), TEST_ENTRY(zombie),
	    TEST_ENTRY(first_thread_gone), TEST_ENTRY(woken), TEST_ENTRY(woken_each_time),
	    TEST_ENTRY(time_of_an_event), TEST_ENTRY(threads_of_target), TEST_ENTRY(full_loop),
	    TEST_ENTRY(full_until_full), TEST_ENTRY(nothing_left))
