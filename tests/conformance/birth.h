/*
 * birth.h - ways in which a traced process has a child, and streams for families
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BIRTH_H
#define BIRTH_H

#include <sched.h>
#include <spawn.h>

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

static inline pid_t by_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		target_serve();
	return pid;
}

static inline pid_t quick(pid_t pid)
{
	if (pid == 0) {
		target_quick = 1;
		target_serve();
	}
	return pid;
}

static inline pid_t by_underscore_fork(void)
{
	return quick(fork_underscore());
}

static inline pid_t by_system_call(void)
{
	return quick(fork_clone());
}

/* A sibling, as it has the same parent as its creator. */
static inline pid_t by_clone_parent(void)
{
	return quick((pid_t)syscall(SYS_clone, SIGCHLD | CLONE_PARENT, 0, 0, 0, 0));
}

/* Not with sanitizers, which assume that the parent's other threads still exist in the child. */
static inline void *fork_in_thread(void *pid)
{
	*(pid_t *)pid = quick(fork());
	return NULL;
}

static inline pid_t by_thread(void)
{
	pthread_t thread;
	pid_t pid;

	if (test_in_valgrind()) /* its leak check fails where memory is not passed on to children */
		return by_fork();
	MUST(pthread_create(&thread, NULL, fork_in_thread, &pid) == 0 && pthread_join(thread, NULL) == 0);
	return pid;
}

static volatile pid_t handler_child;

static inline void fork_in_handler(int signal)
{
	handler_child = by_underscore_fork();
}

static inline pid_t by_handler(void)
{
	MUST(signal(SIGUSR1, fork_in_handler) != SIG_ERR && raise(SIGUSR1) == 0);
	return handler_child;
}

/* Returns 0 in the grandchild. The process in between ends at once. */
static inline pid_t fork_twice(void)
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

static inline pid_t by_double_fork(void)
{
	if (fork_twice() == 0)
		target_serve();
	return 0;
}

static inline void close_all(int from)
{
	for (int fd = from; fd < 4096; fd++)
		close(fd);
}

/* Returns 0 in the daemon. */
static inline pid_t fork_daemon(void)
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

static inline pid_t by_daemon(void)
{
	if (fork_daemon() == 0)
		target_serve();
	return 0;
}

static inline pid_t execute(pid_t pid, const char *file, char *const *arguments)
{
	if (pid == 0) {
		execv(file, arguments);
		_exit(97);
	}
	return pid;
}

static inline pid_t by_fork_and_exec(void)
{
	char **arguments = target_command();

	return execute(fork(), arguments[0], arguments);
}

static inline pid_t by_vfork_and_exec(void)
{
	char **arguments = target_command();
	pid_t pid = vfork();

	if (pid == 0) {
		execv(arguments[0], arguments);
		_exit(97);
	}
	return pid;
}

static inline pid_t by_spawn(void)
{
	char **arguments = target_command();
	pid_t pid;

	MUST(posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ) == 0);
	return pid;
}

/* Returns a shell command that runs the target. */
static inline char *command(const char *format)
{
	static char text[2 * PATH_MAX], target[PATH_MAX + 200];
	char **arguments = target_command();

	snprintf(target, sizeof target, "%s --target %s", arguments[0], arguments[2]);
	snprintf(text, sizeof text, format, target);
	return text;
}

static inline pid_t by_system(void)
{
	CHECK_EQ("-", system(command("%s; exit $?")), 0);
	return 0;
}

/* The shell has ended. */
static inline pid_t by_system_in_background(void)
{
	CHECK_EQ("-", system(command("%s &")), 0);
	return 0;
}

static inline pid_t shell(const char *format)
{
	static char name[] = "sh", option[] = "-c";
	char *arguments[] = { name, option, command(format), NULL };

	execute(fork(), "/bin/sh", arguments);
	return 0;
}

static inline pid_t by_shells(void)
{
	return shell("sh -c 'sh -c \"%s; exit \\$?\"; exit $?'; exit $?");
}

static inline pid_t by_pipeline(void)
{
	return shell("%s </dev/null | cat");
}

static inline pid_t without_environment(void)
{
	return shell("exec env -i %s");
}

/* Programs that do not use tracing, each of which executes the next one. */
static inline pid_t by_chain_of_programs(void)
{
	return shell("exec env nice env sh -c 'exec %s'");
}

static inline pid_t by_double_fork_and_exec(void)
{
	char **arguments = target_command();

	execute(fork_twice(), arguments[0], arguments);
	return 0;
}

static inline pid_t by_daemon_and_exec(void)
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

static inline long long bear_task(const void *way)
{
	int w;

	memcpy(&w, way, sizeof w);
	return ways[w].bear();
}

/* Waits for one child, for any child if the number is -1, or for all. */
static inline long long reap_task(const void *pid)
{
	int status;
	pid_t p;

	memcpy(&p, pid, sizeof p);
	MUST(waitpid(p, &status, 0) > 0);
	return status;
}

static inline long long reap_all_task(const void *arg)
{
	int status, failed = 0;

	while (waitpid(-1, &status, 0) > 0)
		failed += status != 0;
	return failed;
}

/* The parent makes a child in this way. A null parent means this process. */
static inline struct target born(const struct target *parent, int way)
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

static inline void reaped(const struct target *parent, int way, struct target *child)
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

static inline trace_id_t running(pid_t pid, int inheritance, int policy, size_t size)
{
	trace_attr_t attr;
	trace_id_t trid;

	stream_attr(&attr, policy, size, NUMBER_SIZE);
	MUST(posix_trace_attr_setinherited(&attr, inheritance) == 0);
	trid = stream_running_for(pid, &attr);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	return trid;
}

static inline trace_id_t inherited(pid_t pid)
{
	return running(pid, POSIX_TRACE_INHERITED, 0, 0);
}

static inline trace_id_t closed(pid_t pid)
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

static inline void say(int way, int kind)
{
	if (test_failures != said)
		fprintf(stderr, "  ... %s, target of kind %d\n", ways[way].name, kind);
	said = test_failures;
}

#endif
