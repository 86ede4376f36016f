/*
 * record.c - posixtrace record: records a program that it starts, or a running process
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <limits.h>
#include <posixtrace/trace.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/command.h"
#include "common/message.h"
#include "common/options.h"
#include "log/labels.h"
#include "log/output.h"
#include "logs/logfile.h"
#include "record/probe_patterns.h"
#include "record/session.h"
#include "record/unwind.h"
#include "usdt/signature.h"

/* More than the library's default, because the program may be faster than the disk. */
#define STREAM_SIZE (UINT64_C(4) << 20)

/* For functions, which a program may call all the time. */
#define STREAM_SIZE_FUNCTIONS (UINT64_C(16) << 20)

#define ROTATE_LEAST 4096
/* The kernel's own limit is 127 unless an administrator raises it, and its largest limit is 640. */
#define STACK_DEPTH_MOST 640
/* Most bytes of a list of patterns, with its null: instrument/functions/shadow.c. */
#define FUNCTIONS_PATTERNS 4096

enum {
	CHILDREN = OPTIONS_OWN, FAMILY, ALSO_USER, WHERE, POLICY, LOG_POLICY, LOG_SIZE, MAX_DATA, DURATION, ROTATE,
	KEEP, LOOP, TRIGGER, BEFORE, AFTER, PROGRESS, NO_PROGRESS, DESPITE_SECCOMP, KERNEL, KERNEL_BUFFER,
	SAMPLE, SAMPLE_DWARF, OFF_CPU, STACK_DEPTH, FLUSH_EVERY, LABEL,
	WITHOUT_RECORDER, FUNCTIONS, FUNCTIONS_IN, FUNCTIONS_DEPTH, FUNCTIONS_LONGER, LTTNG, LIBC, USDT,
};

static const struct option_row option_rows[] = {
	OPTION('o', "output", "FILE", "write the log to FILE (default " LOGFILE_DEFAULT "); - is standard output"),
	OPTION('p', "pid", "PID",
	       "trace this running process; may be repeated, each process then has its own log FILE.pidPID"),
	OPTION(CHILDREN, "children", NULL,
	       "also trace processes that it starts from now on; the recording ends with the first process"),
	OPTION(FAMILY, "family", NULL,
	       "like --children, but the recording ends with the last process: for programs that go to the background"),
	OPTION(ALSO_USER, "also-user", "USER",
	       "with --children, as root: record processes that become USER from their first event; may be repeated"),
	OPTION(DESPITE_SECCOMP, "despite-seccomp", NULL,
	       "with -p, trace a process with a seccomp filter, although the filter may kill it"),
	OPTION('e', "event", "PATTERN", "only events" MATCH_PATTERN_HELP),
	OPTION(WHERE, "where", "EXPRESSION",
	       "write only events to the log whose fields satisfy EXPRESSION: 'size > 100 && key ~ \"user:*\"'"),
	OPTION(KERNEL, "kernel", "GROUPS",
	       "also record Linux's own events about these processes: sched, syscalls, faults, signals, io, separated "
	       "by commas, or all"),
	OPTION(SAMPLE, "sample", "HZ",
	       "also take the stacks of these processes' threads HZ times in each second that they run, such as 999"),
	OPTION(SAMPLE_DWARF, "sample-dwarf", NULL,
	       "have --sample and --off-cpu copy 8 KiB of each stack, and walk it as exceptions do: for programs and "
	       "libraries without frame pointers; it costs much more"),
	OPTION(OFF_CPU, "off-cpu", NULL,
	       "also record the stacks with which threads stop to run, and for how long; implies --kernel sched"),
	OPTION(STACK_DEPTH, "stack-depth", "N", "at most N functions of a stack, from the innermost (default 127)"),
	OPTION('a', "all-processes", NULL,
	       "with --kernel, --sample or --off-cpu, as root: all processes of the machine, while these are recorded"),
	OPTION(WITHOUT_RECORDER, "without-recorder", NULL, "with -a, leave out what posixtrace record itself does"),
	OPTION(LABEL, "label", "KEY=VALUE",
	       "keep this in the log, such as version=1.2; may be repeated, and added to POSIXTRACE_LABELS"),
	OPTION(DURATION, "duration", "TIME", "stop after this time: 10s, 500ms, 2m"),
	OPTION('q', "quiet", NULL, "report errors only"),
	OPTION(PROGRESS, "progress", NULL,
	       "show a line with the progress, even if COMMAND writes to the same terminal"),
	OPTION(NO_PROGRESS, "no-progress", NULL, "never show that line"),
	OPTION_HEADING("Programs as they are:"),
	OPTION(FUNCTIONS, "functions", "[PATTERN]",
	       "record calls of the functions of a COMMAND built with -finstrument-functions or clang "
	       "-fxray-instrument: all, or those whose names match PATTERN: 'parse_*,!parse_char'; may be repeated"),
	OPTION(FUNCTIONS_IN, "functions-in", "PATTERN",
	       "only calls of functions whose names match PATTERN, and all that happens in them"),
	OPTION(FUNCTIONS_DEPTH, "functions-depth", "N", "only N levels of calls, from the outermost one recorded"),
	OPTION(FUNCTIONS_LONGER, "functions-longer-than", "TIME",
	       "only calls that take at least this time: 10us; each is one event, at its end"),
	OPTION(LTTNG, "lttng", NULL,
	       "record the tracepoints of programs built for LTTng-UST 2.13; no daemon of LTTng is needed"),
	OPTION(LIBC, "libc", "GROUPS",
	       "also record calls of the C library: io, locks, threads, process, memory, with commas between, or all"),
	OPTION(USDT, "usdt", "PATTERN",
	       "also record the USDT probes of the program and its libraries whose names match PATTERN, 'python:*'; "
	       "'/usr/lib/x.so:NAME:*' those of a file, 'NAME:PROBE(int id, str item)' with names of arguments; "
	       "may be repeated; as root"),
	OPTION_HEADING("Memory and log:"),
	OPTION('s', "stream-size", "SIZE",
	       "memory for events that are not in the log yet (default 4M, with --functions 16M)"),
	OPTION(KERNEL_BUFFER, "kernel-buffer", "SIZE",
	       "memory of each processor for events of --kernel, --sample and --off-cpu that are not in the log yet "
	       "(default 4M, with --sample-dwarf 16M)"),
	OPTION(FLUSH_EVERY, "flush-every", "TIME",
	       "write events to the log at least this often (default 1s, at least 1ms): for programs that read the log "
	       "while it is written"),
	OPTION(POLICY, "policy", "POLICY",
	       "of the stream: flush (default); loop or until-full, which write the log only at the end",
	  "flush loop until-full"),
	OPTION(LOG_POLICY, "log-policy", "POLICY",
	       "the log keeps all events (append, default), the newest (loop), or the first (until-full)",
	  "append loop until-full"),
	OPTION(LOG_SIZE, "log-size", "SIZE", "of a log that is loop or until-full; without --log-policy: loop"),
	OPTION(MAX_DATA, "max-data", "SIZE", "cut the data of an event to this length (default 1024, at most 65535)"),
	OPTION(ROTATE, "rotate", "SIZE",
	       "when FILE has this size, rename it to FILE.1, then FILE.2, ... and begin a new one"),
	OPTION(KEEP, "keep", "N", "keep only the last N of these files"),
	OPTION_HEADING("Flight recorder:"),
	OPTION(LOOP, "loop", "[SIZE]",
	       "keep the newest events in memory (default 4M); write them to FILE at the end, and to FILE.1, "
	       "FILE.2, ... "
	  "at each SIGUSR1"),
	OPTION(TRIGGER, "trigger", "PATTERN",
	       "also write them when an event with such a name is recorded, and at the end only if COMMAND crashes"),
	OPTION(BEFORE, "before", "TIME", "write only this much of what preceded the trigger"),
	OPTION(AFTER, "after", "TIME", "wait for this time after the trigger, then write"),
	{ 0 },
};

struct reading {
	struct session_options o;
	size_t log_size;
	const char *log_size_text; /* null: not given */
	/* Whether the options were given. */
	bool policy, log_policy, functions, stream_size, libc, flush_every;
	char *functions_only, *functions_in; /* patterns, separated by commas; null: none */
	int stream_policy_number, log_policy_number;
};

static void add_pid(struct session_options *o, const char *text)
{
	o->pids = realloc(o->pids, (o->pid_count + 1) * sizeof *o->pids);
	if (!o->pids)
		fail("no memory");
	o->pids[o->pid_count++] = (pid_t)argument_number("-p", text, 1, INT_MAX);
}

/* Adds a user by name or number. A number may be of a user that the machine has no name for. */
static void add_user(struct plan *plan, const char *text)
{
	const struct passwd *entry = getpwnam(text);
	struct worker_user user;

	if (entry) {
		user = (struct worker_user){ entry->pw_uid, entry->pw_gid };
	} else {
		if (!text[0] || strspn(text, "0123456789") != strlen(text))
			wrong_usage("--also-user %s: there is no such user", text);
		user.uid = (uint32_t)argument_number("--also-user", text, 1, UINT32_MAX - 1);
		entry = getpwuid(user.uid);
		user.gid = entry ? entry->pw_gid : user.uid;
	}
	if (plan->users == WORKERS_USERS)
		wrong_usage("--also-user: at most %d users", WORKERS_USERS);
	plan->user = realloc(plan->user, (plan->users + 1) * sizeof *plan->user);
	if (!plan->user)
		fail("no memory");
	plan->user[plan->users++] = user;
}

/* Takes the names and types of arguments off a pattern. Returns null if there are none. */
static const struct signature *take_signature(const char **pattern)
{
	const char *whole = *pattern, *wrong;
	struct signature *s;
	size_t path, length;
	char *names, *end;

	names = strchr(probe_pattern_names(whole, &path), '(');
	if (!names)
		return NULL;
	length = (size_t)(names - whole);
	names = strdup(whole);
	s = calloc(1, sizeof *s);
	if (!names || !s)
		fail("no memory");
	*pattern = names;
	names[length] = '\0';
	names += length + 1;
	end = strchr(names, ')');
	if (!end || end[1])
		wrong_usage("--usdt %s: ')' is missing at the end", whole);
	*end = '\0';
	wrong = signature_parse(names, s);
	if (wrong)
		wrong_usage("--usdt %s: %s", whole, wrong);
	return s;
}

static void add_label(struct plan *plan, const char *option, const char *label)
{
	static struct labels all;
	const char *value = strchr(label, '=');

	/* Refuses it before the program starts. */
	if (!value || !labels_set(&all, label, (size_t)(value - label), value + 1, strlen(value + 1)))
		wrong_usage("%s %s: must be KEY=VALUE, in UTF-8; at most %d, of at most %d and %d bytes", option, label,
		            LABELS_MAX, LABEL_KEY_MAX, LABEL_VALUE_MAX);
	plan->label = realloc(plan->label, (plan->labels + 1) * sizeof *plan->label);
	if (!plan->label)
		fail("no memory");
	plan->label[plan->labels++] = label;
}

/* Adds the labels of the environment, with commas between. */
static void add_labels_of_environment(struct plan *plan)
{
	static char *kept; /* the plan points into it */
	const char *list = getenv("POSIXTRACE_LABELS");
	char *rest, *label;

	kept = strdup(list ? list : "");
	if (!kept)
		fail("no memory");
	rest = kept;
	while ((label = strsep(&rest, ",")) != NULL)
		if (*label)
			add_label(plan, "POSIXTRACE_LABELS:", label);
}

static void add_usdt(struct probes_wanted *usdt, const char *pattern)
{
	const struct signature *signature = take_signature(&pattern);

	if (!*pattern || *pattern == '-')
		wrong_usage("--usdt needs a pattern, such as 'python:*'; '*' selects all probes");
	usdt->pattern = realloc(usdt->pattern, (usdt->count + 1) * sizeof *usdt->pattern);
	usdt->signature = realloc(usdt->signature, (usdt->count + 1) * sizeof *usdt->signature);
	if (!usdt->pattern || !usdt->signature)
		fail("no memory");
	usdt->signature[usdt->count] = signature;
	usdt->pattern[usdt->count++] = pattern;
}

static void set_flush_every(struct reading *r, const char *argument)
{
	long long ns = argument_duration("--flush-every", argument);
	struct timespec period = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	if (posixtrace_attr_setflushperiod(&r->o.plan.attr, &period))
		wrong_usage("--flush-every %s: not between 1ms and 1h", argument);
	r->o.plan.kernel.write_ns = ns;
	r->flush_every = true;
}

static void take_stream_option(struct reading *r, int option, const char *argument)
{
	static const int stream_policies[] = { POSIX_TRACE_FLUSH, POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL };
	static const int log_policies[] = { POSIX_TRACE_APPEND, POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL };
	struct plan *plan = &r->o.plan;

	switch (option) {
	case 's':
		plan->stream_size = argument_size("--stream-size", argument);
		r->stream_size = true;
		return;
	case FLUSH_EVERY:
		set_flush_every(r, argument);
		return;
	case POLICY:
		r->policy = true;
		r->stream_policy_number = stream_policies[option_choice()];
		return;
	case LOG_POLICY:
		r->log_policy = true;
		r->log_policy_number = log_policies[option_choice()];
		return;
	case LOG_SIZE:
		r->log_size = argument_size("--log-size", argument);
		r->log_size_text = argument;
		return;
	case MAX_DATA:
		posix_trace_attr_setmaxdatasize(&plan->attr, (size_t)argument_number("--max-data", argument, 0, 65535));
		return;
	case ROTATE:
		plan->rotate = argument_size("--rotate", argument);
		if (plan->rotate < ROTATE_LEAST)
			wrong_usage("--rotate %s: too small; the minimum is 4K, as each file has a header", argument);
		return;
	case KERNEL:
		plan->kernel.groups |= kernel_groups(argument);
		return;
	case 'a':
		plan->kernel.all = true;
		return;
	case WITHOUT_RECORDER:
		plan->kernel.without_recorder = true;
		return;
	case KERNEL_BUFFER:
		plan->kernel.buffer = argument_size("--kernel-buffer", argument);
		return;
	case SAMPLE:
		plan->kernel.sampling.hertz = (uint32_t)argument_number("--sample", argument, 1, 1000000);
		return;
	case SAMPLE_DWARF:
		if (!unwind_works())
			wrong_usage("--sample-dwarf: this command was built without libdw, or for another processor "
			            "than x86-64");
		plan->kernel.sampling.dwarf = true;
		return;
	case OFF_CPU:
		plan->kernel.sampling.off_cpu = true;
		plan->kernel.groups |= kernel_groups("sched");
		return;
	case STACK_DEPTH:
		plan->kernel.sampling.depth = (uint32_t)argument_number("--stack-depth", argument, 1,
		                                                        STACK_DEPTH_MOST);
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

/* Sets a variable of COMMAND for libposixtrace-functions.so, which is preloaded. */
static void set_functions(struct reading *r, const char *variable, const char *value)
{
	if (!r->functions)
		instruments_preload(&r->o.instruments, "libposixtrace-functions.so");
	r->functions = true;
	if (value)
		instruments_set(&r->o.instruments, variable, value);
}

/* Adds patterns to a list, which the library can take up to a length. */
static const char *add_patterns(char **list, const char *option, const char *patterns)
{
	char *longer;

	if (!*patterns)
		wrong_usage("%s: a pattern is empty", option);
	if (asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? "," : "", patterns) < 0)
		fail("no memory");
	free(*list);
	*list = longer;
	if (strlen(longer) >= FUNCTIONS_PATTERNS)
		wrong_usage("%s: the patterns have more than %d bytes", option, FUNCTIONS_PATTERNS - 1);
	return longer;
}

static void take_functions_option(struct reading *r, int option, const char *argument)
{
	char number[32];
	long long ns;

	switch (option) {
	case FUNCTIONS:
		set_functions(r, "POSIXTRACE_FUNCTIONS",
		              argument ? add_patterns(&r->functions_only, "--functions", argument) : NULL);
		return;
	case FUNCTIONS_IN:
		set_functions(r, "POSIXTRACE_FUNCTIONS_IN", add_patterns(&r->functions_in, "--functions-in", argument));
		return;
	case FUNCTIONS_DEPTH:
		argument_number("--functions-depth", argument, 1, 1 << 30);
		set_functions(r, "POSIXTRACE_FUNCTIONS_DEPTH", argument);
		return;
	case FUNCTIONS_LONGER:
		ns = argument_duration("--functions-longer-than", argument);
		snprintf(number, sizeof number, "%lld", ns);
		set_functions(r, "POSIXTRACE_FUNCTIONS_LONGER_THAN", number);
		return;
	}
}

/* Takes the SIZE of "--loop SIZE": getopt_long() only accepts "--loop=SIZE". A command is never called "1M". */
static const char *size_behind(int argc, char **argv)
{
	if (optind < argc && argument_is_size(argv[optind]))
		return argv[optind++];
	return NULL;
}

/* Checks the groups of --libc, and preloads the libraries for them. */
static void take_libc(struct instruments *i, const char *list)
{
	static const char *const names[] = { "io", "locks", "threads", "process", "memory", "all" };
	bool memory = false;

	for (const char *word = list;; word++) {
		size_t length = strcspn(word, ","), n = 0;

		while (n < sizeof names / sizeof *names &&
		       (strlen(names[n]) != length || memcmp(names[n], word, length) != 0))
			n++;
		if (n == sizeof names / sizeof *names)
			wrong_usage("--libc: no group '%.*s'; there are io, locks, threads, process, memory, and all",
			            (int)length, word);
		memory |= n >= 4;
		word += length;
		if (!*word)
			break;
	}
	/* Also for memory alone: this library knows when the other one may look for streams. */
	instruments_preload(i, "libposixtrace-libc.so");
	if (memory)
		instruments_preload(i, "libposixtrace-libc-memory.so");
	instruments_set(i, "POSIXTRACE_LIBC", list);
}

static void take_option(struct reading *r, int option, const char *argument)
{
	struct plan *plan = &r->o.plan;

	switch (option) {
	case 'o':
		plan->output = argument_file("-o", argument);
		return;
	case 'p':
		add_pid(&r->o, argument);
		return;
	case 'e':
		match_option(plan->match, 'e', argument);
		return;
	case WHERE:
		if (plan->where)
			wrong_usage("--where: only once; use && for several conditions");
		/* Errors are reported before the program starts. */
		question_new("--where", argument, true);
		plan->where = argument;
		return;
	case LABEL:
		add_label(plan, "--label", argument);
		return;
	case 'q':
		plan->quiet = plan->kernel.quiet = r->o.no_progress = true;
		return;
	case CHILDREN:
		plan->children = true;
		return;
	case FAMILY:
		plan->children = plan->family = true;
		return;
	case ALSO_USER:
		add_user(plan, argument);
		return;
	case DESPITE_SECCOMP:
		r->o.despite_seccomp = true;
		return;
	case LIBC:
		if (r->libc)
			wrong_usage("--libc: only once, with commas between the groups");
		r->libc = true;
		take_libc(&r->o.instruments, argument);
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
	case LTTNG:
		instruments_replace(&r->o.instruments, "lttng");
		return;
	case USDT:
		add_usdt(&plan->usdt, argument);
		return;
	case PROGRESS:
		r->o.beside = true;
		return;
	case NO_PROGRESS:
		r->o.no_progress = true;
		return;
	case FUNCTIONS:
	case FUNCTIONS_IN:
	case FUNCTIONS_DEPTH:
	case FUNCTIONS_LONGER:
		take_functions_option(r, option, argument);
		return;
	default:
		take_stream_option(r, option, argument);
	}
}

/* Refuses options that cannot be combined. */
static void check(const struct reading *r)
{
	const struct plan *plan = &r->o.plan;
	bool several = plan->loop || plan->rotate, stacks = sampling_any(&plan->kernel.sampling);

	if (!r->o.command && !r->o.pid_count)
		wrong_usage("nothing to record: give COMMAND or -p PID");
	if (r->o.command && r->o.pid_count && strspn(r->o.command[0], "0123456789") == strlen(r->o.command[0]))
		wrong_usage("COMMAND and -p cannot be combined; for several processes repeat -p");
	if (r->o.command && r->o.pid_count)
		wrong_usage("COMMAND and -p cannot be combined");
	if (plan->users && !plan->children)
		wrong_usage("--also-user needs --children or --family");
	if (plan->users && geteuid() != 0)
		wrong_usage("--also-user is for root: processes of other users become no one else");
	if (r->o.command && r->o.despite_seccomp)
		wrong_usage("--despite-seccomp needs -p: the filter that COMMAND will install is not known yet");
	if (r->o.pid_count && instruments_any(&r->o.instruments))
		wrong_usage("with -p, what is recorded cannot be preloaded any more: start the program with record");
	if (plan->usdt.count && (plan->loop || plan->rotate || r->policy || r->log_policy || r->log_size_text))
		wrong_usage("--usdt cannot be combined with --loop, --rotate, --policy, --log-policy or --log-size");
	if (plan->usdt.count && plan->where)
		wrong_usage("--usdt and --where cannot be combined: use --where with report or stat");
	if (plan->usdt.count && strcmp(plan->output, "-") == 0)
		wrong_usage("--usdt adds its events at the end, so they cannot be written to standard output");
	if (plan->loop && plan->rotate)
		wrong_usage("--loop and --rotate cannot be combined");
	if (r->flush_every && (plan->loop || (r->policy && r->stream_policy_number != POSIX_TRACE_FLUSH)))
		wrong_usage("--flush-every: with --loop and with --policy %s the log is written only at the end",
		            r->stream_policy_number == POSIX_TRACE_UNTIL_FULL ? "until-full" : "loop");
	if (several && (r->policy || r->log_policy || r->log_size_text))
		wrong_usage("--loop and --rotate cannot be combined with --policy, --log-policy or --log-size");
	if (several && strcmp(plan->output, "-") == 0)
		wrong_usage("--loop and --rotate write several files; they cannot write to standard output");
	if ((plan->kernel.groups || stacks) &&
	    (several || r->log_policy || r->log_size_text || strcmp(plan->output, "-") == 0))
		wrong_usage("--kernel, --sample and --off-cpu cannot be combined with --loop, --trigger, --rotate, "
		            "--log-policy, --log-size or standard output");
	if (plan->kernel.all && !plan->kernel.groups && !stacks)
		wrong_usage("-a needs --kernel, --sample or --off-cpu: only Linux's own events are those of all "
		            "processes");
	if (plan->kernel.without_recorder && !plan->kernel.all)
		wrong_usage("--without-recorder needs -a");
	if (plan->kernel.all && r->o.pid_count > 1)
		wrong_usage("-a: give one process with -p, or a COMMAND such as sleep 10");
	if (plan->kernel.buffer && !plan->kernel.groups && !stacks)
		wrong_usage("--kernel-buffer needs --kernel, --sample or --off-cpu");
	if ((plan->kernel.sampling.depth || plan->kernel.sampling.dwarf) && !stacks)
		wrong_usage("--%s needs --sample or --off-cpu",
		            plan->kernel.sampling.dwarf ? "sample-dwarf" : "stack-depth");
	if (plan->kernel.sampling.hertz > kernel_samples_most())
		wrong_usage("--sample %" PRIu32 ": too many in a second; sysctl kernel.perf_event_max_sample_rate is "
		            "%" PRIu32, plan->kernel.sampling.hertz, kernel_samples_most());
	if (r->o.pid_count > 1 && strcmp(plan->output, "-") == 0)
		wrong_usage("standard output can take the log of one process only");
	if (plan->keep && !several)
		wrong_usage("--keep needs --rotate or --loop");
	if (!plan->trigger && (plan->before >= 0 || plan->after >= 0))
		wrong_usage("--before and --after need --trigger");
	if (r->log_policy && r->log_policy_number == POSIX_TRACE_APPEND && r->log_size_text)
		wrong_usage("--log-size needs --log-policy loop or until-full; to split a log use --rotate");
}

/* Keeps the patterns of functions, with their options, for a message. */
static void name_functions(struct reading *r)
{
	const char *only = r->functions_only, *in = r->functions_in;
	char *text;

	if (!only && !in)
		return;
	if (asprintf(&text, "%s%s%s%s%s", only ? "--functions=" : "", only ? only : "", only && in ? " and " : "",
	             in ? "--functions-in=" : "", in ? in : "") < 0)
		fail("no memory");
	r->o.plan.functions = text;
}

/* Refuses too small a size, which the library would silently enlarge. */
static void check_log_size(const struct reading *r, int policy)
{
	size_t longest = 0;
	uint64_t least;

	posix_trace_attr_getmaxdatasize(&r->o.plan.attr, &longest);
	least = output_size(policy, 0, (uint32_t)longest);
	if (r->log_size < least)
		wrong_usage("--log-size %s: too small; "
		            "with events of up to %zu bytes (--max-data) the minimum is %" PRIu64,
		            r->log_size_text, longest, least);
}

static void set_attributes(struct reading *r)
{
	struct plan *plan = &r->o.plan;
	int policy = POSIX_TRACE_APPEND;

	if (r->functions && !r->stream_size && !plan->loop)
		plan->stream_size = STREAM_SIZE_FUNCTIONS;
	if (!plan->kernel.sampling.depth)
		plan->kernel.sampling.depth = SAMPLING_DEPTH;
	plan->usdt.match = plan->match;
	plan->kernel.match = plan->match;
	plan->usdt.children = plan->children;
	posix_trace_attr_setname(&plan->attr, r->o.command ? r->o.command[0] : "");
	posix_trace_attr_setstreamsize(&plan->attr, plan->stream_size);
	posix_trace_attr_setinherited(&plan->attr,
	                              plan->children ? POSIX_TRACE_INHERITED : POSIX_TRACE_CLOSE_FOR_CHILD);
	if (plan->loop)
		posix_trace_attr_setstreamfullpolicy(&plan->attr, POSIX_TRACE_LOOP);
	else if (r->policy)
		posix_trace_attr_setstreamfullpolicy(&plan->attr, r->stream_policy_number);
	if (r->log_policy)
		policy = r->log_policy_number;
	else if (r->log_size_text)
		policy = POSIX_TRACE_LOOP;
	posix_trace_attr_setlogfullpolicy(&plan->attr, policy);
	if (!r->log_size_text)
		return;
	check_log_size(r, policy);
	posix_trace_attr_setlogsize(&plan->attr, r->log_size);
}

static int run(int argc, char **argv)
{
	struct reading r = {
		.o.plan = { .output = LOGFILE_DEFAULT, .stream_size = STREAM_SIZE, .before = -1, .after = -1,
		            .kernel.write_ns = 1000000000 },
	};
	int option;

	add_labels_of_environment(&r.o.plan);
	posix_trace_attr_init(&r.o.plan.attr);
	r.o.plan.match = match_new();
	while ((option = next_option(argc, argv)) != -1)
		take_option(&r, option, option == LOOP && !optarg ? size_behind(argc, argv) : optarg);
	if (optind < argc)
		r.o.command = argv + optind;
	check(&r);
	name_functions(&r);
	set_attributes(&r);
	return session_run(&r.o);
}

const struct command command_record = {
	.name = "record",
	.summary = "record the events of a program: start it, or attach to it",
	.synopsis = "[options] -- COMMAND [ARGUMENT...]\n[options] -p PID...",
	.about = "Records the events of COMMAND, from its first instruction to its end, or of a running process.",
	.options = option_rows,
	.ending = "Exit status: that of COMMAND, 128 + n if signal n killed it; 123 COMMAND succeeded, but events "
	          "are missing because they could not be written; 127 COMMAND was not found; 126 COMMAND cannot be "
	          "executed; 125 COMMAND was not started because it could not be recorded. With -p: 0, or 1 if "
	          "something could not be recorded.",
	.operand = "COMMAND",
	.run = run,
};
