/*
 * wordpair.c - names of event types that differ only in their last word, and are the begin and the end of a span
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/wordpair.h"

#include <string.h>
#include <strings.h>

static const char *const words[][2] = {
	{ "begin", "end" }, { "start", "end" }, { "start", "stop" }, { "start", "finish" }, { "start", "done" },
	{ "enter", "exit" }, { "enter", "leave" }, { "entry", "exit" }, { "entry", "return" }, { "acquire", "release" },
	{ "lock", "unlock" },
};

#define WORDS (sizeof words / sizeof words[0])

size_t wordpair_last(const char *name)
{
	size_t i = strlen(name);

	while (i > 0 && !strchr("._-:/ ", name[i - 1]))
		i--;
	return i > 1 ? i : 0;
}

bool wordpair_begins(const char *word)
{
	for (unsigned i = 0; i < WORDS; i++)
		if (strcasecmp(word, words[i][0]) == 0)
			return true;
	return false;
}

unsigned wordpair_rank(const char *begin, const char *end)
{
	for (unsigned i = 0; i < WORDS; i++)
		if (strcasecmp(begin, words[i][0]) == 0 && strcasecmp(end, words[i][1]) == 0)
			return i;
	return WORDPAIR_NONE;
}
