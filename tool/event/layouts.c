/*
 * layouts.c - what the data of all the event types of a log, or of a stream, is
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/layouts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024 /* a power of two; a log has at most some thousands of names */

/* The layout of a name, shared by all ids that have it. */
struct meaning {
	struct meaning *next; /* in the bucket */
	char name[TRACE_EVENT_NAME_MAX + 1];
	struct layout layout;
};

struct layouts {
	struct meaning *bucket[BUCKETS]; /* by the hash of the name */
	struct meaning *of[EVENT_ID_END];
	char *wrong[EVENT_ID_END]; /* null: no error */
	char *text[EVENT_ID_END];  /* as declared; null: not */
	uint8_t align_most;
};

struct layouts *layouts_new(void)
{
	return calloc(1, sizeof(struct layouts));
}

void layouts_free(struct layouts *l)
{
	struct meaning *m, *next;

	if (!l)
		return;
	for (unsigned i = 0; i < BUCKETS; i++)
		for (m = l->bucket[i]; m; m = next) {
			next = m->next;
			free(m);
		}
	for (uint32_t id = 0; id < EVENT_ID_END; id++) {
		free(l->wrong[id]);
		free(l->text[id]);
	}
	free(l);
}

/* Returns the bucket of a name: FNV-1a, 32 bits. */
static struct meaning **bucket(struct layouts *l, const char *name, size_t length)
{
	uint32_t hash = 2166136261;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619;
	return &l->bucket[hash & (BUCKETS - 1)];
}

/* Returns the meaning of a name, a new one for a new name; null if there is no memory. */
static struct meaning *meaning(struct layouts *l, const char *name, size_t length)
{
	struct meaning *m, **first = bucket(l, name, length);

	for (m = *first; m; m = m->next)
		if (strncmp(m->name, name, length) == 0 && !m->name[length])
			return m;
	m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	memcpy(m->name, name, length);
	m->layout.align_most = l->align_most;
	m->next = *first;
	*first = m;
	return m;
}

/* Returns the text for layouts_wrong(). */
static char *sentence(const char *name, const struct layout_fault *fault)
{
	char *text;

	if (asprintf(&text, "'%.*s' in %s %s", (int)fault->length, fault->at, name, fault->why) < 0)
		return NULL;
	return text;
}

bool layouts_declare(struct layouts *l, uint32_t id, const char *text)
{
	struct layout_fault fault;

	if (id >= EVENT_ID_END || !l->of[id] || l->text[id])
		return true;
	l->text[id] = strdup(text);
	if (!l->text[id])
		return false;
	if (!layout_declare(&l->of[id]->layout, text, &fault) && !l->wrong[id])
		l->wrong[id] = sentence(text, &fault);
	return true;
}

const char *layouts_text(const struct layouts *l, uint32_t id)
{
	return id < EVENT_ID_END && l->text[id] ? l->text[id] : "";
}

bool layouts_add(struct layouts *l, uint32_t id, const char *name)
{
	size_t length = layout_name(name);
	const char *layout = name + length;
	struct layout_fault fault;

	if (id >= EVENT_ID_END || l->of[id])
		return true;
	if (length > TRACE_EVENT_NAME_MAX)
		length = TRACE_EVENT_NAME_MAX;
	l->of[id] = meaning(l, name, length);
	if (!l->of[id])
		return false;
	if (layout_wrong(&l->of[id]->layout, name, &fault))
		l->wrong[id] = sentence(name, &fault);
	layout_parse(&l->of[id]->layout, name);
	if (layout[0])
		l->text[id] = strdup(layout);
	return !layout[0] || l->text[id];
}

/* Returns the maximum alignment in the log: 4 on i386, where numbers of eight bytes lie at multiples of four. */
static uint8_t alignment(const struct log_header *h)
{
	const char *machine = h->machine;
	bool x86 = strcmp(machine, "x86_64") == 0 || (machine[0] == 'i' && strcmp(machine + 2, "86") == 0);

	return x86 && h->word == 4 ? 4 : 8;
}

struct layouts *layouts_of(struct input *in)
{
	struct layouts *l = layouts_new();
	char text[LAYOUT_TEXT_SIZE];
	bool all = l != NULL;

	if (l)
		l->align_most = alignment(&in->header);
	for (uint32_t id = 0; id < EVENT_ID_END && all; id++)
		if (in->type[id])
			all = layouts_add(l, id, in->name[id]) &&
			      (!input_layout(in, id, text) || layouts_declare(l, id, text));
	if (all)
		return l;
	layouts_free(l);
	return NULL;
}

const struct layout *layouts_find(const struct layouts *l, uint32_t id)
{
	return id < EVENT_ID_END && l->of[id] && l->of[id]->layout.count > 0 ? &l->of[id]->layout : NULL;
}

const char *layouts_wrong(const struct layouts *l, uint32_t id)
{
	return id < EVENT_ID_END ? l->wrong[id] : NULL;
}

const char *layouts_name(const struct layouts *l, uint32_t id)
{
	return id < EVENT_ID_END && l->of[id] ? l->of[id]->name : NULL;
}
