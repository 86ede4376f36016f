/*
 * memstat.h - posixtrace stat --memory: what is not freed, the peak, and who allocates
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MEMSTAT_H
#define MEMSTAT_H

#include <stdbool.h>

#include "stat/alone.h"

enum memstat_order { MEMORY_BY_CALLS, MEMORY_BY_BYTES, MEMORY_BY_NAME };

struct memstat {
	bool given;
	enum memstat_order order;
	struct alone table;
};

/* Reads the logs and prints. Returns false, after a message, if there is no allocation and no free. */
bool memstat(const struct memstat *options, int number, char **paths);

#endif
