/*
 * live_target.c - a program that records the events requested on its input, for tests of views of running programs
 *
 *     live_target [N [stay]]       records N rows at once; stay: goes on until it is killed
 *     live_target log FILE         records a row and a note of itself into a log
 *
 * Each line of its input is "COUNT NAME": so many events of that name; it answers "done". At the end of its input it
 * ends.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>
#include <unistd.h>

static trace_event_id_t row, note;

static void record(unsigned long count, const char *name)
{
	static uint32_t number;
	trace_event_id_t other;

	if (strcmp(name, "sql.row") != 0 && strcmp(name, "note") != 0)
		posix_trace_eventid_open(name, &other);
	while (count-- > 0) {
		struct {
			uint32_t number;
			uint64_t time;
		} data = { ++number, 1000 };

		if (strcmp(name, "sql.row") == 0)
			posix_trace_event(row, &data, sizeof data);
		else if (strcmp(name, "note") == 0)
			posix_trace_event(note, "some text", 9);
		else
			posix_trace_event(other, &number, sizeof number);
	}
}

static int write_log(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	trace_id_t trid;

	if (posix_trace_create_withlog(0, NULL, fd, &trid) != 0 || posix_trace_start(trid) != 0)
		return 1;
	record(1, "sql.row");
	record(1, "note");
	return posix_trace_shutdown(trid) != 0;
}

int main(int argc, char **argv)
{
	unsigned long count;
	char name[64];

	posix_trace_eventid_open("sql.row{number:u32,time:u64/ns}", &row);
	posix_trace_eventid_open("note", &note);
	if (argc > 2 && strcmp(argv[1], "log") == 0)
		return write_log(argv[2]);
	if (argc > 1)
		record(strtoul(argv[1], NULL, 10), "sql.row");
	puts("ready");
	fflush(stdout);
	while (argc > 2)
		pause();
	while (scanf("%lu %63s", &count, name) == 2) {
		record(count, name);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
