/*
 * other_process.c - controller and analyzer here, the traced process somewhere else
 *
 * Several controllers and targets, and targets that end, are in other_processes.c; the children of a target in
 * inheritance.c; what becomes of the stream when controller or target ends in ends.c; who may trace whom in
 * permission.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdatomic.h>

#include "target.h"

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
		stream_check_name(trid, before, "names.before");
		CHECK_EQ("CREATE-26 ID-18", stream_id_there(trid, "names.before"), before);
	}
	/* Opened by the controller first: the target gets the same id later, and so does its second stream. */
	from_outside = stream_id_there(trid, "names.outside");
	stream_check_name(second, from_outside, "names.outside");
	CHECK_EQ("ID-18 ID-23 EVT-19", target_id(&t, "names.outside"), from_outside);
	CHECK_EQ("ID-24", stream_id_there(second, "names.outside"), from_outside);
	/* Opened by the target first. */
	inside = target_id(&t, "names.inside");
	CHECK_NE("MODEL-12 EVT-18", inside, from_outside);
	CHECK_EQ("ID-18", stream_id_there(trid, "names.inside"), inside);
	CHECK_EQ("ID-18 ID-24", stream_id_there(second, "names.inside"), inside);
	stream_check_name(trid, inside, "names.inside");
	stream_check_name(second, inside, "names.inside");
	/* Also when an event of the type has been recorded. */
	MUST(posix_trace_start(trid) == 0);
	stream_drain(trid);
	later = stream_id_there(trid, "names.later");
	CHECK_EQ("ID-23", target_id(&t, "names.later"), later);
	target_send(&t, later, 0, 0, 1);
	EXPECT_NUMBERS("ID-23 MODEL-11", trid, later, t.pid, 0, 0, 1);
	again = target_id(&t, "names.after");
	target_send(&t, again, 0, 1, 1);
	EXPECT_NUMBERS("MODEL-11", trid, again, t.pid, 0, 1, 1);
	stream_check_name(trid, again, "names.after");

	/* The mapping is that of the target, not of this process. */
	if (posix_trace_eventid_get_name(trid, mine, name) == 0)
		CHECK("MODEL-14 MODEL-15", strcmp(name, "not of the target") != 0);
	CHECK_EQ("ID-25 HDR-28", stream_id_there(trid, "posix_trace_start"), POSIX_TRACE_START);
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = 0;
	CHECK_EQ("ID-15 ID-21", posix_trace_trid_eventid_open(trid, name, &again), ENAMETOOLONG);
	name[TRACE_EVENT_NAME_MAX] = 0;
	again = stream_id_there(trid, name);
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
		by_target[2] = stream_id_there(trid, "list.2");
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
			CHECK_EQ("ID-18 EVT-19", stream_id_there(trid, name), id);
			CHECK_EQ("ID-18 ID-24", target_do(&controller, trid_open_task, name, strlen(name) + 1), id);
			stream_check_name(trid, id, name);
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
			id = n % 2 ? stream_id_there(trid, name) : target_id(&t, name);
			if (id == POSIX_TRACE_UNNAMED_USEREVENT)
				break;
		}
		CHECK_EQ("EVT-16 ID-15 LIM-4 LIM-5", n + (kind == USED), TRACE_USER_EVENT_MAX - 1);
		CHECK_EQ("ID-19 EVT-20", stream_id_there(trid, "limit.one more"), POSIX_TRACE_UNNAMED_USEREVENT);
		CHECK_EQ("ID-19 EVT-20", target_id(&t, "limit.one more"), POSIX_TRACE_UNNAMED_USEREVENT);
		/* Names that exist are still found. */
		for (n = 0; n < 4; n++) {
			snprintf(name, sizeof name, "limit.%u", n);
			id = stream_id_there(trid, name);
			CHECK_NE("ID-18", id, POSIX_TRACE_UNNAMED_USEREVENT);
			CHECK_EQ("ID-18 EVT-19", target_id(&t, name), id);
			stream_check_name(trid, id, name);
		}
		stream_end(trid);
		target_end(&t);
	}
}

TARGET_MAIN(TEST_ENTRY(fresh), TEST_ENTRY(image), TEST_ENTRY(used), TEST_ENTRY(as_user), TEST_ENTRY(beside_own_stream),
	    TEST_ENTRY(beside_stream_of_target), TEST_ENTRY(whole_life), TEST_ENTRY(before_first_call),
	    TEST_ENTRY(again), TEST_ENTRY(states_while_busy), TEST_ENTRY(stopped_target), TEST_ENTRY(names_of_fresh),
	    TEST_ENTRY(names_of_image), TEST_ENTRY(names_of_used), TEST_ENTRY(type_list),
	    TEST_ENTRY(names_at_the_same_time), TEST_ENTRY(name_limit))
