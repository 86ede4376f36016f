/*
 * log_import.c - makes a log of events in a text, to look at them with the commands of posixtrace
 *
 *     log_import FILE <TEXT
 *
 * Each line of the text has a time in seconds since 1970, the id and the name of a thread, an event type, and a number:
 *
 *     1700000000.000120 7 worker request.size 1024
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <posixtrace/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int error)
{
	if (!error)
		return;
	fprintf(stderr, "log_import: %s\n", posixtrace_log_error());
	exit(1);
}

/* Returns nanoseconds; a double would lose some. */
static uint64_t time_of(const char *text)
{
	char *end;
	uint64_t time = strtoull(text, &end, 10) * 1000000000, part = 100000000;

	if (*end == '.')
		for (end++; *end >= '0' && *end <= '9'; end++, part /= 10)
			time += part * (uint64_t)(*end - '0');
	return time;
}

int main(int argc, char **argv)
{
	struct posixtrace_log_origin origin = { .size = sizeof origin, .name = "text", .generator = "log_import 1.0" };
	char line[1000], time[40], thread[16], event[64];
	struct posixtrace_log_writer *writer;
	unsigned long long number;
	unsigned tid;
	uint32_t type;

	if (argc != 2) {
		fprintf(stderr, "usage: log_import FILE <TEXT\n");
		return 2;
	}
	must(posixtrace_log_create(argv[1], &origin, &writer));
	while (fgets(line, sizeof line, stdin)) {
		uint64_t value;

		if (sscanf(line, "%39s %u %15s %63s %llu", time, &tid, thread, event, &number) != 5) {
			fprintf(stderr, "log_import: not TIME TID THREAD EVENT NUMBER: %s", line);
			return 1;
		}
		value = number;
		must(posixtrace_log_declare(writer, event, "{value:u64}", &type));
		must(posixtrace_log_name_thread(writer, 1, tid, thread));
		must(posixtrace_log_put(writer, time_of(time), 1, tid, 0, type, &value, sizeof value));
	}
	must(posixtrace_log_finish(writer));
	return 0;
}
