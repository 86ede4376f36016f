/*
 * stat.c - posixtrace stat: how often, how much, how long, and what is missing
 *
 * SPDX-License-Identifier: MIT
 */
#include "command.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "about.h"
#include "count.h"
#include "json.h"
#include "out.h"

#define LINES_DEFAULT 20

enum section { HEADER, LOSSES, TYPES, PROCESSES, THREADS, SPANS, HISTOGRAMS, SECTIONS };

static const char *const section_names[SECTIONS] = {
	[HEADER] = "header", [LOSSES] = "losses", [TYPES] = "types", [PROCESSES] = "processes", [THREADS] = "threads",
	[SPANS] = "spans", [HISTOGRAMS] = "histograms",
};

static struct {
	unsigned sections; /* a bit for each; 0: not said */
	bool json, no_pager;
	const char *colour;
	struct tally_view view;
} options = { .colour = "auto", .view = { .lines = LINES_DEFAULT } };

static struct count count;
/* One for each file, in the order of their creation. */
static struct about *abouts;
static unsigned files;

/* -- Arguments --------------------------------------------------------------------------------- */

/* Which of these names it is. */
static unsigned choose(const char *option, const char *text, size_t length, const char *const *names, unsigned number)
{
	for (unsigned i = 0; i < number; i++)
		if (strlen(names[i]) == length && strncmp(names[i], text, length) == 0)
			return i;
	wrong_usage("%s %.*s: no such thing, see --help", option, (int)length, text);
}

static void take_sections(const char *text)
{
	do {
		size_t length = strcspn(text, ",");

		options.sections |= 1u << choose("--show", text, length, section_names, SECTIONS);
		text += length;
	} while (*text++ == ',');
}

enum {
	OPTION_SPAN = MATCH_OPTIONS_END, OPTION_BY, OPTION_NESTED, OPTION_SORT, OPTION_SHOW, OPTION_JSON, OPTION_COLOR,
	OPTION_NO_PAGER,
};

static void take(int option, const char *argument)
{
	switch (option) {
	case OPTION_SPAN:
		span_add(&count.spans, argument);
		break;
	case OPTION_BY:
		count.spans.scope = span_scope(argument);
		break;
	case OPTION_NESTED:
		count.spans.nested = true;
		break;
	case OPTION_SORT:
		options.view.order = (enum tally_order)choose("--sort", argument, strlen(argument), tally_orders, TALLY_ORDERS);
		break;
	case 'r':
		options.view.reverse = true;
		break;
	case 'n':
		options.view.lines = (size_t)argument_number("--lines", argument, 0, INT_MAX);
		break;
	case OPTION_SHOW:
		take_sections(argument);
		break;
	case OPTION_JSON:
		options.json = true;
		break;
	case OPTION_COLOR:
		options.colour = argument;
		break;
	case OPTION_NO_PAGER:
		options.no_pager = true;
		break;
	default:
		match_option(count.match, option, argument);
		break;
	}
}

static void take_all(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "span", required_argument, NULL, OPTION_SPAN }, { "by", required_argument, NULL, OPTION_BY },
		{ "nested", no_argument, NULL, OPTION_NESTED }, { "sort", required_argument, NULL, OPTION_SORT },
		{ "reverse", no_argument, NULL, 'r' }, { "lines", required_argument, NULL, 'n' },
		{ "show", required_argument, NULL, OPTION_SHOW }, { "json", no_argument, NULL, OPTION_JSON },
		{ "color", required_argument, NULL, OPTION_COLOR }, { "no-pager", no_argument, NULL, OPTION_NO_PAGER },
		{ "help", no_argument, NULL, 'h' }, MATCH_OPTIONS, { 0 },
	};
	int c;

	while ((c = next_option(argc, argv, "*rn:" MATCH_LETTERS, long_options)) != -1)
		take(c, optarg);
	out_colours(options.colour);
	if (!options.sections && count.spans.count)
		options.sections = 1u << HEADER | 1u << SPANS | 1u << HISTOGRAMS;
	else if (!options.sections)
		options.sections = ~0u;
}

/* -- Reading --------------------------------------------------------------------------------------- */

static uint64_t created(const struct about *a)
{
	return attr_created(&a->header.attr);
}

static int compare_created(const void *a, const void *b)
{
	uint64_t one = created(a), other = created(b);

	return (one > other) - (one < other);
}

static void order_files(const char *const *paths)
{
	abouts = calloc(files, sizeof *abouts);
	if (!abouts)
		fail("no memory");
	for (unsigned i = 0; i < files; i++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): there are as many as files, which nobody changes */
		struct logfile *f = logfile_open(paths[i]);

		about_begin(&abouts[i], f);
		abouts[i].path = paths[i];
		logfile_close(f);
	}
	qsort(abouts, files, sizeof *abouts, compare_created);
}

/* Number of the first file of the same machine. */
static uint32_t machine_of(unsigned file)
{
	const struct log_header *h = &abouts[file].header;

	for (unsigned i = 0; i < file; i++) {
		const struct log_header *other = &abouts[i].header;

		if (memcmp(h->boot, other->boot, sizeof h->boot) == 0 && strcmp(h->host, other->host) == 0)
			return i;
	}
	return file;
}

static const char *host_of(uint32_t machine)
{
	return abouts[machine].header.host;
}

static void count_all(const char *const *paths)
{
	order_files(paths);
	options.view.begin = created(&abouts[0]);
	match_origin(count.match, options.view.begin);
	for (unsigned i = 0; i < files; i++) {
		const char *path = abouts[i].path;
		struct logfile *f = logfile_open(path);

		about_begin(&abouts[i], f);
		abouts[i].machine = machine_of(i);
		if (abouts[i].machine != 0)
			options.view.host = host_of;
		count_file(&count, f, &abouts[i]);
		abouts[i].path = strcmp(path, "-") == 0 ? "standard input" : path;
		logfile_close(f);
	}
}

/* The time that all counted events take, for rates. */
static void measure(void)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (unsigned i = 0; i < count.types.count; i++) {
		const struct tally *t = count.types.list[i];

		first = t->first < first ? t->first : first;
		last = t->last > last ? t->last : last;
	}
	options.view.seconds = last > first ? (double)(last - first) / 1e9 : 0;
}

/* -- Results ----------------------------------------------------------------------------------------- */

static bool shown(enum section section)
{
	return options.sections >> section & 1;
}

/* An empty line between two sections. */
static void begin_section(void)
{
	static bool again;

	if (again)
		out_char('\n');
	again = true;
}

static void print_tables(void)
{
	const struct {
		enum section section;
		enum tally_kind kind;
		const struct tally_set *set;
	} tables[] = { { TYPES, TALLY_TYPES, &count.types }, { PROCESSES, TALLY_PROCESSES, &count.processes },
		{ THREADS, TALLY_THREADS, &count.threads } };

	for (unsigned i = 0; i < 3; i++)
		if (shown(tables[i].section)) {
			begin_section();
			tally_print(tables[i].set, tables[i].kind, &options.view);
		}
}

static void print(void)
{
	if (!options.no_pager)
		out_pager();
	for (unsigned i = 0; i < files && shown(HEADER); i++) {
		begin_section();
		about_print(&abouts[i]);
	}
	for (unsigned i = 0; i < files && shown(LOSSES); i++)
		if (abouts[i].holes) {
			begin_section();
			if (files > 1) {
				out_foreign(abouts[i].path, strlen(abouts[i].path), 0);
				out_char('\n');
			}
			about_print_holes(&abouts[i], options.view.begin, options.view.lines);
		}
	print_tables();
	if (shown(SPANS) && count.spans.count) {
		begin_section();
		span_print(&count.spans);
	}
	for (unsigned i = 0; i < count.spans.count && shown(HISTOGRAMS); i++)
		if (count.spans.span[i]->durations.count) {
			begin_section();
			span_chart(count.spans.span[i]);
		}
}

static void print_json(void)
{
	json_begin('{');
	json_key("files");
	json_begin('[');
	for (unsigned i = 0; i < files; i++)
		about_json(&abouts[i]);
	json_end(']');
	json_key("seconds");
	json_real(options.view.seconds);
	json_key("types");
	tally_json(&count.types, TALLY_TYPES, &options.view);
	json_key("processes");
	tally_json(&count.processes, TALLY_PROCESSES, &options.view);
	json_key("threads");
	tally_json(&count.threads, TALLY_THREADS, &options.view);
	json_key("spans");
	span_json(&count.spans);
	json_end('}');
	json_done();
}

static int stat(int argc, char **argv)
{
	static const char *const standard[] = { LOGFILE_DEFAULT };

	count.match = match_new();
	take_all(argc, argv);
	files = optind < argc ? (unsigned)(argc - optind) : 1;
	count_all(optind < argc ? (const char *const *)argv + optind : standard);
	measure();
	if (options.json)
		print_json();
	else
		print();
	for (unsigned i = 0; i < files; i++)
		about_free(&abouts[i]);
	out_flush();
	return STATUS_DONE;
}

const struct command command_stat = {
	.name = "stat",
	.summary = "counts events, measures how long things take, and says what is missing",
	.usage = "usage: posixtrace stat [options] [FILE...]\n\n"
		"Says of one log, or of several together, how many events there are of each type, process and thread, how long it\n"
		"takes from one event to another, and what is missing. Without FILE of " LOGFILE_DEFAULT ".\n\n"
		"      --span A,B         time from an event that matches A to the next that matches B; up to 32 may be given\n"
		"      --by SCOPE         where the next one is looked for: in the same thread (if not said), process, or all\n"
		"      --nested           B belongs to the latest A that has none yet: for recursion\n"
		"      --sort KEY         tables by events (if not said), bytes, first, last, pause or name\n"
		"  -r, --reverse          the other way round\n"
		"  -n, --lines N          of each table at most 20, or N; 0: all\n"
		"      --show LIST        only these, with commas: header, losses, types, processes, threads, spans, histograms\n"
		"      --json             one object, with everything\n"
		"      --color WHEN       auto, always or never\n"
		"      --no-pager         even on a terminal\n\n"
		"Only\n" MATCH_USAGE,
	.run = stat,
};
