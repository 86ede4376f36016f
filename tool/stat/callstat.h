/*
 * callstat.h - posixtrace stat --calls and --call-tree: what functions cost
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CALLSTAT_H
#define CALLSTAT_H

#include <stdbool.h>

#include "stat/alone.h"

enum callstat_order { CALLS_BY_SELF, CALLS_BY_TOTAL, CALLS_BY_CALLS, CALLS_BY_MEAN, CALLS_BY_MAX, CALLS_BY_NAME };

struct callstat {
	bool calls, tree;
	enum callstat_order order;
	struct alone table;
};

/* Reads the logs and prints. Returns false, after a message, if no function was called. */
bool callstat(const struct callstat *options, int number, char **paths);

#endif
