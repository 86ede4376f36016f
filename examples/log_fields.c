/*
 * log_fields.c - prints the least, the mean and the greatest value of each field in logs, and what is missing
 *
 *     log_fields [-e PATTERN] FILE...
 *
 * SPDX-License-Identifier: MIT
 */
#include <posixtrace/log.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 4096

static struct posixtrace_log *the_log;

static void must(int error)
{
	if (!error)
		return;
	fprintf(stderr, "log_fields: %s\n", posixtrace_log_error());
	exit(1);
}

static void print_losses(void)
{
	static const char *const reasons[] = { "lost by the stream", "not recorded: the stream was full", "overwritten",
		                               "not recorded: the log was full", "not written", "in damaged parts",
		                               "the log was not closed" };
	const struct posixtrace_log_event *event;

	for (;;) {
		must(posixtrace_log_next(the_log, &event));
		if (!event)
			break;
		if (event->loss)
			printf("at %.9f s: %s%llu events: %s\n", (double)event->relative / 1e9,
			       event->loss->at_least ? "at least " : "", (unsigned long long)event->loss->count,
			       reasons[event->loss->reason]);
	}
}

/* Goes through all events once for each field: columns are fast, and need no memory. */
static void print_field(const struct posixtrace_log_type *type, unsigned index)
{
	static double values[ROWS];
	static unsigned char present[ROWS];
	struct posixtrace_log_column column = { (int32_t)index, POSIXTRACE_LOG_DOUBLE, values, present };
	const struct posixtrace_log_field *field = posixtrace_log_field_at(type, index);
	double least = 0, most = 0, sum = 0;
	unsigned long count = 0;
	size_t rows;

	posixtrace_log_rewind(the_log);
	do {
		must(posixtrace_log_read(the_log, type, &column, 1, ROWS, &rows));
		for (size_t i = 0; i < rows; i++) {
			if (!present[i])
				continue;
			least = count == 0 || values[i] < least ? values[i] : least;
			most = count == 0 || values[i] > most ? values[i] : most;
			sum += values[i];
			count++;
		}
	} while (rows > 0);
	if (count > 0)
		printf("  %-12s %12g %12g %12g %s\n", field->name, least, sum / (double)count, most, field->unit);
}

static void print_type(const struct posixtrace_log_type *type)
{
	printf("%s: %llu events\n", type->name, (unsigned long long)type->events);
	for (unsigned i = 0; i < type->fields; i++) {
		uint32_t kind = posixtrace_log_field_at(type, i)->kind;

		if (kind != POSIXTRACE_LOG_TEXT && kind != POSIXTRACE_LOG_BYTES)
			print_field(type, i);
	}
}

int main(int argc, char **argv)
{
	const struct posixtrace_log_type *type;
	int first = argc > 2 && strcmp(argv[1], "-e") == 0 ? 3 : 1;

	if (argc <= first) {
		fprintf(stderr, "usage: log_fields [-e PATTERN] FILE...\n");
		return 2;
	}
	must(posixtrace_log_open(NULL, &the_log));
	for (int i = first; i < argc; i++)
		must(posixtrace_log_add(the_log, argv[i]));
	if (first == 3)
		must(posixtrace_log_only_event(the_log, argv[2]));
	/* Counts the events, too. */
	print_losses();
	for (size_t i = 0; (type = posixtrace_log_type_at(the_log, i)) != NULL; i++)
		if (type->events > 0 && !type->system)
			print_type(type);
	posixtrace_log_close(the_log);
	return 0;
}
