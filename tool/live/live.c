/*
 * live.c - posixtrace live: a running program's events on the screen, as they come
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/command.h"
#include "common/display.h"
#include "common/folder.h"
#include "common/message.h"
#include "common/options.h"
#include "common/out.h"
#include "live/choose.h"
#include "live/guest.h"
#include "live/plain.h"
#include "live/screen.h"
#include "live/terminal.h"
#include "logs/declared.h"
#include "process/confinement.h"
#include "process/refusal.h"
#include "process/threadnames.h"
#include "process/typenames.h"

/* Interval between reads of the stream, and time limit of a read: at most half of a processor. */
#define TICK_NS     20000000
#define PATIENCE_NS 10000000

/* The options of the command line. */
static struct {
	pid_t pid;
	char **command;
	bool children;
	bool despite_seccomp;
	struct match *only;
	uint64_t interval; /* 0: not given */
	const char *output;
	unsigned batch; /* number of tables; 0: screen */
	bool json, colours;
} asked;

enum { CHILDREN = MATCH_OPTIONS_END, INTERVAL, ONCE, DESPITE_SECCOMP };

static const struct option_row option_rows[] = {
	OPTION('p', "pid", "PID", "watch this running process"),
	OPTION_FLAG(CHILDREN, "children", &asked.children, "also watch processes that it starts from now on"),
	OPTION_FLAG(DESPITE_SECCOMP, "despite-seccomp", &asked.despite_seccomp,
	            "with -p, trace a process with a seccomp filter, although the filter may kill it"),
	OPTION('e', "event", "PATTERN", "only events" MATCH_PATTERN_HELP),
	MATCH_ROW_WHERE,
	MATCH_ROW_SYSTEM,
	OPTION(INTERVAL, "interval", "TIME", "time between two updates (default 250ms; 1s with -b)"),
	OPTION('o', "output", "FILE",
	       "write the output of COMMAND to FILE; by default it is discarded while the screen is in use"),
	OPTION('b', "batch", "N", "print a table N times instead of using the screen"),
	OPTION(ONCE, "once", NULL, "the same as --batch 1"),
	OPTION_FLAG(OPTION_JSON, "json", &asked.json,
	            "print tables as JSON, one object per line; without -b until the program ends"),
	OPTION_ROW_COLOR,
	{ 0 },
};

struct live {
	struct watch watch;
	struct rows rows;
	struct view view;
	struct room room;
	struct match *shown; /* selects types by view.pattern; null: all */
	uint64_t interval;
	int process; /* pidfd, readable when the process has ended; -1: not supported by the kernel */
	int signal;  /* the signal that ends the view, or 0 */
};

/* -- Reading ------------------------------------------------------------------------------ */

static bool has_ended(const struct live *l)
{
	struct pollfd fd = { .fd = l->process, .events = POLLIN };

	if (l->process >= 0)
		return poll(&fd, 1, 0) > 0;
	return launch_ended(l->watch.pid);
}

static void look(struct live *l)
{
	if (l->view.paused)
		return;
	watch_look(&l->watch, watch_now());
	rows_make(&l->rows, &l->watch, l->shown, l->view.order);
}

/*
 * Reads available events. When the process has ended, reads all its events, up to a limit: children may record
 * endlessly.
 */
static void take(struct live *l)
{
	bool ended = l->watch.ended || has_ended(l);
	int rounds = ended && !l->watch.ended ? 100 : 1;

	while (watch_read(&l->watch, PATIENCE_NS) && --rounds > 0)
		;
	rates_tick(l->watch.rates, watch_now());
	l->watch.ended = ended;
}

/*
 * Ends the program if tracing may kill the running process. What a command will do that has not started yet is unknown.
 */
static void refuse_confined(pid_t pid)
{
	char what[32], text[CONFINEMENT_TEXT];
	enum confinement c = asked.command ? CONFINEMENT_NONE : confinement_look(pid, text);

	if (c < CONFINEMENT_OWN || (c == CONFINEMENT_OWN && asked.despite_seccomp))
		return;
	/* The screen is in use after a choice; a message would disappear with it. */
	terminal_close();
	snprintf(what, sizeof what, "%d", (int)pid);
	refusal_confined(pid, what, asked.despite_seccomp);
	exit(STATUS_FAILED);
}

static void begin(struct live *l, pid_t pid)
{
	int error;

	refuse_confined(pid);
	error = watch_begin(&l->watch, pid, asked.children, asked.only);
	if (!error && rows_init(&l->rows) != 0)
		error = ENOMEM;
	if (error) {
		/* The screen is in use after a choice; a message would disappear with it. */
		terminal_close();
		watch_explain(pid, error);
	}
	threadnames_begin(pid);
	l->process = (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Returns the timeout for poll(), rounded up; 0 if the time has passed. */
static int ms_until(uint64_t time)
{
	uint64_t now = watch_now();

	return time > now ? (int)((time - now + 999999) / 1000000) : 0;
}

/* -- Keys ----------------------------------------------------------------------------------- */

/* Returns a pattern for a word. A word without wildcards matches all names that contain it. */
static char *as_pattern(const char *word)
{
	bool inverted = *word == '!';
	char *pattern;

	word += inverted;
	if (asprintf(&pattern, strpbrk(word, "*?[") ? "%s%s" : "%s*%s*", inverted ? "!" : "", word) < 0)
		fail("no memory");
	return pattern;
}

static void set_pattern(struct live *l, const char *text)
{
	char *words = strdup(text), *rest = NULL;
	struct match *shown = NULL;

	if (!words)
		fail("no memory");
	/* The previous match is not freed: its patterns cannot be, and users do not type that fast. */
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		if (!shown)
			shown = match_new();
		match_option(shown, 'e', as_pattern(word));
	}
	free(words);
	snprintf(l->view.pattern, sizeof l->view.pattern, "%s", shown ? text : "");
	l->shown = shown;
	l->view.row = 0;
	watch_keep(&l->watch, shown);
	rows_make(&l->rows, &l->watch, shown, l->view.order);
}

static void type(struct live *l, int key)
{
	char *typed = l->view.typed;
	size_t n = strlen(typed);

	if (key == TERMINAL_ENTER) {
		l->view.asking = false;
		set_pattern(l, typed);
	} else if (key == TERMINAL_ESCAPE) {
		l->view.asking = false;
	} else if (key == TERMINAL_ERASE && n > 0) {
		/* Erase all bytes of the character. */
		do
			n--;
		while (n > 0 && (typed[n] & 0xc0) == 0x80);
		typed[n] = 0;
	} else if (key == 'U' - '@') {
		*typed = 0;
	} else if (key >= ' ' && key < 256 && key != 127 && n + 1 < SCREEN_PATTERN) {
		typed[n] = (char)key;
		typed[n + 1] = 0;
	}
}

/* Scrolls the table or, if expanded, the events, where up means older. */
static void scroll_by(struct live *l, long lines)
{
	struct view *v = &l->view;
	uint64_t count = l->watch.latest.count, end = v->back ? v->back : count;

	if (!v->expanded) {
		v->row = lines < 0 && v->row < (unsigned long)-lines ? 0 : v->row + (unsigned)lines;
	} else if (lines < 0) {
		v->back = end > (uint64_t)-lines ? end - (uint64_t)-lines : 1;
	} else {
		v->back = end + (uint64_t)lines < count ? end + (uint64_t)lines : 0;
	}
}

static void scroll_to_end(struct live *l, bool first)
{
	if (l->view.expanded)
		l->view.back = first ? 1 : 0;
	else
		l->view.row = first ? 0 : UINT_MAX / 2;
}

static void reset(struct live *l)
{
	watch_reset(&l->watch, watch_now());
	latest_clear(&l->watch.latest);
	l->view.back = 0;
	rows_make(&l->rows, &l->watch, l->shown, l->view.order);
}

/* Handles a key. Returns false to quit. */
static bool take_key(struct live *l, int key)
{
	struct view *v = &l->view;
	long page = v->expanded ? l->room.events : l->room.rows;

	if (v->asking) {
		type(l, key);
		return true;
	}
	switch (key) {
	case 'q':
		/* While the help covers the view, q only closes the help. */
		if (!v->help)
			return false;
		v->help = false;
		break;
	case 'p':
	case ' ':
		v->paused = !v->paused;
		watch_freeze(&l->watch, v->paused);
		look(l);
		break;
	case 's':
		v->order = (v->order + 1) % ROWS_ORDERS;
		rows_make(&l->rows, &l->watch, l->shown, v->order);
		break;
	case '/':
		v->asking = true;
		strcpy(v->typed, v->pattern);
		break;
	case 'e':
		v->expanded = !v->expanded;
		v->back = 0;
		break;
	case 'r':
		reset(l);
		break;
	case '?':
		v->help = !v->help;
		break;
	case TERMINAL_ESCAPE:
		v->help = false;
		break;
	case TERMINAL_UP:
		scroll_by(l, -1);
		break;
	case TERMINAL_DOWN:
		scroll_by(l, 1);
		break;
	case TERMINAL_PAGE_UP:
		scroll_by(l, page > 1 ? -page : -1);
		break;
	case TERMINAL_PAGE_DOWN:
		scroll_by(l, page > 1 ? page : 1);
		break;
	case TERMINAL_HOME:
	case TERMINAL_END:
		scroll_to_end(l, key == TERMINAL_HOME);
		break;
	}
	return true;
}

/* -- The screen ----------------------------------------------------------------------------- */

/* Handles signals and keys. Returns false to quit. *again: the screen must be redrawn. */
static bool take_input(struct live *l, bool *again)
{
	bool gone = false;
	int key;

	l->signal = terminal_signal(again);
	if (l->signal)
		return false;
	while ((key = terminal_key(&gone)) != 0) {
		*again = true;
		if (!take_key(l, key))
			return false;
	}
	return !gone;
}

static void view(struct live *l)
{
	struct pollfd fds[2] = { { .fd = terminal_keys(), .events = POLLIN },
	                         { .fd = terminal_signals(), .events = POLLIN } };
	uint64_t next = 0;
	bool again = true;

	l->view.order = ROWS_BY_RATE;
	do {
		bool ended = l->watch.ended;
		uint64_t began = watch_now();

		take(l);
		if (watch_now() >= next || (l->watch.ended && !ended)) {
			look(l);
			next = watch_now() + l->interval;
			again = true;
		}
		if (again)
			l->room = screen_draw(&l->watch, &l->rows, &l->view);
		again = false;
		poll(fds, 2, ms_until(began + TICK_NS));
	} while (take_input(l, &again));
}

static int open_output(void)
{
	const char *name = asked.output ? asked.output : "/dev/null", *why;
	struct stat st;
	int fd;

	if (asked.batch && !asked.output)
		return -1;
	fd = folder_write(name, O_WRONLY, 0666, &why);
	if (fd < 0)
		fail("%s: %s", name, why);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && ftruncate(fd, 0) != 0)
		fail("%s: %s", name, strerror(errno));
	return fd;
}

/* Ends the program by the signal, for its parent to see the cause. */
static void end_by(int signal)
{
	sigset_t set;

	terminal_close();
	sigemptyset(&set);
	sigaddset(&set, signal);
	/* curses may have installed a handler. */
	sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	raise(signal);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* -- Tables --------------------------------------------------------------------------------- */

static void wait_until(struct live *l, uint64_t time)
{
	uint64_t next = watch_now() + TICK_NS;

	while (!l->watch.ended && watch_now() < time) {
		struct pollfd fd = { .fd = l->process, .events = POLLIN };

		poll(&fd, 1, ms_until(next < time ? next : time));
		next = watch_now() + TICK_NS;
		take(l);
	}
}

static void print_tables(struct live *l)
{
	uint64_t next = watch_now();

	l->view.order = ROWS_BY_COUNT;
	for (unsigned n = 0; n < asked.batch && !l->watch.ended; n++) {
		next += l->interval;
		wait_until(l, next);
		look(l);
		if (asked.json)
			plain_json(&l->watch, &l->rows);
		else
			plain_table(&l->watch, &l->rows);
	}
}

/* -- The command ---------------------------------------------------------------------------- */

static uint64_t argument_interval(const char *text)
{
	long long interval = argument_duration("--interval", text);

	if (interval < 50000000)
		wrong_usage("--interval %s: at least 50ms", text);
	return (uint64_t)interval;
}

static void take_options(int argc, char **argv)
{
	const char *no_color = getenv("NO_COLOR"), *colour = "auto";
	int c;

	asked.only = match_new();
	while ((c = next_option(argc, argv)) != -1) {
		if (c == 'p')
			asked.pid = (pid_t)argument_number("--pid", optarg, 1, INT_MAX);
		else if (c == 'e')
			match_option(asked.only, 'e', optarg);
		else if (c == INTERVAL)
			asked.interval = argument_interval(optarg);
		else if (c == 'o')
			asked.output = optarg;
		else if (c == 'b')
			asked.batch = (unsigned)argument_number("--batch", optarg, 1, INT_MAX);
		else if (c == MATCH_SYSTEM || c == MATCH_WHERE)
			match_option(asked.only, c, optarg);
		else if (c == ONCE)
			asked.batch = 1;
		else if (c == OPTION_COLOR)
			colour = optarg;
	}
	match_hide_system(asked.only);
	asked.colours = strcmp(colour, "never") != 0 && (strcmp(colour, "always") == 0 || !no_color || !*no_color);
	asked.command = optind < argc ? argv + optind : NULL;
	if (asked.json && !asked.batch)
		asked.batch = UINT_MAX;
}

static void check_options(void)
{
	if (asked.pid && asked.command)
		wrong_usage("-p and COMMAND cannot be combined");
	if (asked.output && !asked.command)
		wrong_usage("-o is for the output of COMMAND, but there is no COMMAND");
	if (asked.batch && !asked.pid && !asked.command)
		wrong_usage("no process to watch: give -p PID or COMMAND");
}

/*
 * Prints errors in the declarations of event types. Returns false if there are event types, but none that was asked
 * for.
 */
static bool say_missing(const struct watch *w)
{
	char refused[TRACE_EVENT_NAME_MAX + 1], what[32];
	uint64_t count = stream_refused(w->trid, refused);

	snprintf(what, sizeof what, "%d", (int)w->pid);
	declared_say(w->types->layouts, w->command[0] ? w->command : what);
	declared_say_refused(w->command[0] ? w->command : what, count, refused);
	declared_say_full(w->command[0] ? w->command : what, stream_full_names(w->trid));
	if (w->missing)
		complain("%s", w->missing);
	return !w->missing && !(match_where(w->only) && question_say(match_where(w->only)));
}

static int run(int argc, char **argv)
{
	static struct live live;
	struct launch guest = { 0 };
	bool wanted = true;

	take_options(argc, argv);
	check_options();
	live.interval = asked.interval ? asked.interval : asked.batch ? 1000000000 : 250000000;
	/* First the steps that can fail, while messages are visible. */
	if (!asked.batch)
		terminal_check();
	if (asked.command) {
		guest_wait(&guest, asked.command, open_output(), !asked.batch);
		asked.pid = guest.pid;
	}
	if (asked.pid)
		begin(&live, asked.pid);
	if (asked.command)
		guest_go(&guest, asked.command);
	if (!asked.batch)
		terminal_open(asked.colours);
	if (!asked.pid) {
		asked.pid = choose_process(&live.signal);
		if (asked.pid)
			begin(&live, asked.pid);
	}
	if (asked.batch)
		print_tables(&live);
	else if (asked.pid)
		view(&live);
	terminal_close();
	if (live.watch.pid)
		wanted = say_missing(&live.watch);
	if (live.watch.pid)
		watch_end(&live.watch);
	if (asked.command)
		guest_end(&guest);
	if (live.signal)
		end_by(live.signal);
	return wanted || !asked.batch ? STATUS_DONE : STATUS_FAILED;
}

const struct command command_live = {
	.name = "live",
	.summary = "show on the screen what a running program does",
	.synopsis = "[options] [-p PID]\n[options] [--] COMMAND [ARGUMENT...]",
	.about = "Shows which events a running program records, how many and how fast, and the latest ones. "
	         "Without PID and COMMAND it shows a list of processes to choose from.",
	.options = option_rows,
	.ending = "COMMAND is terminated (SIGTERM) when the view ends. In the view, ? shows the keys.",
	.operand = "COMMAND",
	.run = run,
};
