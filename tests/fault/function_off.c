/*
 * function_off.c - the function posix_trace_event() makes no system call while the process is not traced
 *
 * The macro of <trace.h> checks the gate before it calls the function; a function pointer, or another language, does
 * not. A filter kills the process at its first system call. check/instructions.py counts the function's instructions.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "fault.h"

#define CALLS 1000

static trace_event_id_t event_id = POSIX_TRACE_UNNAMED_USEREVENT;

static void call(void)
{
	void (*volatile function)(trace_event_id_t, const void *, size_t) = (posix_trace_event);

	function(event_id, "data", 4);
}

/* Installs a filter that kills the process at any system call except exit_group. */
static bool forbid_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };

	if (geteuid() != 0)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *calls_without_system(void *unused)
{
	/* The first call may have to attach the process, or to notice that a stream is gone. */
	for (int i = 0; i < 2; i++)
		call();
	if (!forbid_calls())
		syscall(SYS_exit_group, 77);
	for (int i = 0; i < CALLS; i++)
		call();
	syscall(SYS_exit_group, 0);
	return unused;
}

/* Starts a process, prepares its state, and lets it call the function. */
static void in_state(void (*prepare)(void), bool in_thread)
{
	pid_t pid = fork();
	int status;

	MUST(pid >= 0);
	if (pid == 0) {
		pthread_t thread;

		prepare();
		if (in_thread && pthread_create(&thread, NULL, calls_without_system, NULL) == 0)
			pthread_join(thread, NULL);
		calls_without_system(NULL);
	}
	while (waitpid(pid, &status, 0) < 0)
		MUST(errno == EINTR);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no seccomp filters here");
	CHECK("-", WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void nothing(void)
{
}

static void open_type(void)
{
	event_id = fault_open("off");
}

/* The process has traced itself, and does not any more. */
static void trace(void)
{
	trace_id_t trid;

	open_type();
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	call();
	MUST(posix_trace_shutdown(trid) == 0);
}

/* The second stream is gone before the process has noticed it. */
static void trace_twice(void)
{
	trace_id_t trid;

	trace();
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_shutdown(trid) == 0);
}

TEST(never_traced)
{
	shm_private("");
	in_state(nothing, false);
	in_state(open_type, false);
	in_state(open_type, true);
}

TEST(streams_gone)
{
	shm_private("");
	in_state(trace, false);
	in_state(trace, true);
	in_state(trace_twice, false);
}

TEST(forked_child)
{
	shm_private("");
	open_type();
	in_state(nothing, false);
	in_state(nothing, true);
	trace();
	in_state(nothing, false);
	in_state(nothing, true);
}

TEST_MAIN(TEST_ENTRY(never_traced), TEST_ENTRY(streams_gone), TEST_ENTRY(forked_child))
