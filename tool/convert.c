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

#include "base/ticks.h"
#include "bytes.h"
#include "command.h"
#include "export.h"
#include "out.h"
#include "outfile.h"
#include "pairs.h"
#include "progress.h"

static const char usage[] =
	"usage: posixtrace convert --to FORMAT [options] [FILE...]\n"
	"\n"
	"Writes the events of logs as other programs read them; FILE is posixtrace.log if there is none.\n"
	"\n"
	"      --to FORMAT        ctf       a trace directory: babeltrace2, Trace Compass, LTTng's tools\n"
	"                         perfetto  a trace file: ui.perfetto.dev, trace_processor\n"
	"                         chrome    JSON trace events: chrome://tracing, speedscope, ui.perfetto.dev\n"
	"                         csv       a table: a column for each declared field\n"
	"                         jsonl     an object of JSON on each line\n"
	"                         if it is not said, the one that OUT ends in\n"
	"  -o, --output OUT       FILE with .ctf, .pftrace, .json, .csv or .jsonl if not said; -: standard output\n"
	"  -f, --force            replace OUT if it is a trace directory\n"
	"      --span A,B         perfetto, chrome: from an event that matches A to the next that matches B is a slice\n"
	"      --by SCOPE         the next one of the same thread (if not said), process, or all\n"
	"      --nested           B belongs to the latest A that has none yet: for recursion\n"
	"      --no-pairs         names that end in begin and end, and the like, are no slices\n"
	"  -q, --quiet            without the line that tells how much was written\n"
	"\nOnly\n" MATCH_USAGE_UNTIL;

static const struct exporter *const exporters[] = { &export_ctf, &export_perfetto, &export_chrome, &export_csv, &export_jsonl };

#define EXPORTERS (sizeof exporters / sizeof exporters[0])

enum { OPTION_TO = MATCH_OPTIONS_END, OPTION_SPAN, OPTION_BY, OPTION_NESTED, OPTION_NO_PAIRS };

static struct {
	const struct exporter *to;
	const char *output;
	bool force, no_pairs, quiet;
	struct match *match;
} options;

/* -- Arguments --------------------------------------------------------------------------------- */

static const struct exporter *format(const char *name)
{
	for (unsigned i = 0; i < EXPORTERS; i++)
		if (strcmp(exporters[i]->name, name) == 0)
			return exporters[i];
	wrong_usage("--to %s: no such format; there are ctf, perfetto, chrome, csv and jsonl", name);
}

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
	wrong_usage("--to FORMAT: what shall it become? ctf, perfetto, chrome, csv or jsonl");
}

static void take(struct export *x, int option, const char *argument)
{
	switch (option) {
	case OPTION_TO:
		options.to = format(argument);
		break;
	case 'o':
		options.output = argument;
		break;
	case 'f':
		options.force = true;
		break;
	case 'q':
		options.quiet = true;
		break;
	case OPTION_SPAN:
		span_add(&x->spans, argument);
		break;
	case OPTION_BY:
		x->spans.scope = span_scope(argument);
		break;
	case OPTION_NESTED:
		x->spans.nested = true;
		break;
	case OPTION_NO_PAIRS:
		options.no_pairs = true;
		break;
	default:
		match_option(options.match, option, argument);
	}
}

static void take_all(struct export *x, int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "to", required_argument, NULL, OPTION_TO }, { "output", required_argument, NULL, 'o' },
		{ "force", no_argument, NULL, 'f' }, { "quiet", no_argument, NULL, 'q' },
		{ "span", required_argument, NULL, OPTION_SPAN }, { "by", required_argument, NULL, OPTION_BY },
		{ "nested", no_argument, NULL, OPTION_NESTED }, { "no-pairs", no_argument, NULL, OPTION_NO_PAIRS },
		{ "help", no_argument, NULL, 'h' }, MATCH_OPTIONS, { 0 },
	};
	int c;

	while ((c = next_option(argc, argv, "*o:fq" MATCH_LETTERS, long_options)) != -1)
		take(x, c, optarg);
	if (!options.to)
		options.to = format_of(options.output);
	if (x->spans.count && !options.to->spans)
		wrong_usage("--span: %s has no slices", options.to->name);
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
		fail("standard output is a terminal, and %s is not for people: -o OUT", options.to->name);
	outfile_open(options.output);
}

/* -- The work --------------------------------------------------------------------------------------- */

/* Events between two looks at the clock. */
#define STEP 65536
#define PROGRESS_NS (INT64_C(200) * 1000000)

/* How many events there are, as far as it is known. */
static uint64_t count_all(const struct export *x)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < x->logs.count; i++) {
		const struct input *in = &x->logs.source[i].file->in;

		all += in->discarded < in->events ? in->events - in->discarded : 0;
	}
	return all;
}

static void tell(uint64_t read, uint64_t all)
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
			tell(read, all);
		if (source_tells_of_loss(s)) {
			x->losses += s->event->id == POSIX_TRACE_OVERFLOW;
			if (to->lost) {
				struct loss loss = source_take_loss(s);

				if (loss.wanted)
					to->lost(x, s, loss);
				continue;
			}
		}
		if (everything || source_wanted(s)) {
			to->event(x, s);
			x->events++;
		} else if (to->cut && s->event->id == POSIX_TRACE_START) {
			to->cut(x, s);
		}
		source_advance(s);
	}
}

static void summary(const struct export *x, uint64_t size)
{
	char bytes[16];

	if (options.quiet)
		return;
	fprintf(stderr, "posixtrace convert: %s: %" PRIu64 " event%s%s%s", strcmp(options.output, "-") == 0 ? "standard output" : options.output,
	        x->events, x->events == 1 ? "" : "s", size ? ", " : "", size ? bytes_text(bytes, size) : "");
	if (x->losses)
		fprintf(stderr, "; events were lost at %" PRIu64 " place%s", x->losses, x->losses == 1 ? "" : "s");
	fputc('\n', stderr);
}

static int convert(int argc, char **argv)
{
	struct export x = { 0 };
	uint64_t size;

	options.match = match_new();
	take_all(&x, argc, argv);
	sources_open(&x.logs, options.match, false, argc - optind, argv + optind);
	if (options.to->spans && !options.no_pairs)
		pairs_add(&x.spans, &x.logs);
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
	sources_close(&x.logs);
	return STATUS_DONE;
}

const struct command command_convert = {
	.name = "convert",
	.summary = "writes logs as other programs read them: CTF, Perfetto, Chrome, CSV, JSON lines",
	.usage = usage,
	.run = convert,
};
