/*
 * names.c - names from a log as those who read CTF can take them, by babeltrace2 or not
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

char *names_shown(char *to, const char *name, size_t size)
{
	const unsigned char *p = (const unsigned char *)name;
	char *at = to;

	for (size_t i = 0, n; i < size && p[i]; i += n) {
		n = utf8_length(p + i, size - i);
		if (n && utf8_harmless(p + i, n, "", NULL)) {
			memcpy(at, p + i, n);
			at += n;
		} else {
			n = 1;
			at += sprintf(at, "\\x%02x", p[i]);
		}
	}
	*at = '\0';
	return to;
}

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
