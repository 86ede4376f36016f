/*
 * tracers.c - a function that is called many times, traced at its beginning and at its end
 *
 *     tracers CALLS
 *
 * Compiled once for each tracer, by tracers.py: with POSIXTRACE, LTTNG or USDT, or with none of them. Prints the
 * processor time of its thread for each call, in nanoseconds.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef POSIXTRACE
# include <trace.h>
static trace_event_id_t event_begin, event_end;
# define BEGIN(n) posix_trace_event(event_begin, &(n), sizeof(n))
# define END(n) posix_trace_event(event_end, &(n), sizeof(n))
#elif defined LTTNG
# define LTTNG_UST_TRACEPOINT_CREATE_PROBES
# define LTTNG_UST_TRACEPOINT_DEFINE
# include "lttng_point.h"
# define BEGIN(n) lttng_ust_tracepoint(bench, words1, &(n))
# define END(n) lttng_ust_tracepoint(bench, words1, &(n))
#elif defined USDT
# include <sys/sdt.h>
# define BEGIN(n) DTRACE_PROBE1(bench, begin, n)
# define END(n) DTRACE_PROBE1(bench, end, n)
#else
# define BEGIN(n) ((void)0)
# define END(n) ((void)0)
#endif

static volatile uint64_t sum;

__attribute__((noinline)) static void work(uint64_t n)
{
	BEGIN(n);
	sum += n;
	END(n);
}

/* Returns the processor time of this thread in nanoseconds. */
static double cpu_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 1000;
	double begin;

#ifdef POSIXTRACE
	posix_trace_eventid_open("bench.begin{n:u64}", &event_begin);
	posix_trace_eventid_open("bench.end{n:u64}", &event_end);
#endif
	for (long i = 0; i < calls / 10; i++)
		work(i);
	begin = cpu_time();
	for (long i = 0; i < calls; i++)
		work(i);
	printf("%.3f\n", (cpu_time() - begin) / calls);
	return 0;
}
