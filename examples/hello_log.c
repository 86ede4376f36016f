/* hello_log.c - a program that logs its events to a file and reads them back. SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <trace.h>

int main(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "hello.log", O_RDWR | O_CREAT, 0600);
	trace_event_id_t hello;
	trace_id_t trid, log;

	posix_trace_eventid_open("hello", &hello);
	if (posix_trace_create_withlog(0, NULL, fd, &trid) != 0 || posix_trace_start(trid) != 0)
		return 1;
	for (int number = 1; number <= 3; number++)
		posix_trace_event(hello, &number, sizeof number);
	if (posix_trace_shutdown(trid) != 0) /* now all is in the file */
		return 1;

	struct posix_trace_event_info event;
	char name[TRACE_EVENT_NAME_MAX + 1];
	int number, none;
	size_t len;
	if (posix_trace_open(fd, &log) != 0)
		return 1;
	while (posix_trace_getnext_event(log, &event, &number, sizeof number, &len, &none) == 0 && !none) {
		posix_trace_eventid_get_name(log, event.posix_event_id, name);
		printf("%lld.%09ld %s", (long long)event.posix_timestamp.tv_sec, event.posix_timestamp.tv_nsec, name);
		event.posix_event_id == hello ? printf(" %d\n", number) : printf("\n");
	}
	return posix_trace_close(log);
}
