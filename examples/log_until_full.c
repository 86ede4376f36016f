/*
 * log_until_full.c - the log policy UNTIL_FULL: keeps the first events of a program
 *
 *     log_until_full FILE
 *     log_print FILE
 *
 * Sorts numbers. Each comparison is an event; there are a quarter of a million, and
 * the first ones are enough to see how qsort() goes about it. When the log is full
 * it ends with the event posix_trace_stop, which always has room. The event's
 * value is not 0, because the program has not called posix_trace_stop(). The
 * stream would continue and drop its events; the program shuts the stream down,
 * and from then on the trace point costs nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>

#define NUMBERS 20000

static trace_event_id_t event_compare;
static trace_id_t trid;
static bool tracing;
static long comparisons;

static int start(int fd)
{
	trace_attr_t attr;
	int error;

	posix_trace_attr_init(&attr);
	posix_trace_attr_setname(&attr, "qsort");
	posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_UNTIL_FULL);
	posix_trace_attr_setlogsize(&attr, 4 << 10);
	/* A smaller largest event leaves less of a small log unused. */
	posix_trace_attr_setmaxdatasize(&attr, 2 * sizeof(int));
	error = posix_trace_create_withlog(0, &attr, fd, &trid);
	posix_trace_attr_destroy(&attr);
	return error != 0 ? error : posix_trace_start(trid);
}

static void stop(void)
{
	int error = posix_trace_shutdown(trid);

	tracing = false;
	printf("traced for %ld comparisons%s%s\n", comparisons, error != 0 ? ": " : "",
	       error != 0 ? strerror(error) : "");
}

/* Checks whether the log is full, after a flush: the status is that of the last flush. */
static void look(void)
{
	struct posix_trace_status_info status;

	posix_trace_flush(trid);
	posix_trace_get_status(trid, &status);
	if (status.posix_log_full_status == POSIX_TRACE_FULL)
		stop();
}

static int compare(const void *a, const void *b)
{
	int pair[2] = { *(const int *)a, *(const int *)b };

	posix_trace_event(event_compare, pair, sizeof pair);
	if (++comparisons % 500 == 0 && tracing)
		look();
	return (pair[0] > pair[1]) - (pair[0] < pair[1]);
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1, error;
	static int numbers[NUMBERS];

	if (fd < 0) {
		fprintf(stderr, "usage: log_until_full FILE\n");
		return 2;
	}
	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = (int)(i * 7919LL % NUMBERS);
	posix_trace_eventid_open("compare", &event_compare);
	error = start(fd);
	if (error != 0) {
		fprintf(stderr, "log_until_full: %s\n", strerror(error));
		return 1;
	}
	tracing = true;
	qsort(numbers, NUMBERS, sizeof *numbers, compare);
	if (tracing)
		stop();
	printf("sorted with %ld comparisons\n", comparisons);
	return 0;
}
