/*
 * report.c - posixtrace report: the events of logs, in the order of their times
 *
 * SPDX-License-Identifier: MIT
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "event_json.h"
#include "moment.h"
#include "out.h"

static const char usage[] =
	"usage: posixtrace report [options] [FILE...]\n"
	"\n"
	"Shows the events of logs, line by line, in the order of their times; FILE is posixtrace.log\n"
	"if there is none, - is standard input.\n"
	"\n" MATCH_USAGE
	"  -n, --lines N          the first N lines only\n"
	"      --tail N           the last N lines only\n"
	"      --relative         times as seconds since the beginning of the log (default)\n"
	"      --absolute         as date and time of day\n"
	"      --delta            as seconds since the line before\n"
	"      --symbols          the function and the line of source of each trace point\n"
	"      --full             long data whole, that nobody has declared the layout of\n"
	"      --fields LIST      what is in a line, from time,pid,tid,thread,event,data,symbol,file\n"
	"      --json             an object of JSON on each line\n"
	"      --no-header        without the lines in front that tell of the logs\n"
	"      --color WHEN       auto, always or never\n"
	"      --no-pager         not through $PAGER, on a terminal\n";

enum {
	OPTION_TAIL = MATCH_OPTIONS_END,
	OPTION_RELATIVE,
	OPTION_ABSOLUTE,
	OPTION_DELTA,
	OPTION_SYMBOLS,
	OPTION_FULL,
	OPTION_FIELDS,
	OPTION_JSON,
	OPTION_NO_HEADER,
	OPTION_COLOR,
	OPTION_NO_PAGER,
};

struct options {
	struct match *match;
	const char *color;
	bool header, pager;
	long lines, tail; /* -1: all */
};

/* -- Options --------------------------------------------------------------------------------- */

static const char *const column_names[COLUMNS] = {
	[COLUMN_TIME] = "time",   [COLUMN_PID] = "pid",   [COLUMN_TID] = "tid",       [COLUMN_THREAD] = "thread",
	[COLUMN_EVENT] = "event", [COLUMN_DATA] = "data", [COLUMN_SYMBOL] = "symbol", [COLUMN_FILE] = "file",
};

static bool has_column(const struct report *r, enum column column)
{
	for (unsigned i = 0; i < r->columns; i++)
		if (r->column[i] == column)
			return true;
	return false;
}

static void add_column(struct report *r, const char *name, size_t length)
{
	for (unsigned i = 0; i < COLUMNS; i++) {
		if (strlen(column_names[i]) != length || memcmp(column_names[i], name, length) != 0)
			continue;
		if (has_column(r, i))
			wrong_usage("--fields: %.*s twice", (int)length, name);
		r->column[r->columns++] = i;
		r->symbols |= i == COLUMN_SYMBOL;
		return;
	}
	wrong_usage("--fields: no %.*s; there are time, pid, tid, thread, event, data, symbol and file", (int)length, name);
}

static void parse_columns(struct report *r, const char *list)
{
	r->columns = 0;
	for (;;) {
		size_t length = strcspn(list, ",");

		add_column(r, list, length);
		if (!list[length])
			return;
		list += length + 1;
	}
}

static void take_option(struct report *r, struct options *o, int option, const char **columns)
{
	switch (option) {
	case 'n':
		o->lines = argument_number("--lines", optarg, 0, __LONG_MAX__);
		break;
	case OPTION_TAIL:
		o->tail = argument_number("--tail", optarg, 0, __LONG_MAX__);
		break;
	case OPTION_RELATIVE:
	case OPTION_ABSOLUTE:
	case OPTION_DELTA:
		r->time = option == OPTION_RELATIVE ? TIME_RELATIVE : option == OPTION_ABSOLUTE ? TIME_ABSOLUTE : TIME_DELTA;
		break;
	case OPTION_SYMBOLS:
		r->symbols = true;
		break;
	case OPTION_FULL:
		r->full = true;
		break;
	case OPTION_FIELDS:
		*columns = optarg;
		break;
	case OPTION_JSON:
		r->json = true;
		break;
	case OPTION_NO_HEADER:
		o->header = false;
		break;
	case OPTION_COLOR:
		o->color = optarg;
		break;
	case OPTION_NO_PAGER:
		o->pager = false;
		break;
	default:
		match_option(o->match, option, optarg);
	}
}

static void parse(struct report *r, struct options *o, int argc, char **argv)
{
	static const struct option options[] = {
		MATCH_OPTIONS,
		{ "lines", required_argument, NULL, 'n' },
		{ "tail", required_argument, NULL, OPTION_TAIL },
		{ "relative", no_argument, NULL, OPTION_RELATIVE },
		{ "absolute", no_argument, NULL, OPTION_ABSOLUTE },
		{ "delta", no_argument, NULL, OPTION_DELTA },
		{ "symbols", no_argument, NULL, OPTION_SYMBOLS },
		{ "full", no_argument, NULL, OPTION_FULL },
		{ "fields", required_argument, NULL, OPTION_FIELDS },
		{ "json", no_argument, NULL, OPTION_JSON },
		{ "no-header", no_argument, NULL, OPTION_NO_HEADER },
		{ "color", required_argument, NULL, OPTION_COLOR },
		{ "no-pager", no_argument, NULL, OPTION_NO_PAGER },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *columns = NULL;
	int c;

	while ((c = next_option(argc, argv, "*" MATCH_LETTERS "n:", options)) != -1)
		take_option(r, o, c, &columns);
	if (o->lines >= 0 && o->tail >= 0)
		wrong_usage("either --lines or --tail");
	parse_columns(r, columns ? columns : argc - optind > 1 ? "time,file,pid,thread,event,data" : "time,pid,thread,event,data");
	if (r->symbols && !has_column(r, COLUMN_SYMBOL))
		add_column(r, "symbol", 6);
}

/* -- Logs ---------------------------------------------------------------------------------------- */

static void print_header(const struct report *r)
{
	for (unsigned i = 0; i < r->logs.count; i++) {
		const struct source *s = &r->logs.source[i];
		const struct input *in = &s->file->in;
		const struct attr *a = &in->header.attr;

		out_colour(DIM);
		out_text("# ");
		out_foreign(s->path, strlen(s->path), 0);
		out_text(": ");
		moment_print(logfile_created(s->file));
		if (*a->name) {
			out_text(", ");
			out_foreign(a->name, strlen(a->name), 0);
		}
		if (*in->header.host) {
			out_text(" on ");
			out_foreign(in->header.host, strlen(in->header.host), 0);
		}
		out_colour(PLAIN);
		if (in->lost) {
			out_colour(RED);
			out_printf(", %llu events lost", (unsigned long long)in->lost);
			out_colour(PLAIN);
		}
		if (!in->complete)
			out_text(", not complete");
		out_char('\n');
	}
}

/* -- Lines ------------------------------------------------------------------------------------------- */

/* Which of the lines are printed. */
struct range {
	uint64_t at, first, end;
};

static bool turn(struct range *range)
{
	return range->at++ >= range->first;
}

static void print_loss(struct report *r, struct source *s, struct range *range)
{
	struct loss loss = source_take_loss(s);

	if (!loss.wanted)
		return;
	if (turn(range))
		report_lost(r, s, loss.from, loss.until);
	else
		r->before = loss.until ? loss.until : loss.from;
}

static void go_through(struct report *r, struct range *range)
{
	bool all = r->logs.count == 1 && match_all(r->logs.source[0].match);
	struct source *s;

	r->before = r->logs.begin;
	sources_rewind(&r->logs);
	while ((s = sources_oldest(&r->logs)) != NULL && range->at < range->end) {
		if (source_tells_of_loss(s) && !r->json) {
			print_loss(r, s, range);
			continue;
		}
		if (all || source_wanted(s)) {
			if (!turn(range))
				r->before = s->event->time;
			else if (r->json)
				event_json(&r->logs, s);
			else
				report_line(r, s);
		}
		source_advance(s);
	}
}

static int report(int argc, char **argv)
{
	struct options o = { .match = match_new(), .color = "auto", .header = true, .pager = true, .lines = -1, .tail = -1 };
	struct range range = { .end = UINT64_MAX };
	struct report r = { 0 };

	parse(&r, &o, argc, argv);
	sources_open(&r.logs, o.match, r.symbols, argc - optind, argv + optind);
	for (unsigned i = 0; i < r.logs.count; i++)
		report_names(&r, &r.logs.source[i]);
	out_colours(o.color);
	if (o.tail >= 0) {
		/* Counted first: the last ones are known only at the end. */
		range.first = UINT64_MAX;
		go_through(&r, &range);
		range.first = range.at > (uint64_t)o.tail ? range.at - (uint64_t)o.tail : 0;
		range.at = 0;
	} else if (o.lines >= 0) {
		range.end = (uint64_t)o.lines;
	}
	if (o.pager)
		out_pager();
	if (o.header && !r.json)
		print_header(&r);
	go_through(&r, &range);
	sources_close(&r.logs);
	return STATUS_DONE;
}

const struct command command_report = {
	.name = "report",
	.summary = "shows the events of logs, line by line",
	.usage = usage,
	.run = report,
};
