/*
 * lttng_program.c - a program with LTTng-UST's tracepoints: lttng_program WHAT [ARGUMENT]
 *
 * It is built twice, with the provider linked, and with LTTNG_UST_TRACEPOINT_PROBE_DYNAMIC_LINKAGE and no library of
 * LTTng, which has tracef and tracelog.
 *
 * SPDX-License-Identifier: MIT
 */
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_events.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lttng_notes.h"

#define LONG_TEXT 20000

static void check(int right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "lttng_program: %s\n", what);
	_exit(1);
}

/* -- All kinds of fields ---------------------------------------------------------------------------------- */

static void kinds(void)
{
	static char text[LONG_TEXT + 1];
	const int items[] = { 1, -2, 0x10203, 4, 5 };

	memset(text, 'x', LONG_TEXT);
	errno = 4321;
	lttng_ust_tracepoint(kinds, numbers, 7, 1ULL << 63);
	lttng_ust_tracepoint(kinds, numbers, -3, 42);
	lttng_ust_tracepoint(kinds, texts, "tea", 2, 5);
	lttng_ust_tracepoint(kinds, texts, "", 0, -5);
	lttng_ust_tracepoint(kinds, arrays, items, 5);
	lttng_ust_tracepoint(kinds, arrays, items, 0);
	for (int n = -4; n <= 9; n++)
		lttng_ust_tracepoint(kinds, labels, n);
	lttng_ust_tracepoint(kinds, long_text, text, 1);
	lttng_ust_tracepoint(kinds, nothing);
	lttng_ust_tracepoint(kinds, an_event_whose_name_and_provider_have_more_than_63_bytes_together, 9);
	lttng_ust_tracepoint(kinds, emergency, 1);
	lttng_ust_tracepoint(kinds, error, 2);
	lttng_ust_tracepoint(kinds, module, 3);
#ifndef LTTNG_UST_TRACEPOINT_PROBE_DYNAMIC_LINKAGE
	notes(text);
#endif
	check(errno == 4321, "errno has changed");
}

/* -- Threads, handlers -------------------------------------------------------------------------------------- */

#define THREADS 100
#define EVENTS  200

static void *thread(void *number)
{
	int who = (int)(size_t)number;

	for (int n = 0; n < EVENTS; n++)
		lttng_ust_tracepoint(kinds, tick, who, n);
	return NULL;
}

/* More threads at a time than the library has records for, twice. */
static void threads(void)
{
	pthread_t ids[THREADS];

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < THREADS; i++)
			check(pthread_create(&ids[i], NULL, thread, (void *)(round * THREADS + i)) == 0, "no thread");
		for (size_t i = 0; i < THREADS; i++)
			pthread_join(ids[i], NULL);
	}
}

static volatile sig_atomic_t handled, jump;
static sigjmp_buf out;

static void handler(int number)
{
	lttng_ust_tracepoint(kinds, tick, 1, handled);
	handled++;
	if (jump && handled % 16 == 0)
		siglongjmp(out, 1);
}

/* Handlers that record interrupt a loop that records; some of them leave it in the middle of an event. */
static void handlers(int jumps)
{
	struct itimerspec often = { { 0, 50000 }, { 0, 50000 } }, never = { { 0, 0 }, { 0, 0 } };
	volatile int n = 0, most = 200000;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_t timer;

	signal(SIGUSR1, handler);
	jump = jumps;
	check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "no timer");
	timer_settime(timer, 0, &often, NULL);
	sigsetjmp(out, 1);
	/* A jump may leave the event with this number out. */
	while (n < most && handled < 1000) {
		lttng_ust_tracepoint(kinds, tick, 0, n);
		n++;
	}
	jump = 0;
	timer_settime(timer, 0, &never, NULL);
	signal(SIGUSR1, SIG_IGN);
	printf("%d %d\n", n, (int)handled);
}

/* -- fork() ------------------------------------------------------------------------------------------------------ */

static void in_child(int who)
{
	pthread_t id;

	lttng_ust_tracepoint(kinds, tick, who, 0);
	pthread_create(&id, NULL, thread, (void *)(size_t)(who + 1));
	pthread_join(id, NULL);
	lttng_ust_tracepoint(kinds, tick, who, 1);
	printf("child %d\n", lttng_ust_tracepoint_enabled(kinds, tick));
	fflush(stdout);
	_exit(0);
}

static void forks(void)
{
	pthread_t id;
	int status;

	lttng_ust_tracepoint(kinds, tick, 0, 0);
	/* The child does not have this thread, whose record it may take. */
	pthread_create(&id, NULL, thread, (void *)90);
	pthread_join(id, NULL);
	for (int i = 1; i <= 3; i++) {
		if (fork() == 0)
			in_child(i * 10);
		wait(&status);
		check(status == 0, "a child has failed");
	}
	lttng_ust_tracepoint(kinds, tick, 0, 1);
	printf("parent %d\n", lttng_ust_tracepoint_enabled(kinds, tick));
}

/* -- Providers that come and go ------------------------------------------------------------------------------------ */

static int loading;

static void *beside(void *number)
{
	while (__atomic_load_n(&loading, __ATOMIC_ACQUIRE))
		lttng_ust_tracepoint(kinds, tick, 5, 0);
	return NULL;
}

/* Loads and unloads the provider, while other threads are in its functions. */
static void loads(const char *provider)
{
	pthread_t ids[2];

	__atomic_store_n(&loading, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 2; i++)
		pthread_create(&ids[i], NULL, beside, NULL);
	for (int i = 0; i < 50; i++) {
		void *handle = dlopen(provider, RTLD_NOW);

		check(handle != NULL, "the provider cannot be loaded");
		check(lttng_ust_tracepoint_enabled(kinds, tick) || getenv("UNRECORDED"), "off with a provider");
		lttng_ust_tracepoint(kinds, tick, 1, i);
		dlclose(handle);
		check(!lttng_ust_tracepoint_enabled(kinds, tick), "on without a provider");
		lttng_ust_tracepoint(kinds, tick, 2, i);
	}
	__atomic_store_n(&loading, 0, __ATOMIC_RELEASE);
	for (int i = 0; i < 2; i++)
		pthread_join(ids[i], NULL);
}

/* -- Functions of the program ------------------------------------------------------------------------------- */

static int called;

static void function(void *data, int who, int n)
{
	called += *(int *)data * who + n;
}

static void functions(void)
{
#ifndef LTTNG_UST_TRACEPOINT_PROBE_DYNAMIC_LINKAGE
	char provider[] = "kinds", event[] = "tick";
	int ten = 10;

	lttng_ust_tracepoint_register_kinds___tick(provider, event, (void (*)(void))function, &ten);
	check(lttng_ust_tracepoint_enabled(kinds, tick), "off with a function");
	lttng_ust_tracepoint(kinds, tick, 2, 3);
	lttng_ust_tracepoint_unregister_kinds___tick(provider, event, (void (*)(void))function, &ten);
	lttng_ust_tracepoint(kinds, tick, 4, 5);
	check(called == 23, "the function of the program was not called once, with its arguments");
	printf("%d\n", lttng_ust_tracepoint_enabled(kinds, tick));
#endif
}

/* -- After everything else ------------------------------------------------------------------------------------ */

static __attribute__((destructor)) void last(void)
{
	if (getenv("AT_EXIT"))
		lttng_ust_tracepoint(kinds, tick, 3, 3);
}

static __attribute__((constructor)) void first(void)
{
	if (getenv("AT_EXIT"))
		lttng_ust_tracepoint(kinds, tick, 3, 1);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";

	if (strcmp(what, "kinds") == 0)
		kinds();
	else if (strcmp(what, "threads") == 0)
		threads();
	else if (strcmp(what, "handlers") == 0)
		handlers(0);
	else if (strcmp(what, "jumps") == 0)
		handlers(1);
	else if (strcmp(what, "forks") == 0)
		forks();
	else if (strcmp(what, "loads") == 0)
		loads(argument);
	else if (strcmp(what, "functions") == 0)
		functions();
	else if (strcmp(what, "wait") == 0) {
		printf("%d\n", lttng_ust_tracepoint_enabled(kinds, tick));
		fflush(stdout);
		/* A line for each event: until the end of the input. */
		for (int n = 0, c; (c = getchar()) != EOF; n++) {
			lttng_ust_tracepoint(kinds, tick, 6, n);
			printf("%d\n", n);
			fflush(stdout);
		}
	} else
		return 2;
	return 0;
}
