/*
 * table.c - finds structures by two numbers
 *
 * SPDX-License-Identifier: MIT
 */
#include "table.h"

#include <stdlib.h>

static size_t slot_of(const struct table *t, uint64_t first, uint64_t second)
{
	uint64_t hash = (first * UINT64_C(0x9e3779b97f4a7c15) ^ second) * UINT64_C(0xd1b54a32d192ed03);
	size_t i = (size_t)(hash >> 20) & (t->slots - 1);

	while (t->slot[i].item && (t->slot[i].first != first || t->slot[i].second != second))
		i = (i + 1) & (t->slots - 1);
	return i;
}

void *table_find(const struct table *t, uint64_t first, uint64_t second)
{
	return t->slots ? t->slot[slot_of(t, first, second)].item : NULL;
}

/* Makes room for one more structure, so that at most half of the slots are used. */
static bool grow(struct table *t)
{
	struct table more = *t;

	if (t->count == t->room) {
		size_t room = t->room ? 2 * t->room : 32;
		void **item = realloc(t->item, room * sizeof *item);

		if (!item)
			return false;
		t->item = item;
		t->room = room;
	}
	if (2 * t->count < t->slots)
		return true;
	more.slots = t->slots ? 2 * t->slots : 64;
	more.slot = calloc(more.slots, sizeof *more.slot);
	if (!more.slot)
		return false;
	for (size_t i = 0; i < t->slots; i++)
		if (t->slot[i].item)
			more.slot[slot_of(&more, t->slot[i].first, t->slot[i].second)] = t->slot[i];
	free(t->slot);
	t->slot = more.slot;
	t->slots = more.slots;
	return true;
}

void *table_add(struct table *t, uint64_t first, uint64_t second, size_t size)
{
	void *item = grow(t) ? calloc(1, size) : NULL;

	if (!item)
		return NULL;
	t->slot[slot_of(t, first, second)] = (struct table_slot){ first, second, item };
	t->item[t->count++] = item;
	return item;
}

void table_free(struct table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->item[i]);
	free(t->item);
	free(t->slot);
	*t = (struct table){ 0 };
}
