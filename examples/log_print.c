/*
 * log_print.c - prints a log: attributes, status and events
 *
 *     log_print [-n COUNT] FILE        -n: only the last ones
 *
 * Prints any log of this library, even if the program was killed or is still
 * running. The log of a running program has no end yet; the events in the file
 * are printed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <trace.h>

static trace_id_t trid;
static struct timespec created;
static trace_event_set_t system_types;

static const char *policy(int number)
{
	static const char *const names[] = {
		[POSIX_TRACE_LOOP] = "LOOP", [POSIX_TRACE_UNTIL_FULL] = "UNTIL_FULL",
		[POSIX_TRACE_FLUSH] = "FLUSH", [POSIX_TRACE_APPEND] = "APPEND",
	};

	return names[number];
}

/* The attributes of the stream and its last status are in the log, too. */
static void print_head(void)
{
	struct posix_trace_status_info status;
	char name[TRACE_NAME_MAX + 1], version[TRACE_NAME_MAX + 1], date[64];
	int stream_policy, log_policy;
	size_t stream_size, log_size;
	trace_attr_t attr;

	posix_trace_get_attr(trid, &attr);
	posix_trace_attr_getname(&attr, name);
	posix_trace_attr_getgenversion(&attr, version);
	posix_trace_attr_getcreatetime(&attr, &created);
	posix_trace_attr_getstreamfullpolicy(&attr, &stream_policy);
	posix_trace_attr_getstreamsize(&attr, &stream_size);
	posix_trace_attr_getlogfullpolicy(&attr, &log_policy);
	posix_trace_attr_getlogsize(&attr, &log_size);
	posix_trace_get_status(trid, &status);
	strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", localtime(&created.tv_sec));
	printf("%s%s%s, %s\n", name, *name ? ": " : "", date, version);
	printf("stream %s, %zu KiB: %llu events lost\n", policy(stream_policy), stream_size / 1024,
	       (unsigned long long)status.__posix_lost_events);
	printf("log %s", policy(log_policy));
	if (log_policy != POSIX_TRACE_APPEND)
		printf(", %zu KiB", log_size / 1024);
	if (status.posix_log_overrun_status == POSIX_TRACE_OVERRUN)
		printf(log_policy == POSIX_TRACE_LOOP ? ": the oldest events were overwritten" :
			": full, the newest events were dropped");
	if (status.posix_stream_flush_error != 0)
		printf("; %s", strerror(status.posix_stream_flush_error));
	printf("\n\n");
}

static void print_data(const unsigned char *data, size_t length)
{
	size_t n = 0;
	int number;

	while (n < length && isprint(data[n]))
		n++;
	if (length == 0)
		return;
	if (n == length) {
		printf(" \"%.*s\"", (int)length, (const char *)data);
	} else if (length % sizeof number == 0 && length <= 4 * sizeof number) {
		for (n = 0; n < length; n += sizeof number) {
			memcpy(&number, data + n, sizeof number);
			printf(" %d", number);
		}
	} else {
		printf(" %zu bytes", length);
	}
}

static void print_event(const struct posix_trace_event_info *event, const void *data, size_t length)
{
	char name[TRACE_EVENT_NAME_MAX + 1] = "";
	struct timespec t = event->posix_timestamp;
	int is_system = 0;

	posix_trace_eventid_get_name(trid, event->posix_event_id, name);
	/* A name may contain any bytes, and the output may be a terminal. */
	for (char *c = name; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	t.tv_sec -= created.tv_sec + (t.tv_nsec < created.tv_nsec);
	t.tv_nsec += t.tv_nsec < created.tv_nsec ? 1000000000 - created.tv_nsec : -created.tv_nsec;
	printf("%4lld.%09ld %7d %7d %s", (long long)t.tv_sec, t.tv_nsec, (int)event->posix_pid,
	       (int)event->__posix_kernel_tid, name);
	/* Of the system events only STOP has something to read: why. */
	posix_trace_eventset_ismember(event->posix_event_id, &system_types, &is_system);
	if (!is_system || event->posix_event_id == POSIX_TRACE_STOP)
		print_data(data, length);
	printf("\n");
}

/* Prints the events after the first from events. Returns the number of all events. */
static long print_events(long from)
{
	struct posix_trace_event_info event;
	static unsigned char data[65535]; /* no event has more */
	size_t length;
	int none;

	for (long n = 0;; n++) {
		if (posix_trace_getnext_event(trid, &event, data, sizeof data, &length, &none) != 0 || none)
			return n;
		if (n >= from)
			print_event(&event, data, length);
	}
}

int main(int argc, char **argv)
{
	long count = argc == 4 && strcmp(argv[1], "-n") == 0 ? atol(argv[2]) : 0, all;
	int fd, error;

	if (argc != 2 && count <= 0) {
		fprintf(stderr, "usage: log_print [-n COUNT] FILE\n");
		return 2;
	}
	fd = open(argv[argc - 1], O_RDONLY);
	if (fd < 0) {
		perror(argv[argc - 1]);
		return 1;
	}
	error = posix_trace_open(fd, &trid);
	if (error != 0) {
		fprintf(stderr, "%s: %s\n", argv[argc - 1], error == EINVAL ? "not a log" : strerror(error));
		return 1;
	}
	posix_trace_eventset_fill(&system_types, POSIX_TRACE_SYSTEM_EVENTS);
	print_head();
	if (count > 0) {
		all = print_events(LONG_MAX);
		posix_trace_rewind(trid);
		print_events(all - count);
	} else {
		all = print_events(0);
	}
	printf("%s%ld events\n", all > 0 ? "\n" : "", all);
	return posix_trace_close(trid);
}
