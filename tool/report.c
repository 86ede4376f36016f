/*
 * report.c - posixtrace report: the events of logs, in the order of their times
 *
 * SPDX-License-Identifier: MIT
 */
#include "command.h"

#include "layout.h"
#include "logfile.h"
#include "match.h"
#include "moment.h"
#include "out.h"

static int report(int argc, char **argv)
{
	static const struct option options[] = { MATCH_OPTIONS, { "help", no_argument, NULL, 'h' }, { 0 } };
	struct match *m = match_new();
	const struct log_event *e;
	const unsigned char *data;
	struct logfile *f;
	struct layouts *l;
	uint64_t begin;
	int c;

	while ((c = next_option(argc, argv, MATCH_LETTERS, options)) != -1)
		match_option(m, c, optarg);
	f = logfile_open(optind < argc ? argv[optind] : LOGFILE_DEFAULT);
	l = layouts_of(f);
	begin = logfile_created(f);
	match_begin(m, f);
	while ((e = logfile_next(f, &data)) != NULL) {
		const struct layout *layout = layouts_find(l, e->id);

		if (!match_event(m, e))
			continue;
		moment_print_seconds((int64_t)(e->time - begin), 16);
		out_number(e->pid, 8);
		out_number(e->tid, 8);
		out_char(' ');
		out_text(layouts_name(l, e->id));
		out_char(' ');
		if (layout)
			layout_print(layout, data, e->length);
		else
			layout_print_unknown(data, e->length);
		out_char('\n');
	}
	logfile_close(f);
	return STATUS_DONE;
}

const struct command command_report = {
	.name = "report",
	.summary = "shows the events of a log, line by line",
	.usage = "usage: posixtrace report [options] [FILE...]\n\nShows the events of logs in the order of their times.\n\n" MATCH_USAGE,
	.run = report,
};
