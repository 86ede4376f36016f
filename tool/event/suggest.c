/*
 * suggest.c - the names that there are, the nearest first, for a message on a name that there is not
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/suggest.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/edit_distance.h"
#include "common/message.h"
#include "log/crc.h"
#include "model/data_layout.h"

#define NAMES_SHOWN 12

/* Limit of letters that are compared for a message: a few milliseconds. */
#define LETTERS_MAX 2000000

/* -- Adding ------------------------------------------------------------------------------------ */

/* Returns the slot of a name, which is free if the name is not there yet. */
static uint32_t *find(const struct suggest *s, const char *name, size_t length)
{
	uint32_t i = crc32c((const unsigned char *)name, length) & (2 * s->room - 1);

	while (s->slot[i] && (strncmp(s->name[s->slot[i] - 1], name, length) != 0 || s->name[s->slot[i] - 1][length]))
		i = (i + 1) & (2 * s->room - 1);
	return &s->slot[i];
}

static void grow(struct suggest *s)
{
	s->room = s->room ? 2 * s->room : 64;
	s->name = realloc(s->name, s->room * sizeof *s->name);
	free(s->slot);
	s->slot = calloc(2 * (size_t)s->room, sizeof *s->slot);
	if (!s->name || !s->slot)
		fail("no memory");
	for (uint32_t i = 0; i < s->count; i++)
		*find(s, s->name[i], strlen(s->name[i])) = i + 1;
}

void suggest_add(struct suggest *s, const char *name)
{
	size_t length = layout_name(name);
	uint32_t *slot;

	if (length > TRACE_EVENT_NAME_MAX)
		length = TRACE_EVENT_NAME_MAX;
	if (s->count == s->room)
		grow(s);
	slot = find(s, name, length);
	if (*slot)
		return;
	memcpy(s->name[s->count], name, length);
	s->name[s->count++][length] = 0;
	*slot = s->count;
}

void suggest_clear(struct suggest *s)
{
	s->count = 0;
	if (s->room)
		memset(s->slot, 0, 2 * (size_t)s->room * sizeof *s->slot);
}

void suggest_free(struct suggest *s)
{
	free(s->name);
	free(s->slot);
}

/* -- The message ------------------------------------------------------------------------------- */

struct candidate {
	const char *name;
	unsigned distance;
};

static int compare(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	return a->distance != b->distance ? (a->distance > b->distance) - (a->distance < b->distance) :
	                                    strcmp(a->name, b->name);
}

/*
 * Returns the names, the nearest first. Names whose length is nearest are compared first, until the limit is reached;
 * the others come last.
 */
static struct candidate *sorted(const struct suggest *s, const char *asked)
{
	size_t length = strlen(asked), letters = 0;
	struct candidate *all = calloc(s->count, sizeof *all);

	if (!all)
		fail("no memory");
	for (unsigned i = 0; i < s->count; i++) {
		size_t n = strlen(s->name[i]);

		all[i].name = s->name[i];
		/* A * may stand for any number of letters. */
		all[i].distance = strchr(asked, '*') ? 0 : (unsigned)(n > length ? n - length : length - n);
	}
	qsort(all, s->count, sizeof *all, compare);
	for (unsigned i = 0; i < s->count; i++) {
		letters += (length + 1) * (strlen(all[i].name) + 1);
		all[i].distance = letters <= LETTERS_MAX ? edit_distance(asked, all[i].name) : UINT_MAX;
	}
	qsort(all, s->count, sizeof *all, compare);
	return all;
}

const char *suggest_text(struct suggest *s, const char *asked)
{
	struct candidate *all;
	size_t size = 1;
	char *text;

	if (s->count == 0)
		return NULL;
	all = sorted(s, asked);
	for (unsigned i = 0; i < s->count && i < NAMES_SHOWN; i++)
		size += strlen(all[i].name) + 2;
	text = calloc(1, size + sizeof " and 4294967295 more");
	if (!text)
		fail("no memory");
	for (unsigned i = 0; i < s->count && i < NAMES_SHOWN; i++) {
		if (i > 0)
			strcat(text, ", ");
		strcat(text, all[i].name);
	}
	if (s->count > NAMES_SHOWN) {
		char *end = text + strlen(text);

		snprintf(end, sizeof " and 4294967295 more", " and %u more", s->count - NAMES_SHOWN);
	}
	free(all);
	return text;
}
