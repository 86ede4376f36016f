/*
 * names.c - names of fields in a form that readers of CTF accept
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Returns whether a character may be in an identifier. isalnum() would depend on the locale. */
static bool allowed(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool known(const struct names *n, const char *name)
{
	for (unsigned i = 0; i < n->count; i++)
		if (strcmp(n->name[i], name) == 0)
			return true;
	return false;
}

const char *names_identifier(struct names *n, const char *name)
{
	char *to = n->name[n->count], *end = to;

	for (; *name && end < to + 32; name++)
		*end++ = allowed(*name) ? *name : '_';
	*end = '\0';
	for (unsigned number = n->count + 1; known(n, to); number++)
		sprintf(end, "_%u", number);
	n->count++;
	return to;
}
