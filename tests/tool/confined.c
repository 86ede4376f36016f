/*
 * confined.c - a program that traces under a seccomp filter
 *
 *     confined FILTER
 *
 * Traces once, installs the filter, says "ready", and traces 500 events every 5 ms until it is killed.
 *
 *     none      no filter
 *     openat    a filter that kills the process at openat()
 *     late      the same, but nothing was traced before it
 *     thread    the same, of a second thread that does not trace
 *     listed    a filter that kills the process at each system call but those that docs/processes.md lists, and its own
 *     strict    strict mode; it traces no more
 *     names     installs nothing: prints the names of the list, and ends
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <trace.h>
#include <unistd.h>

#ifndef SECCOMP_RET_KILL_PROCESS
# define SECCOMP_RET_KILL_PROCESS 0x80000000u
#endif

/* Further system calls of a sanitizer's runtime fail without killing the process. */
#ifdef __has_feature
# if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#  define RUNTIME 1
# endif
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || defined RUNTIME
# define ELSE (SECCOMP_RET_ERRNO | EPERM)
#else
# define ELSE SECCOMP_RET_KILL_PROCESS
#endif

static const struct {
	const char *name;
	int number;
} calls[] = {
#define CALL(name) { #name, SYS_##name }
	CALL(close), CALL(futex), CALL(getdents64), CALL(getegid), CALL(geteuid), CALL(getpid), CALL(getppid),
	CALL(getresuid), CALL(gettid), CALL(getuid),
	CALL(kill), CALL(madvise), CALL(membarrier), CALL(munmap), CALL(openat), CALL(prctl), CALL(pread64),
	CALL(prlimit64), CALL(pwrite64), CALL(read), CALL(readlinkat),
	CALL(rt_sigprocmask), CALL(sched_yield), CALL(statx), CALL(tgkill), CALL(tkill), CALL(unlinkat),
	/* Names of 64-bit systems, then of 32-bit systems. */
#ifdef SYS_mmap
	CALL(mmap),
#endif
#ifdef SYS_fcntl
	CALL(fcntl),
#endif
#ifdef SYS_mmap2
	{ "mmap", SYS_mmap2 },
#endif
#ifdef SYS_fcntl64
	{ "fcntl", SYS_fcntl64 },
#endif
#ifdef SYS_futex_time64
	{ "futex", SYS_futex_time64 },
#endif
#ifdef SYS_geteuid32
	CALL(getegid32), CALL(geteuid32), CALL(getresuid32), CALL(getuid32),
#endif
};

/* Further system calls of this program and its C library. */
static const int own[] = {
	SYS_write, SYS_exit_group, SYS_restart_syscall, SYS_rt_sigreturn,
#ifdef SYS_clock_nanosleep
	SYS_clock_nanosleep,
#endif
#ifdef SYS_clock_nanosleep_time64
	SYS_clock_nanosleep_time64,
#endif
#ifdef SYS_nanosleep
	SYS_nanosleep,
#endif
	/* Where reading the clock takes a system call. */
#ifdef SYS_clock_gettime
	SYS_clock_gettime,
#endif
#ifdef SYS_clock_gettime64
	SYS_clock_gettime64,
#endif
};

static void must(int error, const char *what)
{
	if (error) {
		fprintf(stderr, "confined: %s: %s\n", what, strerror(error));
		exit(77);
	}
}

static void install(struct sock_filter *code, size_t length)
{
	struct sock_fprog program = { (unsigned short)length, code };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? errno : 0, "no_new_privs");
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? errno : 0, "filter");
}

static void install_openat(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(code, sizeof code / sizeof *code);
}

static void install_listed(void)
{
	enum { LISTED = sizeof calls / sizeof *calls, OWN = sizeof own / sizeof *own };
	struct sock_filter code[1 + 2 * (LISTED + OWN) + 1];
	size_t n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < LISTED + OWN; i++) {
		int number = i < LISTED ? calls[i].number : own[i - LISTED];

		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, ELSE);
	install(code, n);
}

static pthread_barrier_t installed;

static void *confined_thread(void *arg)
{
	(void)arg;
	install_openat();
	pthread_barrier_wait(&installed);
	for (;;)
		pause();
	return NULL;
}

static void start_thread(void)
{
	pthread_t thread;

	pthread_barrier_init(&installed, NULL, 2);
	must(pthread_create(&thread, NULL, confined_thread, NULL), "thread");
	pthread_barrier_wait(&installed);
}

static void say_ready(void)
{
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		_exit(1);
}

/* In strict mode, only read() and write() are allowed. */
static void wait_strictly(void)
{
	char byte;

	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) ? errno : 0, "strict mode");
	say_ready();
	while (syscall(SYS_read, STDIN_FILENO, &byte, 1) > 0)
		;
	syscall(SYS_exit, 0);
}

int main(int argc, char **argv)
{
	const char *filter = argc > 1 ? argv[1] : "none";
	struct timespec pause = { 0, 5000000 };
	trace_event_id_t id;

	if (!strcmp(filter, "names")) {
		for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
			puts(calls[i].name);
		return 0;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!strcmp(filter, "late"))
		install_openat();
	must(posix_trace_eventid_open("confined", &id), "open");
	posix_trace_event(id, NULL, 0);
	if (!strcmp(filter, "openat"))
		install_openat();
	else if (!strcmp(filter, "thread"))
		start_thread();
	else if (!strcmp(filter, "listed"))
		install_listed();
	else if (!strcmp(filter, "strict"))
		wait_strictly();
	for (say_ready();; nanosleep(&pause, NULL))
		for (int i = 0; i < 500; i++)
			posix_trace_event(id, "some data", 9);
}
