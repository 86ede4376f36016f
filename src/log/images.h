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

/* The known executable mappings of a process. */
struct images {
	uint32_t pid; /* as in events; 0: none */
	uint32_t count;
	uint64_t looked; /* ns of CLOCK_MONOTONIC */
	struct image {
		uint64_t start, end;
	} image[128];
};

/* Returns whether both have the same mappings. */
bool images_same(const struct images *a, const struct images *b);
/* Returns whether a mapping contains the address. */
bool images_have(const struct images *i, uint64_t address);

/* A process to examine. */
struct images_whose {
	uint32_t number;       /* in /proc; 0: the process cannot be examined */
	uint32_t owner, group; /* the user and group with whose rights its mapped files are opened */
	bool guarded;          /* has fewer rights than this process: read nothing that could block */
};

/*
 * Examines the process and writes the body of a frame PROCESS into memory of the given size. Returns 0 if the process
 * has gone or cannot be examined.
 */
size_t images_look(struct images *i, const struct images_whose *whose, uint64_t time, unsigned char *body,
                   size_t size);
/* Stores the mappings of a valid body. */
void images_take(struct images *i, const unsigned char *body, size_t size);

#endif
