/*
 * kallsyms.h - the functions of the running kernel, from /proc/kallsyms
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KALLSYMS_H
#define KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

struct kallsyms;

struct kallsyms_function {
	uint64_t address, end; /* end: where the next function begins */
	const char *name;
	bool written; /* for the caller */
};

/* Reads all functions; none if this user may not have the addresses. Ends the program if there is no memory. */
struct kallsyms *kallsyms_read(void);
/* Returns the function at an address, or null. */
struct kallsyms_function *kallsyms_find(const struct kallsyms *k, uint64_t address);
void kallsyms_free(struct kallsyms *k);

#endif
