/*
 * edit_distance.c - how much two names differ, for "did you mean"
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/edit_distance.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <trace.h>

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/*
 * Returns the edit distance of Levenshtein, by rows; a '*' matches any number of letters, a '?' matches one, at no
 * cost.
 */
unsigned edit_distance(const char *asked, const char *name)
{
	unsigned row[TRACE_EVENT_NAME_MAX + 2];
	size_t n = strnlen(name, TRACE_EVENT_NAME_MAX);

	for (size_t j = 0; j <= n; j++)
		row[j] = (unsigned)j;
	for (; *asked; asked++) {
		unsigned before = row[0]; /* of the row above, one letter less */

		row[0] += *asked != '*';
		for (size_t j = 1; j <= n; j++) {
			unsigned above = row[j];
			bool same = *asked == '?' ||
			            tolower((unsigned char)*asked) == tolower((unsigned char)name[j - 1]);

			if (*asked == '*')
				row[j] = least(above, row[j - 1]);
			else
				row[j] = least(least(above, row[j - 1]) + 1, before + !same);
			before = above;
		}
	}
	return row[n];
}

/* More wrong letters make a different word. */
#define WRONG_LETTERS 2

void nearest_add(struct nearest *n, const char *asked, const char *name)
{
	unsigned distance = edit_distance(asked, name);

	/* Of a short word not most of the letters. */
	if (distance > WRONG_LETTERS || 2 * distance > strlen(asked) + 1 || (n->name && distance >= n->distance))
		return;
	n->name = name;
	n->distance = distance;
}
