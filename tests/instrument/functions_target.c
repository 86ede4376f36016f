/*
 * functions_target.c - a program whose calls are known, for functions.py
 *
 * It is built with -finstrument-functions, and with clang's XRay. Each function counts its own calls; the program
 * prints the counts at its end, as NAME NUMBER. The argument is what to do.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function, xray_never_instrument))
#define CALL  __attribute__((noinline, xray_always_instrument))

#pragma GCC diagnostic ignored "-Wattributes"
#ifdef __clang__
# pragma clang diagnostic ignored "-Wunknown-attributes"
#endif

enum { LEAF, MIDDLE, RECURSE, CATCHER, THROWER, AFTER, WORKER, HANDLER, JUMPING, CHILD, EVEN, ODD, SLOW, NAMES };

static const char *const names[NAMES] = {
	"leaf", "middle", "recurse", "catcher", "thrower", "after", "worker", "handler", "jumping_handler", "child",
	"even", "odd", "slow",
};
static unsigned long counts[NAMES];
static jmp_buf back;
static sigjmp_buf signal_back;
static volatile int sink;

PLAIN static void counted(int name)
{
	__atomic_fetch_add(&counts[name], 1, __ATOMIC_RELAXED);
}

CALL static void leaf(int n)
{
	counted(LEAF);
	sink += n;
}

CALL static void middle(int n)
{
	counted(MIDDLE);
	for (int i = 0; i < n; i++)
		leaf(i);
	sink++;
}

CALL static int recurse(int n)
{
	int sum;

	counted(RECURSE);
	sum = n < 2 ? n : recurse(n - 1) + recurse(n - 2);
	sink += sum;
	return sum;
}

/* Leaves several functions at once, from a frame that is smaller or larger than those of the functions after it. */
CALL static void thrower(int depth, size_t size)
{
	char room[size];

	counted(THROWER);
	memset(room, depth, size);
	sink += room[size / 2];
	if (depth == 0)
		longjmp(back, 1);
	thrower(depth - 1, size);
	sink++;
}

CALL static void after(size_t size)
{
	char room[size];

	counted(AFTER);
	memset(room, 1, size);
	sink += room[size / 2];
	leaf(1);
	sink++;
}

CALL static void catcher(int depth, size_t size, size_t next)
{
	counted(CATCHER);
	if (setjmp(back) == 0)
		thrower(depth, size);
	after(next);
	sink++;
}

CALL static int odd(int n);

/* Tail calls, where the compiler makes them. */
CALL static int even(int n)
{
	counted(EVEN);
	return n == 0 ? 1 : odd(n - 1);
}

CALL static int odd(int n)
{
	counted(ODD);
	return n == 0 ? 0 : even(n - 1);
}

CALL static void *worker(void *end)
{
	counted(WORKER);
	for (int i = 0; i < 100; i++)
		middle(3);
	if (end)
		pthread_exit(NULL);
	return NULL;
}

CALL static void handler(int number)
{
	counted(HANDLER);
	leaf(number);
	sink++;
}

CALL static void jumping_handler(int number)
{
	counted(JUMPING);
	leaf(number);
	siglongjmp(signal_back, 1);
}

CALL static void slow(long ns)
{
	counted(SLOW);
	leaf(1);
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
	sink++;
}

CALL static void child(void)
{
	counted(CHILD);
	middle(5);
	sink++;
}

CALL static void do_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		memset(counts, 0, sizeof counts);
		child();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	/* The child has done this, where nobody counts. */
	counts[CHILD] += 1;
	counts[MIDDLE] += 1;
	counts[LEAF] += 5;
}

CALL static void do_signals(void)
{
	static char other[65536];
	stack_t stack = { .ss_sp = other, .ss_size = sizeof other };
	struct sigaction action = { .sa_handler = handler };

	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	sigaltstack(&stack, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	action.sa_handler = jumping_handler;
	sigaction(SIGUSR1, &action, NULL);
	for (volatile int i = 0; i < 10; i++)
		if (sigsetjmp(signal_back, 1) == 0)
			raise(SIGUSR1);
	middle(1);
}

CALL static void do_threads(void)
{
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, worker, i % 2 ? &thread : NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
}

CALL static void do_jumps(void)
{
	for (volatile int i = 0; i < 5; i++) {
		catcher(i, 16, 4000);
		catcher(i, 4000, 16);
		catcher(i, 100, 100);
	}
}

PLAIN static void print_counts(void)
{
	for (int i = 0; i < NAMES; i++)
		if (counts[i])
			printf("%s %lu\n", names[i], counts[i]);
	fflush(stdout);
}

PLAIN int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strstr(what, "calls")) {
		middle(10);
		recurse(10);
		even(20);
	}
	if (strstr(what, "jumps"))
		do_jumps();
	if (strstr(what, "threads"))
		do_threads();
	if (strstr(what, "signals"))
		do_signals();
	if (strstr(what, "fork"))
		do_fork();
	if (strstr(what, "slow")) {
		slow(30 * 1000 * 1000);
		middle(2);
	}
	print_counts();
	if (strstr(what, "killed")) {
		print_counts();
		raise(SIGKILL);
	}
	return 0;
}
