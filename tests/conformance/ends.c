/*
 * ends.c - a stream ends with its creator, however that one ends; and what an exec ends, and what not
 *
 * The creator is a process, the traced one another, and the test looks at the
 * files of both; so each test has a /dev/shm of its own. That a stream stays
 * when the traced process ends, other_process.c and inheritance.c show; files
 * of the dead in more detail, tests/fault/leftovers.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sanitizer.h"
#include "target.h"

#define NO_ID POSIX_TRACE_UNNAMED_USEREVENT

/* Returns how many files of this kind are in the user's directory. */
static int files(const char *kind)
{
	int n = shm_count(shm_directory(), kind);

	return n < 0 ? 0 : n;
}

/* A process of this user creates and ends a stream, which removes what others left behind. */
static void sweep(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		test_failures = 0;
		stream_end(stream_create(NULL));
		exit(test_failures != 0);
	}
	MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_EQ("-", status, 0);
}

/*
 * The targets keep recording until each of them has this many streams mapped. The library promises a second, from the
 * time at which the target needs room in the stream. All targets do so at once to save time.
 */
static void until_streams(const char *ids, int line, const struct target *t, int count, int streams)
{
	long long begin = nanoseconds(now());
	int left;

	if (!OURS_FILES)
		return;
	do {
		left = 0;
		for (int i = 0; i < count; i++) {
			target_send(&t[i], NO_ID, 0, 0, 2000);
			left += target_streams(t[i].pid) != streams;
		}
		if (left == 0)
			return;
		sleep_ms(10);
	} while (nanoseconds(now()) - begin < 10000000000LL * test_slow());
	for (int i = 0; i < count; i++) {
		if (target_streams(t[i].pid) != streams)
			TEST_FAIL(ids, "line %d: traced process %d has %d streams mapped, not %d", line, i,
			          target_streams(t[i].pid),
				  streams);
	}
}
#define UNTIL_STREAMS(ids, ...) until_streams(ids, __LINE__, __VA_ARGS__)

/* Checks that the target works, and can be traced by a new stream. */
static void check_unharmed(const struct target *t)
{
	trace_event_id_t id = target_id(t, "unharmed");
	trace_id_t trid = stream_running_for(t->pid, NULL);

	CHECK_FILES("SHUT-6 CREATE-1", files("stream-"), ==, 1);
	CHECK_TRACED("SHUT-6 CREATE-1", trid, t, id);
	CHECK_EQ("SHUT-6", stream_drain(trid), 0);
	CHECK_FILES("SHUT-6", target_streams(t->pid), ==, 1);
	target_control(t, 0, 0);
	target_send(t, id, 0, 0, 10);
	CHECK_EQ("SHUT-6 CREATE-1", target_count(t, id), 10);
	EXPECT_NUMBERS("SHUT-6 MODEL-7", trid, id, t->pid, 0, 0, 10);
	CHECK_EQ("SHUT-2", target_do(t, target_shutdown_task, NULL, 0), 0);
	stream_end(trid);
	CHECK_FILES("SHUT-2", files("stream-"), ==, 0);
}

/* -- Ways to end a process --------------------------------------------------- */

static long long by_exit(const void *arg)
{
	exit(0);
}

static long long by_underscore_exit(const void *arg)
{
	_exit(0);
}

static void *exit_in_thread(void *arg)
{
	exit(0);
}

static long long by_exit_of_thread(const void *arg)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, exit_in_thread, NULL) == 0);
	pthread_join(thread, NULL);
	return 0;
}

static long long by_last_thread(const void *arg)
{
#if SANITIZER_THREAD /* the sanitizer has a thread of its own, which stays */
	exit(0);
#else
	pthread_exit(NULL);
#endif
}

static long long by_abort(const void *arg)
{
	prctl(PR_SET_DUMPABLE, 0); /* no core file */
	abort();
}

static long long by_term(const void *arg)
{
	raise(SIGTERM);
	return 0;
}

static long long by_kill(const void *arg)
{
	raise(SIGKILL);
	return 0;
}

static long long by_exec(const void *arg)
{
	execl("/bin/true", "true", (char *)NULL);
	return 0;
}

static void *exec_in_thread(void *arg)
{
	execl("/bin/true", "true", (char *)NULL);
	return NULL;
}

static long long by_exec_in_thread(const void *arg)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, exec_in_thread, NULL) == 0);
	pthread_join(thread, NULL);
	return 0;
}

static const struct {
	const char *name;
	target_task *end;
	int clean; /* the library's files are removed at once */
} ends[] = {
	{ "exit", by_exit, 1 },
	{ "exit of a thread", by_exit_of_thread, 1 },
	{ "the end of the last thread", by_last_thread, 1 },
	{ "_exit", by_underscore_exit, 0 },
	{ "abort", by_abort, 0 },
	{ "SIGTERM", by_term, 0 },
	{ "SIGKILL", by_kill, 0 },
	{ "exec", by_exec, 0 },
	{ "exec in a thread", by_exec_in_thread, 0 },
};
#define ENDS (int)(sizeof ends / sizeof ends[0])

/* Ends a child of this process in one of the ways. */
static void end(struct target *t, int how)
{
	MUST(ends[how].end != NULL);
	target_tell(t, ends[how].end, NULL, 0);
	MUST(waitpid(t->pid, NULL, 0) == t->pid);
	close(t->socket);
}

static int said;

static void say(int how, int kind)
{
	if (test_failures != said)
		fprintf(stderr, "  ... by %s, traced process of kind %d\n", ends[how].name, kind);
	said = test_failures;
}

/* -- The controller of another process ends -------------------------------------- */

static void controller_ends(int kind)
{
	struct target t[ENDS], c[ENDS];
	trace_event_id_t id[ENDS];

	for (int how = 0; how < ENDS; how++) {
		t[how] = target_make(kind);
		c[how] = target_fork();
		id[how] = target_id(&t[how], "ends");
		target_control(&c[how], t[how].pid, 0);
		target_send(&t[how], id[how], 0, 0, 100);
		CHECK_EQ("-", target_count(&c[how], id[how]), 100);
		CHECK_FILES("-", target_streams(t[how].pid), ==, 1);
	}
	for (int how = 0, left = ENDS; how < ENDS; how++) {
		end(&c[how], how);
		left -= ends[how].clean;
		CHECK_FILES("SHUT-6 SHUT-2", files("stream-"), ==, left);
		say(how, kind);
	}
	UNTIL_STREAMS("SHUT-6 MODEL-20 INH-13 INH-14", t, ENDS, 0);
	CHECK_FILES("SHUT-6 MODEL-20", files("stream-"), ==, 0); /* the process that notices the death removes the
	                                                          * file */
	for (int how = 0; how < ENDS; how++) {
		CHECK_EQ("SHUT-15 INH-15", target_id(&t[how], "ends"), id[how]); /* names may go by the standard;
		                                                                  * here they stay */
		check_unharmed(&t[how]);
		target_end(&t[how]);
		say(how, kind);
	}
	sweep();
	CHECK_FILES("SHUT-2", files(""), ==, 0);
}

TEST(controller)
{
	shm_private("");
	for EACH_KIND(kind)
		controller_ends(kind);
}

TEST(controller_as_user)
{
	shm_private("");
	target_become(65534, 65534);
	for EACH_KIND(kind)
		controller_ends(kind);
}

/* The traced process does nothing: the next create in any process removes the stream. */
TEST(noticed_by_the_next_create)
{
	shm_private("");
	for EACH_KIND(kind)
	for (int started = 0; started < 3; started++) { /* not started; started; started and noticed by the target */
		struct target t[ENDS], c[ENDS];

		for (int how = 0; how < ENDS; how++) {
			t[how] = target_make(kind);
			c[how] = target_fork();
			MUST(target_create(&c[how], t[how].pid, 0) == 0);
			if (started)
				MUST(target_do(&c[how], target_start_task, NULL, 0) == 0);
			if (started == 2)
				target_send(&t[how], NO_ID, 0, 0, 100);
		}
		for (int how = 0; how < ENDS; how++)
			end(&c[how], how);
		CHECK_FILES("-", files("stream-"), >, 0);
		sweep();
		CHECK_FILES("SHUT-6 MODEL-20 SHUT-2", files("stream-"), ==, 0);
		UNTIL_STREAMS("SHUT-6 MODEL-20", t, ENDS, 0);
		for (int how = 0; how < ENDS; how++) {
			check_unharmed(&t[how]);
			target_end(&t[how]);
			say(how, kind);
		}
	}
	sweep();
	CHECK_FILES("SHUT-2", files(""), ==, 0);
}

/* In each state that a stream can be left in. */
TEST(states)
{
	enum { NEVER_STARTED, STOPPED, FULL_LOOP, FULL_STOPPED, EMPTY, STATES };

	shm_private("");
	for EACH_KIND(kind) {
		struct target t[STATES], c[STATES];
		trace_id_t trid[STATES];

		for (int i = 0; i < STATES; i++) {
			struct target_stream s = { .policy = i == FULL_STOPPED ? POSIX_TRACE_UNTIL_FULL
			                           : POSIX_TRACE_LOOP,
						   .size = i == EMPTY ? 1 << 20 : 4096 };

			t[i] = target_make(kind);
			c[i] = target_fork();
			s.pid = t[i].pid;
			MUST(target_do(&c[i], target_create_task, &s, sizeof s) == 0);
			if (i != NEVER_STARTED)
				MUST(target_do(&c[i], target_start_task, NULL, 0) == 0);
			target_send(&t[i], NO_ID, 0, 0, i == FULL_LOOP || i == FULL_STOPPED ? 1000 : 1);
			if (i == STOPPED)
				MUST(target_do(&c[i], target_stop_task, NULL, 0) == 0);
			CHECK_FILES("-", target_streams(t[i].pid), ==, 1);
		}
		for (int i = 0; i < STATES; i++)
			target_kill(&c[i]);
		/* A stream that records no events is only found to be dead at the next create. */
		UNTIL_STREAMS("SHUT-6 MODEL-20 INH-14", t + FULL_LOOP, STATES - FULL_LOOP, 0);
		CHECK_FILES("SHUT-6", files("stream-"), ==, FULL_LOOP);
		for (int i = 0; i < STATES; i++)
			trid[i] = stream_running_for(t[i].pid, NULL);
		CHECK_FILES("SHUT-6 MODEL-20", files("stream-"), ==, STATES);
		UNTIL_STREAMS("SHUT-6 SHUT-2", t, STATES, 1);
		for (int i = 0; i < STATES; i++) {
			stream_drain(trid[i]);
			CHECK_TRACED("MODEL-7", trid[i], &t[i], NO_ID);
			stream_end(trid[i]);
			target_send(&t[i], NO_ID, 0, 0, 2);
			CHECK_FILES("SHUT-6 SHUT-2", target_streams(t[i].pid), ==, 0);
			target_end(&t[i]);
		}
	}
}

/* When one of several controllers ends, only its own stream ends. */
TEST(several)
{
	struct target t[ENDS], c[ENDS][2];
	trace_event_id_t id[ENDS];
	trace_id_t trid[ENDS];

	shm_private("");
	for (int how = 0; how < ENDS; how++) {
		t[how] = target_make(FRESH);
		id[how] = target_id(&t[how], "several");
		trid[how] = stream_running_for(t[how].pid, NULL);
		for (int i = 0; i < 2; i++) {
			c[how][i] = target_fork();
			target_control(&c[how][i], t[how].pid, 0);
		}
		target_send(&t[how], id[how], 0, 0, 10);
		EXPECT_NUMBERS("-", trid[how], id[how], t[how].pid, 0, 0, 10);
	}
	for (int how = 0; how < ENDS; how++) {
		end(&c[how][0], how);
		CHECK_TRACED("MODEL-7 SHUT-6", trid[how], &t[how], id[how]);
		CHECK_EQ("MODEL-7 SHUT-6", target_count(&c[how][1], id[how]), 13);
		say(how, FRESH);
	}
	UNTIL_STREAMS("SHUT-6", t, ENDS, 2);
	for (int how = 0; how < ENDS; how++) {
		stream_drain(trid[how]);
		target_count(&c[how][1], id[how]);
		CHECK_TRACED("MODEL-7 SHUT-6", trid[how], &t[how], id[how]);
		CHECK_EQ("MODEL-7 SHUT-6", target_count(&c[how][1], id[how]), 3);
		say(how, FRESH);
	}
	CHECK_FILES("SHUT-6", files("stream-"), ==, 2 * ENDS);
	for (int how = 0; how < ENDS; how++) {
		target_end(&c[how][1]);
		stream_end(trid[how]);
		target_end(&t[how]);
	}
}

/* Children of the controller live on, but the stream ends. */
static long long bear_task(const void *image)
{
	char **arguments = target_command();
	pid_t pid;
	int i;

	memcpy(&i, image, sizeof i);
	pid = i ? vfork() : fork();
	if (pid == 0 && i) {
		execv(arguments[0], arguments);
		_exit(97);
	}
	if (pid == 0)
		target_serve();
	return pid;
}

TEST(children_of_controller_live)
{
	shm_private("");
	for (int image = 0; image < 2; image++)
	for (int used = 0; used < 2; used++) {
		struct target t = target_make(FRESH), c = target_fork(), child[2];

		target_tell(&c, bear_task, &image, sizeof image);
		child[0] = target_accept(); /* before the stream is created, and after */
		target_result(&c);
		target_control(&c, t.pid, 0);
		target_tell(&c, bear_task, &image, sizeof image);
		child[1] = target_accept();
		target_result(&c);
		for (int i = 0; i < 2 && used; i++)
			target_send(&child[i], NO_ID, 0, 0, 3);
		target_send(&t, NO_ID, 0, 0, 10);
		CHECK_EQ("-", target_count(&c, NO_ID), 10);
		target_kill(&c);
		sweep();
		CHECK_FILES("SHUT-6 MODEL-20 INH-14", files("stream-"), ==, 0);
		UNTIL_STREAMS("SHUT-6 MODEL-20 INH-14", &t, 1, 0);
		check_unharmed(&t);
		for (int i = 0; i < 2; i++) {
			target_send(&child[i], NO_ID, 0, 0, 3);
			target_dismiss(&child[i]);
			target_gone(child[i].pid);
		}
		target_end(&t);
	}
}

/*
 * The first thread ends, which the kernel shows like the end of the process. The stream lives as long as one thread
 * does.
 */
TEST(first_thread_of_controller_ends)
{
	struct target t, c;

	shm_private("");
	t = target_make(FRESH);
	c = target_fork();
	target_control(&c, t.pid, 0);
	target_send(&t, NO_ID, 0, 0, 10);
	target_leave_first(&c);
	sweep();
	CHECK_FILES("MODEL-20 SHUT-6", files("stream-"), ==, 1);
	for (int i = 0; i < 3; i++) {
		target_send(&t, NO_ID, 0, 0, 3);
		CHECK_EQ("MODEL-20 SHUT-6", target_count(&c, NO_ID), i ? 3 : 13);
		sleep_ms(600);
	}
	CHECK_EQ("SHUT-10", target_do(&c, target_shutdown_task, NULL, 0), 0);
	check_unharmed(&t);
	target_end(&c);
	target_end(&t);
}

/* The traced process is stopped, and finds a dead stream when it continues. */
TEST(while_target_is_stopped)
{
	struct target t, c;
	int status;

	shm_private("");
	t = target_make(FRESH);
	c = target_fork();
	target_control(&c, t.pid, 0);
	target_send(&t, NO_ID, 0, 0, 100);
	MUST(kill(t.pid, SIGSTOP) == 0 && waitpid(t.pid, &status, WUNTRACED) == t.pid);
	target_kill(&c);
	sweep();
	CHECK_FILES("SHUT-6", files("stream-"), ==, 0);
	MUST(kill(t.pid, SIGCONT) == 0);
	UNTIL_STREAMS("SHUT-6", &t, 1, 0);
	check_unharmed(&t);
	target_end(&t);
}

/* Controller and traced process end at the same time. */
TEST(both)
{
	shm_private("");
	for (int first = 0; first < 2; first++)
	for (int how = 0; how < ENDS; how++) {
		struct target t = target_make(USED), c = target_fork();

		target_control(&c, t.pid, 0);
		target_send(&t, NO_ID, 0, 0, 100);
		end(first ? &t : &c, how);
		end(first ? &c : &t, how);
		sweep();
		CHECK_FILES("SHUT-6 SHUT-2", files(""), ==, 0);
		say(how, USED);
	}
}

/* The traced process ends: its files exist exactly as long as its streams. */
TEST(traced_process)
{
	shm_private("");
	for (int how = 0; how < ENDS; how++) {
		struct target t = target_make(USED);
		trace_id_t trid = stream_running_for(t.pid, NULL);
		trace_event_id_t id = target_id(&t, "traced");
		char name[TRACE_EVENT_NAME_MAX + 1];

		target_send(&t, id, 0, 0, 100);
		end(&t, how);
		sweep();
		CHECK_FILES("INH-16", files("stream-"), ==, 1);
		EXPECT_NUMBERS("INH-16", trid, id, t.pid, 0, 0, 100);
		CHECK_EQ("INH-16 MODEL-15", posix_trace_eventid_get_name(trid, id, name), 0);
		CHECK_STR("INH-16 MODEL-15", name, "traced");
		CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
		CHECK_FILES("SHUT-2", files("stream-"), ==, 0);
		sweep();
		CHECK_FILES("SHUT-2", files(""), ==, 0);
		say(how, USED);
	}
}

/* -- Families ----------------------------------------------------------------- */

/* The controller of an inherited stream ends, and so does tracing for all that have inherited it. */
#define MEMBERS 5

TEST(controller_of_a_family)
{
	struct target t[ENDS * MEMBERS], c[ENDS];
	int before[ENDS];

	shm_private("");
	for (int how = 0; how < ENDS; how++) {
		static const int image[MEMBERS] = { 0, 0, 1, 0, 1 };
		struct target *member = &t[how * MEMBERS];

		member[0] = target_make(USED);
		c[how] = target_fork();
		before[how] = target_descriptors(member[0].pid);
		target_control(&c[how], member[0].pid, 1);
		target_send(&member[0], NO_ID, 0, 0, 3);
		for (int i = 1; i < MEMBERS; i++) {
			const struct target *parent = i == 4 ? &member[1] : &member[0];

			target_tell(parent, bear_task, &image[i], sizeof image[i]);
			member[i] = target_accept();
			target_result(parent);
			if (i != 3) /* member 3 reaches its first trace point when all is over */
				target_send(&member[i], NO_ID, 0, 0, 3);
		}
		CHECK_EQ("INH-1", target_count(&c[how], NO_ID), 12);
	}
	for (int how = 0; how < ENDS; how++)
		end(&c[how], how);
	UNTIL_STREAMS("SHUT-6 MODEL-20 INH-14", t, ENDS * MEMBERS, 0);
	CHECK_FILES("SHUT-6", files("stream-"), ==, 0);
	for (int how = 0; how < ENDS; how++) {
		struct target *member = &t[how * MEMBERS];

		for (int i = MEMBERS; i-- > 0;)
			check_unharmed(&member[i]);
		CHECK_FILES("SHUT-6 INH-18", target_descriptors(member[0].pid), ==, before[how]);
		for (int i = MEMBERS; i-- > 1;) {
			target_dismiss(&member[i]);
			target_gone(member[i].pid);
		}
		target_end(&member[0]);
		say(how, USED);
	}
	sweep();
	CHECK_FILES("SHUT-2", files(""), ==, 0);
}

/* A process that traces itself and its children ends: its children are no longer traced, and live on. */
TEST(parent_that_traces_itself)
{
	shm_private("");
	for (int image = 0; image < 2; image++) {
		struct target c[ENDS], child[2 * ENDS];
		trace_event_id_t id[ENDS];

		for (int how = 0; how < ENDS; how++) {
			c[how] = target_fork();
			id[how] = target_id(&c[how], "parent");
			target_control(&c[how], 0, 1);
			target_send(&c[how], id[how], 0, 0, 3);
			for (int i = 0; i < 2; i++) {
				target_tell(&c[how], bear_task, &image, sizeof image);
				child[2 * how + i] = target_accept();
				target_result(&c[how]);
			}
			CHECK_EQ("INH-2", target_id(&child[2 * how], "parent"), id[how]);
			target_send(&child[2 * how], id[how], 0, 0, 3);
			CHECK_EQ("INH-1", target_count(&c[how], id[how]), 6);
			end(&c[how], how);
		}
		UNTIL_STREAMS("SHUT-6 MODEL-20 INH-14", child, 2 * ENDS, 0);
		for (int how = 0; how < ENDS; how++) {
			CHECK_EQ("SHUT-15 INH-15 INH-10", target_id(&child[2 * how], "parent"), id[how]);
			for (int i = 2 * how; i < 2 * how + 2; i++) {
				check_unharmed(&child[i]);
				target_dismiss(&child[i]);
				target_gone(child[i].pid);
			}
			say(how, image);
		}
		sweep();
		CHECK_FILES("SHUT-2", files(""), ==, 0);
	}
}

/* -- Exec --------------------------------------------------------------------------- */

static long long use_identifier_task(const void *trid)
{
	trace_id_t t;

	memcpy(&t, trid, sizeof t);
	CHECK_EQ("CREATE-15 INH-13 SHUT-4", posix_trace_start(t), EINVAL);
	CHECK_EQ("CREATE-15 INH-13 SHUT-4", posix_trace_shutdown(t), EINVAL);
	return 0;
}

/* The controller executes a program. It keeps its pid and start time, but its streams are gone. */
TEST(exec_of_controller)
{
	shm_private("");
	for EACH_KIND(kind)
	for (int inherited = 0; inherited < 2; inherited++) {
		struct target t = target_make(kind), c = target_fork();
		trace_id_t trid;

		target_control(&c, t.pid, inherited);
		trid = (trace_id_t)target_do(&c, target_trid_task, NULL, 0);
		target_send(&t, NO_ID, 0, 0, 10);
		CHECK_EQ("-", target_count(&c, NO_ID), 10);
		target_exec(&c);
		target_do(&c, use_identifier_task, &trid, sizeof trid);
		if (kind == USED) {
			sweep();
			CHECK_FILES("INH-13 SHUT-6 MODEL-20", files("stream-"), ==, 0);
		}
		UNTIL_STREAMS("INH-13 SHUT-6 MODEL-20", &t, 1, 0);
		CHECK_FILES("INH-13 SHUT-6 MODEL-20", files("stream-"), ==, 0);
		check_unharmed(&t);
		/* It may create a stream again. */
		target_control(&c, t.pid, inherited);
		CHECK_FILES("INH-13", files("stream-"), ==, 1);
		target_send(&t, NO_ID, 0, 0, 10);
		CHECK_EQ("INH-13 CREATE-1", target_count(&c, NO_ID), 10);
		target_do(&c, use_identifier_task, &trid, sizeof trid);
		target_end(&c);
		target_end(&t);
	}
}

static long long failing_exec_task(const void *arg)
{
	char name[] = "no such program", *arguments[] = { name, NULL };

	return execv("/no/such/program", arguments) == -1 ? errno : 0;
}

/* An exec that fails has no effect. */
TEST(exec_that_fails)
{
	struct target t, c;

	shm_private("");
	t = target_make(FRESH);
	c = target_fork();
	target_control(&c, t.pid, 0);
	target_control(&t, 0, 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ("-", target_do(i ? &t : &c, failing_exec_task, NULL, 0), ENOENT);
		sweep();
		CHECK_FILES("INH-13", files("stream-"), ==, 2);
		target_send(&t, NO_ID, 0, 0, 10);
		CHECK_EQ("INH-13 INH-11", target_count(&c, NO_ID), 10);
		CHECK_EQ("INH-13 INH-11", target_count(&t, NO_ID), 10);
	}
	target_end(&c);
	target_end(&t);
}

static void *exec_target_in_thread(void *arg)
{
	target_exec_task(NULL);
	return NULL;
}

static long long exec_in_thread_task(const void *arg)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, exec_target_in_thread, NULL) == 0);
	for (;;)
		pause();
}

static long long exec_by_shell_task(const void *arg)
{
	static char name[] = "sh", option[] = "-c", text[PATH_MAX + 200];
	char **own = target_command(), *arguments[] = { name, option, text, NULL };

	snprintf(text, sizeof text, "true; exec env %s --target %s", own[0], own[2]);
	execv("/bin/sh", arguments);
	_exit(97);
}

/*
 * The traced process executes a program. It is traced into the same streams, whatever their inheritance. Only the
 * streams that it has created itself are gone.
 */
TEST(exec_of_traced_process)
{
	static target_task *const how[] = { target_exec_task, exec_in_thread_task, exec_by_shell_task };

	shm_private("");
	for EACH_KIND(kind)
	for (int i = 0; i < 3; i++)
	for (int own_stream = 0; own_stream < 2; own_stream++) {
		struct target t = target_make(kind), old;
		trace_event_id_t a = target_id(&t, "exec.a"), b = target_id(&t, "exec.b"), c;
		struct target_stream inheriting = { t.pid, 0, 1, 0 };
		trace_id_t closed = stream_running_for(t.pid, NULL), inherited;
		char name[TRACE_EVENT_NAME_MAX + 1];

		MUST(target_create_task(&inheriting) == 0 && target_start_task(NULL) == 0);
		inherited = target_trid;
		stream_drain(inherited);
		if (own_stream)
			target_control(&t, 0, own_stream);
		for (unsigned round = 0; round < 3; round++) {
			target_send(&t, a, 0, round, 1);
			old = t;
			target_tell(&t, how[i], NULL, 0);
			t = target_accept();
			MUST(t.pid == old.pid);
			close(old.socket);
			target_send(&t, NO_ID, 1, round, 1);
			EXPECT_NUMBERS("INH-11 OBJ-9", closed, a, t.pid, 0, round, 1);
			EXPECT_NUMBERS("INH-11 OBJ-9 MODEL-32", closed, NO_ID, t.pid, 1, round, 1);
			EXPECT_NUMBERS("INH-11 OBJ-9", inherited, a, t.pid, 0, round, 1);
			EXPECT_NUMBERS("INH-11 OBJ-9 MODEL-32", inherited, NO_ID, t.pid, 1, round, 1);
			/* The new image has opened no names, but the ids of the names in the streams stay the same. */
			c = target_id(&t, "exec.c");
			CHECK("INH-12 MODEL-12", c != a && c != b && c != NO_ID);
			CHECK_EQ("INH-12 MODEL-12", target_id(&t, "exec.b"), b);
			CHECK_EQ("INH-12 MODEL-12", target_id(&t, "exec.a"), a);
			CHECK_EQ("INH-11 MODEL-15", posix_trace_eventid_get_name(closed, a, name), 0);
			CHECK_STR("INH-11 MODEL-15", name, "exec.a");
			CHECK_EQ("INH-11 MODEL-15", posix_trace_eventid_get_name(inherited, c, name), 0);
			CHECK_STR("INH-11 MODEL-15", name, "exec.c");
			CHECK_TRACED("INH-11", closed, &t, c);
			CHECK_EQ("INH-11", stream_count(inherited, c), 3);
			sweep();
			CHECK_FILES("INH-13 MODEL-20", files("stream-"), ==, 2);
			CHECK_FILES("INH-11 INH-13", target_streams(t.pid), ==, 2);
		}
		CHECK_EQ("INH-11", stream_drain(closed), 0);
		CHECK_EQ("INH-11", stream_drain(inherited), 0);
		stream_end(closed);
		stream_end(inherited);
		check_unharmed(&t);
		target_end(&t);
		sweep();
		CHECK_FILES("SHUT-2", files(""), ==, 0);
	}
}

/* More than half of the maximum number of names. */
#define MOST_NAMES (TRACE_USER_EVENT_MAX > 1000 ? TRACE_USER_EVENT_MAX / 8 * 7 : TRACE_USER_EVENT_MAX - 2)

static long long open_task(const void *arg)
{
	int first, n = 0;
	char name[32];

	memcpy(&first, arg, sizeof first);
	for (int i = 0; i < MOST_NAMES; i++) {
		snprintf(name, sizeof name, "many.%d", first + i);
		n += stream_id(name) != NO_ID;
	}
	return n;
}

/* Names of the earlier image no longer count. */
TEST(names_after_exec)
{
	shm_private("");
	for (int traced = 0; traced < 2; traced++) {
		struct target t = target_make(FRESH);
		trace_id_t trid = 0;
		int first = 0;

		if (traced)
			trid = stream_running_for(t.pid, NULL);
		CHECK_EQ("-", target_do(&t, open_task, &first, sizeof first), MOST_NAMES);
		target_exec(&t);
		first = MOST_NAMES;
		CHECK_EQ("INH-12 LIM-4", target_do(&t, open_task, &first, sizeof first), MOST_NAMES);
		if (traced)
			stream_end(trid);
		target_end(&t);
	}
}

/* -- The maximum number of streams ---------------------------------------------------- */

static trace_id_t held[TRACE_SYS_MAX];

/*
 * Creates streams for one process until creation fails, at most count of them. Returns 1000 times the error
 * plus the number of streams.
 */
struct create_many {
	pid_t pid;
	int count;
};

static long long create_many_task(const void *arg)
{
	const struct create_many *m = arg;
	trace_attr_t attr;
	int error = 0, n = 0;

	stream_attr(&attr, POSIX_TRACE_LOOP, 4096, 64);
	while (n < m->count && (error = posix_trace_create(m->pid, &attr, &held[n])) == 0)
		n++;
	return error * 1000 + n;
}

static long long create_many(const struct target *t, pid_t pid, int count)
{
	struct create_many m = { pid, count };

	return target_do(t, create_many_task, &m, sizeof m);
}

#define CONTROLLERS 4
#define SHARE (TRACE_SYS_MAX / CONTROLLERS)

static long long become_task(const void *uid)
{
	unsigned u;

	memcpy(&u, uid, sizeof u);
	target_become(u, u);
	return 0;
}

/*
 * The limit counts all processes of a user, except for dead ones, however they died. Another user has a separate limit.
 */
TEST(limit)
{
	/* All ways take long: by default one, another one each time. */
	int first = test_thorough() ? 0 : getpid() % ENDS, last = test_thorough() ? ENDS - 1 : first;

	shm_private("");
	for (int how = first; how <= last; how++) {
		struct target t = target_make(FRESH), c[CONTROLLERS], another = target_fork();
		unsigned uid = 65534;
		int n = 0;

		for (int i = 0; i < CONTROLLERS; i++) {
			int share = i == CONTROLLERS - 1 ? TRACE_SYS_MAX - n : SHARE;

			c[i] = target_fork();
			CHECK_EQ("CREATE-14 LIM-3", create_many(&c[i], i % 2 ? t.pid : 0, share), share);
			n += share;
		}
		for (int i = 0; i < CONTROLLERS; i++)
			CHECK_EQ("CREATE-14 CREATE-18", create_many(&c[i], i % 2 ? 0 : t.pid, 1), EAGAIN * 1000);
		CHECK_EQ("CREATE-14 CREATE-18", create_many(&another, 0, 1), EAGAIN * 1000);
		if (geteuid() == 0) {
			struct target stranger = target_fork();

			target_do(&stranger, become_task, &uid, sizeof uid);
			CHECK_EQ("CREATE-14", create_many(&stranger, 0, 2), 2);
			target_end(&stranger);
		}
		end(&c[0], how);
		CHECK_EQ("CREATE-14 SHUT-6", create_many(&another, 0, SHARE + 1), EAGAIN * 1000 + SHARE);
		CHECK_EQ("CREATE-18", create_many(&c[1], 0, 1), EAGAIN * 1000);
		end(&another, how);
		CHECK_EQ("CREATE-14 SHUT-6", create_many(&t, 0, SHARE + 1), EAGAIN * 1000 + SHARE);
		end(&c[1], how);
		CHECK_EQ("CREATE-14 SHUT-6", create_many(&c[2], 0, SHARE + 1), EAGAIN * 1000 + SHARE);
		for (int i = 2; i < CONTROLLERS; i++)
			target_end(&c[i]);
		target_end(&t);
		sweep();
		CHECK_FILES("SHUT-2", files(""), ==, 0);
		say(how, FRESH);
	}
}

/* All streams may trace the same process, which has room for them. */
TEST(limit_for_one_process)
{
	struct target t, c[CONTROLLERS];

	shm_private("");
	t = target_make(FRESH);
	for (int i = 0; i < CONTROLLERS; i++) {
		c[i] = target_fork();
		CHECK_EQ("CREATE-14", create_many(&c[i], t.pid, SHARE), SHARE);
		target_send(&t, NO_ID, 0, 0, 10);
	}
	CHECK_EQ("CREATE-14 CREATE-18", create_many(&t, 0, 1), EAGAIN * 1000);
	CHECK_FILES("CREATE-14", target_streams(t.pid), ==, CONTROLLERS * SHARE);
	target_kill(&c[0]);
	target_end(&c[1]);
	CHECK_EQ("CREATE-14 SHUT-6", create_many(&c[2], t.pid, 2 * SHARE), 2 * SHARE);
	CHECK_EQ("CREATE-18", create_many(&c[3], t.pid, 1), EAGAIN * 1000);
	target_send(&t, NO_ID, 0, 0, 10);
	target_end(&c[2]);
	target_end(&c[3]);
	target_send(&t, NO_ID, 0, 0, 10);
	CHECK_FILES("SHUT-6 SHUT-2", files("stream-"), ==, 0);
	check_unharmed(&t);
	target_end(&t);
}

TARGET_MAIN(TEST_ENTRY(controller), TEST_ENTRY(controller_as_user), TEST_ENTRY(noticed_by_the_next_create),
            TEST_ENTRY(states),
	    TEST_ENTRY(several), TEST_ENTRY(children_of_controller_live), TEST_ENTRY(first_thread_of_controller_ends),
	    TEST_ENTRY(while_target_is_stopped), TEST_ENTRY(both), TEST_ENTRY(traced_process),
	    TEST_ENTRY(controller_of_a_family),
	    TEST_ENTRY(parent_that_traces_itself), TEST_ENTRY(exec_of_controller), TEST_ENTRY(exec_that_fails),
	    TEST_ENTRY(exec_of_traced_process), TEST_ENTRY(names_after_exec), TEST_ENTRY(limit),
	    TEST_ENTRY(limit_for_one_process))
