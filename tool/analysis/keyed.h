/*
 * keyed.h - open spans that are found by an id, such as that of a request
 *
 * A hash table from two numbers, a scope and an id, to a third one. Entries are removed when their span ends, so the
 * table has as many entries as there are open spans, however many have been.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KEYED_H
#define KEYED_H

#include <stdbool.h>
#include <stdint.h>

struct keyed_entry {
	uint64_t scope, id, value;
	bool used;
};

struct keyed {
	struct keyed_entry *entry;
	uint32_t count, slots; /* slots: 0 or a power of two */
};

/* Returns the entry, or null. It is valid until an entry is added or removed. */
struct keyed_entry *keyed_find(const struct keyed *k, uint64_t scope, uint64_t id);
/* Adds an entry that is not there yet. Ends the program if there is no memory. */
void keyed_add(struct keyed *k, uint64_t scope, uint64_t id, uint64_t value);
/* Removes an entry that keyed_find() has returned. */
void keyed_remove(struct keyed *k, struct keyed_entry *e);
/* Removes all entries. */
void keyed_clear(struct keyed *k);

#endif
