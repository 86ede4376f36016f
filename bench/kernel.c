/*
 * kernel.c - a program that makes system calls, switches or only work, for bench/kernel.py
 *
 *     kernel calls N       N calls of getppid()
 *     kernel switches N    N times two switches between two threads
 *     kernel work N        N turns of a loop
 *
 * Prints the processor time of the process in nanoseconds, and how often its threads were switched.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sum;
static long count;
static int there[2], back[2];

static void *answer(void *arg)
{
	char byte;

	(void)arg;
	for (long i = 0; i < count; i++)
		if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
			return "wrong";
	return NULL;
}

static int switches(void)
{
	pthread_t thread;
	void *result;
	char byte = 0;

	if (pipe(there) != 0 || pipe(back) != 0 || pthread_create(&thread, NULL, answer, NULL) != 0)
		return 1;
	for (long i = 0; i < count; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			return 1;
	pthread_join(thread, &result);
	return result != NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	struct rusage usage;
	struct timespec t;
	int wrong = 0;

	count = argc > 2 ? atol(argv[2]) : 0;
	if (strcmp(what, "switches") == 0)
		wrong = switches();
	else if (strcmp(what, "calls") == 0)
		for (long i = 0; i < count; i++)
			syscall(SYS_getppid);
	else
		for (long i = 0; i < count; i++)
			sum += (uint64_t)i;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	getrusage(RUSAGE_SELF, &usage);
	printf("%lld %ld\n", t.tv_sec * 1000000000LL + t.tv_nsec, usage.ru_nvcsw + usage.ru_nivcsw);
	return wrong;
}
