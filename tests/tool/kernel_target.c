/*
 * kernel_target.c - a program whose system calls, waits, page faults, signals, threads and child are known
 *
 *     kernel_target [wait|leave]
 *
 * Prints the addresses of 16 pages that it touches once each, and how many page faults this took. wait: prints "ready"
 * first, and goes on when it can read a line. leave: the main thread ends first, and another one makes 9 calls then.
 *
 * SPDX-License-Identifier: MIT
 */
#include <posixtrace/trace.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 16

/* Leaks are looked for by a child, which the test would count. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static int wakes[2];
static trace_event_id_t begin_id, end_id;

static void handler(int signal)
{
	(void)signal;
}

static void calls(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		syscall(SYS_getpgid, 0);
}

/* Waits for a byte of the main thread, which is its waker. */
static void *waiter(void *arg)
{
	char byte;

	(void)arg;
	pthread_setname_np(pthread_self(), "waiter");
	if (read(wakes[0], &byte, 1) != 1)
		return "wrong";
	calls(3);
	return NULL;
}

/* Makes calls when the main thread has ended. */
static void *survivor(void *main_thread)
{
	pthread_join(*(pthread_t *)main_thread, NULL);
	calls(9);
	exit(0);
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

int main(int argc, char **argv)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	pthread_t thread;
	char line[8];
	volatile char *pages;
	long before, after;
	void *result;
	pid_t child;

	if (argc > 1 && strcmp(argv[1], "leave") == 0) {
		static pthread_t own;

		own = pthread_self();
		if (pthread_create(&thread, NULL, survivor, &own) != 0)
			return 2;
		pthread_exit(NULL);
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	if (pipe(wakes) != 0 || pthread_create(&thread, NULL, waiter, NULL) != 0)
		return 2;
	if (argc > 1) {
		puts("ready");
		if (!fgets(line, sizeof line, stdin))
			return 2;
	}
	posix_trace_eventid_open("part.begin", &begin_id);
	posix_trace_eventid_open("part.end", &end_id);

	posix_trace_event(begin_id, NULL, 0);
	calls(7);
	posix_trace_event(end_id, NULL, 0);

	signal(SIGUSR1, handler);
	for (unsigned i = 0; i < 3; i++)
		raise(SIGUSR1);

	pages = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return 2;
	/* It may be that the kernel has none to advise against. */
	madvise((void *)pages, PAGES * page, MADV_NOHUGEPAGE);
	before = faults();
	for (unsigned i = 0; i < PAGES; i++)
		pages[i * page] = 1;
	after = faults();
	printf("%#jx %#jx %ld\n", (uintmax_t)(uintptr_t)pages, (uintmax_t)(uintptr_t)(pages + PAGES * page),
	       after - before);

	child = fork();
	if (child == 0) {
		calls(5);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	for (unsigned i = 0; i < 4; i++)
		usleep(1000);
	if (write(wakes[1], "", 1) != 1)
		return 2;
	pthread_join(thread, &result);
	return result ? 2 : 0;
}
