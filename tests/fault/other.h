/*
 * other.h - another process that runs functions of the test in a prepared environment
 *
 * It is a grandchild, so that it can be the first process of a pid namespace:
 *
 *     struct other o = other_start(settle, &arg);      settle() runs in the other process first
 *     other_do(&o, task, &value, sizeof value);        runs a function of this program there
 *     other_end(&o);
 *
 * It ends with the test, however the test ends. A check that fails in it fails the test.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef OTHER_H
#define OTHER_H

#include <poll.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "fault.h"

#define OTHER_PATIENCE 20 /* seconds, for one order */

typedef long other_task(const void *arg);

struct other {
	pid_t pid;    /* as this process sees it */
	pid_t keeper; /* its parent, our child */
	int socket;
	int birth;    /* until other_await(): a socket from the keeper */
};

struct other_order {
	other_task *task;
	_Alignas(16) unsigned char arg[512];
};

struct other_answer {
	long value;
	int failures;
};

static inline int64_t other_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline void other_serve(int s)
{
	struct other_order order;
	struct other_answer answer = { 0, 0 };

	test_failures = 0;
	send(s, &answer, sizeof answer, MSG_NOSIGNAL); /* ready */
	while (recv(s, &order, sizeof order, 0) == sizeof order) {
		answer.value = order.task(order.arg);
		answer.failures = test_failures;
		test_failures = 0;
		fflush(stderr);
		if (send(s, &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer)
			break;
	}
	exit(0);
}

static inline long other_result(const struct other *o)
{
	struct pollfd p = { .fd = o->socket, .events = POLLIN };
	struct other_answer answer;

	MUST(poll(&p, 1, OTHER_PATIENCE * 1000 * test_slow()) == 1);
	MUST(recv(o->socket, &answer, sizeof answer, 0) == sizeof answer); /* otherwise it has ended */
	test_failures += answer.failures;
	return answer.value;
}

/* Sends a task to the other process, and does not wait for it. */
static inline void other_tell(const struct other *o, other_task *task, const void *arg, size_t size)
{
	struct other_order order;

	memset(&order, 0, sizeof order);
	MUST(size <= sizeof order.arg);
	order.task = task;
	if (size)
		memcpy(order.arg, arg, size);
	MUST(send(o->socket, &order, sizeof order, MSG_NOSIGNAL) == sizeof order);
}

static inline long other_do(const struct other *o, other_task *task, const void *arg, size_t size)
{
	other_tell(o, task, arg, size);
	return other_result(o);
}

/*
 * Begins to start the other process, and does not wait for it: other_await() does. `prepare` runs in the keeper and
 * `settle` in the other process; either may skip the test, and may be null.
 */
static inline struct other other_begin(void (*prepare)(int s, const void *arg), void (*settle)(const void *arg),
                                       const void *arg)
{
	int keeper[2], order[2], status;
	struct other o;

	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, keeper) == 0);
	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, order) == 0);
	fflush(stdout);
	o.keeper = fork();
	MUST(o.keeper >= 0);
	if (o.keeper == 0) {
		pid_t pid;

		close(keeper[0]);
		close(order[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (prepare)
			prepare(keeper[1], arg);
		pid = fork();
		if (pid == 0) {
			close(keeper[1]);
			alarm((unsigned)(TEST_TIMEOUT * test_slow()));
			if (settle)
				settle(arg);
			prctl(PR_SET_PDEATHSIG, SIGKILL); /* the kernel clears it when the user changes */
			other_serve(order[1]);
		}
		close(order[1]);
		if (pid < 0 || send(keeper[1], &pid, sizeof pid, MSG_NOSIGNAL) != sizeof pid)
			_exit(99);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		/* End as the child has ended, so that the test can tell. */
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	}
	close(keeper[1]);
	close(order[1]);
	o.birth = keeper[0];
	o.socket = order[0];
	return o;
}

/* Waits until the process that other_begin() has begun to start is there. */
static inline void other_await(struct other *o)
{
	struct other_answer ready;
	int status;
	long n = recv(o->birth, &o->pid, sizeof o->pid, 0);

	close(o->birth);
	if (n != sizeof o->pid || recv(o->socket, &ready, sizeof ready, 0) != sizeof ready) {
		MUST(waitpid(o->keeper, &status, 0) == o->keeper);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
			_exit(77); /* the process has printed the reason */
		MUST(!"it does not come up");
	}
}

/*
 * Starts the other process. `assist` runs in the test process, and is connected with `prepare` by a socket. It may be
 * null.
 */
static inline struct other other_start_with(void (*prepare)(int s, const void *arg),
                                            void (*assist)(pid_t keeper, int s, const void *arg),
                                            void (*settle)(const void *arg), const void *arg)
{
	struct other o = other_begin(prepare, settle, arg);

	if (assist)
		assist(o.keeper, o.birth, arg);
	other_await(&o);
	return o;
}

static inline struct other other_start(void (*settle)(const void *arg), const void *arg)
{
	return other_start_with(NULL, NULL, settle, arg);
}

/* Ends the other process. Returns the exit status, or 128 + signal. */
static inline int other_status(struct other *o)
{
	int status;

	shutdown(o->socket, SHUT_RDWR); /* further processes have copies of the descriptor */
	close(o->socket);
	o->socket = -1;
	MUST(waitpid(o->keeper, &status, 0) == o->keeper);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void other_end(struct other *o)
{
	CHECK_EQ("-", other_status(o), 0);
}

static inline void other_kill(struct other *o)
{
	MUST(kill(o->pid, SIGKILL) == 0);
	CHECK_EQ("-", other_status(o), 128 + SIGKILL);
}

#endif
