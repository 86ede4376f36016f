/*
 * probe_patterns.c - which probes --usdt selects
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/probe_patterns.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "logs/match.h"

const char *probe_pattern_names(const char *pattern, size_t *path)
{
	const char *names = strchr(pattern, ':');

	*path = 0;
	if (*pattern != '/' || !names)
		return pattern;
	*path = (size_t)(names - pattern);
	return names + 1;
}

static bool same_path(const char *pattern, size_t length, const char *path)
{
	char own[PATH_MAX], *real;
	bool same;

	if (length >= sizeof own)
		return false;
	memcpy(own, pattern, length);
	own[length] = '\0';
	real = realpath(own, NULL);
	same = strcmp(own, path) == 0 || (real && strcmp(real, path) == 0);
	free(real);
	return same;
}

bool probe_is_wanted(const struct probes_wanted *wanted, const char *name, const char *path,
                     const struct signature **signature)
{
	for (unsigned i = 0; i < wanted->count; i++) {
		size_t length;
		const char *names = probe_pattern_names(wanted->pattern[i], &length);

		if ((length && !same_path(wanted->pattern[i], length, path)) || fnmatch(names, name, 0) != 0)
			continue;
		*signature = wanted->signature[i];
		return match_name(wanted->match, name);
	}
	return false;
}
