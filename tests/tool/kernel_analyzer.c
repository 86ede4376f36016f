/*
 * kernel_analyzer.c - reads a log of record --kernel with nothing but the functions of the standard
 *
 *     kernel_analyzer LOG
 *
 * Prints the name of each event, in the order in which the events come, and before that the names in the list of types,
 * each with a minus. Ends with 1 if a time is before that of the event before, or if Linux's events are system events.
 * A log has no filter.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>

static void expect(int error, const char *what)
{
	if (error) {
		fprintf(stderr, "%s: error %d\n", what, error);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct posix_trace_event_info event;
	struct timespec before = { 0 };
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_set_t set;
	trace_event_id_t id;
	int is_system, unavailable, fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	unsigned char data[4096];
	trace_id_t trid;
	size_t length;

	if (fd < 0)
		return 2;
	expect(posix_trace_open(fd, &trid), "posix_trace_open");
	expect(posix_trace_eventset_fill(&set, POSIX_TRACE_SYSTEM_EVENTS), "set of system events");
	if (posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) != EINVAL)
		return 1;
	for (;;) {
		expect(posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable), "list of types");
		if (unavailable)
			break;
		expect(posix_trace_eventid_get_name(trid, id, name), "name of a type");
		printf("-%s\n", name);
		expect(posix_trace_eventset_ismember(id, &set, &is_system), "member of a set");
		if (is_system != (strncmp(name, "posix_trace_", 12) == 0 && id != POSIX_TRACE_UNNAMED_USEREVENT))
			return 1;
	}
	for (;;) {
		expect(posix_trace_getnext_event(trid, &event, data, sizeof data, &length, &unavailable), "next event");
		if (unavailable)
			break;
		expect(posix_trace_eventid_get_name(trid, event.posix_event_id, name), "name of an event");
		printf("%s\n", name);
		if (event.posix_timestamp.tv_sec < before.tv_sec || (event.posix_timestamp.tv_sec == before.tv_sec &&
		    event.posix_timestamp.tv_nsec < before.tv_nsec))
			return 1;
		before = event.posix_timestamp;
	}
	expect(posix_trace_close(trid), "posix_trace_close");
	return 0;
}
