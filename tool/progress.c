/*
 * progress.c - a line on the terminal that tells how far a recording has come
 *
 * SPDX-License-Identifier: MIT
 */
#include "progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/ticks.h"
#include "bytes.h"
#include "command.h"

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

/* In the background, or while a program draws the whole screen or reads keys, it would be in the way. */
static bool welcome(void)
{
	struct termios t;

	return wanted && tcgetpgrp(STDERR_FILENO) == getpgrp() && tcgetattr(STDERR_FILENO, &t) == 0 && (t.c_lflag & ICANON);
}

static void hide(void)
{
	if (shown)
		fputs("\r\33[K", stderr);
	shown = false;
}

void progress_show(uint64_t events, uint64_t bytes, uint64_t lost, unsigned files)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC);
	double seconds = (double)(now - before) / 1e9;
	double rate = events > events_before && seconds > 0 ? (double)(events - events_before) / seconds : 0;
	char line[200], size[16], kept[32] = "";
	struct winsize window;
	size_t n;

	before = now;
	events_before = events;
	if (!welcome())
		return;
	if (files)
		snprintf(kept, sizeof kept, "  %u kept", files);
	n = (size_t)snprintf(line, sizeof line, "%.0f s  %" PRIu64 " events  %s  %" PRIu64 " lost  %.0f/s%s", (double)(now - began) / 1e9, events,
	                     bytes_text(size, bytes), lost, rate, kept);
	/* A line that is longer than the terminal would not go away. */
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && n >= window.ws_col)
		line[window.ws_col - 1] = 0;
	fprintf(stderr, "\r\33[K%s", line);
	shown = true;
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
