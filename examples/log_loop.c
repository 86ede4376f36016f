/*
 * log_loop.c - the log policy LOOP: a flight recorder, the last events before a crash
 *
 *     log_loop FILE
 *     log_print -n 6 FILE
 *
 * A program that might run for years: each request that it serves has an event when
 * it comes and one when it is answered. The log has 64 KiB, and always the newest
 * events. Some day there is a request that the program does not survive.
 *
 * The program needs no handler for the crash: events that are not in the file yet
 * are in shared memory, and the next process that opens the log moves all of them
 * to the file. SIGKILL is no different.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <trace.h>

static trace_event_id_t event_request, event_answer;

static int start_recorder(int fd)
{
	trace_attr_t attr;
	trace_id_t trid;
	int error;

	posix_trace_attr_init(&attr);
	posix_trace_attr_setname(&attr, "flight recorder");
	posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_LOOP); /* it is the default, too */
	posix_trace_attr_setlogsize(&attr, 64 << 10);
	/* Room for events recorded while the disk is slow. A stream with a log is flushed automatically. */
	posix_trace_attr_setstreamsize(&attr, 4 << 20);
	error = posix_trace_create_withlog(0, &attr, fd, &trid);
	posix_trace_attr_destroy(&attr);
	return error != 0 ? error : posix_trace_start(trid);
}

static int serve(int number)
{
	int left = (int)(number * 7919LL % 20011);

	if (left == 0)
		abort(); /* nobody has thought of that */
	return 1000000 / left;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1, error;

	if (fd < 0) {
		fprintf(stderr, "usage: log_loop FILE\n");
		return 2;
	}
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 }); /* the log will do */
	posix_trace_eventid_open("request", &event_request);
	posix_trace_eventid_open("answer", &event_answer);
	error = start_recorder(fd);
	if (error != 0) {
		fprintf(stderr, "log_loop: %s\n", strerror(error));
		return 1;
	}
	for (int number = 1;; number++) {
		int answer[2] = { number };

		posix_trace_event(event_request, &number, sizeof number);
		answer[1] = serve(number);
		posix_trace_event(event_answer, answer, sizeof answer);
	}
}
