/*
 * other_process.c - controller and analyzer here, the traced process somewhere else
 *
 * What becomes of its children is in inheritance.c; of the stream when one of
 * the two ends, but for the reading of what is left, in ends.c; who may trace
 * whom in permission.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdatomic.h>

#include "target.h"
#include "waiter.h"

/* -- Trace points of the target ----------------------------------------- */

/* In a separate section, so that the linker defines symbols for its beginning and end. */
extern const char __start_other_point[], __stop_other_point[];

__attribute__((noinline, section("other_point"))) static void point(trace_event_id_t id)
{
	posix_trace_event(id, "here", 4);
}

static long long point_task(const void *arg)
{
	trace_event_id_t id;

	memcpy(&id, arg, sizeof id);
	point(id);
	return (long long)syscall(SYS_gettid);
}

static long long point_begin(const void *arg)
{
	return (long long)(uintptr_t)__start_other_point;
}

static long long point_end(const void *arg)
{
	return (long long)(uintptr_t)__stop_other_point;
}

static pthread_t last_thread;
static trace_event_id_t thread_id;

static void *point_thread(void *tid)
{
	last_thread = pthread_self();
	*(long long *)tid = syscall(SYS_gettid);
	point(thread_id);
	return NULL;
}

static long long point_in_thread(const void *arg)
{
	pthread_t thread;
	long long tid;

	memcpy(&thread_id, arg, sizeof thread_id);
	MUST(pthread_create(&thread, NULL, point_thread, &tid) == 0 && pthread_join(thread, NULL) == 0);
	return tid;
}

static long long last_pthread(const void *arg)
{
	return (long long)(uintptr_t)last_thread;
}

/* -- A whole session ------------------------------------------------------ */

static void check_origin(const struct stream_event *e, const struct target *t, long long tid, long long thread)
{
	uintptr_t address = (uintptr_t)e->info.posix_prog_address;

	CHECK_EQ("EVT-6 MODEL-17", e->info.posix_pid, t->pid);
	CHECK_TID("HDR-12", &e->info, ==, tid);
	CHECK_EQ("EVT-7 MODEL-17", (uintptr_t)e->info.posix_thread_id, (uintptr_t)thread);
	CHECK_OP("EVT-8 MODEL-17", address, >, (uintptr_t)target_do(t, point_begin, NULL, 0));
	CHECK_OP("EVT-8 MODEL-17", address, <=, (uintptr_t)target_do(t, point_end, NULL, 0));
}

static void check_own(const struct stream_event *e)
{
	CHECK_EQ("EVT-6 MODEL-21 SEC-6", e->info.posix_pid, getpid());
	CHECK_TID("MODEL-21", &e->info, ==, syscall(SYS_gettid));
	CHECK("EVT-7 MODEL-21", pthread_equal(e->info.posix_thread_id, pthread_self()));
}

static void session(int kind)
{
	struct target t = target_make(kind);
	struct stream_event e;
	trace_event_id_t id, hidden;
	trace_event_set_t set;
	long long tid;
	trace_id_t trid = 0;

	CHECK_EQ("MODEL-1 CREATE-1 CREATE-7 OBJ-3", posix_trace_create(t.pid, NULL, &trid), 0);
	CHECK_STR("CREATE-12 CREATE-24", state(trid), "SN");
	id = target_id(&t, "session");
	hidden = target_id(&t, "session.hidden");
	target_send(&t, id, 0, 0, 5);
	CHECK_EQ("CREATE-12 MODEL-5 EVT-4", stream_drain(trid), 0);

	CHECK_EQ("MODEL-1 OBJ-3 START-1", posix_trace_start(trid), 0);
	CHECK_STR("START-1", state(trid), "RN");
	target_send(&t, id, 0, 5, 10);
	target_send(&t, hidden, 1, 0, 1);
	stream_expect(trid, POSIX_TRACE_START, &e);
	CHECK_EQ("SYS-4", e.len, sizeof(trace_event_set_t));
	check_own(&e);
	EXPECT_NUMBERS("MODEL-1 EVT-1 EVT-6 MODEL-5 MODEL-17", trid, id, t.pid, 0, 5, 10);
	EXPECT_NUMBERS("EVT-1 OBJ-5", trid, hidden, t.pid, 1, 0, 1);

	set = set_of(hidden);
	CHECK_EQ("OBJ-5 FILT-3", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
	target_send(&t, hidden, 1, 1, 5);
	tid = target_do(&t, point_task, &id, sizeof id);
	stream_expect(trid, POSIX_TRACE_FILTER, &e);
	check_own(&e);
	stream_next(trid, &e);
	CHECK_EQ("OBJ-5 EVT-4 MODEL-5", e.info.posix_event_id, id);
	CHECK("EVT-2", e.len == 4 && memcmp(e.data, "here", 4) == 0);
	check_origin(&e, &t, tid, target_do(&t, target_pthread, NULL, 0));
	for (int i = 0; i < 3; i++) {
		tid = target_do(&t, point_in_thread, &id, sizeof id);
		stream_expect(trid, id, &e);
		CHECK_NE("EVT-7", tid, t.pid);
		check_origin(&e, &t, tid, target_do(&t, last_pthread, NULL, 0));
	}

	CHECK_EQ("OBJ-3 START-4", posix_trace_stop(trid), 0);
	target_send(&t, id, 0, 15, 5);
	stream_expect(trid, POSIX_TRACE_STOP, &e);
	check_own(&e);
	CHECK_EQ("EVT-4 MODEL-5", stream_drain(trid), 0);
	CHECK_EQ("OBJ-3 START-1", posix_trace_start(trid), 0);
	target_send(&t, id, 0, 20, 5);
	stream_expect(trid, POSIX_TRACE_START, &e);
	EXPECT_NUMBERS("EVT-1", trid, id, t.pid, 0, 20, 5);
	CHECK_EQ("MODEL-5 MODEL-8", stream_drain(trid), 0);
	CHECK_LOST("MODEL-8", lost_events(trid), ==, 0);

	/* Cleared by the controller, the stream continues without a filter. */
	target_send(&t, id, 0, 25, 5);
	CHECK_EQ("CLEAR-1", posix_trace_clear(trid), 0);
	target_send(&t, hidden, 1, 6, 1);
	stream_expect(trid, POSIX_TRACE_FILTER, &e);
	EXPECT_NUMBERS("CLEAR-5 CLEAR-4", trid, hidden, t.pid, 1, 6, 1);
	CHECK_EQ("CLEAR-5", stream_drain(trid), 0);

	CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
	target_send(&t, id, 0, 30, 100); /* the target is not affected */
	CHECK_EQ("SHUT-4", posix_trace_start(trid), EINVAL);
	target_end(&t);
}

TEST(fresh)
{
	session(FRESH);
}

TEST(image)
{
	session(IMAGE);
}

TEST(used)
{
	session(USED);
}

/* The same without privileges. */
TEST(as_user)
{
	target_become(65534, 65534);
	for EACH_KIND(kind)
		session(kind);
}

/* From a controller that also traces itself, with events of both streams at the same time. */
TEST(beside_own_stream)
{
	for EACH_KIND(kind) {
		trace_id_t own = stream_running(NULL), trid;
		trace_event_id_t mine = stream_id("mine"), theirs;
		struct target t = target_make(kind);

		trid = stream_running_for(t.pid, NULL);
		theirs = target_id(&t, "theirs");
		number_send(mine, 1, 1);
		target_send(&t, theirs, 2, 2, 1);
		EXPECT_NUMBERS("MODEL-1 MODEL-5", own, mine, getpid(), 1, 1, 1);
		EXPECT_NUMBERS("MODEL-1 MODEL-5", trid, theirs, t.pid, 2, 2, 1);
		CHECK_EQ("MODEL-5", stream_drain(own), 0);
		CHECK_EQ("MODEL-5", stream_drain(trid), 0);
		stream_end(own);
		CHECK_TRACED("MODEL-7", trid, &t, theirs);
		stream_end(trid);
		target_end(&t);
	}
}

/* The target traces itself and is traced: the two streams are independent. */
TEST(beside_stream_of_target)
{
	for EACH_KIND(kind) {
		struct target t = target_make(kind);
		trace_event_id_t id;
		trace_id_t trid;

		if (kind == FRESH) { /* both orders */
			trid = stream_running_for(t.pid, NULL);
			target_control(&t, 0, 0);
		} else {
			target_control(&t, 0, 0);
			trid = stream_running_for(t.pid, NULL);
		}
		id = target_id(&t, "both");
		target_send(&t, id, 0, 0, 10);
		CHECK_EQ("MODEL-6 OBJ-3", target_count(&t, id), 10);
		EXPECT_NUMBERS("MODEL-6 OBJ-3", trid, id, t.pid, 0, 0, 10);
		CHECK_EQ("SEC-6 MODEL-7", stream_drain(trid), 0); /* START of the target's stream is not recorded
		                                                   * here */
		MUST(target_do(&t, target_stop_task, NULL, 0) == 0);
		target_send(&t, id, 0, 10, 10);
		CHECK_EQ("MODEL-7", target_count(&t, id), 0);
		EXPECT_NUMBERS("MODEL-7", trid, id, t.pid, 0, 10, 10);
		stream_end(trid);
		MUST(target_do(&t, target_start_task, NULL, 0) == 0);
		target_send(&t, id, 0, 20, 10);
		CHECK_EQ("MODEL-7 SHUT-2", target_count(&t, id), 10);
		CHECK_EQ("MODEL-7", target_do(&t, target_shutdown_task, NULL, 0), 0);
		target_end(&t);
	}
}

/* -- From the first trace point on ----------------------------------------- */

/* Trace points of an image outside of main(). Its arguments only say where to connect. */
static int early;

__attribute__((constructor)) static void begin_of_program(void)
{
	early = getenv("OTHER_PROCESS_EARLY") != NULL;
	if (early)
		number_send(POSIX_TRACE_UNNAMED_USEREVENT, 1, 0);
}

__attribute__((destructor)) static void end_of_program(void)
{
	if (early)
		number_send(POSIX_TRACE_UNNAMED_USEREVENT, 1, 3);
}

static void exit_handler(void)
{
	number_send(POSIX_TRACE_UNNAMED_USEREVENT, 1, 2);
}

static long long early_task(const void *arg)
{
	atexit(exit_handler);
	number_send(POSIX_TRACE_UNNAMED_USEREVENT, 1, 1);
	return 0;
}

/* A child waits while its parent creates a stream for it, and then executes a program. */
TEST(whole_life)
{
	int go[2], status;
	struct target t;
	trace_id_t trid;
	pid_t pid;
	char c;

	target_listen();
	MUST(pipe(go) == 0);
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		setenv("OTHER_PROCESS_EARLY", "yes", 1);
		if (read(go[0], &c, 1) == 1)
			execv(target_path(), target_command());
		_exit(97);
	}
	trid = stream_running_for(pid, NULL);
	MUST(write(go[1], "", 1) == 1);
	t = target_accept();
	MUST(t.pid == pid);
	EXPECT_NUMBERS("MODEL-32 INH-11 INH-19 EX-11", trid, POSIX_TRACE_UNNAMED_USEREVENT, pid, 1, 0, 1);
	target_do(&t, early_task, NULL, 0);
	status = target_status(&t);
	CHECK_EQ("-", status, 0);
	EXPECT_NUMBERS("MODEL-32 EX-11 INH-16", trid, POSIX_TRACE_UNNAMED_USEREVENT, pid, 1, 1, 3);
	CHECK_EQ("MODEL-32", stream_drain(trid), 0);
	stream_end(trid);
}

/*
 * Streams for a process that has made no trace call: its first trace point finds all streams that are left, and no
 * others.
 */
TEST(before_first_call)
{
	static const trace_event_id_t id = POSIX_TRACE_UNNAMED_USEREVENT;

	for (int kind = FRESH; kind <= IMAGE; kind++) {
		struct target t = target_make(kind);
		trace_id_t gone = stream_running_for(t.pid, NULL), running, suspended, hiding;
		trace_event_set_t set = set_of(id);
		struct stream_event e;

		running = stream_running_for(t.pid, NULL);
		suspended = stream_create_for(t.pid, NULL);
		hiding = stream_running_for(t.pid, NULL);
		MUST(posix_trace_set_filter(hiding, &set, POSIX_TRACE_SET_EVENTSET) == 0);
		stream_expect(hiding, POSIX_TRACE_FILTER, &e);
		stream_end(gone);
		CHECK_FILES("-", target_streams(t.pid), ==, 0); /* the target has done nothing yet */
		target_do(&t, target_point, &id, sizeof id);
		stream_expect(running, id, &e);
		CHECK_EQ("MODEL-5 CREATE-1 EVT-6", e.info.posix_pid, t.pid);
		CHECK_EQ("MODEL-5", stream_drain(running), 0);
		CHECK_EQ("MODEL-5", stream_drain(suspended), 0);
		CHECK_EQ("MODEL-5", stream_drain(hiding), 0);
		stream_end(running);
		MUST(posix_trace_start(suspended) == 0);
		stream_expect(suspended, POSIX_TRACE_START, &e);
		target_do(&t, target_point, &id, sizeof id);
		stream_expect(suspended, id, &e);
		CHECK_EQ("MODEL-5", stream_drain(suspended), 0);
		stream_end(suspended);
		stream_end(hiding);
		target_end(&t);
	}
}

/* A stream is created, started and used between two trace points of the target, repeatedly. */
TEST(again)
{
	for EACH_KIND(kind) {
		struct target t = target_make(kind);
		trace_event_id_t id = target_id(&t, "again");

		for (unsigned i = 0; i < 100; i++) {
			trace_id_t trid = stream_running_for(t.pid, NULL);

			target_send(&t, id, 0, i, 2);
			EXPECT_NUMBERS("CREATE-1 MODEL-5", trid, id, t.pid, 0, i, 2);
			stream_end(trid);
			if (i % 3 == 0)
				target_send(&t, id, 0, i, 2); /* otherwise it finds the next stream at once */
			if (test_failures > 10)
				break;
		}
		target_end(&t);
	}
}

/* -- States, with a target that keeps recording ----------------------------- */

static atomic_int busy;
static pthread_t busy_thread;
static trace_event_id_t busy_id[2];

static void *busy_run(void *arg)
{
	volatile unsigned pause = 0;

	for (unsigned n = 0; atomic_load(&busy); n++) {
		number_send(busy_id[n % 2], 0, n);
		for (int i = 0; i < 500; i++)
			pause++;
	}
	return NULL;
}

static long long busy_begin(const void *arg)
{
	memcpy(busy_id, arg, sizeof busy_id);
	atomic_store(&busy, 1);
	MUST(pthread_create(&busy_thread, NULL, busy_run, NULL) == 0);
	return 0;
}

static long long busy_end(const void *arg)
{
	atomic_store(&busy, 0);
	MUST(pthread_join(busy_thread, NULL) == 0);
	return 0;
}

struct books {
	int running, stops, hidden[2];
	long long last;
	unsigned count[2];
};

/* Reads all events, and checks that each was recorded while the state and filter allowed it. */
static void check_books(trace_id_t trid, struct books *b, const trace_event_id_t *id)
{
	struct stream_event e;

	while (stream_try(trid, &e) && test_failures < 10) {
		trace_event_set_t set;

		switch (e.info.posix_event_id) {
		case POSIX_TRACE_START:
			CHECK_EQ("START-1", b->running, 0);
			b->running = 1;
			memcpy(&set, e.data, sizeof set);
			break;
		case POSIX_TRACE_STOP:
			CHECK_EQ("START-4", b->running, 1);
			b->running = 0;
			b->stops++;
			continue;
		case POSIX_TRACE_FILTER:
			MUST(e.len == 2 * sizeof set);
			memcpy(&set, e.data + sizeof set, sizeof set);
			break;
		default: {
			struct number n = number_of(e.data, e.len);
			int which = e.info.posix_event_id == id[1];

			CHECK_EQ("MODEL-11", e.info.posix_event_id, id[which]);
			CHECK_EQ("MODEL-5 START-10", b->running, 1);
			CHECK_EQ("MODEL-5 OBJ-5", b->hidden[which], 0);
			CHECK_OP("READ-21", n.number, >, b->last);
			CHECK_EQ("MODEL-11", n.number % 2, which);
			b->last = n.number;
			b->count[which]++;
			continue;
		}
		}
		for (int i = 0; i < 2; i++)
			MUST(posix_trace_eventset_ismember(id[i], &set, &b->hidden[i]) == 0);
	}
}

TEST(states_while_busy)
{
	if (test_in_valgrind())
		SKIP("a thread may be held up in an event for longer than a stop waits");
	for EACH_KIND(kind) {
		struct target t = target_make(kind);
		trace_event_id_t id[2] = { target_id(&t, "busy.even"), target_id(&t, "busy.odd") };
		trace_event_set_t none = set_of(NO_TYPE);
		struct books b = { .last = -1 };
		trace_attr_t attr;
		trace_id_t trid;

		stream_attr(&attr, POSIX_TRACE_LOOP, 32 << 20, NUMBER_SIZE);
		target_do(&t, busy_begin, id, sizeof id);
		trid = stream_create_for(t.pid, &attr);
		for (int i = 0; i < 50 && test_failures < 10; i++) {
			trace_event_set_t set = set_of(id[i % 2]);

			CHECK_EQ("OBJ-3 START-9", posix_trace_start(trid), 0);
			sleep_ms(1);
			CHECK_EQ("OBJ-5 FILT-14", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
			sleep_ms(1);
			if (i % 3)
				CHECK_EQ("OBJ-5 FILT-14", posix_trace_set_filter(trid, &none, POSIX_TRACE_SET_EVENTSET),
				         0);
			sleep_ms(1);
			CHECK_EQ("OBJ-3 START-9", posix_trace_stop(trid), 0);
			check_books(trid, &b, id);
			/*
			 * The target may be delayed within an event, and a reader waits only a tenth of a second for
			 * it.
			 */
			for (int wait = 0; b.stops <= i && wait < 50 * test_slow(); wait++) {
				sleep_ms(20);
				check_books(trid, &b, id);
			}
			CHECK_EQ("START-4", b.stops, i + 1);
			CHECK_EQ("START-10", b.running, 0);
			CHECK_EQ("START-4", stream_drain(trid), 0);
		}
		CHECK_LOST("MODEL-8", lost_events(trid), ==, 0);
		CHECK_OP("OBJ-3 MODEL-5", b.count[0], >, 50);
		CHECK_OP("OBJ-3 MODEL-5", b.count[1], >, 50);
		/* While it is recording. */
		CHECK_EQ("-", posix_trace_start(trid), 0);
		CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
		target_do(&t, busy_end, NULL, 0);
		target_end(&t);
	}
}

/* The user has stopped the target at any point: no call waits for it for long. */
TEST(stopped_target)
{
	struct target t = target_make(FRESH);
	trace_event_id_t id[2] = { target_id(&t, "busy.even"), target_id(&t, "busy.odd") };
	trace_event_set_t set = set_of(id[0]);
	int status;

	target_do(&t, busy_begin, id, sizeof id);
	for (int i = 0; i < 10; i++) {
		/* Its first event may be overwritten before it can be read. */
		trace_id_t trid = stream_create_for(t.pid, NULL);
		long long begin;

		MUST(posix_trace_start(trid) == 0);
		sleep_ms(i % 3);
		MUST(kill(t.pid, SIGSTOP) == 0 && waitpid(t.pid, &status, WUNTRACED) == t.pid && WIFSTOPPED(status));
		begin = nanoseconds(now());
		if (i % 2) {
			CHECK_EQ("START-9", posix_trace_stop(trid), 0);
			CHECK_EQ("CLEAR-13", posix_trace_clear(trid), 0);
			CHECK_EQ("START-9", posix_trace_start(trid), 0);
			CHECK_EQ("FILT-14", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
		}
		stream_drain(trid);
		CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
		CHECK_OP("SHUT-2 START-9", nanoseconds(now()) - begin, <, 3000000000LL * test_slow());
		MUST(kill(t.pid, SIGCONT) == 0);
	}
	target_do(&t, busy_end, NULL, 0);
	target_end(&t);
}

/* -- Names ------------------------------------------------------------------ */

static trace_event_id_t outside(trace_id_t trid, const char *name)
{
	trace_event_id_t id = 0;

	CHECK_EQ("ID-13 ID-22", posix_trace_trid_eventid_open(trid, name, &id), 0);
	return id;
}

static void check_name(trace_id_t trid, trace_event_id_t id, const char *expected)
{
	char name[TRACE_EVENT_NAME_MAX + 1] = "";

	CHECK_EQ("ID-6 ID-11 MODEL-15", posix_trace_eventid_get_name(trid, id, name), 0);
	CHECK_STR("ID-6 ID-8 MODEL-12", name, expected);
}

/* This process's name may not be opened by a target, so each kind of target has a separate test process. */
static void names(int kind)
{
	struct target t = target_make(kind);
	trace_event_id_t before = 0, inside, from_outside, later, again, mine;
	trace_id_t trid, second;
	char name[TRACE_EVENT_NAME_MAX + 2];

	if (kind == USED) /* before the first stream */
		before = target_id(&t, "names.before");
	mine = stream_id("not of the target");
	trid = stream_create_for(t.pid, NULL);
	second = stream_create_for(t.pid, NULL);
	if (kind == USED) {
		check_name(trid, before, "names.before");
		CHECK_EQ("CREATE-26 ID-18", outside(trid, "names.before"), before);
	}
	/* Opened by the controller first: the target gets the same id later, and so does its second stream. */
	from_outside = outside(trid, "names.outside");
	check_name(second, from_outside, "names.outside");
	CHECK_EQ("ID-18 ID-23 EVT-19", target_id(&t, "names.outside"), from_outside);
	CHECK_EQ("ID-24", outside(second, "names.outside"), from_outside);
	/* Opened by the target first. */
	inside = target_id(&t, "names.inside");
	CHECK_NE("MODEL-12 EVT-18", inside, from_outside);
	CHECK_EQ("ID-18", outside(trid, "names.inside"), inside);
	CHECK_EQ("ID-18 ID-24", outside(second, "names.inside"), inside);
	check_name(trid, inside, "names.inside");
	check_name(second, inside, "names.inside");
	/* Also when an event of the type has been recorded. */
	MUST(posix_trace_start(trid) == 0);
	stream_drain(trid);
	later = outside(trid, "names.later");
	CHECK_EQ("ID-23", target_id(&t, "names.later"), later);
	target_send(&t, later, 0, 0, 1);
	EXPECT_NUMBERS("ID-23 MODEL-11", trid, later, t.pid, 0, 0, 1);
	again = target_id(&t, "names.after");
	target_send(&t, again, 0, 1, 1);
	EXPECT_NUMBERS("MODEL-11", trid, again, t.pid, 0, 1, 1);
	check_name(trid, again, "names.after");

	/* The mapping is that of the target, not of this process. */
	if (posix_trace_eventid_get_name(trid, mine, name) == 0)
		CHECK("MODEL-14 MODEL-15", strcmp(name, "not of the target") != 0);
	CHECK_EQ("ID-25 HDR-28", outside(trid, "posix_trace_start"), POSIX_TRACE_START);
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = 0;
	CHECK_EQ("ID-15 ID-21", posix_trace_trid_eventid_open(trid, name, &again), ENAMETOOLONG);
	name[TRACE_EVENT_NAME_MAX] = 0;
	again = outside(trid, name);
	CHECK_EQ("ID-15 ID-18", target_id(&t, name), again);
	stream_end(trid);
	stream_end(second);
	target_end(&t);
}

TEST(names_of_fresh)
{
	names(FRESH);
}

TEST(names_of_image)
{
	names(IMAGE);
}

TEST(names_of_used)
{
	names(USED);
}

/* The list of types in the controller: the predefined types and all types of the target, each once. */
TEST(type_list)
{
	for EACH_KIND(kind) {
		struct target t = target_make(kind);
		trace_event_id_t id, by_target[3];
		struct ids seen;
		trace_id_t trid;
		int unavailable, user = 0;

		by_target[0] = target_id(&t, "list.0");
		trid = stream_create_for(t.pid, NULL);
		by_target[1] = target_id(&t, "list.1");
		by_target[2] = outside(trid, "list.2");
		for (int round = 0; round < 2; round++) {
			seen.n = 0;
			user = 0;
			for (;;) {
				MUST(posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable) == 0);
				if (unavailable)
					break;
				CHECK_EQ("ID-26 MODEL-12", ids_add(&seen, id), 0);
				user++;
			}
			for (int i = 0; i < 3; i++)
				CHECK_EQ("ID-29 MODEL-15", ids_times(&seen, by_target[i]), 1);
			CHECK_OURS(OURS_IDS, "ID-29 MODEL-15", user, ==, 9 + (kind == USED ? 4 : 3));
			CHECK_EQ("ID-29", ids_times(&seen, POSIX_TRACE_START) + ids_times(&seen, POSIX_TRACE_ERROR) +
					  ids_times(&seen, POSIX_TRACE_UNNAMED_USEREVENT), 3);
			CHECK_EQ("ID-30", posix_trace_eventtypelist_rewind(trid), 0);
		}
		stream_end(trid);
		target_end(&t);
	}
}

/*
 * The same names are opened at the same time by two threads of the target, by this process and by a second controller.
 */
#define MANY (TRACE_USER_EVENT_MAX > 400 ? 300 : TRACE_USER_EVENT_MAX - 8)

static void many_name(char *name, unsigned i)
{
	snprintf(name, 32, "many.%u", i * 7919 % MANY);
}

static void *open_many(void *step)
{
	unsigned i = 0;
	char name[32];

	for (unsigned n = 0; n < MANY; n++, i = (i + *(unsigned *)step) % MANY) {
		many_name(name, i);
		stream_id(name);
	}
	return NULL;
}

static long long open_many_task(const void *arg)
{
	unsigned step[2] = { 1, MANY - 1 };
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&thread[i], NULL, open_many, &step[i]) == 0);
	for (int i = 0; i < 2; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
	return 0;
}

static long long trid_open_many_task(const void *step)
{
	trace_event_id_t id;
	unsigned i = 0, s;
	char name[32];

	memcpy(&s, step, sizeof s);
	for (unsigned n = 0; n < MANY; n++, i = (i + s) % MANY) {
		many_name(name, i);
		MUST(posix_trace_trid_eventid_open(target_trid, name, &id) == 0);
	}
	return 0;
}

/* Returns the name's id in a controller. */
static long long trid_open_task(const void *name)
{
	trace_event_id_t id = 0;

	MUST(posix_trace_trid_eventid_open(target_trid, name, &id) == 0);
	return id;
}

TEST(names_at_the_same_time)
{
	for EACH_KIND(kind) {
		struct target t = target_make(kind), controller = target_fork();
		trace_id_t trid = stream_create_for(t.pid, NULL);
		struct ids seen = { .n = 0 };
		unsigned step = 7, own = 11;

		target_control(&controller, t.pid, 0);
		target_tell(&t, open_many_task, NULL, 0);
		target_tell(&controller, trid_open_many_task, &step, sizeof step);
		target_trid = trid;
		trid_open_many_task(&own);
		target_result(&t);
		target_result(&controller);
		for (unsigned i = 0; i < MANY; i++) {
			trace_event_id_t id;
			char name[32];

			many_name(name, i);
			id = target_id(&t, name);
			MUST(id != POSIX_TRACE_UNNAMED_USEREVENT);
			CHECK_EQ("MODEL-12 EVT-18", ids_add(&seen, id), 0);
			CHECK_EQ("ID-18 EVT-19", outside(trid, name), id);
			CHECK_EQ("ID-18 ID-24", target_do(&controller, trid_open_task, name, strlen(name) + 1), id);
			check_name(trid, id, name);
		}
		stream_end(trid);
		target_end(&controller);
		target_end(&t);
	}
}

/* One limit for all processes that open names of the target. */
TEST(name_limit)
{
	for EACH_KIND(kind) {
		struct target t = target_make(kind);
		trace_id_t trid = stream_create_for(t.pid, NULL);
		trace_event_id_t id = 0;
		unsigned n = 0;
		char name[32];

		for (; n < TRACE_USER_EVENT_MAX + 10; n++) {
			snprintf(name, sizeof name, "limit.%u", n);
			id = n % 2 ? outside(trid, name) : target_id(&t, name);
			if (id == POSIX_TRACE_UNNAMED_USEREVENT)
				break;
		}
		CHECK_EQ("EVT-16 ID-15 LIM-4 LIM-5", n + (kind == USED), TRACE_USER_EVENT_MAX - 1);
		CHECK_EQ("ID-19 EVT-20", outside(trid, "limit.one more"), POSIX_TRACE_UNNAMED_USEREVENT);
		CHECK_EQ("ID-19 EVT-20", target_id(&t, "limit.one more"), POSIX_TRACE_UNNAMED_USEREVENT);
		/* Names that exist are still found. */
		for (n = 0; n < 4; n++) {
			snprintf(name, sizeof name, "limit.%u", n);
			id = outside(trid, name);
			CHECK_NE("ID-18", id, POSIX_TRACE_UNNAMED_USEREVENT);
			CHECK_EQ("ID-18 EVT-19", target_id(&t, name), id);
			check_name(trid, id, name);
		}
		stream_end(trid);
		target_end(&t);
	}
}

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
		check_name(trid[i], id[i], name);
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
		check_name(trid, last.id, "gone");
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
		check_name(trid, last.id, "gone");
		CHECK_EQ("ID-18 INH-16", outside(trid, "gone"), last.id);
		CHECK_NE("ID-13 INH-16", outside(trid, "after it"), last.id);
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
	check_name(trid, id, "waited for");
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

TARGET_MAIN(TEST_ENTRY(fresh), TEST_ENTRY(image), TEST_ENTRY(used), TEST_ENTRY(as_user), TEST_ENTRY(beside_own_stream),
	    TEST_ENTRY(beside_stream_of_target), TEST_ENTRY(whole_life), TEST_ENTRY(before_first_call),
	    TEST_ENTRY(again),
	    TEST_ENTRY(states_while_busy), TEST_ENTRY(stopped_target), TEST_ENTRY(names_of_fresh),
	    TEST_ENTRY(names_of_image), TEST_ENTRY(names_of_used), TEST_ENTRY(type_list),
	    TEST_ENTRY(names_at_the_same_time), TEST_ENTRY(name_limit), TEST_ENTRY(several_controllers),
	    TEST_ENTRY(identifier_of_another), TEST_ENTRY(many_processes), TEST_ENTRY(gone),
	    TEST_ENTRY(ends_while_waited_for),
	    TEST_ENTRY(no_such_process), TEST_ENTRY(zombie), TEST_ENTRY(first_thread_gone), TEST_ENTRY(woken),
	    TEST_ENTRY(woken_each_time), TEST_ENTRY(time_of_an_event), TEST_ENTRY(threads_of_target),
	    TEST_ENTRY(full_loop),
	    TEST_ENTRY(full_until_full), TEST_ENTRY(nothing_left))
