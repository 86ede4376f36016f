/*
 * report.c - posixtrace report: the events of logs, in the order of their times
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/nothing.h"
#include "common/command.h"
#include "common/display.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/options.h"
#include "common/out.h"
#include "logs/event_json.h"
#include "logs/missing.h"
#include "report/line.h"
#include "report/why.h"

enum {
	OPTION_TAIL = MATCH_OPTIONS_END,
	OPTION_RELATIVE,
	OPTION_ABSOLUTE,
	OPTION_DELTA,
	OPTION_SYMBOLS,
	OPTION_FULL,
	OPTION_FIELDS,
	OPTION_NO_HEADER,
	OPTION_WHY,
};

static const struct option_row option_rows[] = {
	MATCH_ROWS,
	OPTION_HEADING("Output:"),
	OPTION('n', "lines", "N", "only the first N lines"),
	OPTION(OPTION_TAIL, "tail", "N", "only the last N lines"),
	OPTION(OPTION_RELATIVE, "relative", NULL, "times as seconds since the beginning of the log (default)"),
	OPTION(OPTION_ABSOLUTE, "absolute", NULL, "times as date and time of day"),
	OPTION(OPTION_DELTA, "delta", NULL, "times as seconds since the previous line"),
	OPTION(OPTION_SYMBOLS, "symbols", NULL, "show function and source line of each trace point"),
	OPTION(OPTION_FULL, "full", NULL, "do not shorten long data of undeclared layout"),
	OPTION(OPTION_FIELDS, "fields", "LIST",
	       "columns, separated by commas: time, pid, tid, thread, event, data, symbol, file"),
	OPTION(OPTION_JSON, "json", NULL, "a JSON object on each line"),
	OPTION(OPTION_NO_HEADER, "no-header", NULL, "omit the lines that describe the logs"),
	OPTION(OPTION_WHY, "why", "SPAN[@TIME]",
	       "instead of events, how the time of spans divides into running, waiting for a processor, locks and "
	       "system calls: the slowest 1 % of the spans of this name, or of BEGIN,END; or those open at TIME"),
	OPTION_ROW_COLOR,
	OPTION_ROW_NO_PAGER,
	{ 0 },
};

/* A log of more bytes is not read as a whole for its first lines. */
#define FEW_LINES_SIZE (UINT64_C(256) << 20)

struct options {
	struct match *match;
	const char *color, *why;
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
	wrong_usage("--fields: unknown field %.*s; the fields are time, pid, tid, thread, event, data, symbol and file",
	            (int)length, name);
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
		r->time = option == OPTION_RELATIVE ? TIME_RELATIVE : option == OPTION_ABSOLUTE ? TIME_ABSOLUTE :
		          TIME_DELTA;
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
	case OPTION_WHY:
		o->why = optarg;
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
	const char *columns = NULL;
	int c;

	while ((c = next_option(argc, argv)) != -1)
		take_option(r, o, c, &columns);
	if (o->lines >= 0 && o->tail >= 0)
		wrong_usage("--lines and --tail cannot be combined");
	if (o->why && (columns || o->lines >= 0 || o->tail >= 0))
		wrong_usage("--why cannot be combined with --fields, --lines and --tail");
	if (r->json && columns)
		wrong_usage("--json and --fields cannot be combined");
	if (columns && !*columns)
		wrong_usage("--fields '': no field given");
	match_hide_system(o->match);
	parse_columns(r, columns ? columns : argc - optind > 1 ? "time,file,pid,thread,event,data" :
	              "time,pid,thread,event,data");
	if (r->symbols && !has_column(r, COLUMN_SYMBOL))
		add_column(r, "symbol", 6);
}

/* -- Logs ---------------------------------------------------------------------------------------- */

static void print_missing(const struct missing *m)
{
	struct missing_part part[MISSING_PARTS];
	unsigned n = missing_describe(m, part);

	for (unsigned i = 0; i < n; i++) {
		display_colour(part[i].bad ? RED : PLAIN);
		out_printf(", %s", part[i].text);
		display_colour(PLAIN);
	}
	if (!m->closed && !m->unwritten)
		out_text(", not complete");
}

/* few: only the first lines are printed. They come at once, before a large log has been searched for damage. */
static void print_header(const struct report *r, bool few)
{
	for (unsigned i = 0; i < r->logs.count; i++) {
		const struct source *s = &r->logs.source[i];
		const struct input *in = &s->file->in;
		const struct attr *a = &in->header.attr;
		struct missing missing;

		display_colour(DIM);
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
		display_colour(PLAIN);
		if (few && in->size > FEW_LINES_SIZE)
			missing_counted(&missing, s->file);
		else
			missing_find(&missing, s->file);
		print_missing(&missing);
		out_char('\n');
	}
}

/* -- Lines ------------------------------------------------------------------------------------------- */

/* The lines that are printed. at: the number of the next line. */
struct range {
	uint64_t at, first, end;
};

static bool turn(struct range *range)
{
	return range->at++ >= range->first;
}

/* Prints a loss if it is in the range. Returns whether the loss is selected by the options. */
static bool print_loss(struct report *r, struct source *s, struct range *range)
{
	struct loss loss = source_take_loss(s);

	if (!loss.wanted)
		return false;
	if (turn(range))
		report_lost(r, s, &loss);
	else
		r->before = loss.until ? loss.until : loss.from;
	return true;
}

/* Prints the selected events and losses that are in the range. Returns the number of selected ones. */
static uint64_t go_through(struct report *r, struct range *range)
{
	uint64_t wanted = 0;

	bool all = r->logs.count == 1 && match_all_user(r->logs.source[0].match);
	struct source *s;

	r->before = r->logs.begin;
	lasted_cut(&r->lasted);
	sources_rewind(&r->logs);
	while ((s = sources_oldest(&r->logs)) != NULL && range->at < range->end) {
		if (source_tells_of_loss(s) || s->event->id == POSIX_TRACE_START)
			lasted_cut(&r->lasted);
		if (source_tells_of_loss(s) && !r->json) {
			wanted += print_loss(r, s, range);
			continue;
		}
		if ((all && !eventtype_system(s->event->id)) || source_wanted(s)) {
			uint64_t took = SPAN_NONE;

			lasted_event(&r->lasted, s, &took);
			wanted++;
			if (!turn(range))
				r->before = s->event->time;
			else if (r->json)
				event_json(&r->logs, s, took);
			else
				report_line(r, s, took);
		}
		source_advance(s);
	}
	return wanted;
}

static int report(int argc, char **argv)
{
	struct options o = { .match = match_new(), .color = "auto", .header = true, .pager = true, .lines = -1,
	                     .tail = -1 };
	struct range range = { .end = UINT64_MAX };
	struct report r = { 0 };
	bool missing;

	parse(&r, &o, argc, argv);
	sources_open(&r.logs, o.match, r.symbols, argc - optind, argv + optind);
	sources_declared(&r.logs);
	if (o.why) {
		bool found = why_print(&r.logs, o.why, r.json, r.full);

		sources_close(&r.logs);
		return found ? STATUS_DONE : STATUS_FAILED;
	}
	missing = nothing_matches(&r.logs, o.match, NULL);
	lasted_begin(&r.lasted, &r.logs);
	for (unsigned i = 0; i < r.logs.count; i++)
		report_names(&r, &r.logs.source[i]);
	display_colours(o.color);
	if (o.tail >= 0) {
		/* Count first: only the total tells which lines are the last ones. */
		range.first = UINT64_MAX;
		go_through(&r, &range);
		range.first = range.at > (uint64_t)o.tail ? range.at - (uint64_t)o.tail : 0;
		range.at = 0;
	} else if (o.lines >= 0) {
		range.end = (uint64_t)o.lines;
	}
	if (o.pager)
		display_pager();
	if (o.header && !r.json)
		print_header(&r, range.end < UINT64_MAX);
	if (go_through(&r, &range) == 0 && !missing && range.end > 0) {
		out_flush();
		if (match_given(o.match))
			missing = nothing_wanted(&r.logs);
		else
			complain("the log has no events");
	}
	if ((!o.header || r.json) && range.end == UINT64_MAX) {
		out_flush();
		for (unsigned i = 0; i < r.logs.count; i++)
			missing_say_damage(r.logs.source[i].file);
	}
	sources_close(&r.logs);
	return missing ? STATUS_FAILED : STATUS_DONE;
}

const struct command command_report = {
	.name = "report",
	.summary = "print the events of logs, line by line",
	.synopsis = "[options] [FILE...]",
	.about = "Prints the events of logs, line by line, in the order of their times. FILE defaults to "
	         LOGFILE_DEFAULT "; - is standard input.",
	.options = option_rows,
	.operand = "FILE",
	.run = report,
};
