/*
 * suggest.c - the names that there are, the nearest first, for a message on a name that there is not
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/suggest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/edit_distance.h"
#include "common/message.h"
#include "model/data_layout.h"

#define NAMES_SHOWN 12

void suggest_add(struct suggest *s, const char *name)
{
	size_t length = layout_name(name);

	if (length > TRACE_EVENT_NAME_MAX)
		length = TRACE_EVENT_NAME_MAX;
	for (unsigned i = 0; i < s->count; i++)
		if (strncmp(s->name[i], name, length) == 0 && !s->name[i][length])
			return;
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		s->name = realloc(s->name, s->room * sizeof *s->name);
		if (!s->name)
			fail("no memory");
	}
	memcpy(s->name[s->count], name, length);
	s->name[s->count++][length] = 0;
}

static const char *compared_with;

static int compare(const void *a, const void *b)
{
	unsigned one = edit_distance(compared_with, a), other = edit_distance(compared_with, b);

	return one != other ? (one > other) - (one < other) : strcmp(a, b);
}

const char *suggest_text(struct suggest *s, const char *asked)
{
	size_t size = 1;
	char *text;

	if (s->count == 0)
		return NULL;
	compared_with = asked;
	qsort(s->name, s->count, sizeof *s->name, compare);
	for (unsigned i = 0; i < s->count && i < NAMES_SHOWN; i++)
		size += strlen(s->name[i]) + 2;
	text = calloc(1, size + sizeof " and 4294967295 more");
	if (!text)
		fail("no memory");
	for (unsigned i = 0; i < s->count && i < NAMES_SHOWN; i++) {
		if (i > 0)
			strcat(text, ", ");
		strcat(text, s->name[i]);
	}
	if (s->count > NAMES_SHOWN) {
		char *end = text + strlen(text);

		snprintf(end, sizeof " and 4294967295 more", " and %u more", s->count - NAMES_SHOWN);
	}
	return text;
}
