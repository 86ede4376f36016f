/*
 * latest.c - keeps the latest events with their data
 *
 * SPDX-License-Identifier: MIT
 */
#include "live/latest.h"

#include <stdlib.h>

int latest_init(struct latest *l)
{
	l->count = 0;
	/* Only pages that are written to take memory: one or two cache lines of each for small events. */
	l->event = calloc(LATEST_EVENTS, sizeof *l->event);
	return l->event ? 0 : -1;
}

void latest_free(struct latest *l)
{
	free(l->event);
	l->event = NULL;
}

void latest_clear(struct latest *l)
{
	l->count = 0;
}
