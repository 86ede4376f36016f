/*
 * screen.h - the view of a running program, as it is drawn on the terminal
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SCREEN_H
#define SCREEN_H

#include "rows.h"

#define SCREEN_PATTERN 64

/* What the person at the keyboard has chosen. */
struct view {
	enum rows_order order;
	bool paused;
	bool expanded; /* the latest events have the place of the table, too */
	bool help;
	bool asking;   /* for a pattern; it is being typed */
	char typed[SCREEN_PATTERN];
	char pattern[SCREEN_PATTERN]; /* as it is in use; "": none */
	unsigned row;  /* the first one that is shown */
	uint64_t back; /* expanded: one past the number of the last event that is shown; 0: the latest */
};

/* How many of them there is room for: to scroll by pages. */
struct room {
	unsigned rows;
	unsigned events;
};

/* Corrects in view what does not fit what there is. */
struct room screen_draw(const struct watch *w, const struct rows *rows, struct view *view);

#endif
