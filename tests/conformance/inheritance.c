/*
 * inheritance.c - children of a traced process: in the same stream, or in none
 *
 * Whichever way they come about, and to any depth. What becomes of a traced
 * process that executes another file, and of children whose controller ends, is
 * in ends.c; a process that forks while it traces itself, in fork.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "fork.h"
#include "sanitizer.h"
#include "target.h"

extern char **environ;

#define NO_ID POSIX_TRACE_UNNAMED_USEREVENT /* for trace points of a process that has opened no name */

/* -- Ways to have a child --------------------------------------------------- */

/*
 * Each runs in the parent and returns the child's process id, or 0 if the parent does not learn it. The child connects
 * to the test by itself.
 */

static pid_t by_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		target_serve();
	return pid;
}

static pid_t quick(pid_t pid)
{
	if (pid == 0) {
		target_quick = 1;
		target_serve();
	}
	return pid;
}

static pid_t by_underscore_fork(void)
{
	return quick(fork_underscore());
}

static pid_t by_system_call(void)
{
	return quick(fork_clone());
}

/* A sibling, as it has the same parent as its creator. */
static pid_t by_clone_parent(void)
{
	return quick((pid_t)syscall(SYS_clone, SIGCHLD | CLONE_PARENT, 0, 0, 0, 0));
}

/* Not with sanitizers, which assume that the parent's other threads still exist in the child. */
static void *fork_in_thread(void *pid)
{
	*(pid_t *)pid = quick(fork());
	return NULL;
}

static pid_t by_thread(void)
{
	pthread_t thread;
	pid_t pid;

	if (test_in_valgrind()) /* its leak check fails where memory is not passed on to children */
		return by_fork();
	MUST(pthread_create(&thread, NULL, fork_in_thread, &pid) == 0 && pthread_join(thread, NULL) == 0);
	return pid;
}

static volatile pid_t handler_child;

static void fork_in_handler(int signal)
{
	handler_child = by_underscore_fork();
}

static pid_t by_handler(void)
{
	MUST(signal(SIGUSR1, fork_in_handler) != SIG_ERR && raise(SIGUSR1) == 0);
	return handler_child;
}

/* Returns 0 in the grandchild. The process in between ends at once. */
static pid_t fork_twice(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pid_t middle = getpid();

		if (fork() != 0)
			_exit(0);
		while (getppid() == middle)
			usleep(100);
		return 0;
	}
	MUST(waitpid(pid, NULL, 0) == pid);
	return pid;
}

static pid_t by_double_fork(void)
{
	if (fork_twice() == 0)
		target_serve();
	return 0;
}

static void close_all(int from)
{
	for (int fd = from; fd < 4096; fd++)
		close(fd);
}

/* Returns 0 in the daemon. */
static pid_t fork_daemon(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		MUST(chdir("/") == 0);
		close_all(0);
		MUST(open("/dev/null", O_RDWR) == 0 && dup(0) == 1 && dup(0) == 2);
		return 0;
	}
	MUST(waitpid(pid, NULL, 0) == pid);
	return pid;
}

static pid_t by_daemon(void)
{
	if (fork_daemon() == 0)
		target_serve();
	return 0;
}

static pid_t execute(pid_t pid, const char *file, char *const *arguments)
{
	if (pid == 0) {
		execv(file, arguments);
		_exit(97);
	}
	return pid;
}

static pid_t by_fork_and_exec(void)
{
	char **arguments = target_command();

	return execute(fork(), arguments[0], arguments);
}

static pid_t by_vfork_and_exec(void)
{
	char **arguments = target_command();
	pid_t pid = vfork();

	if (pid == 0) {
		execv(arguments[0], arguments);
		_exit(97);
	}
	return pid;
}

static pid_t by_spawn(void)
{
	char **arguments = target_command();
	pid_t pid;

	MUST(posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ) == 0);
	return pid;
}

/* Returns a shell command that runs the target. */
static char *command(const char *format)
{
	static char text[2 * PATH_MAX], target[PATH_MAX + 200];
	char **arguments = target_command();

	snprintf(target, sizeof target, "%s --target %s", arguments[0], arguments[2]);
	snprintf(text, sizeof text, format, target);
	return text;
}

static pid_t by_system(void)
{
	CHECK_EQ("-", system(command("%s; exit $?")), 0);
	return 0;
}

/* The shell has ended. */
static pid_t by_system_in_background(void)
{
	CHECK_EQ("-", system(command("%s &")), 0);
	return 0;
}

static pid_t shell(const char *format)
{
	static char name[] = "sh", option[] = "-c";
	char *arguments[] = { name, option, command(format), NULL };

	execute(fork(), "/bin/sh", arguments);
	return 0;
}

static pid_t by_shells(void)
{
	return shell("sh -c 'sh -c \"%s; exit \\$?\"; exit $?'; exit $?");
}

static pid_t by_pipeline(void)
{
	return shell("%s </dev/null | cat");
}

static pid_t without_environment(void)
{
	return shell("exec env -i %s");
}

/* Programs that do not use tracing, each of which executes the next one. */
static pid_t by_chain_of_programs(void)
{
	return shell("exec env nice env sh -c 'exec %s'");
}

static pid_t by_double_fork_and_exec(void)
{
	char **arguments = target_command();

	execute(fork_twice(), arguments[0], arguments);
	return 0;
}

static pid_t by_daemon_and_exec(void)
{
	char **arguments = target_command();

	execute(fork_daemon(), arguments[0], arguments);
	return 0;
}

#define ORPHAN 1 /* its parent is outside of the test */
#define OURS   2 /* the parent's parent is its parent */
#define BLOCKS 4 /* the parent waits until the child ends */
#define SHELL  8 /* its parent is a shell, which is the parent's child */
#define MEMORY 16 /* has its parent's memory, and so its event ids */

static const struct way {
	const char *name;
	pid_t (*bear)(void);
	int flags;
} ways[] = {
	{ "fork", by_fork, MEMORY },
	{ "_Fork", by_underscore_fork, MEMORY },
	{ "the system call clone", by_system_call, MEMORY },
	{ "clone with CLONE_PARENT", by_clone_parent, MEMORY | OURS },
	{ "fork in a thread", by_thread, MEMORY },
	{ "_Fork in a handler", by_handler, MEMORY },
	{ "fork twice", by_double_fork, MEMORY | ORPHAN },
	{ "daemon", by_daemon, MEMORY | ORPHAN },
	{ "fork and exec", by_fork_and_exec, 0 },
	{ "vfork and exec", by_vfork_and_exec, 0 },
	{ "posix_spawn", by_spawn, 0 },
	{ "system", by_system, BLOCKS },
	{ "system in background", by_system_in_background, ORPHAN },
	{ "shells", by_shells, SHELL },
	{ "pipeline", by_pipeline, SHELL },
	{ "no environment", without_environment, 0 },
	{ "chain of programs", by_chain_of_programs, 0 },
	{ "fork twice and exec", by_double_fork_and_exec, ORPHAN },
	{ "daemon and exec", by_daemon_and_exec, ORPHAN },
};
#define WAYS (int)(sizeof ways / sizeof ways[0])
enum { FORK, UNDERSCORE_FORK, CLONE, CLONE_BROTHER, THREAD, HANDLER, DOUBLE, DAEMON, EXEC, VFORK, SPAWN,
       DOUBLE_EXEC = 17 };

static long long bear_task(const void *way)
{
	int w;

	memcpy(&w, way, sizeof w);
	return ways[w].bear();
}

/* Waits for one child, for any child if the number is -1, or for all. */
static long long reap_task(const void *pid)
{
	int status;
	pid_t p;

	memcpy(&p, pid, sizeof p);
	MUST(waitpid(p, &status, 0) > 0);
	return status;
}

static long long reap_all_task(const void *arg)
{
	int status, failed = 0;

	while (waitpid(-1, &status, 0) > 0)
		failed += status != 0;
	return failed;
}

/* The parent makes a child in this way. A null parent means this process. */
static struct target born(const struct target *parent, int way)
{
	struct target child;
	long long pid;

	if (!parent) {
		MUST(!(ways[way].flags & BLOCKS));
		target_listen();
		pid = ways[way].bear();
		child = target_accept();
	} else {
		target_tell(parent, bear_task, &way, sizeof way);
		child = target_accept();
		pid = ways[way].flags & BLOCKS ? 0 : target_result(parent);
	}
	MUST(pid == 0 || pid == child.pid);
	return child;
}

static void reaped(const struct target *parent, int way, struct target *child)
{
	pid_t pid = ways[way].flags & SHELL ? -1 : child->pid;
	int status = 0;

	target_dismiss(child);
	if (ways[way].flags & BLOCKS)
		target_result(parent);
	else if (ways[way].flags & ORPHAN)
		target_gone(child->pid);
	else if (parent && !(ways[way].flags & OURS))
		status = (int)target_do(parent, reap_task, &pid, sizeof pid);
	else if (parent || !(ways[way].flags & OURS)) /* otherwise it is not a child of this process */
		MUST(waitpid(pid, &status, 0) > 0);
	CHECK_EQ("-", status, 0);
}

/* -- Streams ------------------------------------------------------------------ */

static trace_id_t running(pid_t pid, int inheritance, int policy, size_t size)
{
	trace_attr_t attr;
	trace_id_t trid;

	stream_attr(&attr, policy, size, NUMBER_SIZE);
	MUST(posix_trace_attr_setinherited(&attr, inheritance) == 0);
	trid = stream_running_for(pid, &attr);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	return trid;
}

static trace_id_t inherited(pid_t pid)
{
	return running(pid, POSIX_TRACE_INHERITED, 0, 0);
}

static trace_id_t closed(pid_t pid)
{
	return running(pid, POSIX_TRACE_CLOSE_FOR_CHILD, 0, 0);
}

#define CHECK_NOT_TRACED(ids, trid, target, id)                  \
	do {                                                     \
		target_send(target, id, 0, 0, 3);                \
		CHECK_EQ(ids, stream_drain(trid), 0);            \
	} while (0)

/* Says which way of making a child the failures belong to. */
static int said;

static void say(int way, int kind)
{
	if (test_failures != said)
		fprintf(stderr, "  ... %s, target of kind %d\n", ways[way].name, kind);
	said = test_failures;
}

/* -- A child is traced, or not ------------------------------------------------- */

/* In each way, from a parent that is recording. */
static void each_way(int kind)
{
	struct target t = target_make(kind);
	trace_id_t trid = inherited(t.pid), single = closed(t.pid);
	trace_event_id_t id = target_id(&t, "way");

	CHECK_TRACED("INH-1", trid, &t, id);
	stream_drain(single);
	for (int way = 0; way < WAYS; way++) {
		struct target child = born(&t, way);

		CHECK_NE("INH-6", child.pid, t.pid);
		if (ways[way].flags & MEMORY) {
			CHECK_TRACED("INH-1 INH-2 INH-6 INH-10 OBJ-8", trid, &child, id);
		} else {
			CHECK_TRACED("INH-1 INH-9 INH-6 OBJ-8 OBJ-9", trid, &child, NO_ID);
			CHECK_EQ("INH-9 EVT-18 EVT-23", target_id(&child, "way"), id);
			CHECK_TRACED("INH-1 INH-9 INH-6", trid, &child, id);
		}
		CHECK_EQ("INH-3 INH-4 OBJ-8", stream_drain(single), 0);
		reaped(&t, way, &child);
		CHECK_TRACED("INH-1 INH-3 INH-16", trid, &t, id);
		CHECK_TRACED("INH-3 INH-4", single, &t, id);
		CHECK_EQ("INH-1", stream_drain(trid), 3);
		stream_drain(trid);
		stream_drain(single);
		CHECK_LOST("-", lost_events(trid), ==, 0);
		say(way, kind);
	}
	stream_end(single);
	stream_end(trid);
	target_end(&t);
}

TEST(ways)
{
	for EACH_KIND(kind)
		each_way(kind);
}

TEST(ways_as_user)
{
	target_become(65534, 65534);
	if (access(target_path(), X_OK) != 0)
		SKIP("this program lies where another user may not execute it");
	for EACH_KIND(kind)
		each_way(kind);
}

/* The parent has not reached a trace point since the stream exists, or never has. */
static void of_unaware_parent(void)
{
	for EACH_KIND(kind)
	for (int way = 0; way < WAYS; way++) {
		struct target t = target_make(kind), child;
		trace_id_t single = closed(t.pid), trid = inherited(t.pid);
		trace_event_id_t id;

		child = born(&t, way);
		CHECK_TRACED("INH-1 INH-5 INH-9 MODEL-32", trid, &child, NO_ID);
		id = target_id(&child, "unaware");
		CHECK_TRACED("INH-1 INH-9 INH-6", trid, &child, id);
		reaped(&t, way, &child);
		CHECK_TRACED("INH-1", single, &t, NO_ID);
		CHECK_EQ("INH-1", stream_count(trid, NO_ID), 3);
		CHECK_EQ("EVT-18 EVT-23", target_id(&t, "unaware"), id);
		CHECK_EQ("INH-3 INH-4", stream_drain(single), 0);
		stream_end(single);
		stream_end(trid);
		target_end(&t);
		say(way, kind);
	}
}

TEST(unaware_parent)
{
	of_unaware_parent();
}

/* This process uses the library, has nothing to pass on, and is an ancestor of the parent. */
TEST(unaware_parent_between)
{
	stream_id("between");
	of_unaware_parent();
}

/*
 * A stream that is closed for children, which is the default: nothing of the child is recorded, however the child is
 * made, even if the parent has not noticed the stream.
 */
TEST(closed_for_children)
{
	for EACH_KIND(kind)
	for (int explicitly = 0; explicitly < 2; explicitly++) {
		struct target t = target_make(kind);
		trace_id_t trid = explicitly ? closed(t.pid) : stream_running_for(t.pid, NULL);
		trace_event_id_t id = 0;

		for (int way = 0; way < WAYS; way++) {
			struct target child = born(&t, way);

			CHECK_NOT_TRACED("INH-3 INH-9 OBJ-8", trid, &child, NO_ID);
			if (id && (ways[way].flags & MEMORY))
				CHECK_NOT_TRACED("INH-3", trid, &child, id);
			CHECK_NOT_TRACED("INH-3 INH-9", trid, &child, target_id(&child, "closed"));
			reaped(&t, way, &child);
			id = target_id(&t, "closed");
			CHECK_TRACED("INH-3", trid, &t, id);
			CHECK_LOST("INH-3", lost_events(trid), ==, 0);
			say(way, kind);
		}
		stream_end(trid);
		target_end(&t);
	}
}

/* A child that is not traced has its parent's ids nevertheless. */
TEST(copied_names)
{
	for EACH_KIND(kind)
	for (int way = 0; way < WAYS; way++) {
		struct target t = target_make(kind), child;
		trace_id_t trid = closed(t.pid), of_child;
		trace_event_id_t id = target_id(&t, "copied"), mine, theirs;
		char name[TRACE_EVENT_NAME_MAX + 1];

		if (!(ways[way].flags & MEMORY))
			continue;
		child = born(&t, way);
		of_child = closed(child.pid);
		CHECK_TRACED("INH-10 CREATE-1", of_child, &child, id);
		CHECK_EQ("INH-10", target_id(&child, "copied"), id);
		CHECK_EQ("INH-10 CREATE-26", posix_trace_eventid_get_name(of_child, id, name), 0);
		CHECK_STR("INH-10 CREATE-26", name, "copied");
		/* Names opened from now on are separate. */
		theirs = target_id(&child, "of the child");
		mine = target_id(&t, "of the parent");
		CHECK_EQ("MODEL-14 MODEL-15", posix_trace_eventid_get_name(trid, mine, name), 0);
		CHECK_STR("MODEL-14 MODEL-15", name, "of the parent");
		CHECK_EQ("MODEL-14 MODEL-15", posix_trace_eventid_get_name(of_child, theirs, name), 0);
		CHECK_STR("MODEL-14 MODEL-15", name, "of the child");
		CHECK_TRACED("MODEL-7", of_child, &child, theirs);
		CHECK_EQ("INH-3", stream_drain(trid), 0);
		CHECK_TRACED("MODEL-7", trid, &t, mine);
		CHECK_EQ("INH-3", stream_drain(of_child), 0);
		stream_end(of_child);
		stream_end(trid);
		reaped(&t, way, &child);
		target_end(&t);
		say(way, kind);
	}
}

/* Each stream is inherited or not by its own attribute, and each member of the family may have streams of its own. */
TEST(each_stream_for_itself)
{
	for EACH_KIND(kind)
	for (int way = FORK; way <= SPAWN; way += way == FORK ? SPAWN : 1) {
		struct target t = target_make(kind), child, grandchild, late;
		trace_id_t both = inherited(t.pid), parent = closed(t.pid), below, last;
		trace_event_id_t id;

		child = born(&t, way);
		below = inherited(child.pid);
		grandchild = born(&child, way);
		last = closed(grandchild.pid);
		id = target_id(&grandchild, "stream");
		MUST(target_id(&child, "stream") == id && target_id(&t, "stream") == id);
		CHECK_EQ("-", stream_drain(both) + stream_drain(parent) + stream_drain(below) + stream_drain(last), 0);
		target_send(&grandchild, id, 3, 0, 3);
		target_send(&child, id, 2, 0, 3);
		target_send(&t, id, 1, 0, 3);
		EXPECT_NUMBERS("INH-4 INH-5", both, id, grandchild.pid, 3, 0, 3);
		EXPECT_NUMBERS("INH-4 INH-1", both, id, child.pid, 2, 0, 3);
		EXPECT_NUMBERS("INH-4 INH-1", both, id, t.pid, 1, 0, 3);
		EXPECT_NUMBERS("INH-4 INH-3", parent, id, t.pid, 1, 0, 3);
		EXPECT_NUMBERS("INH-4 INH-5", below, id, grandchild.pid, 3, 0, 3);
		EXPECT_NUMBERS("INH-4 INH-1", below, id, child.pid, 2, 0, 3);
		EXPECT_NUMBERS("INH-4 INH-3", last, id, grandchild.pid, 3, 0, 3);
		CHECK_EQ("INH-4", stream_drain(both) + stream_drain(parent) + stream_drain(below) + stream_drain(last),
		         0);
		/* One of the streams ends. */
		stream_end(both);
		late = born(&t, way);
		target_send(&late, id, 4, 0, 3);
		target_send(&grandchild, id, 3, 3, 3);
		target_send(&t, id, 1, 3, 3);
		EXPECT_NUMBERS("INH-4", below, id, grandchild.pid, 3, 3, 3);
		EXPECT_NUMBERS("INH-4", last, id, grandchild.pid, 3, 3, 3);
		EXPECT_NUMBERS("INH-4", parent, id, t.pid, 1, 3, 3);
		CHECK_EQ("INH-4 INH-3", stream_drain(parent) + stream_drain(below) + stream_drain(last), 0);
		reaped(&t, way, &late);
		reaped(&child, way, &grandchild);
		reaped(&t, way, &child);
		stream_end(parent);
		stream_end(below);
		stream_end(last);
		target_end(&t);
		say(way, kind);
	}
}

/* Existing children are not traced, nor are their children, however shortly before the stream they began. */
TEST(existing_children)
{
	for EACH_KIND(kind)
	for (int way = 0; way < WAYS; way++)
	for (int late = 0; late < 2; late++) {
		struct target t, old, young, grandchild;
		trace_id_t trid;
		int again;

		if (ways[way].flags & BLOCKS)
			continue;
		t = target_make(kind);
		old = born(&t, way);
		trid = inherited(t.pid);
		if (late) /* whichever process reaches a trace point first */
			CHECK_NOT_TRACED("INH-5", trid, &old, NO_ID);
		young = born(&t, way);
		CHECK_TRACED("INH-1 INH-5", trid, &young, NO_ID);
		if (!late)
			CHECK_NOT_TRACED("INH-5", trid, &old, NO_ID);
		/*
		 * A child of fork() in a thread should not make threads, and a child in a signal handler does not wait
		 * for signals.
		 */
		again = way == THREAD ? FORK : way == HANDLER ? UNDERSCORE_FORK : way;
		grandchild = born(&old, again);
		CHECK_NOT_TRACED("INH-5", trid, &grandchild, NO_ID);
		CHECK_TRACED("INH-1", trid, &t, NO_ID);
		CHECK_NOT_TRACED("INH-5", trid, &old, NO_ID);
		if (ways[again].flags & OURS)
			reaped(&t, again, &grandchild); /* their parent is the parent of t's child */
		else
			reaped(&old, again, &grandchild);
		reaped(&t, way, &young);
		reaped(&t, way, &old);
		stream_end(trid);
		target_end(&t);
		say(way, kind);
	}
}

/*
 * A process in between had an inherited stream of its own, and both have ended. Its descendant that has not reached a
 * trace point yet is traced like the others.
 */
TEST(stream_between)
{
	for (int first = 0; first < 2; first++) {
		struct target t = target_make(USED), between, child;
		trace_id_t outer, inner;
		pid_t pid;

		outer = inherited(t.pid);
		between = born(&t, EXEC);
		pid = between.pid;
		CHECK_TRACED("INH-1", outer, &between, NO_ID);
		inner = inherited(pid);
		child = born(&between, DOUBLE_EXEC);
		if (first)
			stream_end(inner);
		reaped(&t, EXEC, &between);
		if (!first)
			stream_end(inner);
		CHECK_TRACED("INH-1 INH-9", outer, &child, NO_ID);
		reaped(NULL, DOUBLE_EXEC, &child);
		stream_end(outer);
		/* Afterwards none of its files is left. */
		stream_end(closed(t.pid));
		CHECK_FILES("INH-14", shm_files_of(pid, "page"), ==, 0);
		target_end(&t);
	}
}

/* A chain of children, made in each way in turn. */
#define DEPTH 20

TEST(depth)
{
	for (int aware = 0; aware < 2; aware++) {
		struct target line[DEPTH + 1];
		int way[DEPTH];
		trace_id_t trid;
		trace_event_id_t id;

		line[0] = target_make(aware ? USED : FRESH);
		trid = inherited(line[0].pid);
		for (int i = 0; i < DEPTH; i++) {
			way[i] = (int[]){ FORK, SPAWN, CLONE, EXEC, UNDERSCORE_FORK, VFORK, THREAD }[i % 7];
			if (aware)
				CHECK_TRACED("INH-5", trid, &line[i], NO_ID);
			line[i + 1] = born(&line[i], way[i]);
		}
		for (int i = DEPTH; i >= 0; i--)
			CHECK_TRACED("INH-1 INH-5 INH-6", trid, &line[i], NO_ID);
		id = target_id(&line[DEPTH], "depth");
		CHECK_EQ("INH-2 EVT-23", target_id(&line[0], "depth"), id);
		CHECK_EQ("INH-2 EVT-23", target_id(&line[DEPTH / 2], "depth"), id);
		CHECK_TRACED("INH-5", trid, &line[DEPTH], id);
		for (int i = DEPTH; i-- > 0;)
			reaped(&line[i], way[i], &line[i + 1]);
		CHECK_TRACED("INH-5 INH-16", trid, &line[0], id);
		stream_end(trid);
		target_end(&line[0]);
	}
}

/* A process traces itself and its children. */
TEST(own_stream)
{
	trace_id_t trid = inherited(0), single = closed(0);
	trace_event_id_t id = stream_id("own"), theirs;
	char name[TRACE_EVENT_NAME_MAX + 1];

	for (int way = 0; way < WAYS; way++) {
		struct target child;

		if (ways[way].flags & BLOCKS)
			continue;
		child = born(NULL, way);
		if (ways[way].flags & MEMORY)
			CHECK_TRACED("INH-1 INH-2 INH-6", trid, &child, id);
		CHECK_TRACED("INH-1 INH-9", trid, &child, NO_ID);
		snprintf(name, sizeof name, "own.%d", way);
		theirs = target_id(&child, name);
		CHECK_TRACED("INH-1 INH-9", trid, &child, theirs);
		CHECK_EQ("INH-2 EVT-23", stream_id(name), theirs);
		number_send(id, 1, (unsigned)way);
		EXPECT_NUMBERS("INH-4", single, id, getpid(), 1, (unsigned)way, 1);
		EXPECT_NUMBERS("INH-1", trid, id, getpid(), 1, (unsigned)way, 1);
		CHECK_EQ("INH-3 INH-4", stream_drain(single), 0);
		reaped(NULL, way, &child);
		say(way, 0);
	}
	stream_end(single);
	stream_end(trid);
}

/* -- Names --------------------------------------------------------------------- */

static trace_event_id_t outside(trace_id_t trid, const char *name)
{
	trace_event_id_t id = 0;

	MUST(posix_trace_trid_eventid_open(trid, name, &id) == 0);
	return id;
}

/* The whole family shares one mapping of names, whichever member opens a name first. */
TEST(names_of_a_family)
{
	for EACH_KIND(kind) {
		static const int way[] = { FORK, SPAWN, EXEC, CLONE };
		struct target member[6];
		trace_id_t trid, second;
		trace_event_id_t id[7], old;
		char name[TRACE_EVENT_NAME_MAX + 1];
		struct ids seen = { .n = 0 };

		member[0] = target_make(kind);
		old = target_id(&member[0], "family.old");
		trid = inherited(member[0].pid);
		if (kind == USED) /* otherwise it notices the stream through its children */
			CHECK_TRACED("INH-1", trid, &member[0], old);
		for (int i = 0; i < 4; i++)
			member[i + 1] = born(&member[0], way[i]);
		member[5] = born(&member[2], FORK);
		second = closed(member[3].pid);
		/* Each member opens one name first. */
		for (int i = 0; i < 6; i++) {
			snprintf(name, sizeof name, "family.%d", i);
			id[i] = target_id(&member[i], name);
		}
		id[6] = outside(trid, "family.6");
		for (int i = 0; i < 7; i++) {
			MUST(id[i] != NO_ID);
			CHECK_EQ("EVT-18 ID-17 MODEL-12", ids_add(&seen, id[i]), 0);
			snprintf(name, sizeof name, "family.%d", i);
			for (int j = 0; j < 6; j++)
				CHECK_EQ("EVT-18 EVT-19 EVT-23 ID-17 ID-18", target_id(&member[j], name), id[i]);
			CHECK_EQ("ID-17 ID-18", outside(trid, name), id[i]);
			CHECK_EQ("ID-17 ID-24", outside(second, name), id[i]);
		}
		CHECK_EQ("EVT-18", ids_times(&seen, old), 0);
		for (int j = 0; j < 6; j++)
			CHECK_EQ("INH-2 EVT-23", target_id(&member[j], "family.old"), old);
		/* The events have these names. */
		for (int j = 0; j < 6; j++) {
			CHECK_TRACED("EVT-23", trid, &member[j], id[5 - j]);
			MUST(posix_trace_eventid_get_name(trid, id[5 - j], name) == 0);
			CHECK_EQ("EVT-23 MODEL-15", name[7], '0' + 5 - j);
		}
		{
			int unavailable, count = 0;
			trace_event_id_t next;

			for (;;) {
				MUST(posix_trace_eventtypelist_getnext_id(trid, &next, &unavailable) == 0);
				if (unavailable)
					break;
				MUST(posix_trace_eventid_get_name(trid, next, name) == 0);
				count += strncmp(name, "family.", 7) == 0;
			}
			CHECK_EQ("MODEL-15 ID-29", count, 8);
		}
		stream_end(second);
		stream_end(trid);
		reaped(&member[2], FORK, &member[5]);
		for (int i = 1; i < 5; i++)
			reaped(&member[0], way[i - 1], &member[i]);
		target_end(&member[0]);
	}
}

/* All members open the same names at the same time. */
#define MANY (TRACE_USER_EVENT_MAX > 250 ? 200 : TRACE_USER_EVENT_MAX - 8)

static long long open_many_task(const void *step)
{
	unsigned i = 0, s;
	char name[32];

	memcpy(&s, step, sizeof s);
	for (unsigned n = 0; n < MANY; n++, i = (i + s) % MANY) {
		snprintf(name, sizeof name, "many.%u", i);
		stream_id(name);
	}
	return 0;
}

TEST(names_at_the_same_time)
{
	struct target t = target_make(USED), child[4];
	static const int way[] = { FORK, SPAWN, CLONE, EXEC };
	trace_id_t trid = inherited(t.pid);
	static struct ids seen;

	CHECK_TRACED("INH-1", trid, &t, NO_ID);
	for (int i = 0; i < 4; i++)
		child[i] = born(&t, way[i]);
	for (int i = 0; i < 4; i++) {
		unsigned step = (unsigned[]){ 1, MANY - 1, 7, 13 }[i];

		target_tell(&child[i], open_many_task, &step, sizeof step);
	}
	for (int i = 0; i < 4; i++)
		target_result(&child[i]);
	for (unsigned n = 0; n < MANY; n++) {
		trace_event_id_t id;
		char name[32];

		snprintf(name, sizeof name, "many.%u", n);
		id = target_id(&t, name);
		MUST(id != NO_ID);
		CHECK_EQ("EVT-18 MODEL-12", ids_add(&seen, id), 0);
		for (int i = 0; i < 4; i++)
			CHECK_EQ("EVT-18 EVT-19 EVT-23", target_id(&child[i], name), id);
		CHECK_EQ("ID-17", outside(trid, name), id);
	}
	for (int i = 0; i < 4; i++)
		reaped(&t, way[i], &child[i]);
	stream_end(trid);
	target_end(&t);
}

struct own_names {
	int sibling, count;
};

static long long own_names_task(const void *arg)
{
	struct own_names own;
	int named = 0;
	char name[32];

	memcpy(&own, arg, sizeof own);
	for (int i = 0; i < own.count; i++) {
		snprintf(name, sizeof name, "sibling.%d.%d", own.sibling, i);
		named += stream_id(name) != NO_ID;
	}
	return named;
}

/* Three siblings open many types each, as programs with different libraries do: all types have a name. */
TEST(names_of_siblings)
{
	struct target t = target_make(FRESH), child[3];
	trace_id_t trid = inherited(t.pid);
	struct own_names own = { 0, TRACE_USER_EVENT_MAX > 2000 ? 1200 : (TRACE_USER_EVENT_MAX - 1) / 3 };

	for (int i = 0; i < 3; i++)
		child[i] = born(&t, i == 1 ? SPAWN : FORK);
	for (own.sibling = 0; own.sibling < 3; own.sibling++)
		CHECK_EQ("EVT-16 EVT-18 LIM-4", target_do(&child[own.sibling], own_names_task, &own, sizeof own),
		         own.count);
	stream_end(trid);
	for (int i = 0; i < 3; i++)
		reaped(&t, i == 1 ? SPAWN : FORK, &child[i]);
	target_end(&t);
}

/* A family has no more names than the limit, and a name beyond it is refused in all members. */
TEST(name_limit)
{
	struct target t = target_make(FRESH), child[2];
	trace_id_t trid = inherited(t.pid);
	trace_event_id_t id;
	unsigned n;
	char name[32];

	child[0] = born(&t, FORK);
	child[1] = born(&t, SPAWN);
	for (n = 0; n < TRACE_USER_EVENT_MAX + 10; n++) {
		snprintf(name, sizeof name, "limit.%u", n);
		id = target_id(n % 3 == 2 ? &t : &child[n % 3], name);
		if (id == NO_ID)
			break;
	}
	CHECK_EQ("EVT-16 EVT-23 LIM-4", n, TRACE_USER_EVENT_MAX - 1);
	CHECK_EQ("EVT-20", target_id(&t, name), NO_ID);
	CHECK_EQ("EVT-20", target_id(&child[0], name), NO_ID);
	CHECK_EQ("EVT-20", target_id(&child[1], name), NO_ID);
	CHECK_EQ("EVT-20 ID-19", outside(trid, name), NO_ID);
	for (n = 0; n < 6; n++) {
		snprintf(name, sizeof name, "limit.%u", n);
		id = outside(trid, name);
		CHECK_NE("EVT-19", id, NO_ID);
		CHECK_EQ("EVT-19 EVT-23", target_id(&t, name), id);
		CHECK_EQ("EVT-19 EVT-23", target_id(&child[0], name), id);
		CHECK_EQ("EVT-19 EVT-23", target_id(&child[1], name), id);
	}
	stream_end(trid);
	reaped(&t, FORK, &child[0]);
	reaped(&t, SPAWN, &child[1]);
	target_end(&t);
}

/* -- The origin of an event ----------------------------------------------------------- */

static long long tid_task(const void *arg)
{
	return syscall(SYS_gettid);
}

static void *send_in_thread(void *arg)
{
	target_send_task(arg);
	return NULL;
}

static long long send_in_thread_task(const void *arg)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, send_in_thread, (void *)(uintptr_t)arg) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	return (long long)(uintptr_t)thread;
}

TEST(origin)
{
	struct target t = target_make(USED);
	trace_id_t trid = inherited(t.pid);
	static const int way[] = { FORK, UNDERSCORE_FORK, CLONE, EXEC, SPAWN };

	CHECK_TRACED("INH-1", trid, &t, NO_ID);
	for (int i = 0; i < 5; i++) {
		struct target child = born(&t, way[i]);
		struct target_numbers one = { NO_ID, 0, 0, 1 };
		struct stream_event e;
		long long thread;

		target_send(&child, NO_ID, 0, 0, 1);
		stream_expect(trid, NO_ID, &e);
		CHECK_EQ("INH-6 EVT-6", e.info.posix_pid, child.pid);
		CHECK_TID("INH-6 HDR-12", &e.info, ==, target_do(&child, tid_task, NULL, 0));
		CHECK_EQ("EVT-7", (uintptr_t)e.info.posix_thread_id,
		         (uintptr_t)target_do(&child, target_pthread, NULL, 0));
		if (way[i] == FORK || way[i] == EXEC || way[i] == SPAWN) { /* the others must not have threads */
			thread = target_do(&child, send_in_thread_task, &one, sizeof one);
			stream_expect(trid, NO_ID, &e);
			CHECK_EQ("INH-6 EVT-6", e.info.posix_pid, child.pid);
			CHECK_TID("HDR-12", &e.info, !=, child.pid);
			CHECK_EQ("EVT-7", (uintptr_t)e.info.posix_thread_id, (uintptr_t)thread);
		}
		reaped(&t, way[i], &child);
	}
	stream_end(trid);
	target_end(&t);
}

/* -- Control ------------------------------------------------------------------------ */

/* Uses the identifier in every function, in a child of the creator. */
static long long use_identifier_task(const void *arg)
{
	struct posix_trace_status_info s;
	struct posix_trace_event_info e;
	struct timespec soon = now_plus_ms(1000);
	trace_event_set_t set = set_of(NO_ID);
	trace_event_id_t id;
	trace_attr_t attr;
	trace_id_t trid;
	char name[TRACE_EVENT_NAME_MAX + 1];
	size_t len;
	int unavailable;

	memcpy(&trid, arg, sizeof trid);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_start(trid), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_stop(trid), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_clear(trid), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_flush(trid), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_get_attr(trid, &attr), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_get_status(trid, &s), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_get_filter(trid, &set), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_trid_eventid_open(trid, "name", &id), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_eventid_get_name(trid, POSIX_TRACE_START, name), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_eventtypelist_rewind(trid), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_getnext_event(trid, &e, NULL, 0, &len, &unavailable), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_timedgetnext_event(trid, &e, NULL, 0, &len, &unavailable, &soon),
	         EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_trygetnext_event(trid, &e, NULL, 0, &len, &unavailable), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_shutdown(trid), EINVAL);
	return 0;
}

TEST(child_does_not_control)
{
	trace_id_t trid = inherited(0);

	for (int way = 0; way < WAYS; way++) {
		struct target child;

		if (ways[way].flags & BLOCKS)
			continue;
		child = born(NULL, way);
		for (int i = 0; i < 2; i++) {
			if (i)
				CHECK_TRACED("INH-1", trid, &child, NO_ID);
			target_do(&child, use_identifier_task, &trid, sizeof trid);
			CHECK_STR("INH-8 MODEL-19", state(trid), "RN");
			CHECK_EQ("INH-8", stream_drain(trid), 0);
		}
		reaped(NULL, way, &child);
		say(way, 0);
	}
	CHECK_STR("INH-8", state(trid), "RN");
	number_send(NO_ID, 0, 1);
	EXPECT_NUMBERS("INH-8", trid, NO_ID, getpid(), 0, 1, 1);
	stream_end(trid);
}

/* A child may create streams for itself and for its parent, whatever streams the parent has. */
TEST(child_creates)
{
	for (int i = 0; i < 3; i++) {
		static const int way[] = { FORK, SPAWN, EXEC };
		trace_id_t trid = inherited(0);
		struct target child = born(NULL, way[i]);
		trace_event_id_t id = target_id(&child, "creates");

		target_control(&child, 0, 0);
		CHECK_TRACED("INH-1 MODEL-6", trid, &child, id);
		CHECK_EQ("INH-1 MODEL-6", target_count(&child, id), 3);
		CHECK_EQ("SEC-6", stream_drain(trid), 0); /* START of the new stream is not recorded here */
		number_send(NO_ID, 0, 1);
		EXPECT_NUMBERS("INH-8", trid, NO_ID, getpid(), 0, 1, 1);
		CHECK_EQ("MODEL-6", target_count(&child, NO_ID), 0);
		MUST(target_do(&child, target_shutdown_task, NULL, 0) == 0);
		target_control(&child, getpid(), 0);
		number_send(NO_ID, 0, 2);
		EXPECT_NUMBERS("MODEL-6", trid, NO_ID, getpid(), 0, 2, 1);
		CHECK_EQ("MODEL-6", target_count(&child, NO_ID), 1);
		CHECK_TRACED("INH-1", trid, &child, id);
		CHECK_EQ("MODEL-6", target_count(&child, id), 0);
		reaped(NULL, way[i], &child); /* its stream ends too */
		number_send(NO_ID, 0, 3);
		EXPECT_NUMBERS("INH-8 MODEL-20", trid, NO_ID, getpid(), 0, 3, 1);
		stream_end(trid);
	}
}

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
		TEST_ENTRY(ways), TEST_ENTRY(ways_as_user), TEST_ENTRY(unaware_parent),
		TEST_ENTRY(unaware_parent_between), TEST_ENTRY(closed_for_children),
		TEST_ENTRY(copied_names), TEST_ENTRY(each_stream_for_itself), TEST_ENTRY(existing_children),
		TEST_ENTRY(stream_between), TEST_ENTRY(depth),
		TEST_ENTRY(own_stream), TEST_ENTRY(names_of_a_family), TEST_ENTRY(names_at_the_same_time),
		TEST_ENTRY(names_of_siblings), TEST_ENTRY(name_limit),
		TEST_ENTRY(origin), TEST_ENTRY(child_does_not_control), TEST_ENTRY(child_creates),
		TEST_ENTRY(end_of_child),
		TEST_ENTRY(end_of_parent), TEST_ENTRY(shutdown), TEST_ENTRY(states),
		TEST_ENTRY(loop_and_short_children),
		TEST_ENTRY(many_children), TEST_ENTRY(full),
		TEST_ENTRY(threads_and_forks), TEST_ENTRY(descriptors), TEST_ENTRY(descriptors_closed),
		TEST_ENTRY(strangers), { NULL, NULL },
	};

	if (argc == 3 && strcmp(argv[1], "short") == 0)
		short_image(argc, argv);
	target_main(argc, argv);
	return test_main(tests, argc, argv);
}
