/*
 * programs.c - what programs have anyway, many times: functions, tracepoints and probes of others, malloc(), write(),
 * children
 *
 *     programs WHAT COUNT
 *
 * Compiled by programs.py, several times: with LTTNG for tracepoints of LTTng-UST, with PROBE for a probe of the
 * <sys/sdt.h> that is found, and with or without what makes functions call a tracer. Prints the processor time of each
 * of COUNT times in nanoseconds: of the thread, and for children their own.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef LTTNG
# define LTTNG_UST_TRACEPOINT_CREATE_PROBES
# define LTTNG_UST_TRACEPOINT_DEFINE
# include "lttng_point.h"
#endif
#ifdef PROBE
# include <sys/sdt.h>
#endif

/* A compiler that makes variants of a function calls it less often. */
#ifdef __clang__
# define NOT_CLONED __attribute__((noinline))
#else
# define NOT_CLONED __attribute__((noipa))
#endif
#define DEPTH 6 /* of calls: each but the innermost makes two */
#define CALLS ((2L << DEPTH) - 1)
#define OF_CHILDREN ((clockid_t)-1)

static int sink;

static void do_loop(long count)
{
	for (long i = 0; i < count; i++)
		__asm__ volatile("" : : "r"(i) : "memory");
}

NOT_CLONED static void call(int depth)
{
	if (depth) {
		call(depth - 1);
		call(depth - 1);
	}
	__asm__ volatile("" : : : "memory");
}

static void do_functions(long count)
{
	for (long i = 0; i < count; i += CALLS)
		call(DEPTH);
}

static void do_malloc(long count)
{
	for (long i = 0; i < count; i++) {
		void *p = malloc(32 + (size_t)(i & 63));

		__asm__ volatile("" : : "r"(p) : "memory");
		free(p);
	}
}

static void do_write(long count)
{
	for (long i = 0; i < count; i++)
		if (write(sink, "x", 1) != 1)
			abort();
}

static void do_start(long count)
{
	char *arguments[] = { "true", NULL };

	for (long i = 0; i < count; i++) {
		pid_t child;

		if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) != 0 ||
		    waitpid(child, NULL, 0) != child)
			abort();
	}
}

#ifdef LTTNG
static void do_words1(long count)
{
	uint64_t word[1];

	for (long i = 0; i < count; i++) {
		word[0] = (uint64_t)i;
		lttng_ust_tracepoint(bench, words1, word);
	}
}

static void do_words4(long count)
{
	uint64_t word[4] = { 0 };

	for (long i = 0; i < count; i++) {
		word[i & 3] = (uint64_t)i;
		lttng_ust_tracepoint(bench, words4, word);
	}
}

static void do_number(long count)
{
	for (long i = 0; i < count; i++) {
		lttng_ust_tracepoint(bench, number, (uint64_t)i);
		__asm__ volatile("" : : "r"(i) : "memory");
	}
}

static void do_text(long count)
{
	for (long i = 0; i < count; i++)
		lttng_ust_tracepoint(bench, text, (uint32_t)i, "a teapot for eight", (uint64_t)i);
}
#endif

#ifdef PROBE
static void do_probe(long count)
{
	for (long i = 0; i < count; i++) {
		DTRACE_PROBE2(bench_programs, point, i, 2 * i);
		__asm__ volatile("" : : "r"(i) : "memory");
	}
}
#endif

static const struct {
	const char *name;
	void (*run)(long count);
	clockid_t clock;
} kinds[] = {
	{ "loop", do_loop, CLOCK_THREAD_CPUTIME_ID },
	{ "functions", do_functions, CLOCK_THREAD_CPUTIME_ID },
	{ "malloc", do_malloc, CLOCK_THREAD_CPUTIME_ID },
	{ "write", do_write, CLOCK_THREAD_CPUTIME_ID },
	{ "start", do_start, OF_CHILDREN },
#ifdef LTTNG
	{ "words1", do_words1, CLOCK_THREAD_CPUTIME_ID },
	{ "words4", do_words4, CLOCK_THREAD_CPUTIME_ID },
	{ "number", do_number, CLOCK_THREAD_CPUTIME_ID },
	{ "text", do_text, CLOCK_THREAD_CPUTIME_ID },
#endif
#ifdef PROBE
	{ "probe", do_probe, CLOCK_THREAD_CPUTIME_ID },
#endif
};

static double now(clockid_t clock)
{
	struct timespec time;

	if (clock == OF_CHILDREN) {
		struct rusage usage;

		getrusage(RUSAGE_CHILDREN, &usage);
		return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
			(double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
	}
	clock_gettime(clock, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
	long count = argc == 3 ? atol(argv[2]) : 0;

	sink = open("/dev/null", O_WRONLY);
	for (size_t i = 0; count > 0 && i < sizeof kinds / sizeof *kinds; i++) {
		double begin;

		if (strcmp(kinds[i].name, argv[1]) != 0)
			continue;
		/* The first times are slower. */
		kinds[i].run(count / 10);
		begin = now(kinds[i].clock);
		kinds[i].run(count);
		printf("ns %.3f\n", (now(kinds[i].clock) - begin) / (double)count);
		return 0;
	}
	fprintf(stderr, "usage: %s WHAT COUNT\n", argv[0]);
	return 2;
}
