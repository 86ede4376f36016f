/*
 * attach.c - watches a running process: prints its events, as they come
 *
 *     attach [-f] PID        -f: also the events of children that the process starts from now on
 *
 * The process is any program with trace points; it needs no preparation, and
 * need not have reached a trace point yet. One thread reads; the other waits for
 * the end of the process or for an interrupt. With -f only an interrupt ends
 * attach, because children may outlive their parent.
 *
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <trace.h>
#include <unistd.h>

static int pid;
static bool follow;
static trace_id_t trid;
static struct pollfd ends[2]; /* an interrupt, the process */

static void print_data(const unsigned char *data, size_t length)
{
	size_t n = 0;

	while (n < length && isprint(data[n]))
		n++;
	if (n == length && length > 0) {
		printf(" \"%.*s\"", (int)length, (const char *)data);
		return;
	}
	for (n = 0; n < length && n < 16; n++)
		printf(" %02x", data[n]);
	if (n < length)
		printf(" ... %zu bytes", length);
}

static void print_event(const struct posix_trace_event_info *event, const void *data, size_t length)
{
	char name[TRACE_EVENT_NAME_MAX + 1] = "";
	trace_event_set_t system;
	int is_system = 0;

	posix_trace_eventid_get_name(trid, event->posix_event_id, name);
	/* A name may contain any bytes, and the output may be a terminal. */
	for (char *c = name; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	printf("%lld.%09ld %7d %7d %s", (long long)event->posix_timestamp.tv_sec, event->posix_timestamp.tv_nsec,
	       (int)event->posix_pid, (int)event->__posix_kernel_tid, name);
	/* The data of system events is for programs: sets of event types. */
	posix_trace_eventset_fill(&system, POSIX_TRACE_SYSTEM_EVENTS);
	posix_trace_eventset_ismember(event->posix_event_id, &system, &is_system);
	if (!is_system)
		print_data(data, length);
	printf("\n");
}

/* Prints events until the STOP of the stream. Returns 0 or an error number. */
static int print_events(void)
{
	struct posix_trace_event_info event;
	unsigned char data[1024]; /* what a stream takes by default */
	size_t length;
	int none, error;

	do {
		/* Show finished lines before waiting for more events. */
		error = posix_trace_trygetnext_event(trid, &event, data, sizeof data, &length, &none);
		if (error == 0 && none) {
			fflush(stdout);
			error = posix_trace_getnext_event(trid, &event, data, sizeof data, &length, &none);
		}
		if (error == 0)
			print_event(&event, data, length);
	} while (error == 0 && event.posix_event_id != POSIX_TRACE_STOP);
	fflush(stdout);
	return error;
}

static void *wait_for_end(void *unused)
{
	(void)unused;
	poll(ends, 2, -1);
	if (follow && ends[0].revents == 0) {
		fprintf(stderr, "attach: %d has ended; its children are watched until an interrupt\n", pid);
		poll(ends, 1, -1);
	}
	/* The STOP event comes after all other events. */
	posix_trace_stop(trid);
	return NULL;
}

static int start(void)
{
	trace_attr_t attr;
	pthread_t thread;
	int error;

	posix_trace_attr_init(&attr);
	posix_trace_attr_setinherited(&attr, follow ? POSIX_TRACE_INHERITED : POSIX_TRACE_CLOSE_FOR_CHILD);
	error = posix_trace_create(pid, &attr, &trid);
	posix_trace_attr_destroy(&attr);
	if (error == 0)
		error = posix_trace_start(trid);
	if (error == 0)
		error = pthread_create(&thread, NULL, wait_for_end, NULL);
	return error;
}

int main(int argc, char **argv)
{
	struct posix_trace_status_info status;
	sigset_t signals;
	int error;
	char more;

	follow = argc > 1 && strcmp(argv[1], "-f") == 0;
	if (argc != 2 + follow || sscanf(argv[1 + follow], "%d%c", &pid, &more) != 1 || pid <= 0) {
		fprintf(stderr, "usage: attach [-f] PID\n");
		return 2;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	ends[0] = (struct pollfd){ .fd = signalfd(-1, &signals, SFD_CLOEXEC), .events = POLLIN };
	/* Before Linux 5.3 this fails: poll() ignores the -1, and only an interrupt ends the program. */
	ends[1] = (struct pollfd){ .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	error = start();
	if (error == 0)
		error = print_events();
	if (error != 0) {
		fprintf(stderr, "attach: %d: %s\n", pid, strerror(error));
		return 1;
	}
	posix_trace_get_status(trid, &status);
	fprintf(stderr, "attach: %llu events lost\n", (unsigned long long)status.__posix_lost_events);
	return posix_trace_shutdown(trid) != 0;
}
