/*
 * escape.c - text from elsewhere, as it may be printed
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/escape.h"

#include <stdbool.h>
#include <string.h>

/* Returns whether the character changes the direction of text, and so can make text look different. */
static bool turns(wchar_t c)
{
	return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Writes one character; *size: bytes left, then bytes read. Returns the number of bytes written. */
size_t escape_next(char *to, const char *text, size_t *size, mbstate_t *state, int *columns)
{
	unsigned char c = (unsigned char)*text;
	wchar_t wide;
	size_t n;

	if (c >= 0x20 && c < 0x7f) {
		*to = *text;
		*columns += 1;
		return *size = 1;
	}
	n = c < 0x80 ? 0 : mbrtowc(&wide, text, *size, state);
	if (n > 0 && n < (size_t)-2 && wcwidth(wide) >= 0 && !turns(wide)) {
		memcpy(to, text, n);
		*columns += wcwidth(wide);
		return *size = n;
	}
	memset(state, 0, sizeof *state);
	to[0] = '\\';
	to[1] = 'x';
	to[2] = "0123456789abcdef"[c >> 4];
	to[3] = "0123456789abcdef"[c & 15];
	*columns += 4;
	*size = 1;
	return 4;
}

size_t escape_text(char *to, const char *text, size_t size, int *columns)
{
	mbstate_t state = { 0 };
	char *end = to;

	for (size_t i = 0, n; i < size; i += n) {
		n = size - i;
		end += escape_next(end, text + i, &n, &state, columns);
	}
	return (size_t)(end - to);
}
