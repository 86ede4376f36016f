/*
 * choose.c - shows a list of processes on the terminal to choose one from
 *
 * SPDX-License-Identifier: MIT
 */
#include "live/choose.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/terminal.h"
#include "process/traceable.h"

#define LOOK_AGAIN_MS 1000

struct list {
	struct traceable *process;
	unsigned count;
	unsigned first;  /* index of the first visible process */
	pid_t selected;  /* stays selected when other processes start or end */
};

static unsigned selected(const struct list *l)
{
	unsigned i = 0;

	while (i + 1 < l->count && l->process[i].pid < l->selected)
		i++;
	return i;
}

static void draw_process(int line, const struct traceable *t, bool marked)
{
	char text[512];

	if (terminal_columns() < 60)
		snprintf(text, sizeof text, "%7d %6u  %s", (int)t->pid, t->events, t->command);
	else
		snprintf(text, sizeof text, "%7d  %11u  %9u  %s", (int)t->pid, t->events, t->streams, t->command);
	terminal_put(line, 0, terminal_columns(), marked ? LOOK_TITLE : LOOK_PLAIN, text, strlen(text), true);
}

static void draw(struct list *l)
{
	static const char none[] = "No process of yours has loaded libposixtrace. This list waits for one.";
	static const char title[] = " posixtrace live: which process?";
	const char *head = terminal_columns() < 60 ? "    PID EVENTS  COMMAND" :
	                   "    PID  EVENT TYPES  TRACED BY  COMMAND";
	unsigned room = terminal_lines() > 3 ? (unsigned)terminal_lines() - 3 : 1, at = selected(l);

	if (at < l->first)
		l->first = at;
	if (at >= l->first + room)
		l->first = at - room + 1;
	terminal_clear();
	terminal_put(0, 0, terminal_columns(), LOOK_TITLE, title, sizeof title - 1, true);
	terminal_printf(1, 0, terminal_columns(), LOOK_HEAD, "%s", head);
	for (unsigned i = 0; i < room && l->first + i < l->count; i++)
		draw_process(2 + (int)i, &l->process[l->first + i], l->first + i == at);
	if (l->count == 0)
		terminal_put(2, 0, terminal_columns(), LOOK_DIM, none, sizeof none - 1, false);
	if (terminal_lines() > 3)
		terminal_printf(terminal_lines() - 1, 0, terminal_columns(), LOOK_DIM,
		                "arrows, Enter: watch it   q quit");
	terminal_show(-1, 0);
}

/* Handles a key. Returns true for Enter and q. */
static bool take_key(struct list *l, int key, pid_t *chosen)
{
	unsigned at = selected(l), page = terminal_lines() > 3 ? (unsigned)terminal_lines() - 3 : 1;

	*chosen = 0;
	if (key == 'q' || key == TERMINAL_ESCAPE)
		return true;
	if (l->count == 0)
		return false;
	if (key == TERMINAL_UP || key == 'k')
		at -= at > 0;
	else if (key == TERMINAL_DOWN || key == 'j')
		at += at + 1 < l->count;
	else if (key == TERMINAL_PAGE_UP)
		at = at > page ? at - page : 0;
	else if (key == TERMINAL_PAGE_DOWN)
		at = at + page < l->count ? at + page : l->count - 1;
	else if (key == TERMINAL_HOME)
		at = 0;
	else if (key == TERMINAL_END)
		at = l->count - 1;
	l->selected = l->process[at].pid;
	if (key != TERMINAL_ENTER)
		return false;
	*chosen = l->selected;
	return true;
}

pid_t choose_process(int *signal)
{
	struct pollfd fds[2] = { { .fd = terminal_keys(), .events = POLLIN },
	                         { .fd = terminal_signals(), .events = POLLIN } };
	struct list l = { 0 };
	bool done = false;
	pid_t chosen = 0;

	l.process = traceable_all(&l.count);
	while (!done) {
		bool gone = false;
		int key;

		draw(&l);
		if (poll(fds, 2, LOOK_AGAIN_MS) == 0) {
			free(l.process);
			l.process = traceable_all(&l.count);
		}
		*signal = terminal_signal(NULL);
		while (!done && (key = terminal_key(&gone)) != 0)
			done = take_key(&l, key, &chosen);
		done |= gone || *signal;
	}
	free(l.process);
	return chosen;
}
