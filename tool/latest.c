/*
 * latest.c - the latest events, whole
 *
 * SPDX-License-Identifier: MIT
 */
#include "latest.h"

#include <stdlib.h>

int latest_init(struct latest *l)
{
	l->count = 0;
	/* Only what is written to takes memory: with small events, a line or two of each page. */
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
