/*
 * labels.c - names of event fields for formats where a field is only a name
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/labels.h"

#include <stdio.h>
#include <string.h>

const char *const labels[LABELS] = {
	[LABEL_ADDRESS] = "address", [LABEL_TRUNCATED] = "truncated", [LABEL_TEXT] = "text", [LABEL_DATA] = "data",
	[LABEL_MORE] = "more", [LABEL_EVENT] = "event", [LABEL_PID] = "pid", [LABEL_TID] = "tid", [LABEL_END] = "end",
	[LABEL_INCOMPLETE] = "incomplete",
};

size_t label_field(char text[LABEL_BYTES], const struct layout_field *f)
{
	/* The words for a time contain its unit. */
	bool taken = false, unit = f->unit_length > 0 && f->kind != LAYOUT_TIME;
	int n;

	/* An event with declared fields has no text or data fields. */
	for (unsigned i = 0; i < LABELS && !unit; i++)
		taken |= i != LABEL_TEXT && i != LABEL_DATA && strcmp(labels[i], f->name) == 0;
	if (unit)
		n = snprintf(text, LABEL_BYTES, "%s (%s)", f->name, f->unit);
	else
		n = snprintf(text, LABEL_BYTES, "%s%s", f->name, taken ? "_" : "");
	return (size_t)n;
}
