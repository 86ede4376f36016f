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
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "choose.h"
#include "command.h"
#include "guest.h"
#include "out.h"
#include "plain.h"
#include "screen.h"
#include "terminal.h"
#include "threadnames.h"

/* The stream is read so often, and each time for so long at the most: half of a processor. */
#define TICK_NS     20000000
#define PATIENCE_NS 10000000

static const char usage[] =
	"usage: posixtrace live [options] [-p PID | -- COMMAND [ARGUMENT...]]\n"
	"\n"
	"Shows which events a running program records, how many and how fast, and the latest ones. Without PID and\n"
	"COMMAND it shows a list of processes to choose from.\n"
	"\n"
	"  -p, --pid PID          a process that runs\n"
	"      --children         and those that it starts from now on\n"
	"  -e, --event PATTERN    only events whose names match, as file names in a shell: 'sql.*'; '!sql.row' for all others\n"
	"      --interval TIME    between two looks: 250ms; of -b 1s\n"
	"  -o, --output FILE      what COMMAND prints; otherwise it is not seen while there is a screen\n"
	"  -b, --batch N          no screen: prints a table N times\n"
	"      --once             the same as --batch 1\n"
	"      --json             the same as JSON, a line each time; without -b as long as the program runs\n"
	"      --color WHEN       auto, always, never\n"
	"  -h, --help             this\n"
	"\n"
	"COMMAND is told to end (SIGTERM) when the view ends. In the view, ? shows the keys.\n";

enum { CHILDREN = 0x200, INTERVAL, ONCE, JSON, COLOR };

struct live {
	struct watch watch;
	struct rows rows;
	struct view view;
	struct room room;
	struct match *shown; /* by view.pattern; null: all */
	uint64_t interval;
	int process; /* a descriptor that is ready when it has ended; -1: the kernel has none */
	int signal;  /* that ends the view */
};

/* What was asked for. */
static struct {
	pid_t pid;
	char **command;
	bool children;
	struct match *only;
	uint64_t interval; /* 0: not given */
	const char *output;
	unsigned batch; /* 0: a screen */
	bool json, colours;
} asked;

/* -- Reading, looking ----------------------------------------------------------------------- */

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

/* What has come until now. When the process has ended, all that it has recorded; children may go on for ever. */
static void take(struct live *l)
{
	bool ended = l->watch.ended || has_ended(l);
	int rounds = ended && !l->watch.ended ? 100 : 1;

	while (watch_read(&l->watch, PATIENCE_NS) && --rounds > 0)
		;
	rates_tick(l->watch.rates, watch_now());
	l->watch.ended = ended;
}

static void begin(struct live *l, pid_t pid)
{
	int error = watch_begin(&l->watch, pid, asked.children, asked.only);

	if (!error && rows_init(&l->rows) != 0)
		error = ENOMEM;
	if (error) {
		/* After a choice there is a screen, and what is said there goes with it. */
		terminal_close();
		watch_explain(pid, error);
	}
	threadnames_begin(pid);
	l->process = (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Of poll(), no less; 0: it is past. */
static int ms_until(uint64_t time)
{
	uint64_t now = watch_now();

	return time > now ? (int)((time - now + 999999) / 1000000) : 0;
}

/* -- Keys ----------------------------------------------------------------------------------- */

/* A name alone means all names that it is part of. */
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
	/* What it was before stays in memory, as its patterns do: people do not type that fast. */
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
		/* All bytes of a character. */
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

/* In the table; expanded, in the events, where up is back in time. */
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

/* False: quit. */
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
		return false;
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

/* False: quit. *again: there is something else to be drawn. */
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
	struct pollfd fds[2] = { { .fd = terminal_keys(), .events = POLLIN }, { .fd = terminal_signals(), .events = POLLIN } };
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
	const char *name = asked.output ? asked.output : "/dev/null";
	int fd;

	if (asked.batch && !asked.output)
		return -1;
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		fail("%s: %s", name, strerror(errno));
	return fd;
}

/* The same as before: whoever waits for us sees what has happened. */
static void end_by(int signal)
{
	sigset_t set;

	terminal_close();
	sigemptyset(&set);
	sigaddset(&set, signal);
	/* curses may have a handler of its own. */
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

/* -- All ------------------------------------------------------------------------------------ */

static uint64_t argument_interval(const char *text)
{
	long long interval = argument_duration("--interval", text);

	if (interval < 50000000)
		wrong_usage("--interval %s: at least 50ms", text);
	return (uint64_t)interval;
}

static void take_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "pid", required_argument, NULL, 'p' }, { "children", no_argument, NULL, CHILDREN },
		{ "event", required_argument, NULL, 'e' }, { "interval", required_argument, NULL, INTERVAL },
		{ "output", required_argument, NULL, 'o' }, { "batch", required_argument, NULL, 'b' },
		{ "once", no_argument, NULL, ONCE }, { "json", no_argument, NULL, JSON },
		{ "color", required_argument, NULL, COLOR }, { "help", no_argument, NULL, 'h' }, { 0 },
	};
	const char *no_color = getenv("NO_COLOR"), *colour = "auto";
	int c;

	while ((c = next_option(argc, argv, "p:e:o:b:", options)) != -1) {
		if (c == 'p')
			asked.pid = (pid_t)argument_number("--pid", optarg, 1, INT_MAX);
		else if (c == CHILDREN)
			asked.children = true;
		else if (c == 'e')
			match_option(asked.only = asked.only ? asked.only : match_new(), 'e', optarg);
		else if (c == INTERVAL)
			asked.interval = argument_interval(optarg);
		else if (c == 'o')
			asked.output = optarg;
		else if (c == 'b')
			asked.batch = (unsigned)argument_number("--batch", optarg, 1, INT_MAX);
		else if (c == ONCE)
			asked.batch = 1;
		else if (c == JSON)
			asked.json = true;
		else if (c == COLOR)
			out_colours(colour = optarg);
	}
	out_colours("never"); /* it was only to be checked: what is printed is for curses, or for scripts */
	asked.colours = strcmp(colour, "never") != 0 && (strcmp(colour, "always") == 0 || !no_color || !*no_color);
	asked.command = optind < argc ? argv + optind : NULL;
	if (asked.json && !asked.batch)
		asked.batch = UINT_MAX;
}

static void check_options(void)
{
	if (asked.pid && asked.command)
		wrong_usage("-p %d and a command: one of them", (int)asked.pid);
	if (asked.output && !asked.command)
		wrong_usage("-o %s is for what a command prints, and there is none", asked.output);
	if (asked.batch && !asked.pid && !asked.command)
		wrong_usage("which process? -p PID, or -- COMMAND");
}

static int run(int argc, char **argv)
{
	static struct live live;
	struct launch guest = { 0 };

	take_options(argc, argv);
	check_options();
	live.interval = asked.interval ? asked.interval : asked.batch ? 1000000000 : 250000000;
	/* First what can fail, so that its message is seen. */
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
		watch_end(&live.watch);
	if (asked.command)
		guest_end(&guest);
	if (live.signal)
		end_by(live.signal);
	return STATUS_DONE;
}

const struct command command_live = { "live", "what a running program does, on the screen", usage, run };
