/*
 * view.c - posixtrace view: logs as a web page, with a time line
 *
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/nothing.h"
#include "analysis/pairs.h"
#include "common/bytes.h"
#include "common/command.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/options.h"
#include "event/system_text.h"
#include "logs/match.h"
#include "logs/outfile.h"
#include "view/columns.h"
#include "view/page.h"
#include "view/stacks.h"
#include "view/tables.h"

/* The number of events that a browser shows without delay. */
#define LIMIT_DEFAULT 2000000
#define LIMIT_MOST    20000000
/* Limit of the data in the page, all of which the browser keeps in memory. */
#define DATA_LIMIT (UINT64_C(512) << 20)

static struct {
	struct match *match;
	struct spans spans;
	const char *output, *title;
	bool force, last, no_pairs, no_symbols;
	uint64_t limit;
} options = { .limit = LIMIT_DEFAULT };

enum { OPTION_TITLE = SPAN_OPTIONS_END, OPTION_NO_PAIRS, OPTION_LIMIT, OPTION_LAST, OPTION_NO_SYMBOLS };

static const struct option_row option_rows[] = {
	OPTION('o', "output", "PAGE",
	       "write the page to PAGE; - is standard output. Default: the name of the log with .html for .log"),
	OPTION_FLAG('f', "force", &options.force,
	            "overwrite PAGE even if it is not a page of posixtrace view; a log is never overwritten"),
	OPTION(OPTION_TITLE, "title", "TEXT", "title of the page (default: the name of the log)"),
	SPAN_ROWS("show the time"),
	OPTION_FLAG(OPTION_NO_PAIRS, "no-pairs", &options.no_pairs, "do not pair names such as sql.begin and sql.end"),
	OPTION(OPTION_LIMIT, "limit", "N", "at most N events, the first ones (default 2000000)"),
	OPTION_FLAG(OPTION_LAST, "last", &options.last, "the last N events instead"),
	OPTION_FLAG(OPTION_NO_SYMBOLS, "no-symbols", &options.no_symbols,
	            "do not look up function and source line of trace points"),
	OPTION_HEADING("Which events:"),
	MATCH_ROWS,
	{ 0 },
};

/* The row of a shape that occurred in a segment. */
struct known {
	uint64_t segment;
	uint32_t shape;
};

/* The state of a log; source.own. */
struct own {
	struct view_log log; /* must be first: tables.c reads source.own as struct view_log */
	struct known known[SHAPES_MAX];
};

static struct sources logs;
static struct view_facts facts = { .logs = &logs, .spans = &options.spans };

/* -- Options --------------------------------------------------------------------------------------- */

static void take(int option, const char *argument)
{
	switch (option) {
	case 'o':
		options.output = argument_file("-o", argument);
		break;
	case OPTION_TITLE:
		options.title = argument;
		break;
	case OPTION_LIMIT:
		options.limit = (uint64_t)argument_number("--limit", argument, 1, LIMIT_MOST);
		break;
	default:
		if (!span_option(&options.spans, option, argument))
			match_option(options.match, option, argument);
	}
}

static void take_all(int argc, char **argv)
{
	int c;

	options.match = match_new();
	while ((c = next_option(argc, argv)) != -1)
		take(c, optarg);
	match_hide_system(options.match);
}

/* -- Events -------------------------------------------------------------------------------------------- */

static bool is_damaged(const struct source *s)
{
	return logfile_shape(s->file, s->event) == SHAPES_MAX;
}

/* Returns the row of a shape. whole: length of the data, of which the page has at most COLUMNS_DATA_MAX bytes. */
static uint32_t make_shape(const struct source *s, uint32_t whole, uint32_t flags)
{
	struct shape shape = {
		.thread = view_thread(s),
		.type = view_type(s),
		.place = view_place(s),
		.flags = flags | (s->event->truncated ? COLUMNS_TRUNCATED : 0),
		.length = whole < COLUMNS_DATA_MAX ? whole : COLUMNS_DATA_MAX,
		.whole = whole,
	};

	return columns_shape(&shape);
}

static uint32_t shape_of(const struct source *s)
{
	struct own *own = s->own;
	struct known *known = &own->known[logfile_shape(s->file, s->event)];

	if (known->segment != logfile_segment(s->file)) {
		known->segment = logfile_segment(s->file);
		known->shape = make_shape(s, s->event->length, 0);
	}
	return known->shape;
}

static void add_event(const struct source *s)
{
	int64_t time = moment_difference(s->event->time, logs.begin);
	unsigned char stack[STACKS_DATA];
	uint32_t stack_length;
	char words[SYSTEM_TEXT];

	if (is_damaged(s))
		columns_add(time, make_shape(s, 0, COLUMNS_DAMAGED), NULL);
	else if (s->event->id < POSIX_TRACE_UNNAMED_USEREVENT && system_text(words, s->layouts, s->event, s->data))
		columns_add(time, make_shape(s, (uint32_t)strlen(words), COLUMNS_WORDS), (unsigned char *)words);
	else if ((stack_length = stacks_data(s, stack)) != 0)
		columns_add(time, make_shape(s, stack_length, 0), stack);
	else
		columns_add(time, shape_of(s), s->data);
}

/* A point where open spans are cut: before an event that is hidden from the page, or at an event in the page. */
struct cut {
	uint32_t event, log, hidden;
};

static struct cut *cuts;
static uint32_t cut_count, cut_room;

static void add_cut(const struct source *s, bool hidden)
{
	struct cut cut = { columns_count(), s->index, hidden };

	/* Several hidden cuts before the same event are one. */
	if (hidden && cut_count && memcmp(&cuts[cut_count - 1], &cut, sizeof cut) == 0)
		return;
	if (cut_count == cut_room) {
		cut_room = cut_room ? 2 * cut_room : 64;
		cuts = realloc(cuts, cut_room * sizeof *cuts);
		if (!cuts)
			fail("no memory");
	}
	cuts[cut_count++] = cut;
}

static void count_read(struct about *a, const struct log_event *e)
{
	if (a->read++ == 0 || e->time < a->first)
		a->first = e->time;
	if (e->time > a->last)
		a->last = e->time;
	a->truncated += e->truncated;
}

/* Adds the event to the page if it is selected. before: number of selected events to leave out first. */
static void take_event(const struct source *s, uint64_t before)
{
	struct own *own = s->own;
	bool cuts_spans = about_event(&own->log.about, s->event, s->data, is_damaged(s)), in_page;

	if (!is_damaged(s))
		count_read(&own->log.about, s->event);
	in_page = source_wanted(s) && facts.events++ >= before && columns_count() < options.limit &&
	          columns_bytes() < DATA_LIMIT;
	if (cuts_spans)
		add_cut(s, !in_page);
	if (in_page)
		add_event(s);
}

static void begin_reading(void)
{
	for (unsigned i = 0; i < logs.count; i++) {
		struct own *own = calloc(1, sizeof *own);

		if (!own)
			fail("no memory");
		about_begin(&own->log.about, logs.source[i].file);
		logs.source[i].own = own;
	}
	sources_rewind(&logs);
}

static uint64_t count_wanted(void)
{
	uint64_t n = 0;
	struct source *s;

	sources_rewind(&logs);
	for (; (s = sources_oldest(&logs)) != NULL; source_advance(s))
		n += source_wanted(s);
	return n;
}

static void write_cuts(void)
{
	unsigned char *bytes = malloc(12 * (size_t)cut_count + 1);

	if (!bytes)
		fail("no memory");
	for (uint32_t i = 0; i < cut_count; i++) {
		put32(bytes + 12 * (size_t)i, cuts[i].event);
		put32(bytes + 12 * (size_t)i + 4, cuts[i].log);
		put32(bytes + 12 * (size_t)i + 8, cuts[i].hidden);
	}
	page_block("cuts", bytes, 12 * (size_t)cut_count);
	free(bytes);
}

static void write_events(void)
{
	uint64_t before = 0;
	struct source *s;

	if (options.last) {
		uint64_t wanted = count_wanted();

		before = wanted > options.limit ? wanted - options.limit : 0;
	}
	begin_reading();
	for (; (s = sources_oldest(&logs)) != NULL; source_advance(s))
		take_event(s, before);
	columns_end();
	stacks_write_block();
	write_cuts();
	for (unsigned i = 0; i < logs.count; i++)
		about_end(&((struct own *)logs.source[i].own)->log.about, logs.source[i].file);
}

/* -- The end ---------------------------------------------------------------------------------------- */

static void print_url(const char *path)
{
	char *absolute = realpath(path, NULL);

	if (!absolute)
		return;
	fputs("  file://", stderr);
	for (const char *p = absolute; *p; p++)
		if ((*p >= '0' && *p <= '9') || ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z') || strchr("/-._~", *p))
			fputc(*p, stderr);
		else
			fprintf(stderr, "%%%02X", (unsigned char)*p);
	fputc('\n', stderr);
	free(absolute);
}

static void say_made(const char *path, uint64_t size)
{
	uint32_t there = columns_count();
	char bytes[16];

	for (unsigned i = 0; i < logs.count; i++)
		missing_say_damage(logs.source[i].file);
	if (there < facts.events)
		complain("the %s %u of %llu events are in the page; --from, --to and -e choose others, --limit more, "
		         "--last the %s",
			options.last ? "last" : "first", there, (unsigned long long)facts.events,
			        options.last ? "last ones" : "last ones");
	complain("%s: %u event%s%s%s%s", strcmp(path, "-") == 0 ? "standard output" : path, there,
	         there == 1 ? "" : "s", size ? ", " : "",
		size ? bytes_text(bytes, size) : "", size ? "; open it in a browser:" : "");
	if (size)
		print_url(path);
}

static int view(int argc, char **argv)
{
	const char *path;

	take_all(argc, argv);
	sources_open(&logs, options.match, !options.no_symbols, argc - optind, argv + optind);
	sources_declared(&logs);
	if (nothing_matches(&logs, options.match, &options.spans))
		return STATUS_FAILED;
	pairs_add(&options.spans, &logs, options.no_pairs);
	path = options.output ? options.output : outfile_name(logs.source[0].path, ".html");
	if (!options.no_symbols)
		stacks_begin(&logs);
	page_begin(path, options.force);
	write_events();
	facts.title = options.title ? options.title : logs.source[0].path;
	facts.last = options.last;
	view_write_tables(&facts);
	say_made(path, page_end());
	if (facts.events == 0 && match_given(options.match) && nothing_wanted(&logs))
		return STATUS_FAILED;
	sources_close(&logs);
	return STATUS_DONE;
}

const struct command command_view = {
	.name = "view",
	.summary = "make a web page of logs, with a time line",
	.synopsis = "[options] [FILE...]",
	.about = "Makes a web page with the events of logs on a time line, to be opened in a browser. The page is "
	         "one file and needs no network. FILE defaults to " LOGFILE_DEFAULT "; - is standard input.",
	.options = option_rows,
	.operand = "FILE",
	.run = view,
};
