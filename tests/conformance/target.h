/*
 * target.h - another process that does what it is told: to be traced, to control, or to have children
 *
 * A target calls functions of the test program, its tasks, one after the other:
 *
 *     struct target t = target_fork();
 *     id = (trace_event_id_t)target_do(&t, target_name, "name", 5);
 *     target_end(&t);
 *
 * It is a child of the test, or a new image (target_image()), or whatever comes
 * from one of these: every process of this program that calls target_serve(), or
 * is started with the arguments of target_command(), is met by target_accept().
 * A target ends when the test ends, however that happens. A check that fails
 * in a target fails in the test.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONFORMANCE_TARGET_H
#define CONFORMANCE_TARGET_H

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "numbers.h"
#include "shm.h"

struct target {
	pid_t pid;
	int socket;
};

typedef long long target_task(const void *arg);

struct target_order {
	long long task; /* its distance from target_command(), which is the same in each image of this program */
	_Alignas(16) unsigned char arg[1024];
};

struct target_answer {
	long long value;
	long long failures;
};

/* Targets connect to this abstract socket, whose name the kernel chooses. */
static struct sockaddr_un target_shm_dir;
static socklen_t target_shm_dir_size;
static int target_listener = -1;

/* Set in children made without the C library's knowledge, which end without destructors. */
static int target_quick;

static inline void target_listen(void)
{
	if (target_shm_dir_size) /* a new image uses the test's socket */
		return;
	target_listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	target_shm_dir.sun_family = AF_UNIX;
	MUST(target_listener >= 0 && bind(target_listener, (struct sockaddr *)&target_shm_dir, sizeof(sa_family_t)) ==
	     0);
	MUST(listen(target_listener, 256) == 0);
	target_shm_dir_size = sizeof target_shm_dir;
	MUST(getsockname(target_listener, (struct sockaddr *)&target_shm_dir, &target_shm_dir_size) == 0);
}

/*
 * Returns the file name of this program. In a chroot, /proc/self/exe has a path outside of it once the test has mounts
 * of its own.
 */
static inline const char *target_path(void)
{
	static char path[PATH_MAX];

	if (!path[0])
		MUST(realpath((const char *)(uintptr_t)getauxval(AT_EXECFN), path) ||
		     readlink("/proc/self/exe", path, sizeof path - 1) > 0);
	return path;
}

/* Returns the arguments of a new image: its file, "--target", and the name of the socket. */
static inline char **target_command(void)
{
	static char place[sizeof target_shm_dir.sun_path], option[] = "--target";
	static char *arguments[4];

	target_listen();
	memcpy(place, target_shm_dir.sun_path + 1, target_shm_dir_size - offsetof(struct sockaddr_un, sun_path) - 1);
	arguments[0] = (char *)(uintptr_t)target_path();
	arguments[1] = option;
	arguments[2] = place;
	return arguments;
}

static inline long long target_distance(target_task *task)
{
	return (long long)((uintptr_t)task - (uintptr_t)target_command);
}

static inline target_task *target_at(long long distance)
{
	return (target_task *)((uintptr_t)target_command + (uintptr_t)distance);
}

/* Makes this process execute the test's orders. Uses only async-signal-safe calls, except in tasks. */
static inline void target_serve(void) __attribute__((noreturn));
static inline void target_serve(void)
{
	struct target_order order;
	struct target_answer answer;
	int s;

	alarm((unsigned)(TEST_TIMEOUT * test_slow()));
	s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s < 0 || connect(s, (struct sockaddr *)&target_shm_dir, target_shm_dir_size) != 0)
		_exit(98);
	test_failures = 0;
	while (recv(s, &order, sizeof order, 0) == sizeof order) {
		answer.value = target_at(order.task)(order.arg);
		answer.failures = test_failures;
		test_failures = 0;
		if (send(s, &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer)
			break;
	}
	if (target_quick)
		_exit(0);
	exit(0);
}

/* Called by main(): serves as a target, and does not return, if this is a new image for that purpose. */
static inline void target_main(int argc, char **argv)
{
	size_t n;

	if (argc != 3 || strcmp(argv[1], "--target") != 0)
		return;
	target_shm_dir.sun_family = AF_UNIX;
	n = strlen(argv[2]);
	if (n + 1 > sizeof target_shm_dir.sun_path)
		_exit(98);
	memcpy(target_shm_dir.sun_path + 1, argv[2], n);
	target_shm_dir_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
	target_serve();
}

#define TARGET_MAIN(...)                                                            \
	int main(int argc, char **argv)                                             \
	{                                                                           \
		static const struct test tests[] = { __VA_ARGS__, { NULL, NULL } }; \
		target_main(argc, argv);                                            \
		return test_main(tests, argc, argv);                                \
	}

/* Returns whether a target has connected within this many seconds. */
static inline int target_wait(int seconds)
{
	struct pollfd p = { .fd = target_listener, .events = POLLIN };
	int r;

	target_listen();
	p.fd = target_listener;
	while ((r = poll(&p, 1, seconds * 1000)) < 0 && errno == EINTR)
		;
	return r == 1;
}

/* Returns the next target that connects. */
static inline struct target target_accept(void)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	struct target t;

	MUST(target_wait(20 * test_slow()));
	t.socket = accept4(target_listener, NULL, NULL, SOCK_CLOEXEC);
	MUST(t.socket >= 0 && getsockopt(t.socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0);
	t.pid = peer.pid;
	return t;
}

/* Tells a target what to do, and does not wait. */
static inline void target_tell(const struct target *t, target_task *task, const void *arg, size_t size)
{
	struct target_order order;

	memset(&order, 0, sizeof order);
	MUST(size <= sizeof order.arg);
	order.task = target_distance(task);
	if (size)
		memcpy(order.arg, arg, size);
	MUST(send(t->socket, &order, sizeof order, MSG_NOSIGNAL) == sizeof order);
}

/* Returns the result of the last order. */
static inline long long target_result(const struct target *t)
{
	struct target_answer answer;
	long n;

	while ((n = recv(t->socket, &answer, sizeof answer, 0)) < 0 && errno == EINTR)
		;
	MUST(n == sizeof answer); /* otherwise the target has ended */
	test_failures += (int)answer.failures;
	return answer.value;
}

static inline long long target_do(const struct target *t, target_task *task, const void *arg, size_t size)
{
	target_tell(t, task, arg, size);
	return target_result(t);
}

/* Lets the target end normally. Does not wait for its end. */
static inline void target_dismiss(struct target *t)
{
	shutdown(t->socket, SHUT_RDWR); /* children have copies of the socket, so close() alone would not be noticed */
	close(t->socket);
	t->socket = -1;
}

/* The same for a child of this process. Returns its status. */
static inline int target_status(struct target *t)
{
	int status;

	target_dismiss(t);
	MUST(waitpid(t->pid, &status, 0) == t->pid);
	return status;
}

static inline void target_end(struct target *t)
{
	CHECK_EQ("-", target_status(t), 0);
}

/* Kills the target at once. */
static inline void target_kill(struct target *t)
{
	int status;

	MUST(kill(t->pid, SIGKILL) == 0);
	MUST(waitpid(t->pid, &status, 0) == t->pid);
	close(t->socket);
	t->socket = -1;
}

/* Waits until a process that is not a child of this one has ended, or is a zombie. */
static inline void target_gone(pid_t pid)
{
	char path[64], line[512];
	const char *p;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	for (int i = 0; i < 2000 * test_slow(); i++) {
		FILE *f = fopen(path, "r");
		size_t n;

		if (!f)
			return;
		n = fread(line, 1, sizeof line - 1, f);
		fclose(f);
		line[n] = 0;
		p = strrchr(line, ')');
		if (n == 0 || (p && p[1] == ' ' && (p[2] == 'Z' || p[2] == 'X')))
			return;
		sleep_ms(5);
	}
	MUST(!"the process does not end");
}

/* -- Targets ------------------------------------------------------------ */

static inline pid_t target_start_fork(void)
{
	pid_t pid;

	target_listen();
	pid = fork();
	if (pid == 0)
		target_serve();
	MUST(pid > 0);
	return pid;
}

/* Executes this program again. A different user may have no access to its directory, but has it open. */
static inline void target_execute(char **arguments) __attribute__((noreturn));
static inline void target_execute(char **arguments)
{
	execv(arguments[0], arguments);
	if (errno == EACCES)
		execv("/proc/self/exe", arguments);
	_exit(97);
}

static inline pid_t target_start_image(void)
{
	char **arguments = target_command();
	pid_t pid = fork();

	if (pid == 0)
		target_execute(arguments);
	MUST(pid > 0);
	return pid;
}

/* Returns a forked child, which has used the library only if this process has. */
static inline struct target target_fork(void)
{
	pid_t pid = target_start_fork();
	struct target t = target_accept();

	MUST(t.pid == pid);
	return t;
}

/* Returns a target with a new image, which has not used the library. */
static inline struct target target_image(void)
{
	pid_t pid = target_start_image();
	struct target t = target_accept();

	MUST(t.pid == pid);
	return t;
}

/* -- Tasks -------------------------------------------------------------- */

/* Opens a name. Returns its id. */
static inline long long target_name(const void *name)
{
	return stream_id(name);
}

/* The same, called by the test. */
static inline trace_event_id_t target_id(const struct target *t, const char *name)
{
	return (trace_event_id_t)target_do(t, target_name, name, strlen(name) + 1);
}

/* Numbered events, recorded by one run of a target's trace point. */
struct target_numbers {
	trace_event_id_t id;
	unsigned writer, first, count;
};

static inline long long target_send_task(const void *arg)
{
	const struct target_numbers *n = arg;

	for (unsigned i = 0; i < n->count; i++)
		number_send(n->id, n->writer, n->first + i);
	return 0;
}

static inline void target_send(const struct target *t, trace_event_id_t id, unsigned writer, unsigned first,
                               unsigned count)
{
	struct target_numbers n = { id, writer, first, count };

	target_do(t, target_send_task, &n, sizeof n);
}

/* Records an event before a name is opened in this image. */
static inline long long target_point(const void *id)
{
	trace_event_id_t i;

	memcpy(&i, id, sizeof i);
	posix_trace_event(i, NULL, 0);
	return 0;
}

static inline long long target_pthread(const void *arg)
{
	return (long long)(uintptr_t)pthread_self();
}

/* Executes this program again. The new image connects, for target_accept(). */
static inline long long target_exec_task(const void *arg)
{
	target_execute(target_command());
}

static inline void target_exec(struct target *t)
{
	pid_t pid = t->pid;
	int old = t->socket;

	target_tell(t, target_exec_task, NULL, 0);
	*t = target_accept();
	MUST(t->pid == pid);
	close(old);
}

static inline void *target_serve_thread(void *arg)
{
	target_serve();
}

static inline long long target_leave_task(const void *arg)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, target_serve_thread, NULL) == 0);
	pthread_exit(NULL);
}

/* The first thread ends, and a second one continues. */
static inline void target_leave_first(struct target *t)
{
	pid_t pid = t->pid;
	int old = t->socket;

	target_tell(t, target_leave_task, NULL, 0);
	*t = target_accept();
	MUST(t->pid == pid);
	close(old);
	target_gone(pid); /* the kernel shows a process without its first thread as a zombie */
}

/*
 * Kinds of processes that a controller may trace: a forked one that has not made a trace call; a new image that has not
 * made a trace call; one that has used the library for some time.
 */
enum { FRESH, IMAGE, USED, KINDS };

static inline struct target target_make(int kind)
{
	struct target t = kind == IMAGE ? target_image() : target_fork();

	if (kind == USED)
		target_send(&t, target_id(&t, "before"), 0, 0, 10);
	return t;
}

/* Returns whether this user can execute the test's own file. */
static inline int target_kind(int kind)
{
	return kind != IMAGE || access(target_path(), X_OK) == 0;
}

#define EACH_KIND(kind) (int kind = FRESH; kind < KINDS; kind++) if (target_kind(kind))

/* -- A target as controller, of one stream ---------------------------------- */

static trace_id_t target_trid;

struct target_stream {
	pid_t pid;
	int policy, inherited; /* 0 for the default */
	unsigned size;
};

/* Returns the error of posix_trace_create(). */
static inline long long target_create_task(const void *arg)
{
	const struct target_stream *s = arg;
	trace_attr_t attr;
	int error;

	stream_attr(&attr, s->policy, s->size, NUMBER_SIZE);
	if (s->inherited)
		MUST(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED) == 0);
	for (int i = 0; (error = posix_trace_create(s->pid, &attr, &target_trid)) == EAGAIN && i < 100; i++)
		usleep(100000);
	return error;
}

static inline int target_create(const struct target *t, pid_t pid, int inherited)
{
	struct target_stream s = { .pid = pid, .inherited = inherited };

	return (int)target_do(t, target_create_task, &s, sizeof s);
}

static inline long long target_start_task(const void *arg)
{
	return posix_trace_start(target_trid);
}

static inline long long target_stop_task(const void *arg)
{
	return posix_trace_stop(target_trid);
}

static inline long long target_shutdown_task(const void *arg)
{
	return posix_trace_shutdown(target_trid);
}

static inline long long target_trid_task(const void *arg)
{
	return (long long)target_trid;
}

/* Reads all events. Returns how many had this type. */
static inline long long target_count_task(const void *id)
{
	trace_event_id_t i;

	memcpy(&i, id, sizeof i);
	return (long long)stream_count(target_trid, i);
}

static inline long long target_count(const struct target *t, trace_event_id_t id)
{
	return target_do(t, target_count_task, &id, sizeof id);
}

/* Creates a stream for a process in the target, and starts it. */
static inline void target_control(const struct target *t, pid_t pid, int inherited)
{
	MUST(target_create(t, pid, inherited) == 0);
	MUST(target_do(t, target_start_task, NULL, 0) == 0);
}

/* -- What can be seen of a process from outside --------------------------- */

/* Returns how many streams a process has mapped, however many mappings each of them has. */
static inline int target_streams(pid_t pid)
{
	static unsigned long long inode[2 * TRACE_SYS_MAX];
	char path[64], line[4096], *p;
	int n = 0, i;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	MUST(f != NULL);
	while (fgets(line, sizeof line, f)) {
		if (!strstr(line, "/stream-"))
			continue;
		p = line;
		for (i = 0; i < 4 && p; i++) /* addresses, permissions, offset, device */
			p = strchr(p + 1, ' ');
		MUST(p && n < 2 * TRACE_SYS_MAX);
		inode[n] = strtoull(p, NULL, 10);
		for (i = 0; inode[i] != inode[n]; i++)
			;
		n += i == n;
	}
	fclose(f);
	return n;
}

static inline int target_count_in(pid_t pid, const char *directory)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, directory);
	return shm_count(path, "");
}

static inline int target_descriptors(pid_t pid)
{
	return target_count_in(pid, "fd");
}

static inline int target_threads(pid_t pid)
{
	return target_count_in(pid, "task");
}

/* -- Other users -------------------------------------------------------- */

/* Changes to a different user. The kernel then makes the process undumpable, which is undone. */
static inline void target_become(unsigned uid, unsigned gid)
{
	if (geteuid() != 0 || setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
		SKIP("this user cannot become another one");
	MUST(prctl(PR_SET_DUMPABLE, 1) == 0);
}

/* -- Streams of another process ------------------------------------------- */

/* stream_create() for a different process. */
static inline trace_id_t stream_create_for(pid_t pid, const trace_attr_t *attr)
{
	trace_id_t trid;
	int error;

	for (int i = 0; (error = posix_trace_create(pid, attr, &trid)) == EAGAIN && i < 100; i++)
		usleep(100000);
	if (error) {
		TEST_FAIL("-", "posix_trace_create: error %d", error);
		exit(1);
	}
	return trid;
}

/* Returns a new, running stream whose POSIX_TRACE_START has been read. */
static inline trace_id_t stream_running_for(pid_t pid, const trace_attr_t *attr)
{
	trace_id_t trid = stream_create_for(pid, attr);
	struct stream_event e;

	MUST(posix_trace_start(trid) == 0);
	stream_expect(trid, POSIX_TRACE_START, &e);
	return trid;
}

/* Expects this many numbered events of one process, and no other events before, between or after them. */
static inline void expect_numbers(const char *ids, int line, trace_id_t trid, trace_event_id_t id, pid_t pid,
                                  unsigned writer,
				  unsigned first, unsigned count)
{
	struct stream_event e;

	for (unsigned i = 0; i < count; i++) {
		struct number n;

		if (!stream_try(trid, &e)) {
			TEST_FAIL(ids, "line %d: %u events of %u", line, i, count);
			return;
		}
		if (e.info.posix_event_id != id) {
			TEST_FAIL(ids, "line %d: event type %u, not %u", line, e.info.posix_event_id, id);
			return;
		}
		n = number_of(e.data, e.len);
		if (e.info.posix_pid != pid || n.writer != writer || n.number != first + i) {
			TEST_FAIL(ids, "line %d: event %u of writer %u in process %d, not %u of %u in %d", line,
			          n.number, n.writer,
				  (int)e.info.posix_pid, first + i, writer, (int)pid);
			return;
		}
	}
}
#define EXPECT_NUMBERS(ids, ...) expect_numbers(ids, __LINE__, __VA_ARGS__)

/* Checks that events that the target records come in the stream. */
#define CHECK_TRACED(ids, trid, target, id)                                           \
	do {                                                                          \
		static unsigned test_number;                                          \
		target_send(target, id, 77, test_number, 3);                          \
		EXPECT_NUMBERS(ids, trid, id, (target)->pid, 77, test_number, 3);     \
		test_number += 3;                                                     \
	} while (0)

#endif
