/*
 * under_tsan_program.c - a program that ThreadSanitizer watches, with a library that was built without it
 *
 * Its threads meet at the first trace point, so one of them attaches the process while the others look whether it is
 * traced; the same again in a child.
 *
 * SPDX-License-Identifier: MIT
 */
#include <posixtrace/trace.h>

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define EVENTS  1000

static trace_event_id_t id;

static void *record(void *arg)
{
	for (int i = 0; i < EVENTS; i++)
		posix_trace_event(id, &i, sizeof i);
	return arg;
}

static void record_in_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, record, NULL) != 0)
			_exit(2);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	int status;
	pid_t pid;

	if (posix_trace_eventid_open("under_tsan", &id) != 0)
		return 2;
	record_in_threads();
	pid = fork();
	if (pid == 0) {
		/* ThreadSanitizer allows a child no threads of its own; its first thread attaches by itself. */
		record(NULL);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 2;
	puts("done");
	return 0;
}
