/*
 * memstat.h - posixtrace stat --memory: what is not freed, the peak, and who allocates
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MEMSTAT_H
#define MEMSTAT_H

#include <stdbool.h>
#include <stddef.h>

#include "logs/match.h"

enum memstat_order { MEMORY_BY_CALLS, MEMORY_BY_BYTES, MEMORY_BY_NAME };

struct memstat {
	bool given, json, reverse;
	size_t lines; /* of each table at most; 0: all */
	enum memstat_order order;
	const struct match *match;
};

/* Reads the logs and prints. Returns false, after a message, if there is no allocation and no free. */
bool memstat(const struct memstat *options, int number, char **paths);

#endif
