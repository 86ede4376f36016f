/*
 * reader.c - how long does <posixtrace/log.h> take to read an event, and to write one?
 *
 * For a log of events with five fields, in ns of the processor's time for each event, and for each value where columns
 * are read. The floor is read() of the whole log.
 *
 * SPDX-License-Identifier: MIT
 */
#include <posixtrace/log.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "common.h"
#include "events.h"
#include "rows.h"

#define FIELDS 5
#define ROWS   4096

static const struct section READER = { "reader", "<posixtrace/log.h>, ns for each event or value", "read() of all" };
static int fd;
static long count;
static uint64_t result; /* so that the compiler does not leave out what nobody uses */

static void check(int error, const char *what)
{
	if (error)
		die("%s: %s", what, posixtrace_log_error());
}

/* -- Writing --------------------------------------------------------------------------------------- */

static void write_log(void)
{
	struct posixtrace_log_writer *writer;
	uint32_t type;

	check(posixtrace_log_create_fd(fd, NULL, &writer), "create");
	check(posixtrace_log_declare(writer, "row", "{number:u64,time:u64/ns,size:u32/B,change:i32,part:f64}", &type),
	      "declare");
	for (long i = 0; i < count; i++) {
		struct { uint64_t number, time; uint32_t size; int32_t change; double part; } row = {
			(uint64_t)i, 100 + (uint64_t)i % 1000, (uint32_t)i * 7, (int32_t)(i % 100) - 50, (double)i / 3
		};

		check(posixtrace_log_put(writer, UINT64_C(1700000000000000000) + 100 * (uint64_t)i, 10,
		                         11 + (uint32_t)i % 2, 0x1234, type, &row, sizeof row), "put");
	}
	check(posixtrace_log_finish(writer), "finish");
}

/* -- Reading ---------------------------------------------------------------------------------------- */

static struct posixtrace_log *open_again(void)
{
	struct posixtrace_log *log;

	check(posixtrace_log_open(NULL, &log), "open");
	check(posixtrace_log_add_fd(log, fd, NULL), "add");
	return log;
}

static void read_events(bool values)
{
	struct posixtrace_log *log = open_again();
	const struct posixtrace_log_event *e;
	long events = 0;

	for (;;) {
		uint64_t value = 0;

		check(posixtrace_log_next(log, &e), "next");
		if (!e)
			break;
		if (values)
			check(posixtrace_log_get_unsigned(e, 2, 0, &value), "value");
		result += value + e->time;
		events++;
	}
	if (events != count)
		die("%ld events and not %ld", events, count);
	posixtrace_log_close(log);
}

/* Reads the times and some of the fields. Returns the number of columns. */
static int read_columns(int columns)
{
	static uint64_t values[FIELDS + 1][ROWS];
	struct posixtrace_log_column column[FIELDS + 1] = {
		{ POSIXTRACE_LOG_TIME, POSIXTRACE_LOG_UINT64, values[0], NULL } };
	struct posixtrace_log *log = open_again();
	const struct posixtrace_log_type *type = posixtrace_log_find_type(log, "row");
	long events = 0;
	size_t rows;

	for (int i = 1; i < columns; i++)
		column[i] = (struct posixtrace_log_column){ i - 1, i == FIELDS ? POSIXTRACE_LOG_DOUBLE :
			                                    POSIXTRACE_LOG_INT64, values[i], NULL };
	do {
		check(posixtrace_log_read(log, type, column, (size_t)columns, ROWS, &rows), "read");
		events += (long)rows;
		result += values[columns - 1][0];
	} while (rows);
	if (events != count)
		die("%ld rows and not %ld", events, count);
	posixtrace_log_close(log);
	return columns;
}

static void row(int round, const char *name, double begun, double each)
{
	double figure = (seconds(CLOCK_PROCESS_CPUTIME_ID) - begun) * 1e9 / each;

	bench_row(&READER, name, round, figure, read_all(fd, CLOCK_PROCESS_CPUTIME_ID) * 1e9 / each);
}

int main(int argc, char **argv)
{
	bench_begin(argc, argv, 5, "reading and writing logs with <posixtrace/log.h>");
	count = bench.quick ? 10000 : 1000000;
	for (int r = 0; r < bench.rounds; r++) {
		double begun = seconds(CLOCK_PROCESS_CPUTIME_ID), each = (double)count;

		fd = new_file();
		write_log();
		row(r, "put", begun, each);
		begun = seconds(CLOCK_PROCESS_CPUTIME_ID);
		read_events(false);
		row(r, "next", begun, each);
		begun = seconds(CLOCK_PROCESS_CPUTIME_ID);
		read_events(true);
		row(r, "next, and a value", begun, each);
		begun = seconds(CLOCK_PROCESS_CPUTIME_ID);
		read_columns(1);
		row(r, "a column: times", begun, each);
		begun = seconds(CLOCK_PROCESS_CPUTIME_ID);
		each *= read_columns(FIELDS + 1);
		row(r, "each of six columns", begun, each);
	}
	return result == 1 ? 1 : bench_end();
}
