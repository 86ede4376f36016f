/*
 * progress.c - a line on the terminal that tells how far a recording, or a conversion, has come
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/ticks.h"
#include "common/bytes.h"
#include "common/message.h"

static bool wanted, shown;
static int64_t began, before;
static uint64_t events_before;

static bool same_terminal(int fd)
{
	struct stat err, st;

	return isatty(fd) && fstat(fd, &st) == 0 && fstat(STDERR_FILENO, &err) == 0 && st.st_rdev == err.st_rdev;
}

void progress_start(bool beside)
{
	wanted = isatty(STDERR_FILENO) && (beside || !same_terminal(STDOUT_FILENO));
	began = before = clock_ns(CLOCK_MONOTONIC);
}

bool progress_wanted(void)
{
	return wanted;
}

/*
 * Returns whether the line may be shown: not in the background, nor while a program uses the whole screen or reads
 * keys.
 */
static bool welcome(void)
{
	struct termios t;

	return wanted && tcgetpgrp(STDERR_FILENO) == getpgrp() && tcgetattr(STDERR_FILENO, &t) == 0 &&
	       (t.c_lflag & ICANON);
}

static void hide(void)
{
	if (shown)
		fputs("\r\33[K", stderr);
	shown = false;
}

/* Shows a line, cut to the width of the terminal: a longer line could not be erased. */
static void show(char *line)
{
	struct winsize window;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && strlen(line) >= window.ws_col)
		line[window.ws_col - 1] = 0;
	fprintf(stderr, "\r\33[K%s", line);
	shown = true;
}

void progress_part(uint64_t done, uint64_t all)
{
	double seconds = (double)(clock_ns(CLOCK_MONOTONIC) - began) / 1e9;
	char line[200], part[32] = "";

	if (!welcome())
		return;
	if (all)
		snprintf(part, sizeof part, "%.0f %%  ", done < all ? 100 * (double)done / (double)all : 100.0);
	snprintf(line, sizeof line, "%s%" PRIu64 " events  %.0f/s", part, done,
	         seconds > 0 ? (double)done / seconds : 0);
	show(line);
}

void progress_show(uint64_t events, uint64_t bytes, uint64_t lost, unsigned files)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC);
	double seconds = (double)(now - before) / 1e9;
	double rate = events > events_before && seconds > 0 ? (double)(events - events_before) / seconds : 0;
	char line[200], size[16], kept[32] = "";

	before = now;
	events_before = events;
	if (!welcome())
		return;
	if (files)
		snprintf(kept, sizeof kept, "  %u kept", files);
	snprintf(line, sizeof line, "%.0f s  %" PRIu64 " events  %s  %" PRIu64 " lost  %.0f/s%s",
	         (double)(now - began) / 1e9, events, bytes_text(size, bytes), lost, rate, kept);
	show(line);
}

void progress_say(const char *format, ...)
{
	va_list arguments;
	char text[1024];

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	hide();
	complain("%s", text);
}

void progress_end(void)
{
	hide();
	wanted = false;
}
