/*
 * lookup.h - structures that are found by two numbers, and made when they are first looked for
 *
 * They stay where they are, so whoever looks for one often keeps the pointer. What they are of begins with their key.
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

/* Of size bytes, zeroes but for the key if it is new. Ends the program if there is no memory. */
void *lookup(struct lookup *l, struct lookup_key key, size_t size);
/* Of all its bits, so that keys that follow each other are far apart. */
uint64_t lookup_mix(uint64_t first, uint64_t second);

#endif
