/*
 * dump.c - prints what posix_trace_open() and the functions for logs return, in the format of decode.py
 *
 *     dump FILE...        "FILE NAME" before each; "not a log" if it is none
 *
 * Exit status 1 if a function returned something forbidden.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <inttypes.h>
#include <posixtrace/trace.h>

#include "test.h"

static trace_id_t trid;
static unsigned char data[1 << 16];

static void print_text(const char *name)
{
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		if (*p < 32 || *p == 127)
			printf("\\x%02x", *p);
		else
			putchar(*p);
	putchar('\n');
}

static uint64_t ns(struct timespec t)
{
	MUST(t.tv_nsec >= 0 && t.tv_nsec < 1000000000);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void print_attributes(void)
{
	char version[TRACE_NAME_MAX], name[TRACE_NAME_MAX];
	int stream_policy, log_policy, inheritance;
	size_t stream_size, log_size, data_size;
	struct timespec created, resolution;
	trace_attr_t attr;

	MUST(posix_trace_get_attr(trid, &attr) == 0);
	MUST(posix_trace_attr_getgenversion(&attr, version) == 0);
	MUST(posix_trace_attr_getname(&attr, name) == 0);
	MUST(posix_trace_attr_getcreatetime(&attr, &created) == 0);
	MUST(posix_trace_attr_getclockres(&attr, &resolution) == 0);
	MUST(posix_trace_attr_getstreamsize(&attr, &stream_size) == 0);
	MUST(posix_trace_attr_getlogsize(&attr, &log_size) == 0);
	MUST(posix_trace_attr_getmaxdatasize(&attr, &data_size) == 0);
	MUST(posix_trace_attr_getstreamfullpolicy(&attr, &stream_policy) == 0);
	MUST(posix_trace_attr_getlogfullpolicy(&attr, &log_policy) == 0);
	MUST(posix_trace_attr_getinherited(&attr, &inheritance) == 0);
	printf("attr version ");
	print_text(version);
	printf("attr name ");
	print_text(name);
	printf("attr created %" PRIu64 "\nattr resolution %" PRIu64 "\n", ns(created), ns(resolution));
	printf("attr stream-size %zu\nattr log-size %zu\nattr data-size %zu\n", stream_size, log_size, data_size);
	printf("attr stream-policy %d\nattr log-policy %d\nattr inheritance %d\n", stream_policy, log_policy,
	       inheritance);
}

static void print_types(void)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id;
	int unavailable;

	MUST(posix_trace_eventtypelist_rewind(trid) == 0);
	for (;;) {
		MUST(posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable) == 0);
		if (unavailable)
			break;
		MUST(posix_trace_eventid_get_name(trid, id, name) == 0);
		printf("type %u ", id);
		print_text(name);
	}
}

static void print_layouts(void)
{
	char layout[POSIXTRACE_LAYOUT_MAX + 1];

	for (trace_event_id_t id = 1; id < 8128; id++)
		if (posixtrace_get_layout(trid, id, layout, sizeof layout) == 0) {
			printf("layout %u ", id);
			print_text(layout);
		}
}

static void print_events(void)
{
	struct posix_trace_event_info e;
	int unavailable;
	size_t length;

	for (;;) {
		MUST(posix_trace_getnext_event(trid, &e, data, sizeof data, &length, &unavailable) == 0);
		if (unavailable)
			return;
		printf("event %u %u %u %" PRIxMAX " %" PRIxMAX " %" PRIu64 " %d %zu ", e.posix_event_id,
		       (unsigned)e.posix_pid, (unsigned)e.__posix_kernel_tid, (uintmax_t)(uintptr_t)e.posix_thread_id,
		       (uintmax_t)(uintptr_t)e.posix_prog_address, ns(e.posix_timestamp),
		       e.posix_truncation_status == POSIX_TRACE_TRUNCATED_RECORD, length);
		for (size_t i = 0; i < length; i++)
			printf("%02x", data[i]);
		puts(length ? "" : "-");
	}
}

static void print_status(void)
{
	struct posix_trace_status_info s;

	MUST(posix_trace_get_status(trid, &s) == 0);
	MUST(s.posix_stream_status == POSIX_TRACE_SUSPENDED && s.posix_stream_flush_status == POSIX_TRACE_NOT_FLUSHING);
	printf("status full=%d overrun=%d log-overrun=%d log-full=%d error=%d lost=%" PRIu64 "\n",
	       s.posix_stream_full_status == POSIX_TRACE_FULL, s.posix_stream_overrun_status == POSIX_TRACE_OVERRUN,
	       s.posix_log_overrun_status == POSIX_TRACE_OVERRUN, s.posix_log_full_status == POSIX_TRACE_FULL,
	       s.posix_stream_flush_error, (uint64_t)s.__posix_lost_events);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC), error;

		MUST(fd >= 0);
		printf("FILE %s\n", argv[i]);
		error = posix_trace_open(fd, &trid);
		MUST(error == 0 || error == EINVAL);
		if (error) {
			puts("not a log");
		} else {
			print_attributes();
			print_types();
			print_layouts();
			print_events();
			print_status();
			MUST(posix_trace_close(trid) == 0);
		}
		close(fd);
	}
	return test_failures != 0;
}
