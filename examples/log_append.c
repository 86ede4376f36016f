/*
 * log_append.c - the log policy APPEND: all that a process records, to a file or into a pipe
 *
 *     log_append PID > FILE
 *     log_append PID | xz > FILE.xz        and later: xz -d FILE.xz
 *     log_print FILE
 *
 * Traces a running process, and the children that it starts from now on, until
 * the process ends or an interrupt comes. The log has no size limit and is
 * written from front to back, so it can go to a pipe; LOOP needs a regular file.
 *
 * A slow disk or pipe does not delay the traced process. Before the program ends
 * it writes all remaining events.
 *
 * SPDX-License-Identifier: MIT
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <trace.h>
#include <unistd.h>

static int create(int pid, trace_id_t *trid)
{
	trace_attr_t attr;
	int error;

	posix_trace_attr_init(&attr);
	posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED);
	posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND);
	/* Room for a tenth of a second of waiting for the disk, at a million events per second. */
	posix_trace_attr_setstreamsize(&attr, 8 << 20);
	error = posix_trace_create_withlog(pid, &attr, STDOUT_FILENO, trid);
	posix_trace_attr_destroy(&attr);
	return error;
}

int main(int argc, char **argv)
{
	struct posix_trace_status_info status;
	struct pollfd ends[2]; /* an interrupt, the process */
	sigset_t signals;
	trace_id_t trid;
	int pid, error;
	char more;

	if (argc != 2 || sscanf(argv[1], "%d%c", &pid, &more) != 1 || pid <= 0 || isatty(STDOUT_FILENO)) {
		fprintf(stderr, "usage: log_append PID > FILE\n");
		return 2;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	ends[0] = (struct pollfd){ .fd = signalfd(-1, &signals, SFD_CLOEXEC), .events = POLLIN };
	/* Before Linux 5.3 this fails: poll() ignores the -1, and only an interrupt ends the program. */
	ends[1] = (struct pollfd){ .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	error = create(pid, &trid);
	if (error == 0)
		error = posix_trace_start(trid);
	if (error != 0) {
		fprintf(stderr, "log_append: %d: %s\n", pid, strerror(error));
		return 1;
	}
	fprintf(stderr, "log_append: %d\n", pid);
	poll(ends, 2, -1);

	/* Stop before the shutdown, because afterwards the number of lost events cannot be read. */
	posix_trace_stop(trid);
	error = posix_trace_flush(trid);
	posix_trace_get_status(trid, &status);
	fprintf(stderr, "log_append: %llu events lost\n", (unsigned long long)status.__posix_lost_events);
	if (error == 0)
		error = posix_trace_shutdown(trid);
	if (error != 0)
		fprintf(stderr, "log_append: the log: %s\n", strerror(error));
	return error != 0;
}
