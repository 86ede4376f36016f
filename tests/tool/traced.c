/*
 * traced.c - a program that traces itself into a log, for the tests of the command
 *
 *     traced FILE
 *
 * The comments at the ends of lines are looked for by report.py.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <trace.h>
#include <unistd.h>

void traced_lib(trace_event_id_t id);

static __attribute__((noinline)) void called(trace_event_id_t id, int i)
{
	posix_trace_event(id, &i, sizeof i); /* called */
	__asm__ __volatile__("");
}

static inline __attribute__((always_inline)) void in_line(trace_event_id_t id, int i)
{
	posix_trace_event(id, &i, sizeof i); /* in_line */
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	trace_event_id_t id;
	trace_attr_t attr;
	trace_id_t trid;

	if (fd < 0 || posix_trace_attr_init(&attr) != 0 || posix_trace_attr_setinherited(&attr,
	    POSIX_TRACE_INHERITED) != 0 ||
	    posix_trace_eventid_open("place", &id) != 0 || posix_trace_create_withlog(0, &attr, fd, &trid) != 0 ||
	    posix_trace_start(trid) != 0)
		return 99;
	called(id, 1);
	in_line(id, 2);
	traced_lib(id);
	if (fork() == 0) {
		called(id, 4);
		_exit(0);
	}
	wait(NULL);
	return posix_trace_shutdown(trid);
}
