/*
 * span.c - posixtrace span: a command of a script as a span
 *
 * NAME.begin and NAME.end are events of this process, which waits for the command. A script that nobody traces executes
 * the command at once, in this process.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/command.h"
#include "common/file_limit.h"
#include "common/message.h"
#include "common/options.h"
#include "script/fields.h"
#include "script/parent.h"
#include "script/traced.h"

static const struct option_row option_rows[] = {
	OPTION('f', "field", "FIELD",
	       "a field of NAME.begin, NAME:TYPE=VALUE or NAME=TEXT: id:u32=7, item=tea; may be repeated"),
	{ 0 },
};

static struct fields begin_fields, end_fields;

/* Says what to do about a command that does not exist because only a shell could run it. */
static void explain_missing(char **argv)
{
	size_t name = strspn(argv[0], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz0123456789");

	if (strpbrk(argv[0], " |&;<>") && !argv[1])
		complain("the command and its arguments are words of their own, without quotation marks; "
		         "or a command line for a shell: sh -c '%s'", argv[0]);
	else if (argv[0][name] == '=')
		complain("env %s ... sets a variable for a command", argv[0]);
	else if (!strchr(argv[0], '/'))
		complain("expected: posixtrace span NAME -- COMMAND; for functions and builtins of the shell there are "
		         "two events, NAME.begin and NAME.end");
}

/* Executes the command in this process. If there is no such command, ends as a shell does. */
static _Noreturn void execute(char **argv)
{
	int error;

	file_limit_is_a_signal();
	execvp(argv[0], argv);
	error = errno;
	complain("%s: %s", argv[0], strerror(error));
	if (error == ENOENT)
		explain_missing(argv);
	_exit(error == ENOENT ? 127 : 126);
}

/* Returns whether a text has this end. */
static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), n = strlen(end);

	return length >= n && strcmp(text + length - n, end) == 0;
}

static void record(struct fields *f, const char *name, const char *suffix)
{
	char whole[TRACE_EVENT_NAME_MAX + 8];
	trace_event_id_t id;

	snprintf(whole, sizeof whole, "%s%s", name, suffix);
	id = fields_open(f, whole);
	if (id == POSIX_TRACE_UNNAMED_USEREVENT)
		complain("%s: there are %d event types already, or no shared memory for more", whole,
		         TRACE_USER_EVENT_MAX - 1);
	else
		posix_trace_event(id, f->data, f->length);
}

/* -- The command ---------------------------------------------------------------------------------- */

static volatile pid_t child;

/*
 * Hands a signal on to the command: one that a process has sent, or that of an alarm, which alarm() may have set before
 * this program was executed. Other signals of the kernel, such as those of the terminal's keys, reach it anyway.
 */
static void hand_on(int signal, siginfo_t *info, void *context)
{
	bool alarm = signal == SIGALRM || signal == SIGVTALRM || signal == SIGPROF;
	int error = errno;

	(void)context;
	if (child > 0 && (info->si_code <= 0 || alarm))
		kill(child, signal);
	errno = error;
}

/* Returns whether signals of this number are handed on. Those of faults end this process, and the command with it. */
static bool is_handed_on(int signal)
{
	switch (signal) {
	case SIGKILL:
	case SIGSTOP:
	case SIGCONT: /* see wait_for() */
	case SIGCHLD:
	case SIGPIPE: /* of this process's own messages */
	case SIGILL:
	case SIGTRAP:
	case SIGBUS:
	case SIGFPE:
	case SIGSEGV:
	case SIGSYS:
	case SIGXCPU: /* the limits of this process */
	case SIGXFSZ:
		return false;
	default:
		return true;
	}
}

static void set_signals(struct sigaction before[])
{
	struct sigaction hand = { .sa_sigaction = hand_on, .sa_flags = SA_RESTART | SA_SIGINFO };

	/* The C library does not let its own signals be set. */
	for (int signal = 1; signal < NSIG; signal++)
		if (is_handed_on(signal) && sigaction(signal, NULL, &before[signal]) == 0 &&
		    before[signal].sa_handler != SIG_IGN)
			sigaction(signal, &hand, NULL);
}

/* Becomes the command, with the signals as they were. The command ends when a signal kills this program's process. */
static _Noreturn void become(char **argv, const struct sigaction before[], const struct sigaction *of_children,
                             const sigset_t *mask, pid_t parent)
{
	for (int signal = 1; signal < NSIG; signal++)
		if (is_handed_on(signal))
			sigaction(signal, &before[signal], NULL);
	sigaction(SIGCHLD, of_children, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		raise(SIGKILL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execute(argv);
}

/* Waits for the command, and stops while it is stopped, so that the shell's job control sees it. Returns its status. */
static int wait_for(void)
{
	int status = 0;

	for (;;) {
		pid_t pid = waitpid(child, &status, WUNTRACED);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0 || !WIFSTOPPED(status))
			return status;
		raise(SIGSTOP);
		kill(child, SIGCONT);
	}
}

/* Runs the command. Returns its status from waitpid(). Signals are blocked until there is a child for them. */
static int run_command(char **argv)
{
	struct sigaction before[NSIG] = { 0 }, of_children, by_default = { .sa_handler = SIG_DFL };
	pid_t parent = getpid();
	sigset_t all, mask;

	/* If SIGCHLD is ignored, the status of a child is lost. */
	sigaction(SIGCHLD, &by_default, &of_children);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	set_signals(before);
	child = fork();
	if (child < 0)
		fail("cannot start %s: %s", argv[0], strerror(errno));
	if (child == 0)
		become(argv, before, &of_children, &mask, parent);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return wait_for();
}

/* Ends as the command has ended; by the same signal, but without a core file of this process. */
static int end_like(int status)
{
	const struct rlimit none = { 0, 0 };
	sigset_t set;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static int run(int argc, char **argv)
{
	char text[32];
	const char *name;
	int status;

	while (next_option(argc, argv) != -1)
		fields_add(&begin_fields, optarg);
	if (argc - optind < 2)
		wrong_usage("expected NAME and a command");
	name = argv[optind++];
	if (!*name || strlen(name) > TRACE_EVENT_NAME_MAX - strlen(".begin") || strchr(name, '{'))
		wrong_usage("'%s': a name has 1 to %zu bytes, and no brace", name,
		            (size_t)TRACE_EVENT_NAME_MAX - strlen(".begin"));
	if (ends_with(name, ".begin") || ends_with(name, ".end"))
		wrong_usage("%s: the name of the span is without .begin and .end, which are added", name);
	if (strcmp(argv[optind], "--") == 0)
		optind++;
	else if (argv[optind][0] == '-')
		wrong_usage("options must come before NAME");
	if (argc == optind)
		wrong_usage("expected NAME and a command");
	if (!script_traced())
		execute(argv + optind);
	fields_say_misfit(&begin_fields);
	/* Not in the parent's thread: a script may run several commands side by side, whose spans then do not nest. */
	script_act_for_parent(false);
	record(&begin_fields, name, ".begin");
	status = run_command(argv + optind);
	snprintf(text, sizeof text, "status:u8=%d", WIFEXITED(status) ? WEXITSTATUS(status) : 0);
	fields_add(&end_fields, text);
	snprintf(text, sizeof text, "signal:u8=%d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	fields_add(&end_fields, text);
	record(&end_fields, name, ".end");
	return end_like(status);
}

const struct command command_span = {
	.name = "span",
	.summary = "run a command of a script, and record how long it takes",
	.synopsis = "[options] NAME [--] COMMAND [ARGUMENT...]",
	.about = "Records NAME.begin, runs COMMAND, and records NAME.end with its exit status, in the streams that "
	         "trace the calling script and its children. All commands show the time between them as a span.",
	.options = option_rows,
	.ending = "Exit status: that of COMMAND; 127 if there is no such command, 126 if it cannot be executed. If a "
	          "signal has ended COMMAND, it ends this command too.",
	.operand = "COMMAND",
	.run = run,
};
