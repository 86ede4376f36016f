/*
 * readlog.c - what a log tells of SQLite: sqlread
 *
 *     log_append PID > FILE        while SQLite runs, with sqltrace
 *     sqlread FILE                 at any time later, anywhere
 *
 * Prints what sqlattach would have printed (analysis.h), from a log of a process
 * that has loaded sqltrace. Who has recorded it needs to know nothing
 * of SQLite: log_append.c in the folder above records any process.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "analysis.h"

static void on_event(trace_event_id_t id, const void *data, size_t length)
{
	(void)id;
	(void)data;
	(void)length;
}

int main(int argc, char **argv)
{
	trace_id_t trid;
	int fd, error;

	if (argc != 2) {
		fprintf(stderr, "usage: sqlread FILE\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY);
	error = fd < 0 ? errno : analysis_open(fd, stdout, &trid);
	if (!error)
		error = analysis_run(on_event);
	if (error) {
		fprintf(stderr, "sqlread: %s: %s\n", argv[1], error == EINVAL ? "not a log" : strerror(error));
		return 1;
	}
	analysis_report();
	return posix_trace_close(trid) != 0;
}
