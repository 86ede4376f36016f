/*
 * shown.c - texts of any bytes from a log, as UTF-8 without control characters
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/shown.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

size_t shown_copy(char *to, size_t size, const char *text, size_t length)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t whole = 0, used = 0;
	char hex[5];

	length = strnlen(text, length);
	for (size_t i = 0, n, more; i < length; i += n, whole += more) {
		const void *part = p + i;

		n = more = utf8_length(p + i, length - i);
		if (!n || !utf8_harmless(p + i, n, "", NULL)) {
			n = 1;
			more = (size_t)snprintf(hex, sizeof hex, "\\x%02x", p[i]);
			part = hex;
		}
		/* After the first character without room all others are only counted. */
		if (used == whole && more < size - used && size) {
			memcpy(to + used, part, more);
			used += more;
		}
	}
	if (size)
		to[used] = 0;
	return whole;
}
