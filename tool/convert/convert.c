/*
 * convert.c - posixtrace convert: a log as other programs read it
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/calls.h"
#include "analysis/nothing.h"
#include "analysis/pairs.h"
#include "analysis/samples.h"
#include "base/ticks.h"
#include "common/bytes.h"
#include "common/command.h"
#include "common/message.h"
#include "common/options.h"
#include "common/out.h"
#include "common/progress.h"
#include "convert/export.h"
#include "convert/nesting.h"
#include "logs/missing.h"
#include "logs/outfile.h"

static struct {
	const struct exporter *to;
	const char *output;
	bool force, no_pairs, quiet;
	struct match *match;
} options;

enum { OPTION_TO = SPAN_OPTIONS_END, OPTION_NO_PAIRS, OPTION_OFF_CPU };

#define FORMATS "ctf perfetto chrome csv jsonl folded"

static const struct option_row option_rows[] = {
	OPTION(OPTION_TO, "to", "FORMAT",
	  "ctf       trace directory: babeltrace2, Trace Compass\n"
	  "perfetto  trace file: ui.perfetto.dev, trace_processor\n"
	  "chrome    JSON trace events: chrome://tracing,\n"
	  "          speedscope, ui.perfetto.dev\n"
	  "csv       table with a column for each declared field\n"
	  "jsonl     a JSON object on each line\n"
	  "folded    stacks of record --functions, --sample or\n"
	  "          --off-cpu: speedscope, flamegraph.pl\n"
	  "The default is what the ending of OUT means.", FORMATS, "the end of the time range is --until"),
	OPTION('o', "output", "OUT",
	       "write to OUT; - is standard output. Default: FILE with .ctf, .pftrace, .json, .csv, .jsonl or .folded"),
	OPTION_FLAG('f', "force", &options.force, "replace OUT if it is a trace directory with nothing else in it"),
	SPAN_ROWS("perfetto, chrome: make slices"),
	OPTION(OPTION_OFF_CPU, "off-cpu", NULL,
	       "folded: stacks with which threads have stopped to run, and for how many microseconds, recorded with "
	       "--off-cpu"),
	OPTION_FLAG(OPTION_NO_PAIRS, "no-pairs", &options.no_pairs,
	            "do not make slices of names that end in begin and end, or the like"),
	OPTION_FLAG('q', "quiet", &options.quiet, "do not print how much was written"),
	OPTION_HEADING("Which events:"),
	MATCH_ROWS_UNTIL,
	{ 0 },
};

/* In the order of FORMATS. */
static const struct exporter *const exporters[] = { &export_ctf, &export_perfetto, &export_chrome, &export_csv,
                                                    &export_jsonl, &export_folded };

#define EXPORTERS (sizeof exporters / sizeof exporters[0])

/* -- Arguments --------------------------------------------------------------------------------- */

static bool ends_in(const char *name, const char *suffix)
{
	size_t n = strlen(name), length = strlen(suffix);

	return n > length && strcmp(name + n - length, suffix) == 0;
}

static const struct exporter *format_of(const char *output)
{
	for (unsigned i = 0; output && i < EXPORTERS; i++)
		if (ends_in(output, exporters[i]->suffix))
			return exporters[i];
	wrong_usage("missing format: give --to ctf, perfetto, chrome, csv, jsonl or folded");
}

static void take(struct export *x, int option, const char *argument)
{
	switch (option) {
	case OPTION_TO:
		options.to = exporters[option_choice()];
		break;
	case OPTION_OFF_CPU:
		x->off_cpu = true;
		break;
	case 'o':
		options.output = argument_file("-o", argument);
		break;
	default:
		if (!span_option(&x->spans, option, argument))
			match_option(options.match, option, argument);
	}
}

static void take_all(struct export *x, int argc, char **argv)
{
	int c;

	while ((c = next_option(argc, argv)) != -1)
		take(x, c, optarg);
	if (!options.to)
		options.to = format_of(options.output);
	if (options.to->rows)
		match_hide_system(options.match);
	if (x->off_cpu && options.to != &export_folded)
		wrong_usage("--off-cpu is for --to folded");
	if (x->spans.count && !options.to->spans)
		wrong_usage("--span: the format %s has no slices", options.to->name);
}

/* -- Where it goes -------------------------------------------------------------------------------- */

static void open_output(struct export *x)
{
	if (!options.output)
		options.output = outfile_name(x->logs.source[0].path, options.to->suffix);
	if (options.to->directory) {
		x->directory = outfile_directory(options.output, options.force);
		return;
	}
	if (strcmp(options.output, "-") == 0 && options.to->binary && isatty(STDOUT_FILENO))
		fail("refusing to write %s to a terminal; use -o OUT", options.to->name);
	outfile_open(options.output, NULL, NULL);
}

/* -- The work --------------------------------------------------------------------------------------- */

/* Number of events between two looks at the clock. */
#define STEP 65536
#define PROGRESS_NS (INT64_C(200) * 1000000)

/* Returns the number of events, as far as known. */
static uint64_t count_all(const struct export *x)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < x->logs.count; i++) {
		const struct input *in = &x->logs.source[i].file->in;

		all += in->discarded < in->events ? in->events - in->discarded : 0;
	}
	return all;
}

static void show_progress(uint64_t read, uint64_t all)
{
	static int64_t before;
	int64_t now = clock_ns(CLOCK_MONOTONIC);

	outfile_check();
	if (now - before < PROGRESS_NS || !progress_wanted())
		return;
	before = now;
	progress_part(read, all);
}

static void go_through(struct export *x)
{
	const struct exporter *to = options.to;
	bool everything = match_all(options.match);
	uint64_t read = 0, all = count_all(x);
	struct source *s;

	sources_rewind(&x->logs);
	while ((s = sources_oldest(&x->logs)) != NULL) {
		if (read++ % STEP == 0)
			show_progress(read, all);
		if (source_tells_of_loss(s)) {
			x->losses += s->event->id == POSIX_TRACE_OVERFLOW;
			if (to->lost) {
				struct loss loss = source_take_loss(s);

				if (loss.wanted)
					to->lost(x, s, loss);
				continue;
			}
			if (to->cut)
				to->cut(x, s);
		}
		if (everything || source_wanted(s)) {
			to->event(x, s);
			x->events += !logfile_at_end_gap(s->file, s->event);
		} else if (to->cut && s->event->id == POSIX_TRACE_START) {
			to->cut(x, s);
		}
		source_advance(s);
	}
}

static void summary(const struct export *x, uint64_t size)
{
	uint64_t missing = 0, damaged = 0, discarded = 0, overwritten = 0;
	bool overwritten_some = false;
	char bytes[16];

	if (options.quiet)
		return;
	fprintf(stderr, "posixtrace convert: %s: %" PRIu64 " event%s%s%s",
	        strcmp(options.output, "-") == 0 ? "standard output" : options.output,
	        x->events, x->events == 1 ? "" : "s", size ? ", " : "", size ? bytes_text(bytes, size) : "");
	for (unsigned i = 0; i < x->logs.count; i++) {
		struct missing m;

		missing_find(&m, x->logs.source[i].file);
		damaged = missing_add(damaged, m.damaged);
		discarded = missing_add(discarded, m.discarded);
		overwritten = missing_add(overwritten, m.overwritten);
		overwritten_some |= m.overwritten_some;
		missing = missing_add(missing, missing_add(m.lost, missing_add(m.unwritten, m.damaged)));
	}
	if (x->losses && missing)
		fprintf(stderr, "; %" PRIu64 " event%s lost, at %" PRIu64 " place%s", missing,
		        missing == 1 ? " was" : "s were", x->losses, x->losses == 1 ? "" : "s");
	else if (x->losses)
		fprintf(stderr, "; events were lost at %" PRIu64 " place%s", x->losses, x->losses == 1 ? "" : "s");
	else if (missing)
		fprintf(stderr, "; %" PRIu64 " event%s lost", missing, missing == 1 ? " was" : "s were");
	if (damaged)
		fprintf(stderr, ", %s%" PRIu64 " in damaged parts of the log", damaged < missing ? "" : "all ",
		        damaged);
	if (discarded)
		fprintf(stderr, "; %" PRIu64 " event%s discarded when the log was full", discarded,
		        discarded == 1 ? " was" : "s were");
	if (overwritten)
		fprintf(stderr, "; %" PRIu64 " older event%s overwritten by newer ones", overwritten,
		        overwritten == 1 ? " was" : "s were");
	else if (overwritten_some)
		fputs("; older events were overwritten by newer ones", stderr);
	fputc('\n', stderr);
}

static int convert(int argc, char **argv)
{
	struct export x = { 0 };
	uint64_t size;

	options.match = match_new();
	take_all(&x, argc, argv);
	sources_open(&x.logs, options.match, false, argc - optind, argv + optind);
	sources_declared(&x.logs);
	if (nothing_matches(&x.logs, options.match, &x.spans))
		return STATUS_FAILED;
	if (options.to->spans)
		pairs_add(&x.spans, &x.logs, options.no_pairs);
	if (options.to->spans || options.to == &export_folded)
		calls_symbols(&x.logs);
	if (options.to == &export_folded)
		samples_symbols(&x.logs);
	if (options.to->spans)
		x.nested = nesting_find(&x.logs, &x.spans, match_all(options.match));
	open_output(&x);
	progress_start(false);
	if (options.to->begin)
		options.to->begin(&x);
	go_through(&x);
	if (options.to->end)
		options.to->end(&x);
	size = outfile_done();
	progress_end();
	summary(&x, size);
	if (x.events == 0 && match_given(options.match) && nothing_wanted(&x.logs))
		return STATUS_FAILED;
	sources_close(&x.logs);
	return x.nothing ? STATUS_FAILED : STATUS_DONE;
}

const struct command command_convert = {
	.name = "convert",
	.summary = "write logs in other formats: CTF, Perfetto, Chrome, CSV, JSON lines, flame graphs",
	.synopsis = "--to FORMAT [options] [FILE...]",
	.about = "Writes the events of logs in a format of other programs. FILE defaults to " LOGFILE_DEFAULT "; - "
	         "is standard input.",
	.options = option_rows,
	.operand = "FILE",
	.run = convert,
};
