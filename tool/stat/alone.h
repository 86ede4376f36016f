/*
 * alone.h - what all tables have in common that are printed alone
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STAT_ALONE_H
#define STAT_ALONE_H

#include <stdbool.h>
#include <stddef.h>

#include "logs/match.h"

struct alone {
	bool json, reverse;
	size_t lines; /* of each table at most; 0: all */
	const struct match *match;
};

#endif
