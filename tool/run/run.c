/*
 * run.c - posixtrace run: records what a program offers, and says where the time went
 *
 * It looks into the program, chooses the options of record, and starts record with them. Afterwards it starts stat and
 * view. All of these are this same executable.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/command.h"
#include "common/message.h"
#include "common/options.h"
#include "kernel/ring.h"
#include "process/instruments.h"
#include "process/launch.h"
#include "process/offers.h"

#define LOG_DEFAULT "posixtrace.log"

static struct {
	const char *output;
	bool dry, no_page, quiet;
} options = { .output = LOG_DEFAULT };

enum { NO_PAGE = OPTIONS_OWN, DRY };

static const struct option_row option_rows[] = {
	OPTION('o', "output", "FILE", "write the log to FILE (default " LOG_DEFAULT ")"),
	OPTION_FLAG(DRY, "dry-run", &options.dry, "only say what would be recorded"),
	OPTION_FLAG(NO_PAGE, "no-page", &options.no_page, "do not write the page of posixtrace view"),
	OPTION_FLAG('q', "quiet", &options.quiet, "no choice and no summary on standard error"),
	{ 0 },
};

/* -- What to record --------------------------------------------------------------------------------- */

/* The command line of a subcommand, and then null. */
struct line {
	char **argument;
	size_t count;
};

static void put(struct line *l, const char *argument)
{
	l->argument = realloc(l->argument, (l->count + 2) * sizeof *l->argument);
	if (!l->argument)
		fail("no memory");
	l->argument[l->count++] = (char *)(uintptr_t)argument;
	l->argument[l->count] = NULL;
}

/* Begins the command line of a subcommand. */
static void begin(struct line *l, const char *subcommand)
{
	put(l, "posixtrace");
	put(l, subcommand);
}

static struct line of_record;

/* The parts of stat that the summary has. */
static const char *parts[8];
static unsigned part_count;

static void part(const char *option)
{
	parts[part_count++] = option;
}

/* Prints on standard error, unless it is to be quiet. */
#define say(...) ((void)(options.quiet || fprintf(stderr, __VA_ARGS__) < 0))

/* Adds an option of record, and says what it is for. */
static void choose(const char *option, const char *argument, const char *what)
{
	put(&of_record, option);
	if (argument)
		put(&of_record, argument);
	say("  %-36s %s%s%s\n", what, option, argument ? " " : "", argument ? argument : "");
}

/* Returns whether libraries can be preloaded into the program; otherwise says why not. */
static bool preloadable(const struct offers *o)
{
	if (o->dynamic && o->same_kind && !o->other_user && !o->sanitizer)
		return true;
	if (!o->found) {
		say("  it is no program of this machine, and no script whose '#!' names one, or it cannot be read: "
		    "nothing is known of its own calls\n");
		return false;
	}
	say("  %s, so no library can be preloaded: nothing is known of its own calls\n",
	    !o->dynamic     ? "it is linked statically" :
	    !o->same_kind   ? "it is for another word size or processor than posixtrace" :
	    o->other_user   ? "it runs with the rights of its file (set-user-ID)" :
	                      "it was built with a sanitizer");
	return false;
}

/* Returns whether this is root, and may have the kernel's events: not in most containers. */
static bool kernel_tells(void)
{
	struct perf_event_attr switches = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .size = sizeof switches,
		.context_switch = 1, .exclude_kernel = 1, .disabled = 1,
	};

	return geteuid() == 0 && ring_trial(&switches, 0, -1) == 0;
}

/* Chooses what is telling and cheap. What costs more is named, with its option. */
static void choose_all(const struct offers *o)
{
	say("posixtrace run: records of %s:\n", o->program);
	if (o->what & OFFER_OWN)
		say("  its trace points\n");
	if (preloadable(o)) {
		if (o->what & OFFER_LTTNG && instruments_installed("lttng"))
			choose("--lttng", NULL, "its trace points for LTTng-UST");
		if (o->what & (OFFER_FUNCTIONS | OFFER_XRAY) && instruments_installed("libposixtrace-functions.so")) {
			choose("--functions", NULL, "calls of its functions");
			part("--calls");
		}
		if (o->glibc && instruments_installed("libposixtrace-libc.so")) {
			choose("--libc", "io,locks,threads,process", "what it asks of the C library");
			part("--io");
			part("--locks");
		}
	}
	if (kernel_tells()) {
		choose("--kernel", "sched", "when it runs, and what it waits for");
		part("--sched");
	}
	for (unsigned i = 0; i < o->providers; i++)
		if (o->provider[i].in_program)
			say("More, at about 1 us an event:          record --usdt '%s:*'\n", o->provider[i].name);
	if (!(o->what & (OFFER_FUNCTIONS | OFFER_XRAY)))
		say("More, if it is built with -finstrument-functions: record --functions\n");
}

/* -- Running ------------------------------------------------------------------------------------------- */

static pid_t recorder;

/* record gets signals from the terminal itself; other signals are passed on to it. */
static void pass_on(int signal)
{
	kill(recorder, signal);
}

/* Executes this program again with another subcommand. output: the descriptor that becomes standard output, or -1. */
static pid_t start(const struct line *l, int output)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("%s: cannot be started: %s", l->argument[1], strerror(errno));
	if (pid > 0)
		return pid;
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	if (output >= 0)
		dup2(output, STDOUT_FILENO);
	execv("/proc/self/exe", l->argument);
	_exit(STATUS_NOT_RUN);
}

/* Waits for a child. Returns its exit status, or 128 and the signal that has ended it. */
static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return STATUS_FAILED;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int record(void)
{
	const int passed_on[] = { SIGTERM, SIGHUP, SIGUSR1 };

	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	fflush(stderr);
	recorder = start(&of_record, -1);
	for (unsigned i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
		signal(passed_on[i], pass_on);
	return wait_for(recorder);
}

/* The file of the log; all zero if there is none. */
static struct stat look(void)
{
	struct stat st;

	return stat(options.output, &st) == 0 ? st : (struct stat){ 0 };
}

/* Returns whether FILE is the log that was there before: record restores it if no event was recorded. */
static bool unchanged(const struct stat *before)
{
	struct stat now = look();

	return before->st_ino && now.st_ino == before->st_ino && now.st_dev == before->st_dev &&
	       now.st_size == before->st_size && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

/* Prints where the time went, on standard error: standard output belongs to the program. */
static void summary(void)
{
	struct line of_view = { NULL, 0 };

	if (options.quiet)
		return;
	begin(&of_view, "view");
	put(&of_view, options.output);
	for (unsigned i = 0; i < part_count; i++) {
		struct line of_stat = { NULL, 0 };

		begin(&of_stat, "stat");
		put(&of_stat, "--no-pager");
		put(&of_stat, "--lines=5");
		put(&of_stat, parts[i]);
		put(&of_stat, options.output);
		fputc('\n', stderr);
		wait_for(start(&of_stat, STDERR_FILENO));
		free(of_stat.argument);
	}
	if (!options.no_page)
		wait_for(start(&of_view, STDERR_FILENO));
	free(of_view.argument);
	say("More: posixtrace report %s, posixtrace stat %s\n", options.output, options.output);
}

/* -- The subcommand -------------------------------------------------------------------------------------- */

static void take_options(int argc, char **argv)
{
	int c;

	while ((c = next_option(argc, argv)) >= 0)
		if (c == 'o')
			options.output = argument_file("-o", optarg);
	if (optind == argc)
		wrong_usage("nothing to run: give COMMAND");
	if (strcmp(options.output, "-") == 0)
		wrong_usage("-o -: run reads the log afterwards, so it has to be a file; only record writes to "
		            "standard output");
}

static int run(int argc, char **argv)
{
	static struct offers offers;
	struct stat before;
	char *path, *missing;
	int status;

	take_options(argc, argv);
	path = launch_find(argv[optind]);
	if (!path) {
		complain("%s: %s", argv[optind], strerror(errno));
		return errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN;
	}
	missing = launch_missing(path);
	if (missing) {
		complain("%s: %s, which has to run it, does not exist", argv[optind], missing);
		free(missing);
		free(path);
		return STATUS_NOT_FOUND;
	}
	offers_look(&offers, path);
	free(path);
	begin(&of_record, "record");
	put(&of_record, "-o");
	put(&of_record, options.output);
	put(&of_record, "--children");
	choose_all(&offers);
	if (options.quiet)
		put(&of_record, "-q");
	put(&of_record, "--");
	for (; optind < argc; optind++)
		put(&of_record, argv[optind]);
	if (options.dry)
		return STATUS_DONE;
	before = look();
	status = record();
	if ((status < STATUS_RECORD || status > STATUS_NOT_FOUND) && !unchanged(&before))
		summary();
	return status;
}

const struct command command_run = {
	.name = "run",
	.summary = "run a program as it is, record what it offers, and say where the time went",
	.synopsis = "[options] [--] COMMAND [ARGUMENT...]",
	.about = "Finds out what can be recorded of COMMAND, without a change of it, records what is telling and "
	         "cheap of that, and prints a summary.",
	.options = option_rows,
	.ending = "Exit status: that of posixtrace record, which is that of COMMAND.",
	.operand = "COMMAND",
	.run = run,
	.failed = STATUS_RECORD,
};
