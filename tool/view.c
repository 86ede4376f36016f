/*
 * view.c - posixtrace view: logs as a web page, with a time line
 *
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "columns.h"
#include "command.h"
#include "match.h"
#include "page.h"
#include "view_tables.h"

/* What a browser shows without any delay. */
#define LIMIT_DEFAULT 2000000
#define LIMIT_MOST    20000000
/* Data in the page; the browser has all of it in memory. */
#define DATA_LIMIT (UINT64_C(512) << 20)

static const char usage[] =
	"usage: posixtrace view [options] [FILE...]\n"
	"\n"
	"Makes a web page with the events of logs on a time line, to be opened in a browser. All is in the one\n"
	"file, and nothing is asked of a network. FILE is posixtrace.log if there is none, - is standard input.\n"
	"\n"
	"  -o, --output FILE      the page; if not said, FILE with .html for .log, - is standard output\n"
	"  -f, --force            overwrite FILE even if it is no such page; a log is never overwritten\n"
	"      --title TEXT       of the page; if not said, the name of the log\n"
	"      --span A,B         show what is between an event that matches A and the next that matches B; up to 32\n"
	"      --by SCOPE         where the next one is looked for: in the same thread (if not said), process, or all\n"
	"      --nested           B belongs to the latest A that has none yet: for recursion\n"
	"      --limit N          at most N events, 2000000 if not said: the first ones\n"
	"      --last             the last ones instead\n"
	"      --no-symbols       do not look for the function and the line of source of each trace point\n"
	"\n"
	"Only\n" MATCH_USAGE;

static struct {
	struct match *match;
	struct spans spans;
	const char *output, *title;
	bool force, last, no_symbols;
	uint64_t limit;
} options = { .limit = LIMIT_DEFAULT };

/* What is known of all events of one shape in one segment. */
struct known {
	uint64_t segment;
	uint32_t shape;
};

/* A log that is read, and its next event. */
struct source {
	struct view_log log;
	struct match *match;
	struct known known[SHAPES_MAX + 1];
	const struct log_event *event; /* null: there is no more */
	const unsigned char *data;
};

static struct source *sources;
static uint32_t source_count;
static struct view_facts facts;

/* -- Options --------------------------------------------------------------------------------------- */

enum { OPTION_TITLE = MATCH_OPTIONS_END, OPTION_SPAN, OPTION_BY, OPTION_NESTED, OPTION_LIMIT, OPTION_LAST, OPTION_NO_SYMBOLS };

static enum span_scope scope_of(const char *text)
{
	static const char *const scopes[] = { [SPAN_THREAD] = "thread", [SPAN_PROCESS] = "process", [SPAN_ALL] = "all" };

	for (unsigned i = 0; i < sizeof scopes / sizeof scopes[0]; i++)
		if (strcmp(scopes[i], text) == 0)
			return (enum span_scope)i;
	wrong_usage("--by %s: thread, process or all", text);
}

static void take(int option, const char *argument)
{
	switch (option) {
	case 'o':
		options.output = argument;
		break;
	case 'f':
		options.force = true;
		break;
	case OPTION_TITLE:
		options.title = argument;
		break;
	case OPTION_SPAN:
		span_add(&options.spans, argument);
		break;
	case OPTION_BY:
		options.spans.scope = scope_of(argument);
		break;
	case OPTION_NESTED:
		options.spans.nested = true;
		break;
	case OPTION_LIMIT:
		options.limit = (uint64_t)argument_number("--limit", argument, 1, LIMIT_MOST);
		break;
	case OPTION_LAST:
		options.last = true;
		break;
	case OPTION_NO_SYMBOLS:
		options.no_symbols = true;
		break;
	default:
		match_option(options.match, option, argument);
	}
}

static void take_all(int argc, char **argv)
{
	static const struct option long_options[] = {
		MATCH_OPTIONS,
		{ "output", required_argument, NULL, 'o' },
		{ "force", no_argument, NULL, 'f' },
		{ "title", required_argument, NULL, OPTION_TITLE },
		{ "span", required_argument, NULL, OPTION_SPAN },
		{ "by", required_argument, NULL, OPTION_BY },
		{ "nested", no_argument, NULL, OPTION_NESTED },
		{ "limit", required_argument, NULL, OPTION_LIMIT },
		{ "last", no_argument, NULL, OPTION_LAST },
		{ "no-symbols", no_argument, NULL, OPTION_NO_SYMBOLS },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	options.match = match_new();
	while ((c = next_option(argc, argv, "*fo:" MATCH_LETTERS, long_options)) != -1)
		take(c, optarg);
}

/* The page beside its log, if nobody says where. */
static const char *output_of(const char *path)
{
	size_t length = strlen(path);
	char *output;

	if (options.output)
		return options.output;
	if (strcmp(path, "-") == 0)
		path = LOGFILE_DEFAULT, length = strlen(path);
	if (length > 4 && strcmp(path + length - 4, ".log") == 0)
		length -= 4;
	if (asprintf(&output, "%.*s.html", (int)length, path) < 0)
		fail("no memory");
	return output;
}

/* -- Logs ---------------------------------------------------------------------------------------------- */

static void open_sources(int count, char **paths)
{
	source_count = (uint32_t)count;
	sources = calloc(source_count, sizeof *sources);
	facts.log = calloc(source_count, sizeof *facts.log);
	if (!sources || !facts.log)
		fail("no memory");
	for (uint32_t i = 0; i < source_count; i++) {
		struct view_log *log = &sources[i].log;
		uint64_t created;

		log->number = i;
		log->file = logfile_open(paths[i]);
		log->layouts = layouts_of(log->file);
		if (!options.no_symbols)
			log->symbols = symbols_of(log->file);
		created = logfile_created(log->file);
		if (facts.begin == 0 || created < facts.begin)
			facts.begin = created;
	}
	for (uint32_t i = 0; i < source_count; i++) {
		sources[i].match = match_copy(options.match);
		match_origin(sources[i].match, facts.begin);
		match_begin(sources[i].match, sources[i].log.file);
	}
}

static struct source *oldest(void)
{
	struct source *s = NULL;

	for (uint32_t i = 0; i < source_count; i++)
		if (sources[i].event && (!s || sources[i].event->time < s->event->time))
			s = &sources[i];
	return s;
}

/* -- Events -------------------------------------------------------------------------------------------- */

static bool is_damaged(const struct source *s)
{
	return logfile_shape(s->log.file, s->event) == SHAPES_MAX;
}

/* Losses belong to no process, and have no name that anybody asks for. */
static bool is_wanted(struct source *s)
{
	bool loss = s->event->id == POSIX_TRACE_OVERFLOW || s->event->id == POSIX_TRACE_RESUME;

	return loss ? match_time(s->match, s->event) : match_event(s->match, s->event);
}

static uint32_t make_shape(struct source *s)
{
	const struct log_event *e = s->event;
	struct shape shape = {
		.thread = view_thread(&s->log, e),
		.type = view_type(&s->log, e),
		.place = view_place(&s->log, e),
		.flags = (e->truncated ? COLUMNS_TRUNCATED : 0) | (is_damaged(s) ? COLUMNS_DAMAGED : 0),
		.length = e->length < COLUMNS_DATA_MAX ? e->length : COLUMNS_DATA_MAX,
		.whole = e->length,
	};

	return columns_shape(&shape);
}

static uint32_t shape_of(struct source *s)
{
	struct known *known = &s->known[logfile_shape(s->log.file, s->event)];

	/* Events that stand for damage have no segment. */
	if (is_damaged(s))
		return make_shape(s);
	if (known->segment != logfile_segment(s->log.file)) {
		known->segment = logfile_segment(s->log.file);
		known->shape = make_shape(s);
	}
	return known->shape;
}

/* Where no span goes on: in front of an event that is not in the page, or at one that is. */
struct cut {
	uint32_t event, log, hidden;
};

static struct cut *cuts;
static uint32_t cut_count, cut_room;

static void add_cut(const struct source *s, bool hidden)
{
	struct cut cut = { columns_count(), s->log.number, hidden };

	/* Several in front of the same event are one. */
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

/* before: events that are wanted, and come before those of the page. */
static void take_event(struct source *s, uint64_t before)
{
	bool cut = about_event(&s->log.about, s->event, s->data, is_damaged(s)), in_page;

	if (!is_damaged(s))
		count_read(&s->log.about, s->event);
	in_page = is_wanted(s);
	if (in_page)
		in_page = facts.events++ >= before && columns_count() < options.limit && columns_bytes() < DATA_LIMIT;
	if (cut)
		add_cut(s, !in_page);
	if (in_page)
		columns_add((int64_t)(s->event->time - facts.begin), shape_of(s), s->data);
}

static void rewind_all(void)
{
	for (uint32_t i = 0; i < source_count; i++) {
		struct source *s = &sources[i];

		logfile_rewind(s->log.file);
		about_begin(&s->log.about, s->log.file);
		s->event = logfile_next(s->log.file, &s->data);
	}
	facts.events = 0;
}

static uint64_t count_wanted(void)
{
	uint64_t n = 0;
	struct source *s;

	rewind_all();
	for (; (s = oldest()) != NULL; s->event = logfile_next(s->log.file, &s->data))
		n += is_wanted(s);
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
	rewind_all();
	for (; (s = oldest()) != NULL; s->event = logfile_next(s->log.file, &s->data))
		take_event(s, before);
	columns_end();
	write_cuts();
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

static void tell(const char *path, uint64_t size)
{
	uint32_t there = columns_count();
	char bytes[16];

	if (there < facts.events)
		complain("the %s %u of %llu events are in the page; --from, --to and -e choose others, --limit more, --last the %s",
			options.last ? "last" : "first", there, (unsigned long long)facts.events, options.last ? "last ones, as here" : "last ones");
	complain("%s: %u event%s, %s; to be opened in a browser:", strcmp(path, "-") == 0 ? "standard output" : path, there,
		there == 1 ? "" : "s", bytes_text(bytes, size));
	if (strcmp(path, "-") != 0)
		print_url(path);
}

static int view(int argc, char **argv)
{
	static char *standard[] = { (char *)LOGFILE_DEFAULT };
	const char *path;
	char **paths;
	int count;

	take_all(argc, argv);
	count = argc - optind;
	paths = count ? argv + optind : standard;
	path = output_of(paths[0]);
	open_sources(count ? count : 1, paths);
	page_begin(path, options.force);
	write_events();
	facts.title = options.title ? options.title : sources[0].log.file->path;
	facts.spans = &options.spans;
	facts.last = options.last;
	facts.logs = source_count;
	for (uint32_t i = 0; i < source_count; i++)
		facts.log[i] = sources[i].log;
	view_write_tables(&facts);
	tell(path, page_end());
	for (uint32_t i = 0; i < source_count; i++)
		logfile_close(sources[i].log.file);
	return STATUS_DONE;
}

const struct command command_view = {
	.name = "view",
	.summary = "makes a web page with a time line of logs",
	.usage = usage,
	.run = view,
};
