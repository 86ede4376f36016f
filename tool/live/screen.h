/*
 * screen.h - draws the view of a running program on the terminal
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SCREEN_H
#define SCREEN_H

#include "live/rows.h"

#define SCREEN_PATTERN 64

/* Settings that the user changes by keys. */
struct view {
	enum rows_order order;
	bool paused;
	bool expanded; /* the latest events fill the whole screen */
	bool help;
	bool asking;   /* a pattern is being typed */
	char typed[SCREEN_PATTERN];
	char pattern[SCREEN_PATTERN]; /* pattern in use; "": none */
	unsigned row;  /* index of the first visible row */
	uint64_t back; /* if expanded: number of the last visible event, plus one; 0: the newest */
};

/* Number of visible rows and events, for scrolling by pages. */
struct room {
	unsigned rows;
	unsigned events;
};

/* Draws the view. Corrects positions in *view that are out of range. */
struct room screen_draw(const struct watch *w, const struct rows *rows, struct view *view);

#endif
