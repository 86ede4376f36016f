/*
 * lookup.h - finds structures by two numbers, and creates missing ones
 *
 * A structure never moves, so callers may keep pointers. Each structure begins with its key.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOOKUP_H
#define LOOKUP_H

#include <stddef.h>
#include <stdint.h>

struct lookup_key {
	uint64_t first, second;
};

struct lookup {
	struct lookup_key **slot;
	unsigned count, slots;
};

/*
 * Returns the structure with this key; a new one has `size` bytes, all zero but the key. Ends the program if there is
 * no memory.
 */
void *lookup(struct lookup *l, struct lookup_key key, size_t size);
/* Returns a hash of all bits: consecutive keys get distant values. */
uint64_t lookup_mix(uint64_t first, uint64_t second);

#endif
