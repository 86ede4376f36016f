/* hello.c - a program that traces itself. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <time.h>
#include <trace.h>

int main(void)
{
	trace_event_id_t hello;
	trace_id_t trid;

	posix_trace_eventid_open("hello", &hello);
	if (posix_trace_create(0, NULL, &trid) != 0 || posix_trace_start(trid) != 0)
		return 1;
	for (int number = 1; number <= 3; number++)
		posix_trace_event(hello, &number, sizeof number);
	posix_trace_stop(trid);

	struct posix_trace_event_info event;
	char name[TRACE_EVENT_NAME_MAX + 1];
	int number, none;
	size_t len;
	while (posix_trace_trygetnext_event(trid, &event, &number, sizeof number, &len, &none) == 0 && !none) {
		posix_trace_eventid_get_name(trid, event.posix_event_id, name);
		printf("%lld.%09ld %s", (long long)event.posix_timestamp.tv_sec, event.posix_timestamp.tv_nsec, name);
		event.posix_event_id == hello ? printf(" %d\n", number) : printf("\n");
	}
	return posix_trace_shutdown(trid);
}
