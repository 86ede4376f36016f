/*
 * functions_hazards.c - a program that calls functions at awkward times, for functions.py
 *
 * Its malloc() is instrumented. Functions are called before and after main(), in threads with the smallest stack, in
 * one that is cancelled, in a handler that comes all the time, in many children, and deeper than any shadow stack.
 * Prints how often functions will have been called at its end, as NAME NUMBER.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN    __attribute__((no_instrument_function))
#define CALL     __attribute__((noinline))
#define THREADS  200
#define DEPTH    40000
#define CHILDREN 10

enum { ERRNO = 77, STATUS = 3 };

static volatile int sink;
static unsigned long leaves, ticks;

static char arena[1 << 26];
static size_t used;

CALL void *malloc(size_t size)
{
	size_t at = __atomic_fetch_add(&used, (size + 31) & ~(size_t)15, __ATOMIC_RELAXED);

	if (at + size + 16 > sizeof arena)
		return NULL;
	*(size_t *)(void *)(arena + at) = size;
	return arena + at + 16;
}

CALL void free(void *p)
{
	(void)p;
	sink++;
}

CALL void *calloc(size_t count, size_t size)
{
	void *p = malloc(count * size);

	return p ? memset(p, 0, count * size) : NULL;
}

CALL void *realloc(void *p, size_t size)
{
	void *new = malloc(size);
	size_t old = p ? ((size_t *)p)[-2] : 0;

	if (new && p)
		memcpy(new, p, old < size ? old : size);
	return new;
}

CALL static void leaf(void)
{
	__atomic_fetch_add(&leaves, 1, __ATOMIC_RELAXED);
	errno = ERRNO;
}

CALL static int deep(int n)
{
	int depth = n ? deep(n - 1) + 1 : 0;

	sink++;
	return depth;
}

/* Before the C library is initialised. Whether this is recorded does not matter. */
CALL static void first(void)
{
	sink++;
}

static void (*const before_all)(void) __attribute__((section(".preinit_array"), used)) = first;

__attribute__((constructor)) static void early(void)
{
	leaf();
}

__attribute__((destructor)) static void late(void)
{
	leaf();
}

static void at_exit(void)
{
	leaf();
}

CALL static void *thread(void *unused)
{
	(void)unused;
	leaf();
	return errno == ERRNO ? NULL : &sink;
}

CALL static void *forever(void *begun)
{
	for (;;) {
		leaf();
		__atomic_store_n((int *)begun, 1, __ATOMIC_RELEASE);
		pthread_testcancel();
	}
}

CALL static void tick(int number)
{
	(void)number;
	__atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
	leaf();
}

PLAIN static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	_exit(1);
}

static void do_threads(void)
{
	pthread_attr_t small;
	pthread_t t;
	void *wrong;
	int begun = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t, &small, thread, NULL) != 0 || pthread_join(t, &wrong) != 0 || wrong)
			fail("a thread cannot be made, or has another errno");
	if (pthread_create(&t, NULL, forever, &begun) != 0)
		fail("no thread");
	while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
		usleep(100);
	pthread_cancel(t);
	pthread_join(t, &wrong);
	if (wrong != PTHREAD_CANCELED)
		fail("not cancelled");
}

static void do_ticks(void)
{
	struct sigaction action = { .sa_handler = tick, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 100000; i++)
		leaf();
	setitimer(ITIMER_REAL, &never, NULL);
}

int main(void)
{
	atexit(at_exit);
	leaf();
	do_threads();
	if (deep(DEPTH) != DEPTH)
		fail("wrong depth");
	do_ticks();
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			leaf();
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	printf("leaf %lu\n", leaves + CHILDREN + 2);
	printf("tick %lu\nthread %d\ndeep %d\n", ticks, THREADS, DEPTH + 1);
	return STATUS;
}
