/*
 * record.c - posixtrace record: starts a program and records it, or one that runs
 *
 * SPDX-License-Identifier: MIT
 */
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "logfile.h"
#include "session.h"

/* More than the library's default, as the program may be faster than the disk. */
#define STREAM_SIZE (UINT64_C(4) << 20)

enum {
	CHILDREN = 0x100, POLICY, LOG_POLICY, LOG_SIZE, MAX_DATA, DURATION, ROTATE, KEEP, LOOP, TRIGGER, BEFORE, AFTER, PROGRESS, NO_PROGRESS,
};

static const struct option options[] = {
	{ "output", required_argument, NULL, 'o' },
	{ "pid", required_argument, NULL, 'p' },
	{ "event", required_argument, NULL, 'e' },
	{ "stream-size", required_argument, NULL, 's' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "children", no_argument, NULL, CHILDREN },
	{ "policy", required_argument, NULL, POLICY },
	{ "log-policy", required_argument, NULL, LOG_POLICY },
	{ "log-size", required_argument, NULL, LOG_SIZE },
	{ "max-data", required_argument, NULL, MAX_DATA },
	{ "duration", required_argument, NULL, DURATION },
	{ "rotate", required_argument, NULL, ROTATE },
	{ "keep", required_argument, NULL, KEEP },
	{ "loop", optional_argument, NULL, LOOP },
	{ "trigger", required_argument, NULL, TRIGGER },
	{ "before", required_argument, NULL, BEFORE },
	{ "after", required_argument, NULL, AFTER },
	{ "progress", no_argument, NULL, PROGRESS },
	{ "no-progress", no_argument, NULL, NO_PROGRESS },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static const char usage[] =
	"usage: posixtrace record [options] -- COMMAND [ARGUMENT...]\n"
	"       posixtrace record [options] -p PID...\n"
	"\n"
	"Records what COMMAND traces, from its first instruction to its end, or what a process traces that runs.\n"
	"\n"
	"  -o, --output FILE      the log; '-' is standard output (default posixtrace.log)\n"
	"  -p, --pid PID          a process that runs; several may be given, then each has its log, FILE.pidPID\n"
	"      --children         those that it starts from now on, too\n"
	"  -e, --event PATTERN    only events whose names match, as file names in a shell: 'sql.*'; '!sql.row' for all others\n"
	"      --duration TIME    no longer than this: 10s, 500ms, 2m\n"
	"  -q, --quiet            say nothing but what has gone wrong\n"
	"      --progress         a line that tells how far it is, even if COMMAND writes to the same terminal\n"
	"      --no-progress      no such line\n"
	"\n"
	"In memory, and in the log:\n"
	"  -s, --stream-size SIZE events that are not in the log yet (default 4M)\n"
	"      --policy POLICY    of the stream: flush (default), loop or until-full; the last two are written in the end\n"
	"      --log-policy POLICY  append (default): all; loop: the newest; until-full: the first\n"
	"      --log-size SIZE    of a log that loops or is until-full; without --log-policy it loops\n"
	"      --max-data SIZE    longest data of an event; what is longer is cut (default 1024, at most 65535)\n"
	"      --rotate SIZE      when FILE has so much it becomes FILE.1, then FILE.2, ...\n"
	"      --keep N           no more than the last N of those files\n"
	"\n"
	"Flight recorder:\n"
	"      --loop[=SIZE]      keeps the newest events in memory (default 4M). They are written to FILE in the end, and\n"
	"                         to FILE.1, FILE.2, ... at each SIGUSR1\n"
	"      --trigger PATTERN  ... and when such an event comes, and in the end only if COMMAND crashes\n"
	"      --before TIME      of what came before the trigger, so much\n"
	"      --after TIME       wait so long after the trigger\n"
	"\n"
	"Exit status: that of COMMAND, 128 + n if signal n has killed it; 127 there is no COMMAND, 126 it cannot be executed,\n"
	"125 it was not started because it could not be recorded. With -p 0, or 1 if something could not be recorded.\n";

struct reading {
	struct session_options o;
	size_t log_size;
	const char *policy, *log_policy; /* null: not given */
};

static int policy_number(const char *option, const char *text, const char *third, int third_number)
{
	if (strcmp(text, "loop") == 0)
		return POSIX_TRACE_LOOP;
	if (strcmp(text, "until-full") == 0)
		return POSIX_TRACE_UNTIL_FULL;
	if (strcmp(text, third) == 0)
		return third_number;
	wrong_usage("%s %s: not loop, until-full or %s", option, text, third);
}

static void add_pid(struct session_options *o, const char *text)
{
	o->pids = realloc(o->pids, (o->pid_count + 1) * sizeof *o->pids);
	if (!o->pids)
		fail("no memory");
	o->pids[o->pid_count++] = (pid_t)argument_number("-p", text, 1, INT_MAX);
}

static void take_stream_option(struct reading *r, int option, const char *argument)
{
	struct plan *plan = &r->o.plan;

	switch (option) {
	case 's':
		plan->stream_size = argument_size("--stream-size", argument);
		return;
	case POLICY:
		r->policy = argument;
		return;
	case LOG_POLICY:
		r->log_policy = argument;
		return;
	case LOG_SIZE:
		r->log_size = argument_size("--log-size", argument);
		return;
	case MAX_DATA:
		posix_trace_attr_setmaxdatasize(&plan->attr, (size_t)argument_number("--max-data", argument, 0, 65535));
		return;
	case ROTATE:
		plan->rotate = argument_size("--rotate", argument);
		if (plan->rotate == 0)
			wrong_usage("--rotate 0: too small");
		return;
	case KEEP:
		plan->keep = (unsigned)argument_number("--keep", argument, 1, 1 << 20);
		return;
	case LOOP:
		plan->loop = true;
		if (argument)
			plan->stream_size = argument_size("--loop", argument);
		return;
	}
}

static void take_option(struct reading *r, int option, const char *argument)
{
	struct plan *plan = &r->o.plan;

	switch (option) {
	case 'o':
		plan->output = argument;
		return;
	case 'p':
		add_pid(&r->o, argument);
		return;
	case 'e':
		match_option(plan->match, 'e', argument);
		return;
	case 'q':
		plan->quiet = r->o.no_progress = true;
		return;
	case CHILDREN:
		plan->children = true;
		return;
	case DURATION:
		plan->duration = argument_duration("--duration", argument);
		if (plan->duration == 0)
			wrong_usage("--duration %s: too short", argument);
		return;
	case TRIGGER:
		plan->loop = true;
		if (!plan->trigger)
			plan->trigger = match_new();
		match_option(plan->trigger, 'e', argument);
		return;
	case BEFORE:
		plan->before = argument_duration("--before", argument);
		return;
	case AFTER:
		plan->after = argument_duration("--after", argument);
		return;
	case PROGRESS:
		r->o.beside = true;
		return;
	case NO_PROGRESS:
		r->o.no_progress = true;
		return;
	default:
		take_stream_option(r, option, argument);
	}
}

/* What excludes each other. */
static void check(const struct reading *r)
{
	const struct plan *plan = &r->o.plan;
	bool several = plan->loop || plan->rotate;

	if (!r->o.command && !r->o.pid_count)
		wrong_usage("what shall be recorded? COMMAND, or -p PID");
	if (r->o.command && r->o.pid_count)
		wrong_usage("COMMAND and -p: one of them");
	if (plan->loop && plan->rotate)
		wrong_usage("--loop and --rotate: one of them");
	if (several && (r->policy || r->log_policy || r->log_size))
		wrong_usage("--loop and --rotate have policies of their own");
	if (several && strcmp(plan->output, "-") == 0)
		wrong_usage("--loop and --rotate write several files, not standard output");
	if (r->o.pid_count > 1 && strcmp(plan->output, "-") == 0)
		wrong_usage("several processes have several logs, which have no room in standard output");
	if (plan->keep && !several)
		wrong_usage("--keep is for --rotate and --loop");
	if (!plan->trigger && (plan->before >= 0 || plan->after >= 0))
		wrong_usage("--before and --after are for --trigger");
	if (r->log_policy && strcmp(r->log_policy, "append") == 0 && r->log_size)
		wrong_usage("--log-size: a log that appends has no size; --rotate makes several");
}

static void set_attributes(struct reading *r)
{
	struct plan *plan = &r->o.plan;
	int policy = POSIX_TRACE_APPEND;

	posix_trace_attr_setname(&plan->attr, r->o.command ? r->o.command[0] : "record");
	posix_trace_attr_setstreamsize(&plan->attr, plan->stream_size);
	posix_trace_attr_setinherited(&plan->attr, plan->children ? POSIX_TRACE_INHERITED : POSIX_TRACE_CLOSE_FOR_CHILD);
	if (plan->loop)
		posix_trace_attr_setstreamfullpolicy(&plan->attr, POSIX_TRACE_LOOP);
	else if (r->policy)
		posix_trace_attr_setstreamfullpolicy(&plan->attr, policy_number("--policy", r->policy, "flush", POSIX_TRACE_FLUSH));
	if (r->log_policy)
		policy = policy_number("--log-policy", r->log_policy, "append", POSIX_TRACE_APPEND);
	else if (r->log_size)
		policy = POSIX_TRACE_LOOP;
	posix_trace_attr_setlogfullpolicy(&plan->attr, policy);
	if (r->log_size)
		posix_trace_attr_setlogsize(&plan->attr, r->log_size);
}

static int run(int argc, char **argv)
{
	struct reading r = {
		.o.plan = { .output = LOGFILE_DEFAULT, .stream_size = STREAM_SIZE, .before = -1, .after = -1 },
	};
	int option;

	posix_trace_attr_init(&r.o.plan.attr);
	r.o.plan.match = match_new();
	while ((option = next_option(argc, argv, "o:p:e:s:q", options)) != -1)
		take_option(&r, option, optarg);
	if (optind < argc)
		r.o.command = argv + optind;
	check(&r);
	set_attributes(&r);
	return session_run(&r.o);
}

const struct command command_record = {
	.name = "record",
	.summary = "starts a program, or attaches to one, and records what it traces",
	.usage = usage,
	.run = run,
};
