/*
 * images.h - what a process executes: its mappings, with build-ids
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOG_IMAGES_H
#define LOG_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The executable mappings of one process that are known. */
struct images {
	uint32_t pid; /* as in events; 0: none */
	uint32_t count;
	uint64_t looked; /* ns of CLOCK_MONOTONIC */
	struct image {
		uint64_t start, end;
	} image[128];
};

/* The same mappings? */
bool images_same(const struct images *a, const struct images *b);
/* Is this address in one of them? */
bool images_have(const struct images *i, uint64_t address);
/*
 * Looks at the process, which /proc calls number, and puts the body of a
 * frame PROCESS together, in memory of the given size. 0: it cannot be looked at, or is gone.
 */
size_t images_look(struct images *i, uint32_t number, uint64_t time, unsigned char *body, size_t size);

#endif
