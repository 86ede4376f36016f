/*
 * lookup.c - finds structures by two numbers, and creates missing ones
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/lookup.h"

#include <stdlib.h>

#include "common/message.h"

/*
 * Mixes the bits of a number: multiplies by odd numbers without a pattern, and folds the high bits onto the low ones.
 */
static uint64_t scatter(uint64_t n)
{
	n = (n ^ n >> 32) * UINT64_C(0x9e6c63d0876a9a47);
	n = (n ^ n >> 29) * UINT64_C(0xd1b54a32d192ed03);
	return n ^ n >> 32;
}

uint64_t lookup_mix(uint64_t first, uint64_t second)
{
	return scatter(scatter(first + UINT64_C(0x8cb92ba72f3d8dd7)) + second);
}

static struct lookup_key **slot_of(const struct lookup *l, struct lookup_key key)
{
	unsigned i = (unsigned)lookup_mix(key.first, key.second) & (l->slots - 1);

	while (l->slot[i] && (l->slot[i]->first != key.first || l->slot[i]->second != key.second))
		i = (i + 1) & (l->slots - 1);
	return &l->slot[i];
}

/* Grows the table before more than half of the slots are used. */
static void grow(struct lookup *l)
{
	struct lookup_key **old = l->slot;
	unsigned slots = l->slots;

	l->slots = slots ? 2 * slots : 64;
	l->slot = calloc(l->slots, sizeof(struct lookup_key *));
	if (!l->slot)
		fail("no memory");
	for (unsigned i = 0; i < slots; i++)
		if (old[i])
			*slot_of(l, *old[i]) = old[i];
	free(old);
}

void *lookup(struct lookup *l, struct lookup_key key, size_t size)
{
	struct lookup_key **slot;

	if (2 * l->count >= l->slots)
		grow(l);
	slot = slot_of(l, key);
	if (!*slot) {
		*slot = calloc(1, size);
		if (!*slot)
			fail("no memory");
		**slot = key;
		l->count++;
	}
	return *slot;
}
