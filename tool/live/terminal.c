/*
 * terminal.c - uses the whole screen through curses, and restores it in all cases
 *
 * SPDX-License-Identifier: MIT
 */
#define NCURSES_WIDECHAR 1
#include "live/terminal.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "common/escape.h"
#include "common/message.h"

#define COLUMNS_MAX 1024

/* Declared here because <term.h> defines macros with names like "columns". */
int setupterm(const char *name, int fd, int *error);

static SCREEN *screen;
static int signals = -1;
static bool unicode;

/* -- Opening and closing -------------------------------------------------------------------- */

/* For the crash handler, which must not call curses. */
static struct termios before;
static char leave[256];
static size_t leave_length;

static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };

static void on_crash(int signal)
{
	if (screen) {
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
		if (write(STDOUT_FILENO, leave, leave_length) < 0)
			_exit(128 + signal);
	}
	/* The handler was reset by SA_RESETHAND. */
	raise(signal);
}

static void add_leave(const char *capability)
{
	const char *text = tigetstr(capability);

	if (text && text != (const char *)-1 && leave_length + strlen(text) < sizeof leave) {
		/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): its length is known */
		memcpy(leave + leave_length, text, strlen(text));
		leave_length += strlen(text);
	}
}

static void set_signals(void)
{
	struct sigaction crash = { .sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND };
	sigset_t set;

	for (unsigned i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
		sigaction(crashes[i], &crash, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		fail("cannot create a descriptor for signals: %s", strerror(errno));
}

static void set_colours(void)
{
	start_color();
	use_default_colors();
	init_pair(LOOK_HEAD, COLOR_CYAN, -1);
	init_pair(LOOK_NAME, COLOR_CYAN, -1);
	init_pair(LOOK_SPARK, COLOR_GREEN, -1);
	init_pair(LOOK_ALARM, COLOR_RED, -1);
	init_pair(LOOK_GOOD, COLOR_GREEN, -1);
}

static void fail_unknown(void) __attribute__((noreturn));
static void fail_unknown(void)
{
	const char *name = getenv("TERM");

	fail("TERM=%s: unknown terminal type; --batch 1 prints a table instead", name ? name : "");
}

/* Returns whether the terminal can move its cursor. If not, the terminal type is not usable. */
static bool has_cursor(void)
{
	const char *text = tigetstr("cup");

	return text && text != (const char *)-1;
}

void terminal_check(void)
{
	int error;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before) != 0)
		fail("standard input and output are not a terminal; --batch 1 prints a table instead");
	if (setupterm(NULL, STDOUT_FILENO, &error) != OK || !has_cursor())
		fail_unknown();
}

void terminal_open(bool colours)
{
	const char *codeset = nl_langinfo(CODESET);

	set_signals();
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		fail_unknown();
	atexit(terminal_close);
	unicode = strcmp(codeset, "UTF-8") == 0;
	add_leave("sgr0");
	add_leave("cnorm");
	add_leave("rmkx");
	add_leave("rmcup");
	if (colours && has_colors())
		set_colours();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	leaveok(stdscr, FALSE);
}

void terminal_close(void)
{
	if (!screen)
		return;
	curs_set(1);
	endwin();
	delscreen(screen);
	screen = NULL;
}

/* -- Input ---------------------------------------------------------------------------------- */

int terminal_keys(void)
{
	return STDIN_FILENO;
}

int terminal_signals(void)
{
	return signals;
}

static void resize(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
		resizeterm(size.ws_row, size.ws_col);
	/* The terminal may have rearranged its contents. */
	clearok(stdscr, TRUE);
}

int terminal_signal(bool *resized)
{
	struct signalfd_siginfo info;
	int end = 0;

	while (read(signals, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo != SIGWINCH) {
			end = (int)info.ssi_signo;
			continue;
		}
		resize();
		if (resized)
			*resized = true;
	}
	return end;
}

int terminal_key(bool *gone)
{
	static const struct {
		int curses, ours;
	} keys[] = {
		{ KEY_UP, TERMINAL_UP }, { KEY_DOWN, TERMINAL_DOWN }, { KEY_PPAGE, TERMINAL_PAGE_UP },
		        { KEY_NPAGE, TERMINAL_PAGE_DOWN },
		{ KEY_HOME, TERMINAL_HOME }, { KEY_END, TERMINAL_END }, { KEY_ENTER, TERMINAL_ENTER },
		        { '\n', TERMINAL_ENTER },
		{ KEY_BACKSPACE, TERMINAL_ERASE }, { '\b', TERMINAL_ERASE },
	};
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
	int key = getch();

	for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (key == keys[i].curses)
			return keys[i].ours;
	if (key != ERR)
		return key < 256 ? key : TERMINAL_OTHER;
	*gone = poll(&fd, 1, 0) > 0 && fd.revents & (POLLHUP | POLLERR | POLLNVAL);
	return 0;
}

bool terminal_unicode(void)
{
	return unicode;
}

/* -- Output --------------------------------------------------------------------------------- */

int terminal_lines(void)
{
	return LINES;
}

int terminal_columns(void)
{
	return COLS;
}

void terminal_clear(void)
{
	erase();
}

void terminal_show(int line, int column)
{
	curs_set(line >= 0);
	if (line >= 0)
		move(line, column < COLS ? column : COLS - 1);
	refresh();
}

static void set_look(enum terminal_look look)
{
	static const attr_t weight[] = {
		[LOOK_TITLE] = A_REVERSE, [LOOK_HEAD] = A_BOLD, [LOOK_DIM] = A_DIM, [LOOK_ALARM] = A_BOLD,
		        [LOOK_GOOD] = A_BOLD,
		[LOOK_SPARK] = A_NORMAL,
	};

	attr_set(weight[look], (short)(look == LOOK_TITLE || look == LOOK_DIM ? 0 : look), NULL);
}

int terminal_put(int line, int column, int columns, enum terminal_look look, const char *text, size_t length, bool fill)
{
	wchar_t wide[COLUMNS_MAX];
	mbstate_t state = { 0 };
	int count = 0, used = 0;

	if (columns > COLS - column)
		columns = COLS - column;
	if (columns > COLUMNS_MAX)
		columns = COLUMNS_MAX;
	if (line < 0 || line >= LINES || columns <= 0)
		return 0;
	for (size_t i = 0, n; i < length; i += n) {
		char shown[ESCAPE_MOST * MB_LEN_MAX + 1];
		wchar_t c[ESCAPE_MOST + 1];
		int more = 0;
		size_t characters;

		n = length - i;
		shown[escape_next(shown, text + i, &n, &state, &more)] = 0;
		characters = mbstowcs(c, shown, ESCAPE_MOST + 1);
		if (characters > ESCAPE_MOST || used + more > columns || count + (int)characters > COLUMNS_MAX)
			break;
		wmemcpy(wide + count, c, characters);
		used += more;
		count += (int)characters;
	}
	while (fill && used < columns && count < COLUMNS_MAX) {
		wide[count++] = ' ';
		used++;
	}
	set_look(look);
	mvaddnwstr(line, column, wide, count);
	attr_set(A_NORMAL, 0, NULL);
	return used;
}

int terminal_printf(int line, int column, int columns, enum terminal_look look, const char *format, ...)
{
	char text[COLUMNS_MAX];
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (n < 0)
		return 0;
	return terminal_put(line, column, columns, look, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1,
	                    false);
}
