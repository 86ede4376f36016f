/*
 * keyed.c - open spans that are found by an id, such as that of a request
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis/keyed.h"

#include <stdlib.h>
#include <string.h>

#include "common/lookup.h"
#include "common/message.h"

/* Returns the slot where the search for an entry begins. */
static uint32_t home(const struct keyed *k, uint64_t scope, uint64_t id)
{
	return (uint32_t)lookup_mix(scope, id) & (k->slots - 1);
}

/* Returns the slot of the entry, or the free slot where it would be. There is a free slot. */
static uint32_t slot_of(const struct keyed *k, uint64_t scope, uint64_t id)
{
	uint32_t i = home(k, scope, id);

	while (k->entry[i].used && (k->entry[i].scope != scope || k->entry[i].id != id))
		i = (i + 1) & (k->slots - 1);
	return i;
}

struct keyed_entry *keyed_find(const struct keyed *k, uint64_t scope, uint64_t id)
{
	struct keyed_entry *e = k->count > 0 ? &k->entry[slot_of(k, scope, id)] : NULL;

	return e && e->used ? e : NULL;
}

static void grow(struct keyed *k)
{
	struct keyed_entry *old = k->entry;
	uint32_t slots = k->slots;

	k->slots = slots ? 2 * slots : 64;
	k->entry = k->slots ? calloc(k->slots, sizeof *k->entry) : NULL;
	if (!k->entry)
		fail("no memory");
	for (uint32_t i = 0; i < slots; i++)
		if (old[i].used)
			k->entry[slot_of(k, old[i].scope, old[i].id)] = old[i];
	free(old);
}

void keyed_add(struct keyed *k, uint64_t scope, uint64_t id, uint64_t value)
{
	if (k->count >= k->slots / 2)
		grow(k);
	k->entry[slot_of(k, scope, id)] = (struct keyed_entry){ scope, id, value, true };
	k->count++;
}

/* Moves later entries of the same chain into the gap, so that searches do not end there. */
void keyed_remove(struct keyed *k, struct keyed_entry *e)
{
	uint32_t mask = k->slots - 1, gap = (uint32_t)(e - k->entry);

	for (uint32_t i = (gap + 1) & mask; k->entry[i].used; i = (i + 1) & mask) {
		uint32_t from = home(k, k->entry[i].scope, k->entry[i].id);

		/* An entry stays if its search begins behind the gap. */
		if (((i - from) & mask) < ((i - gap) & mask))
			continue;
		k->entry[gap] = k->entry[i];
		gap = i;
	}
	k->entry[gap].used = false;
	k->count--;
}

void keyed_clear(struct keyed *k)
{
	if (k->count > 0)
		memset(k->entry, 0, k->slots * sizeof *k->entry);
	k->count = 0;
}
