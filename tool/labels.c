/*
 * labels.c - what the fields of events are called where a name is all there is
 *
 * SPDX-License-Identifier: MIT
 */
#include "labels.h"

#include <stdio.h>
#include <string.h>

const char *const labels[LABELS] = {
	[LABEL_ADDRESS] = "address", [LABEL_TRUNCATED] = "truncated", [LABEL_TEXT] = "text", [LABEL_DATA] = "data",
	[LABEL_MORE] = "more", [LABEL_EVENT] = "event", [LABEL_PID] = "pid", [LABEL_TID] = "tid", [LABEL_END] = "end",
	[LABEL_INCOMPLETE] = "incomplete",
};

size_t label_field(char text[LABEL_BYTES], const struct layout_field *f)
{
	bool taken = false;
	int n;

	for (unsigned i = 0; i < LABELS && !f->unit_length; i++)
		taken |= strcmp(labels[i], f->name) == 0;
	if (f->unit_length)
		n = snprintf(text, LABEL_BYTES, "%s (%s)", f->name, f->unit);
	else
		n = snprintf(text, LABEL_BYTES, "%s%s", f->name, taken ? "_" : "");
	return (size_t)n;
}
