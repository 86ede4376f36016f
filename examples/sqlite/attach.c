/*
 * attach.c - traces SQLite in another process, which is running already: sqlattach
 *
 *     sqlattach [-t SECONDS] PID
 *
 * That process has loaded sqltrace, or will; that is all it knows of tracing.
 * Until it ends, until SECONDS are over or an interrupt comes, sqlattach prints
 * what sqlanalyze.so prints from inside (analysis.h). The process then goes on
 * as if nothing had been.
 *
 *     the process                   stream                  sqlattach
 *     sqltrace's trace points ----> sql.prepare, ... -----> a line
 *                                   posix_trace_stop <----- wait_for_end()
 *                                                    -----> the table, ends
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "analysis.h"

static int pid, seconds = -1;
static trace_id_t trid;
static struct pollfd ends[2]; /* the process, an interrupt */
static const char *end = "is not traced any more";

static void *wait_for_end(void *unused)
{
	(void)unused;
	poll(ends, 2, seconds < 0 ? -1 : seconds * 1000);
	end = ends[0].revents ? "has ended" : "goes on, untraced";
	/* The STOP event comes after all recorded events, and the analyzer ends with it. */
	posix_trace_stop(trid);
	return NULL;
}

/* Printed between the lines, as these are events among the others. */
static void on_event(trace_event_id_t id, const void *data, size_t length)
{
	(void)data;
	(void)length;
	if (id == POSIX_TRACE_START)
		printf("process %d is traced\n", pid);
	if (id == POSIX_TRACE_STOP)
		printf("process %d %s\n", pid, end);
}

static int start(void)
{
	pthread_t thread;
	sigset_t signals;
	int error;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	/* Linux before 5.3 has none: poll() passes over the -1, and the process's end is not noticed. */
	ends[0] = (struct pollfd){ .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	ends[1] = (struct pollfd){ .fd = signalfd(-1, &signals, SFD_CLOEXEC), .events = POLLIN };

	error = analysis_create(pid, stdout, &trid);
	if (!error)
		error = posix_trace_start(trid);
	if (!error)
		error = pthread_create(&thread, NULL, wait_for_end, NULL);
	return error;
}

int main(int argc, char **argv)
{
	int option, error;
	char more;

	while ((option = getopt(argc, argv, "t:")) != -1)
		if (option != 't' || sscanf(optarg, "%d%c", &seconds, &more) != 1 || seconds < 0 || seconds > 1000000)
			argc = 0;
	if (optind != argc - 1 || sscanf(argv[optind], "%d%c", &pid, &more) != 1 || pid <= 0) {
		fprintf(stderr, "usage: sqlattach [-t SECONDS] PID\n");
		return 2;
	}
	error = start();
	if (!error)
		error = analysis_run(on_event);
	if (error) {
		fprintf(stderr, "sqlattach: %d: %s\n", pid, strerror(error));
		return 1;
	}
	analysis_report();
	return posix_trace_shutdown(trid) != 0;
}
