/*
 * profile.h - posixtrace stat --profile: in which functions threads run, or wait
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STAT_PROFILE_H
#define STAT_PROFILE_H

#include <stdbool.h>

#include "stat/alone.h"

enum profile_order { PROFILE_BY_SELF, PROFILE_BY_TOTAL, PROFILE_BY_NAME };

struct profile {
	bool on;         /* --profile is given */
	bool off_cpu;    /* of the time in which threads do not run */
	bool per_thread; /* a table for each thread */
	enum profile_order order;
	struct alone table;
};

/* Reads the logs and prints. Returns false, after a message, if there are no stacks. */
bool profile(const struct profile *options, int number, char **paths);

#endif
