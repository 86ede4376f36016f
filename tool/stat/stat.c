/*
 * stat.c - posixtrace stat: how often, how much, how long, and what is missing
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/command.h"
#include "common/message.h"
#include "common/options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/nothing.h"
#include "analysis/pairs.h"
#include "common/display.h"
#include "common/json.h"
#include "common/out.h"
#include "logs/about.h"
#include "logs/declared.h"
#include "logs/unfinished.h"
#include "stat/callstat.h"
#include "stat/count.h"
#include "stat/memstat.h"
#include "stat/profile.h"

#define LINES_DEFAULT 20

enum section {
	HEADER, LOSSES, TYPES, PROCESSES, THREADS, SPANS, SCHED, SYSCALLS, GROUPS, TIME, HISTOGRAMS, SECTIONS
};

static const char *const section_names[SECTIONS] = {
	[HEADER] = "header", [LOSSES] = "losses", [TYPES] = "types", [PROCESSES] = "processes", [THREADS] = "threads",
	[SPANS] = "spans", [SCHED] = "sched", [SYSCALLS] = "syscalls", [GROUPS] = "groups", [TIME] = "time",
	[HISTOGRAMS] = "histograms",
};

static struct {
	unsigned sections; /* a bit for each; 0: not given */
	bool json, no_pager;
	unsigned asked; /* of the sections of spans, those that --show names */
	bool found; /* no --span is given: the spans that layouts and names tell of */
	const char *colour;
	struct tally_view view;
	enum group_order group_order;
	struct callstat calls;
	struct memstat memory;
	struct profile profile;
	const char *nothing; /* of --io or --locks: the message if there are no such events; null: not given */
} options = { .colour = "auto", .view = { .lines = LINES_DEFAULT } };

static struct count count;
/* The files, in the order of their creation. */
static struct about *abouts;
static unsigned files;

/* -- Arguments --------------------------------------------------------------------------------- */

static void take_sections(const char *text)
{
	do {
		size_t length = strcspn(text, ",");
		unsigned i = 0;

		while (i < SECTIONS &&
		       (strlen(section_names[i]) != length || memcmp(section_names[i], text, length) != 0))
			i++;
		if (i == SECTIONS)
			wrong_usage("--show %.*s: must be one of header, losses, types, processes, threads, "
			            "spans, sched, syscalls, groups, time or histograms", (int)length, text);
		options.sections |= 1u << i;
		text += length;
	} while (*text++ == ',');
}

enum {
	OPTION_SORT = SPAN_OPTIONS_END, OPTION_SHOW, OPTION_GROUP_BY, OPTION_OF, OPTION_OVER_TIME,
	OPTION_SCHED, OPTION_SYSCALLS, OPTION_CALLS, OPTION_CALL_TREE, OPTION_IO, OPTION_LOCKS, OPTION_MEMORY,
	OPTION_PROFILE, OPTION_OFF_CPU, OPTION_PER_THREAD,
};

/* The choices of --sort, and the orders of the tables that have them. */
static const struct {
	int tallies, groups, calls; /* -1: these tables have no such order */
} orders[] = {
	{ BY_EVENTS, GROUP_EVENTS, CALLS_BY_CALLS }, { BY_BYTES, -1, -1 }, { BY_FIRST, -1, -1 }, { BY_LAST, -1, -1 },
	{ BY_PAUSE, -1, -1 }, { BY_NAME, GROUP_NAME, CALLS_BY_NAME }, { -1, GROUP_SUM, CALLS_BY_TOTAL },
	{ -1, GROUP_MEAN, CALLS_BY_MEAN }, { -1, GROUP_MAX, CALLS_BY_MAX }, { -1, -1, CALLS_BY_SELF },
};

static const struct option_row option_rows[] = {
	SPAN_ROWS("measure the time"),
	OPTION(OPTION_GROUP_BY, "group-by", "LIST",
	       "group events by the values of these fields or expressions, separated by commas; may be "
	       "repeated"),
	OPTION(OPTION_OF, "of", "EXPRESSION",
	       "print sum, mean, percentiles of this field or expression, for each group"),
	OPTION(OPTION_OVER_TIME, "over-time", "EXPRESSION",
	       "print how the mean of this field or expression changes over time, as a line of columns"),
	OPTION(OPTION_SCHED, "sched", NULL,
	       "print for each thread how long it ran, could have run, and waited, from events of record "
	       "--kernel sched"),
	OPTION(OPTION_SYSCALLS, "syscalls", NULL,
	       "print how often each system call was made, and how long it took, from events of record --kernel "
	       "syscalls"),
	OPTION(OPTION_IO, "io", NULL,
	       "print how long input and output took, by file, from events of record --libc io; the same as "
	       "-e 'libc.*' --group-by path,event --of took --sort sum --show groups"),
	OPTION(OPTION_LOCKS, "locks", NULL,
	       "print how long threads have waited, by lock and the thread that held it, from events of record "
	       "--libc locks; the same as -e 'libc.*_wait' --group-by lock,holder --of took --sort sum --show groups"),
	OPTION_FLAG(OPTION_MEMORY, "memory", &options.memory.given,
	            "print what is allocated and never freed, the peak, and who allocates, from events of record "
	            "--libc memory"),
	OPTION(OPTION_SORT, "sort", "KEY",
	       "sort tables by events (default), bytes, first, last, pause or name; groups also by sum, mean or "
	       "max of --of; --calls by self (default), events, sum, mean, max or name; --profile by self (default), "
	       "sum or name",
	       "events bytes first last pause name sum mean max self"),
	OPTION_FLAG(OPTION_CALLS, "calls", &options.calls.calls,
	            "print the calls and the times of functions, recorded with record --functions"),
	OPTION_FLAG(OPTION_CALL_TREE, "call-tree", &options.calls.tree, "print which functions have called which"),
	OPTION_FLAG(OPTION_PROFILE, "profile", &options.profile.on,
	            "print in which functions threads run, from events of record --sample"),
	OPTION_FLAG(OPTION_OFF_CPU, "off-cpu", &options.profile.off_cpu,
	            "with --profile: in which functions they wait, from events of record --off-cpu"),
	OPTION_FLAG(OPTION_PER_THREAD, "per-thread", &options.profile.per_thread,
	            "with --profile: a table for each thread"),
	OPTION_FLAG('r', "reverse", &options.view.reverse, "reverse the order"),
	OPTION('n', "lines", "N", "at most N lines of each table (default 20); 0: all"),
	OPTION(OPTION_SHOW, "show", "LIST",
	       "only these parts, separated by commas: header, losses, types, processes, threads, spans, sched, "
	       "syscalls, groups, time, histograms"),
	OPTION_FLAG(OPTION_JSON, "json", &options.json, "everything as one JSON object"),
	OPTION_ROW_COLOR,
	OPTION_ROW_NO_PAGER,
	OPTION_HEADING("Which events:"),
	MATCH_ROWS,
	{ 0 },
};

static void take_order(unsigned choice)
{
	options.calls.order = orders[choice].calls < 0 ? CALLS_BY_SELF : (enum callstat_order)orders[choice].calls;
	options.view.order = orders[choice].tallies < 0 ? BY_EVENTS : (enum tally_order)orders[choice].tallies;
	options.profile.order = options.calls.order == CALLS_BY_TOTAL ? PROFILE_BY_TOTAL :
	                        options.calls.order == CALLS_BY_NAME  ? PROFILE_BY_NAME :
	                                                                PROFILE_BY_SELF;
	options.memory.order = orders[choice].tallies == BY_BYTES ? MEMORY_BY_BYTES :
	                       orders[choice].tallies == BY_NAME  ? MEMORY_BY_NAME :
	                                                            MEMORY_BY_CALLS;
	options.group_order = orders[choice].groups < 0 ? GROUP_EVENTS : (enum group_order)orders[choice].groups;
}

/* Asks how long events took, by the values of some fields: an option that stands for several. */
static void ask(const char *option, const char *events, const char *keys, const char *nothing)
{
	if (group_given(&count.groups))
		wrong_usage("--%s cannot be combined with --group-by, --of or another such table", option);
	match_option(count.match, 'e', events);
	group_by(&count.groups, keys);
	group_of(&count.groups, "took");
	/* What the table lacks is told with it. */
	options.sections |= 1u << GROUPS | 1u << LOSSES;
	options.group_order = GROUP_SUM;
	options.nothing = nothing;
}

static void take(int option, const char *argument)
{
	switch (option) {
	case OPTION_SORT:
		take_order(option_choice());
		break;
	case 'n':
		options.view.lines = (size_t)argument_number("--lines", argument, 0, INT_MAX);
		break;
	case OPTION_GROUP_BY:
		group_by(&count.groups, argument);
		break;
	case OPTION_OF:
		group_of(&count.groups, argument);
		break;
	case OPTION_IO:
		ask("io", "libc.*", "path,event",
		    "no input or output through the C library (what it does inside itself, as printf() does, is not "
		    "seen): record with --libc io, or select more events");
		break;
	case OPTION_LOCKS:
		ask("locks", "libc.*_wait", "lock,holder",
		    "no thread waited for a lock: record with --libc locks, or select more events");
		break;
	case OPTION_OVER_TIME:
		overtime_of(&count.over_time, argument);
		break;
	case OPTION_SHOW:
		take_sections(argument);
		break;
	case OPTION_SCHED:
	case OPTION_SYSCALLS:
		options.sections |= 1u << (option == OPTION_SCHED ? SCHED : SYSCALLS) | 1u << LOSSES;
		break;
	case OPTION_COLOR:
		options.colour = argument;
		break;
	case OPTION_NO_PAGER:
		options.no_pager = true;
		break;
	default:
		if (!span_option(&count.spans, option, argument))
			match_option(count.match, option, argument);
		break;
	}
}

/* Returns whether the options are of a table that is printed alone. */
static bool alone(void)
{
	return options.calls.calls || options.calls.tree || options.memory.given || options.profile.on;
}

/* Checks that the sections of --show have contents. */
static void check_sections(void)
{
	if (!group_given(&count.groups) && options.sections & 1u << GROUPS)
		wrong_usage("--show groups needs --group-by or --of");
	if (!count.over_time.of && options.sections & 1u << TIME)
		wrong_usage("--show time needs --over-time EXPRESSION");
}

static void take_all(int argc, char **argv)
{
	int c;

	while ((c = next_option(argc, argv)) != -1)
		take(c, optarg);
	match_hide_system(count.match);
	display_colours(options.colour);
	options.found = count.spans.count == 0;
	options.asked = options.sections & (1u << SPANS | 1u << HISTOGRAMS);
	check_sections();
	if ((options.profile.off_cpu || options.profile.per_thread) && !options.profile.on)
		wrong_usage("--%s needs --profile", options.profile.off_cpu ? "off-cpu" : "per-thread");
	if (alone()) {
		if ((options.calls.calls || options.calls.tree) + options.memory.given + options.profile.on > 1 ||
		    options.sections || group_given(&count.groups))
			wrong_usage("--calls and --call-tree, --memory, and --profile print tables of their own: give "
			            "them one at a time");
		return;
	}
	if (options.group_order > GROUP_NAME && !count.groups.of)
		wrong_usage("--sort by sum, mean or max needs --of EXPRESSION");
	count.linux_events.wanted = options.sections & (1u << SCHED | 1u << SYSCALLS);
	if (options.sections)
		return;
	options.sections = ~(1u << SCHED | 1u << SYSCALLS);
	if (!options.found || group_given(&count.groups) || count.over_time.of)
		options.sections = 1u << HEADER | 1u << GROUPS | 1u << TIME | 1u << HISTOGRAMS |
		                   (options.found ? 0 : 1u << SPANS);
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

static void find_spans(struct logfile *f)
{
	struct layouts *l = layouts_of(&f->in);

	if (!l)
		fail("no memory");
	pairs_add_types(&count.spans, l, false);
	layouts_free(l);
}

static void order_files(const char *const *paths)
{
	abouts = calloc(files, sizeof *abouts);
	if (!abouts)
		fail("no memory");
	for (unsigned i = 0; i < files; i++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): paths has as many elements as there are files */
		struct logfile *f = logfile_open(paths[i]);

		about_begin(&abouts[i], f);
		abouts[i].path = paths[i];
		if (options.found && (options.json || options.sections & (1u << SPANS | 1u << HISTOGRAMS)))
			find_spans(f);
		logfile_close(f);
	}
	qsort(abouts, files, sizeof *abouts, compare_created);
}

/* Returns the index of the first file of the same machine. */
static uint32_t machine_of(unsigned file)
{
	const struct log_header *h = &abouts[file].header;

	for (unsigned i = 0; i < file; i++)
		if (logfile_same_machine(h, &abouts[i].header))
			return i;
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
		count_file(&count, f, &abouts[i], options.view.begin);
		abouts[i].path = strcmp(path, "-") == 0 ? "standard input" : path;
		declared_say_log(&f->in, abouts[i].path);
		unfinished_say(f);
		unfinished_say_beside(f, paths, files);
		logfile_close(f);
	}
}

/* Measures the time between the first and the last counted event, for rates. */
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

/* Prints an empty line between two sections. */
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

/* Returns whether the table of spans has a row: a span of --span, or another one that has occurred. */
static bool some_spans(void)
{
	for (unsigned i = 0; i < count.spans.count && options.found; i++)
		if (span_occurred(count.spans.span[i]))
			return true;
	return !options.found;
}

static void print(void)
{
	if (!options.no_pager)
		display_pager();
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
	if (shown(SPANS) && some_spans()) {
		begin_section();
		span_print(&count.spans);
	}
	if (shown(SCHED) && linux_some_threads(&count.linux_events)) {
		begin_section();
		linux_print_threads(&count.linux_events, (unsigned)options.view.lines);
	}
	if (shown(SYSCALLS) && linux_some_calls(&count.linux_events)) {
		begin_section();
		linux_print_calls(&count.linux_events, (unsigned)options.view.lines);
	}
	if (shown(GROUPS) && group_given(&count.groups) && !(options.nothing && count.groups.count == 0)) {
		begin_section();
		group_print(&count.groups, options.group_order, options.view.reverse, options.view.lines);
	}
	if (shown(TIME) && count.over_time.of) {
		begin_section();
		overtime_print(&count.over_time, options.view.begin);
	}
	if (shown(HISTOGRAMS) && count.groups.all.count) {
		begin_section();
		display_colour(BOLD);
		out_foreign(count.groups.of->x->source, strlen(count.groups.of->x->source), 0);
		display_colour(PLAIN);
		out_char('\n');
		spread_chart(&count.groups.all);
	}
	for (unsigned i = 0; i < count.spans.count && shown(HISTOGRAMS) && (!options.found || options.asked); i++)
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
	if (shown(SCHED)) {
		json_key("sched");
		linux_json_threads(&count.linux_events);
	}
	if (shown(SYSCALLS)) {
		json_key("syscalls");
		linux_json_calls(&count.linux_events);
	}
	if (group_given(&count.groups)) {
		json_key("groups");
		group_json(&count.groups, options.group_order, options.view.reverse);
		json_key("without");
		json_number(count.groups.without);
		json_key("unusable");
		json_number(count.groups.unusable);
	}
	if (count.over_time.of) {
		json_key("over_time");
		overtime_json(&count.over_time);
	}
	json_end('}');
	json_done();
}

/*
 * Returns whether the options select something that the logs cannot have, after printing what. counted: no event was
 * counted.
 */
static bool missing(bool counted, int number, char **paths)
{
	struct sources logs;
	bool wrong;

	if (options.nothing)
		return false;
	if (!match_given(count.match) && options.found && !group_given(&count.groups) && !count.over_time.of)
		return false;
	sources_open(&logs, count.match, false, number, paths);
	wrong = counted ? nothing_wanted(&logs) :
	                  nothing_matches(&logs, count.match, options.found ? NULL : &count.spans);
	for (unsigned i = 0; i < logs.count && !counted; i++)
		group_begin(&count.groups, logs.source[i].file, logs.begin, logs.source[i].match);
	wrong |= !counted && group_say(&count.groups);
	for (unsigned i = 0; i < logs.count && !counted && count.over_time.of; i++)
		overtime_begin(&count.over_time, logs.source[i].file, logs.begin, logs.source[i].match);
	wrong |= !counted && count.over_time.of &&
	         (question_say(count.over_time.of) || question_say_text(count.over_time.of));
	sources_close(&logs);
	return wrong;
}

/* Prints the table that is alone. */
static int print_alone(int number, char **paths)
{
	const struct alone table = { options.json, options.view.reverse, options.view.lines, count.match };
	bool some;

	options.calls.table = options.memory.table = options.profile.table = table;
	if (!options.no_pager && !options.json)
		display_pager();
	some = options.memory.given ? memstat(&options.memory, number, paths) :
	       options.profile.on   ? profile(&options.profile, number, paths) :
	                              callstat(&options.calls, number, paths);
	out_flush();
	return some ? STATUS_DONE : STATUS_FAILED;
}

static int stat(int argc, char **argv)
{
	static const char *const standard[] = { LOGFILE_DEFAULT };
	bool wrong;

	count.match = match_new();
	take_all(argc, argv);
	if (alone())
		return print_alone(argc - optind, argv + optind);
	files = optind < argc ? (unsigned)(argc - optind) : 1;
	wrong = missing(false, argc - optind, argv + optind);
	count_all(optind < argc ? (const char *const *)argv + optind : standard);
	if (!wrong && match_given(count.match) && count.types.count == 0)
		wrong = missing(true, argc - optind, argv + optind);
	if (options.asked && !some_spans() && !(options.asked == 1u << HISTOGRAMS && count.groups.of)) {
		complain("no spans: give --span BEGIN,END, or see \"Meanings\" in docs/layouts.md");
		wrong = true;
	}
	if (options.nothing && count.groups.count == 0) {
		complain("%s", options.nothing);
		wrong = true;
	}
	if (count.linux_events.wanted && !wrong) {
		bool threads = !shown(SCHED) || linux_some_threads(&count.linux_events);

		if (!threads || (shown(SYSCALLS) && !linux_some_calls(&count.linux_events))) {
			complain("no %s: record with --kernel %s, or select more events", threads ? "system calls" :
			         "states of threads", threads ? "syscalls" : "sched");
			wrong = true;
		}
	}
	measure();
	if (options.json)
		print_json();
	else
		print();
	for (unsigned i = 0; i < files; i++)
		about_free(&abouts[i]);
	out_flush();
	return wrong ? STATUS_FAILED : STATUS_DONE;
}

const struct command command_stat = {
	.name = "stat",
	.summary = "count events, measure how long things take, and tell what is missing",
	.synopsis = "[options] [FILE...]",
	.about = "Counts the events of a log, or of several together, for each type, process and thread; measures "
	         "the time from one event to another, and tells what is missing. FILE defaults to "
	         LOGFILE_DEFAULT "; - is standard input.",
	.options = option_rows,
	.operand = "FILE",
	.run = stat,
};
