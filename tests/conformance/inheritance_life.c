/*
 * inheritance_life.c - a stream that children inherit, while they record into it, lose events, and end
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdatomic.h>
#include <sys/resource.h>

#include "birth.h"

/* -- Ends ------------------------------------------------------------------------- */

enum { BY_EXIT, BY_UNDERSCORE_EXIT, BY_KILL, BY_EXEC, ENDS };

static long long end_task(const void *how)
{
	int h;

	memcpy(&h, how, sizeof h);
	for (unsigned i = 0; i < 10; i++)
		number_send(NO_ID, 9, i);
	switch (h) {
	case BY_EXIT:
		exit(0);
	case BY_UNDERSCORE_EXIT:
		_exit(0);
	case BY_KILL:
		raise(SIGKILL);
	}
	execl("/bin/true", "true", (char *)NULL);
	_exit(1);
}

/* A child ends: its events stay, the other processes are traced on, and more children are made. */
TEST(end_of_child)
{
	for (int self = 0; self < 2; self++)
	for (int how = 0; how < ENDS; how++) {
		struct target t, child, brother;
		trace_id_t trid;

		if (!self)
			t = target_make(USED);
		trid = inherited(self ? 0 : t.pid);
		if (!self)
			CHECK_TRACED("INH-1", trid, &t, NO_ID);
		brother = born(self ? NULL : &t, SPAWN);
		child = born(self ? NULL : &t, how % 2 ? FORK : EXEC);
		target_tell(&child, end_task, &how, sizeof how);
		if (self)
			MUST(waitpid(child.pid, NULL, 0) == child.pid);
		else
			target_gone(child.pid);
		EXPECT_NUMBERS("INH-16 MODEL-8", trid, NO_ID, child.pid, 9, 0, 10);
		CHECK_STR("INH-8 INH-16", state(trid), "RN");
		CHECK_TRACED("INH-8 INH-16", trid, &brother, NO_ID);
		if (!self)
			CHECK_TRACED("INH-8 INH-16", trid, &t, NO_ID);
		close(child.socket);
		child = born(self ? NULL : &t, FORK);
		CHECK_TRACED("INH-1", trid, &child, NO_ID);
		CHECK_LOST("-", lost_events(trid), ==, 0);
		target_dismiss(&child);
		target_dismiss(&brother);
		stream_end(trid);
		if (!self)
			target_end(&t);
		else
			while (waitpid(-1, NULL, 0) > 0)
				;
	}
}

/*
 * The process for which the stream was created ends: its children and their children are still traced, including those
 * that have not recorded yet.
 */
TEST(end_of_parent)
{
	for (int how = 0; how < ENDS; how++)
	for (int aware = 0; aware < 2; aware++) {
		struct target t = target_make(USED), child[4], grandchild;
		trace_id_t trid = inherited(t.pid);
		trace_event_id_t id;
		int status;

		CHECK_TRACED("INH-1", trid, &t, NO_ID);
		id = target_id(&t, "end of parent");
		child[0] = born(&t, FORK);
		child[1] = born(&t, SPAWN);
		child[2] = born(&t, CLONE);
		child[3] = born(&t, DAEMON);
		for (int i = 0; i < 4 && aware; i++)
			CHECK_TRACED("INH-1", trid, &child[i], NO_ID);
		target_tell(&t, end_task, &how, sizeof how);
		MUST(waitpid(t.pid, &status, 0) == t.pid);
		CHECK("-", how == BY_KILL ? WIFSIGNALED(status) : status == 0);
		EXPECT_NUMBERS("INH-16", trid, NO_ID, t.pid, 9, 0, 10);
		for (int i = 0; i < 4; i++) {
			CHECK_TRACED("INH-16 INH-5", trid, &child[i], NO_ID);
			CHECK_EQ("INH-16 INH-2", target_id(&child[i], "end of parent"), id);
			CHECK_TRACED("INH-16 INH-5", trid, &child[i], id);
		}
		for (int i = 0; i < 2; i++) {
			grandchild = born(&child[i], i ? FORK : SPAWN);
			CHECK_TRACED("INH-16 INH-5", trid, &grandchild, NO_ID);
			CHECK_EQ("INH-16 INH-2", target_id(&grandchild, "end of parent"), id);
			reaped(&child[i], FORK, &grandchild);
		}
		close(t.socket);
		for (int i = 0; i < 4; i++) {
			target_dismiss(&child[i]);
			target_gone(child[i].pid);
		}
		CHECK_STR("INH-16", state(trid), "RN");
		stream_end(trid);
	}
}

/*
 * After the shutdown no member of the family records, nothing of the stream stays in the members, and new children work
 * as usual.
 */
TEST(shutdown)
{
	for EACH_KIND(kind) {
		struct target t = target_make(kind), member[5];
		static const int way[] = { FORK, SPAWN, CLONE, DAEMON };
		int before = target_descriptors(t.pid);
		trace_id_t trid = inherited(t.pid), again;

		CHECK_TRACED("INH-1", trid, &t, NO_ID);
		for (int i = 0; i < 4; i++) {
			member[i] = born(&t, way[i]);
			if (i < 3)
				CHECK_TRACED("INH-1", trid, &member[i], NO_ID);
		}
		member[4] = t;
		stream_end(trid);
		for (int i = 0; i < 5; i++) {
			target_send(&member[i], NO_ID, 0, 0, 3);
			if (OURS_FILES && target_streams(member[i].pid))
				TEST_FAIL("SHUT-2", "member %d of the family of a target of kind %d has the stream "
				    "mapped", i, kind);
		}
		CHECK_FILES("SHUT-2", target_descriptors(t.pid), ==, before);
		again = closed(t.pid);
		CHECK_TRACED("CREATE-1", again, &t, NO_ID);
		for (int i = 0; i < 4; i++)
			CHECK_NOT_TRACED("INH-3", again, &member[i], NO_ID);
		stream_end(again);
		again = closed(member[1].pid);
		CHECK_TRACED("CREATE-1", again, &member[1], NO_ID);
		stream_end(again);
		for (int i = 0; i < 4; i++)
			target_dismiss(&member[i]);
		target_do(&t, reap_all_task, NULL, 0);
		target_end(&t);
	}
}

/* -- States, filters, losses ---------------------------------------------------------- */

TEST(states)
{
	struct target t = target_make(USED), child[2];
	trace_id_t trid = inherited(t.pid);
	trace_event_id_t id, hidden;
	trace_event_set_t set;
	struct stream_event e;

	CHECK_TRACED("INH-1", trid, &t, NO_ID);
	child[0] = born(&t, FORK);
	child[1] = born(&t, SPAWN);
	id = target_id(&child[0], "states");
	hidden = target_id(&child[1], "states.hidden");
	MUST(target_id(&child[0], "states.hidden") == hidden && target_id(&child[1], "states") == id);
	set = set_of(hidden);
	for (int round = 0; round < 3; round++) {
		MUST(posix_trace_stop(trid) == 0);
		stream_expect(trid, POSIX_TRACE_STOP, &e);
		for (int i = 0; i < 2; i++)
			CHECK_NOT_TRACED("MODEL-5 EVT-4", trid, &child[i], id);
		if (round == 1) { /* made while nothing runs */
			target_dismiss(&child[1]);
			child[1] = born(&t, SPAWN);
			MUST(target_id(&child[1], "states.hidden") == hidden && target_id(&child[1], "states") == id);
		}
		MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
		MUST(posix_trace_start(trid) == 0);
		stream_expect(trid, POSIX_TRACE_START, &e);
		for (int i = 0; i < 2; i++) {
			CHECK_TRACED("INH-1 MODEL-5", trid, &child[i], id);
			CHECK_NOT_TRACED("MODEL-5 EVT-4", trid, &child[i], hidden);
		}
		MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SUB_EVENTSET) == 0);
		stream_expect(trid, POSIX_TRACE_FILTER, &e);
		for (int i = 0; i < 2; i++)
			CHECK_TRACED("INH-1 MODEL-5", trid, &child[i], hidden);
	}
	CHECK_LOST("MODEL-8", lost_events(trid), ==, 0);
	stream_end(trid);
	reaped(&t, FORK, &child[0]);
	reaped(&t, SPAWN, &child[1]);
	target_end(&t);
}

enum { SHORT_REAPED, SHORT_ZOMBIES, SHORT_IMAGES, FAST_PATHS, SHORT_CHILDREN = 64 };

/* Each image of one process records one event and executes the next. */
static void short_image(int argc, char **argv)
{
	trace_event_id_t id = stream_id("short");
	char next[16];
	int i = atoi(argv[argc - 1]);

	number_send(id, 1, (unsigned)i);
	snprintf(next, sizeof next, "%d", i + 1);
	if (i + 1 < SHORT_CHILDREN)
		execl(target_path(), "target", "short", next, (char *)NULL);
	_exit(i + 1 < SHORT_CHILDREN);
}

static void short_children(int way, trace_event_id_t id)
{
	for (int i = 0; i < (way == SHORT_IMAGES ? 1 : SHORT_CHILDREN); i++) {
		pid_t pid = fork();
		siginfo_t ended;

		if (pid == 0) {
			if (way == SHORT_IMAGES)
				execl(target_path(), "target", "short", "0", (char *)NULL);
			number_send(id, 1, (unsigned)i);
			_exit(way == SHORT_IMAGES);
		}
		MUST(pid > 0 && waitid(P_PID, (id_t)pid, &ended, WEXITED | (way == SHORT_ZOMBIES ? WNOWAIT : 0)) == 0);
		MUST(ended.si_status == 0);
	}
	while (way == SHORT_ZOMBIES && wait(NULL) > 0)
		;
}

/*
 * LOOP keeps the newest events, whichever processes have recorded them: programs that record one event each and end do
 * not displace more than their own events. This also holds for zombies, and for images executed by one process.
 */
TEST(loop_and_short_children)
{
	enum { SIZE = 1 << 20 };
	trace_event_id_t id = stream_id("short");
	trace_attr_t attr;
	size_t one;

	stream_attr(&attr, POSIX_TRACE_LOOP, SIZE, NUMBER_SIZE);
	MUST(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED) == 0);
	MUST(posix_trace_attr_getmaxusereventsize(&attr, NUMBER_SIZE, &one) == 0);
	for (int way = 0; way < FAST_PATHS; way++) {
		unsigned last = 0, children = 0, numbers = 0;
		trace_id_t trid = stream_running(&attr);
		struct stream_event e;

		while (last < 3 * SIZE / one || stream_status(trid).posix_stream_full_status != POSIX_TRACE_FULL)
			number_send(id, 0, last++);
		short_children(way, id);
		while (stream_try(trid, &e)) {
			struct number n;

			if (e.info.posix_event_id != id)
				continue;
			n = number_of(e.data, e.len);
			CHECK_EQ("START-11", n.number, n.writer ? children : numbers ? last : n.number);
			if (n.writer) {
				children++;
			} else {
				numbers++;
				last = n.number + 1;
			}
		}
		CHECK_EQ("START-11 INH-1", children, SHORT_CHILDREN);
		CHECK_OP("START-11 ATTR-50", numbers, >=, SIZE / one / 2);
		stream_end(trid);
	}
}

/*
 * Many children at once, with exact counts. An UNTIL_FULL stream keeps all events whose sizes add up to the stream's,
 * whichever processes record them.
 */
#define CHILDREN 30
#define EACH_SENDS 100

TEST(many_children)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL };

	for (int p = 0; p < 2; p++) {
		int policy = policies[p];
		struct target t = target_make(USED), child[CHILDREN];
		unsigned next[CHILDREN] = { 0 };
		struct stream_event e;
		trace_attr_t attr;
		trace_id_t trid;
		size_t one, system_event;

		stream_attr(&attr, policy, 0, NUMBER_SIZE);
		MUST(posix_trace_attr_getmaxusereventsize(&attr, NUMBER_SIZE, &one) == 0);
		MUST(posix_trace_attr_getmaxsystemeventsize(&attr, &system_event) == 0);
		trid = running(t.pid, POSIX_TRACE_INHERITED, policy, (CHILDREN * EACH_SENDS + 3) * one + system_event);
		CHECK_TRACED("INH-1", trid, &t, NO_ID);
		for (int i = 0; i < CHILDREN; i++)
			child[i] = born(&t, (int[]){ FORK, SPAWN, CLONE }[i % 3]);
		for (int i = 0; i < CHILDREN; i++) {
			struct target_numbers n = { NO_ID, (unsigned)i, 0, EACH_SENDS };

			target_tell(&child[i], target_send_task, &n, sizeof n);
		}
		for (int i = 0; i < CHILDREN; i++)
			target_result(&child[i]);
		CHECK_LOST("MODEL-8 ATTR-49", lost_events(trid), ==, 0);
		CHECK_STR("ATTR-49", state(trid), "RN");
		while (stream_try(trid, &e) && test_failures < 10) {
			struct number n = number_of(e.data, e.len);

			MUST(n.writer < CHILDREN);
			CHECK_EQ("INH-6", e.info.posix_pid, child[n.writer].pid);
			CHECK_EQ("INH-1 MODEL-8 READ-21", n.number, next[n.writer]);
			next[n.writer] = n.number + 1;
		}
		for (int i = 0; i < CHILDREN; i++) {
			CHECK_EQ("INH-1 MODEL-8", next[i], EACH_SENDS);
			target_dismiss(&child[i]);
		}
		target_do(&t, reap_all_task, NULL, 0);
		CHECK_TRACED("INH-1", trid, &t, NO_ID);
		stream_end(trid);
		target_end(&t);
	}
}

/* Full streams: missing events are counted, whichever process lost them. */
TEST(full)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL };

	for (int p = 0; p < 2; p++) {
		int policy = policies[p];
		struct target t = target_make(USED), child[3];
		trace_id_t trid = running(t.pid, POSIX_TRACE_INHERITED, policy, 8192);
		unsigned long long lost;
		size_t n;

		CHECK_TRACED("INH-1", trid, &t, NO_ID);
		child[0] = born(&t, FORK);
		child[1] = born(&t, SPAWN);
		child[2] = born(&child[1], CLONE);
		for (int i = 0; i < 3; i++) {
			struct target_numbers one = { NO_ID, 0, 0, 1000 };

			target_tell(&child[i], target_send_task, &one, sizeof one);
		}
		for (int i = 0; i < 3; i++)
			target_result(&child[i]);
		CHECK_STR("STAT-15", state(trid), policy == POSIX_TRACE_LOOP ? "RF!" : "SF!");
		n = stream_count(trid, NO_ID);
		lost = lost_events(trid);
		CHECK_OP("MODEL-8", n, >, 10);
		CHECK_LOST("MODEL-8", n + lost, ==, 3000);
		for (int i = 0; i < 3; i++)
			CHECK_TRACED("INH-1 MODEL-8", trid, &child[i], NO_ID);
		stream_end(trid);
		reaped(&child[1], CLONE, &child[2]);
		reaped(&t, FORK, &child[0]);
		reaped(&t, SPAWN, &child[1]);
		target_end(&t);
	}
}

/* -- Parents with threads --------------------------------------------------------------- */

static atomic_int stopping;
static pthread_t writers[3];
static unsigned written[3];

static void *writer_run(void *number)
{
	unsigned n = 0;
	volatile unsigned pause = 0;

	while (!atomic_load(&stopping)) {
		number_send(NO_ID, (unsigned)(uintptr_t)number, n++);
		for (int i = 0; i < 20000; i++)
			pause++;
	}
	written[(uintptr_t)number] = n;
	return NULL;
}

#define BORN 40
#define CHILD_SENDS 20

static pid_t other_ways(int i)
{
#if SANITIZER_THREAD /* only fork() takes care of the sanitizer's locks */
	i = i % 2 * 3;
#endif
	switch (i % 4) {
	case 0:
		return fork();
	case 1:
		return fork_underscore();
	case 2:
		return fork_clone();
	}
	{
		pid_t pid = fork(), grandchild;

		if (pid != 0)
			return pid;
		grandchild = fork();
		if (grandchild == 0)
			return 0;
		waitpid(grandchild, NULL, 0);
		_exit(0);
	}
}

/* Threads record, and the process has children that record. */
static long long threads_task(const void *arg)
{
	for (uintptr_t i = 0; i < 3; i++)
		MUST(pthread_create(&writers[i], NULL, writer_run, (void *)i) == 0);
	for (int i = 0; i < BORN; i++) {
		pid_t pid = other_ways(i);

		if (pid == 0) {
			for (unsigned n = 0; n < CHILD_SENDS; n++)
				number_send(NO_ID, 100 + (unsigned)i, n);
			_exit(0);
		}
		MUST(pid > 0);
		if (i % 8 == 0)
			MUST(waitpid(pid, NULL, 0) == pid);
	}
	reap_all_task(NULL);
	atomic_store(&stopping, 1);
	for (int i = 0; i < 3; i++)
		MUST(pthread_join(writers[i], NULL) == 0);
	return 0;
}

static long long written_task(const void *number)
{
	int i;

	memcpy(&i, number, sizeof i);
	return written[i];
}

TEST(threads_and_forks)
{
	NEEDS_ROOM(128);
	for (int inheritance = 0; inheritance < 2; inheritance++)
	for (int kind = FRESH; kind <= USED; kind += USED - FRESH) {
		unsigned next[100 + BORN] = { 0 }, children = 0;
		pid_t pid[100 + BORN] = { 0 };
		struct target t = target_make(kind);
		trace_id_t trid = running(t.pid, inheritance ? POSIX_TRACE_INHERITED : POSIX_TRACE_CLOSE_FOR_CHILD, 0,
		                          64 << 20);
		struct stream_event e;

		target_do(&t, threads_task, NULL, 0);
		CHECK_LOST("MODEL-8", lost_events(trid), ==, 0);
		while (stream_try(trid, &e) && test_failures < 10) {
			struct number n = number_of(e.data, e.len);

			MUST(n.writer < 3 || (n.writer >= 100 && n.writer < 100 + BORN));
			CHECK_EQ("INH-1 INH-3 MODEL-8 THR-5", n.number, next[n.writer]);
			next[n.writer] = n.number + 1;
			if (pid[n.writer] == 0)
				pid[n.writer] = e.info.posix_pid;
			CHECK_EQ("INH-6 EVT-6", e.info.posix_pid, pid[n.writer]);
			if (n.writer < 3)
				CHECK_EQ("INH-6 EVT-6", e.info.posix_pid, t.pid);
			else
				CHECK_NE("INH-6 EVT-6", e.info.posix_pid, t.pid);
		}
		for (int i = 0; i < 3; i++)
			CHECK_EQ("INH-3 MODEL-8", next[i], target_do(&t, written_task, &i, sizeof i));
		for (int i = 0; i < BORN; i++) {
			children += next[100 + i];
			for (int j = 0; j < i && inheritance; j++)
				CHECK_NE("INH-6", pid[100 + i], pid[100 + j]);
		}
		CHECK_EQ("INH-1 INH-3 THR-5", children, inheritance ? BORN * CHILD_SENDS : 0);
		stream_end(trid);
		target_end(&t);
	}
}

/* -- Descriptors -------------------------------------------------------------------------- */

static long long lowest_task(const void *arg)
{
	int fd = dup(0);

	if (fd >= 0)
		close(fd);
	return fd;
}

static long long few_descriptors_task(const void *limit)
{
	struct rlimit r;
	int n;

	memcpy(&n, limit, sizeof n);
	MUST(getrlimit(RLIMIT_NOFILE, &r) == 0);
	r.rlim_cur = (rlim_t)n;
	return setrlimit(RLIMIT_NOFILE, &r);
}

/* A program gets the descriptor numbers that it expects, and the library keeps none of them open. */
TEST(descriptors)
{
	for EACH_KIND(kind)
	for (int limit = 0; limit <= 24; limit += 24) {
		struct target t = target_make(kind), child[2];
		int before = target_descriptors(t.pid);
		long long lowest = target_do(&t, lowest_task, NULL, 0), of_image;
		trace_id_t trid;

		if (limit)
			MUST(target_do(&t, few_descriptors_task, &limit, sizeof limit) == 0);
		child[0] = born(&t, SPAWN);
		of_image = target_do(&child[0], lowest_task, NULL, 0);
		reaped(&t, SPAWN, &child[0]);

		trid = closed(t.pid);
		CHECK_TRACED("CREATE-1", trid, &t, NO_ID);
		CHECK_FILES("INH-18", target_descriptors(t.pid), ==, before);
		stream_end(trid);
		trid = inherited(t.pid);
		CHECK_TRACED("INH-1", trid, &t, NO_ID);
		child[0] = born(&t, FORK);
		child[1] = born(&t, SPAWN);
		CHECK_TRACED("INH-1", trid, &child[0], NO_ID);
		CHECK_TRACED("INH-1", trid, &child[1], NO_ID);
		CHECK_EQ("INH-18", target_do(&t, lowest_task, NULL, 0), lowest);
		CHECK_EQ("INH-18", target_do(&child[1], lowest_task, NULL, 0), of_image);
		CHECK_FILES("INH-18", target_descriptors(t.pid), ==, before);
		stream_end(trid);
		target_send(&t, NO_ID, 0, 0, 2);
		target_send(&child[1], NO_ID, 0, 0, 2);
		CHECK_FILES("INH-18 SHUT-2", target_descriptors(t.pid), ==, before);
		CHECK_EQ("INH-18", target_do(&child[1], lowest_task, NULL, 0), of_image);
		reaped(&t, FORK, &child[0]);
		reaped(&t, SPAWN, &child[1]);
		target_end(&t);
	}
}

/* Closes all descriptors except those of the connection to the test. */
static long long close_all_task(const void *take_over)
{
	int take, null = open("/dev/null", O_RDWR);
	struct stat st, is_null;

	memcpy(&take, take_over, sizeof take);
	MUST(null >= 0 && fstat(null, &is_null) == 0);
	for (int fd = 3; fd < 4096; fd++) {
		if (fd == null || fstat(fd, &st) != 0 || S_ISSOCK(st.st_mode))
			continue;
		if (take)
			dup2(null, fd);
		else
			close(fd);
	}
	return 0;
}

/* Returns whether the descriptors that were taken over are unchanged. */
static long long still_null_task(const void *arg)
{
	struct stat st, null;
	int n = 0;

	MUST(stat("/dev/null", &null) == 0);
	for (int fd = 3; fd < 4096; fd++)
		n += fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == null.st_rdev;
	return n;
}

/* A program that closes all unknown descriptors, or uses their numbers itself: its children are still traced. */
TEST(descriptors_closed)
{
	for EACH_KIND(kind)
	for (int take_over = 0; take_over < 2; take_over++) {
		struct target t = target_make(kind), child;
		trace_id_t trid = inherited(t.pid);
		trace_event_id_t id = target_id(&t, "closed");
		long long null;

		CHECK_TRACED("INH-1", trid, &t, id);
		target_do(&t, close_all_task, &take_over, sizeof take_over);
		null = target_do(&t, still_null_task, NULL, 0);
		CHECK_TRACED("INH-1", trid, &t, id);
		child = born(&t, FORK);
		CHECK_TRACED("INH-1", trid, &child, id);
		reaped(&t, FORK, &child);
		child = born(&t, SPAWN);
		CHECK_TRACED("INH-1 INH-18", trid, &child, NO_ID);
		CHECK_EQ("INH-18 EVT-23", target_id(&child, "closed"), id);
		if (take_over)
			CHECK_EQ("INH-18", target_do(&child, still_null_task, NULL, 0), null);
		reaped(&t, SPAWN, &child);
		child = born(&t, DAEMON);
		CHECK_TRACED("INH-1 INH-18", trid, &child, id);
		reaped(&t, DAEMON, &child);
		CHECK_TRACED("INH-18 INH-1", trid, &t, id);
		stream_end(trid);
		target_send(&t, id, 0, 0, 3);
		CHECK_EQ("INH-18", target_do(&t, still_null_task, NULL, 0), null);
		target_end(&t);
	}
}

/* Programs that do not use tracing work, and do not disturb it. */
TEST(strangers)
{
	trace_id_t trid = inherited(0);

	number_send(NO_ID, 0, 0);
	CHECK_EQ("INH-8", system("true && test \"$(echo x | cat)\" = x && ls / | grep -q tmp"), 0);
	CHECK_EQ("INH-8", stream_count(trid, NO_ID), 1);
	CHECK_STR("INH-8", state(trid), "RN");
	stream_end(trid);
}

/* As TARGET_MAIN(), plus the images of loop_and_short_children. */
int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST_ENTRY(end_of_child), TEST_ENTRY(end_of_parent), TEST_ENTRY(shutdown), TEST_ENTRY(states),
		TEST_ENTRY(loop_and_short_children), TEST_ENTRY(many_children), TEST_ENTRY(full),
		TEST_ENTRY(threads_and_forks), TEST_ENTRY(descriptors), TEST_ENTRY(descriptors_closed),
		TEST_ENTRY(strangers), { NULL, NULL },
	};

	if (argc == 3 && strcmp(argv[1], "short") == 0)
		short_image(argc, argv);
	target_main(argc, argv);
	return test_main(tests, argc, argv);
}
