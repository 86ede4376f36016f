/*
 * probe_patterns.h - which probes --usdt selects
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROBE_PATTERNS_H
#define PROBE_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>

struct match;
struct signature;

/* What --usdt selects. */
struct probes_wanted {
	const char **pattern; /* "python:function__*", "/usr/bin/python3:python:*" */
	const struct signature **signature; /* of the probes of each pattern; null: not given */
	unsigned count;       /* 0: no --usdt */
	const struct match *match; /* -e selects among them */
	bool children;
};

/* Returns the pattern for names, and the length of the path before it, 0 if there is none. */
const char *probe_pattern_names(const char *pattern, size_t *path);
/*
 * Returns whether a probe of a file is selected. name: "PROVIDER:PROBE". *signature: of its arguments, if the pattern
 * has one; else null.
 */
bool probe_is_wanted(const struct probes_wanted *wanted, const char *name, const char *path,
                     const struct signature **signature);

#endif
