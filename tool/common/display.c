/*
 * display.c - colours, the pager and the width of the terminal
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/display.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/file_limit.h"
#include "common/message.h"
#include "common/out.h"

static bool coloured;
static pid_t pager;

void display_colours(const char *when)
{
	const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");

	if (strcmp(when, "always") == 0)
		coloured = true;
	else if (strcmp(when, "never") == 0)
		coloured = false;
	else
		coloured = isatty(STDOUT_FILENO) && !(no && *no) && terminal && strcmp(terminal, "dumb") != 0;
}

void display_colour(enum colour colour)
{
	static const char *const codes[] = {
		[PLAIN] = "\33[0m", [BOLD] = "\33[1m", [DIM] = "\33[2m", [RED] = "\33[31m",
		[GREEN] = "\33[32m", [YELLOW] = "\33[33m", [BLUE] = "\33[34m", [CYAN] = "\33[36m",
	};

	if (coloured)
		out_text(codes[colour]);
}

/* Waits until the user has quit the pager. */
static void end_pager(void)
{
	pid_t child = pager, found;
	int status = 0;

	if (!child)
		return;
	pager = 0;
	close(STDOUT_FILENO);
	while ((found = waitpid(child, &status, 0)) < 0 && errno == EINTR)
		;
	/* The shell exits like this if the pager does not exist or cannot be executed: then nothing was shown. */
	if (found == child && WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127)) {
		complain("the pager $PAGER cannot be executed; use --no-pager");
		_exit(STATUS_FAILED);
	}
}

void display_pager(void)
{
	const char *name = getenv("PAGER");
	int ends[2];

	if (!isatty(STDOUT_FILENO) || (name && (!*name || strcmp(name, "cat") == 0)) || pipe(ends) != 0)
		return;
	pager = fork();
	if (pager < 0) {
		pager = 0;
		close(ends[0]);
		close(ends[1]);
		return;
	}
	if (pager == 0) {
		dup2(ends[0], STDIN_FILENO);
		close(ends[0]);
		close(ends[1]);
		file_limit_is_a_signal();
		/* As git does: short output stays on the screen, colours work. */
		setenv("LESS", "FRX", 0);
		execl("/bin/sh", "sh", "-c", name ? name : "command -v less >/dev/null && exec less; exec cat",
		      (char *)NULL);
		_exit(127);
	}
	out_at_end(end_pager);
	/* Ctrl-C is for the pager. This program ends when the pager does. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	dup2(ends[1], STDOUT_FILENO);
	close(ends[0]);
	close(ends[1]);
}

int display_columns(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}
